// Plants every silent error of cases/silent_errors.toml and sees the verdict, the place and the kind of fault
// that the table asks for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "plinth/base/files.h"
#include "plinth/formats/toml.h"
#include "plinth/verify/diagnosis.h"
#include "plinth/verify/requirements.h"
#include "plinth/verify/run_record.h"
#include "tests/catalogue/scene.h"

namespace plinth::catalogue {
namespace {

using testing::HasSubstr;
using verify::TensorVerdict;

struct Found {
  std::string verdict;
  std::string text;                // everything that names a place
  std::vector<std::string> kinds;  // the most telling first
};

const verify::RuleSet& Rules() {
  static const verify::RuleSet kRules = *verify::RuleSet::Builtin();
  return kRules;
}

StatusOr<verify::JudgedTensor> JudgeOne(const Scene& scene, const Stored& candidate,
                                        const std::string& ranks) {
  verify::TensorsToJudge t{.op = scene.op,
                           .class_name = scene.rule_class,
                           .candidate = candidate.ref(),
                           .truth = scene.truth.ref(),
                           .incumbent = scene.incumbent.ref(),
                           .canary = scene.canary,
                           .arithmetic = scene.arithmetic};
  if (scene.band.has_value()) t.band = &*scene.band;
  if (!scene.order_input.empty())
    t.order_input = scene.order_input.ref(), t.order_values = scene.order_values.ref();
  t.cap.terms = scene.terms;
  t.structure = ranks;
  t.structure_kind = ranks.empty() ? "" : "ranks";
  return verify::JudgeTensors(Rules(), t);
}

Found Look(const Scene& scene) {
  std::vector<formats::ConstTensorRef> ranks;
  for (const Stored& c : scene.candidates) ranks.push_back(c.ref());
  const std::string different = scene.same_on_all_ranks ? verify::RankDifference(ranks) : "";
  std::vector<verify::JudgedTensor> judged;
  std::vector<TensorVerdict> verdicts;
  for (const Stored& candidate : scene.candidates) {
    StatusOr<verify::JudgedTensor> one = JudgeOne(scene, candidate, different);
    EXPECT_TRUE(one.ok()) << one.status();
    if (!one.ok()) return {};
    verdicts.push_back(one->verdict);
    judged.push_back(*std::move(one));
  }
  const TensorVerdict worst = verify::Worst(verdicts, scene.labels);
  Found found{std::string(verify::VerdictName(worst.verdict)), StrCat(worst.from, " | ", worst.reason), {}};
  for (const std::string& remark : worst.remarks) StrAppend(&found.text, " | ", remark);
  const auto at = worst.from.empty()
                      ? 0
                      : static_cast<size_t>(std::find(scene.labels.begin(), scene.labels.end(), worst.from) -
                                            scene.labels.begin());
  if (!worst.fault_kind.empty()) found.kinds.push_back(worst.fault_kind);
  if (!judged[at].truth.has_value() || worst.verdict == verify::Verdict::kPass) return found;
  verify::DiagnosisHints hints;
  if (!scene.earlier.empty()) hints.earlier.push_back(scene.earlier.ref());
  const auto diagnose = [&] {
    return verify::Diagnose(scene.truth.ref(), scene.candidates[at].ref(), *judged[at].truth, hints);
  };
  std::vector<verify::Finding> findings = diagnose();
  if (findings.empty()) {
    // Its class asks for more than the type's default: this level is not fine.
    hints.limit = judged[at].truth->rel_l2 / 2;
    findings = diagnose();
  }
  for (const verify::Finding& f : findings) {
    found.kinds.push_back(f.id);
    StrAppend(&found.text, " | ", f.text);
  }
  return found;
}

// What no single tensor shows.
Found TaskFloor() {
  const auto q = verify::ParseRequirements(
      "[[requirement]]\nname = 'accuracy'\nkind = 'task'\nmetric = 'top1'\nat_least = 0.70\n", "q.toml");
  EXPECT_TRUE(q.ok()) << q.status();
  const auto result = verify::CheckTaskRequirements(*q, {{"top1", 0.001}});
  // A task that was skipped is no pass either.
  EXPECT_EQ(verify::CheckTaskRequirements(*q, {})[0].status, "unproven");
  return {result[0].status == "failed" ? "fail" : result[0].status, result[0].detail, {"task"}};
}

Found CpuFallback() {
  const auto record = formats::ParseJson(
      R"({"declared_device":"hip:0","device":"cpu","device_time_share":0.07})", "capture.json");
  EXPECT_TRUE(record.ok());
  const std::string problem = verify::QuietFallback(*record);
  return {problem.empty() ? "pass" : "fail", problem, {"fallback"}};
}

const std::map<std::string, Found (*)(), std::less<>>& Others() {
  static const std::map<std::string, Found (*)(), std::less<>> kOthers = {{"task_floor", TaskFloor},
                                                                          {"cpu_fallback", CpuFallback}};
  return kOthers;
}

class Catalogue : public ::testing::Test {
 protected:
  Catalogue() {
    const char* source = std::getenv("PLINTH_SOURCE_DIR");
    const std::string path = JoinPath(source == nullptr ? "." : source, "cases/silent_errors.toml");
    const auto text = ReadFile(path, formats::kMaxConfigBytes);
    EXPECT_TRUE(text.ok()) << text.status();
    const auto table = formats::ParseTomlWithLines(text.ok() ? *text : "", path);
    EXPECT_TRUE(table.ok()) << table.status();
    if (table.ok()) rows_ = *table->Sections("row");
  }
  std::vector<formats::Config> rows_;
};

TEST_F(Catalogue, TheRulesNoticeTheirOwnPlantedFaults) { ASSERT_EQ(verify::SelfTest(Rules()), ""); }

TEST_F(Catalogue, EveryRowIsPlantedOrSaysWhyNot) {
  std::set<int64_t> numbers;
  std::set<std::string> planted;
  for (const formats::Config& row : rows_) {
    EXPECT_TRUE(
        row.CheckKeys({"number", "source", "planted", "plant", "verdict", "place", "kind", "reason"}).ok())
        << row.CheckKeys({"number", "source", "planted", "plant", "verdict", "place", "kind", "reason"});
    EXPECT_TRUE(row.Text("planted").ok());
    if (row.Has("number")) numbers.insert(*row.Int("number", 1, 39));
    EXPECT_NE(row.Has("plant"), row.Has("reason")) << *row.Text("planted");
    if (!row.Has("plant")) continue;
    const std::string name = *row.Text("plant");
    EXPECT_TRUE(Plants().contains(name) || Others().contains(name)) << name;
    EXPECT_TRUE(planted.insert(name).second) << name;
  }
  for (const auto& [name, plant] : Plants())
    EXPECT_TRUE(planted.contains(name)) << name << " stands in no row";
  // The numbers of the collection; those that are missing there are not of this kind.
  for (const int64_t number : {1,  2,  3,  4,  6,  7,  9,  10, 12, 14, 15, 16, 17, 18, 19, 20,
                               21, 23, 24, 25, 26, 28, 30, 31, 32, 33, 34, 35, 36, 38, 39}) {
    EXPECT_TRUE(numbers.contains(number)) << number;
  }
}

TEST_F(Catalogue, GivesVerdictPlaceAndKind) {
  for (const formats::Config& row : rows_) {
    if (!row.Has("plant")) continue;
    const std::string name = *row.Text("plant");
    const auto plant = Plants().find(name);
    const Found found = plant != Plants().end() ? Look(plant->second()) : Others().find(name)->second();
    const std::string shown =
        StrCat(name, ": ", found.verdict, " [", Join(found.kinds, ", "), "] ", found.text);
    if (std::getenv("PLINTH_SHOW_CATALOGUE") != nullptr) std::printf("%s\n", shown.c_str());
    EXPECT_EQ(found.verdict, *row.Text("verdict")) << shown;
    EXPECT_THAT(found.text, HasSubstr(*row.Text("place"))) << shown;
    const std::string kind = *row.Text("kind");
    EXPECT_EQ(found.kinds.empty(), kind.empty()) << shown;
    if (!kind.empty()) {
      EXPECT_THAT(found.kinds, testing::Contains(kind)) << shown;
    }
  }
}

}  // namespace
}  // namespace plinth::catalogue
