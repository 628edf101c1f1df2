// A failure is lifted by asking the same again, not by asking less.
#include "plinth/evidence/standing.h"

#include <filesystem>

#include "plinth/evidence/gate.h"
#include "plinth/evidence/unit_fixture.h"

namespace plinth::evidence {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Covers = AskedItem::Covers;

class StandingTest : public EvidenceTest {
 protected:
  static Unit Failed(const std::string& finished) {
    Unit unit = SampleUnit(finished);
    unit.Item("layers")->answer = Answer::kNo;
    unit.Item("layers")->text = "golden sine differs by 3e-2";
    unit.reproduce = "plinth accept --config full.toml";
    return unit;
  }
  // Passes, without golden cases and with fewer repeats.
  static Unit Lesser(const std::string& finished) {
    Unit unit = SampleUnit(finished);
    unit.asked.erase(unit.asked.begin());
    unit.asked[0].number = 2;
    return unit;
  }
  GateResult Ask(std::vector<std::string> roots = {}) {
    GateRequest request;
    request.identity = SampleUnit().identity;
    request.model_name = "plinth-ts-0";
    request.model = "m";
    request.folders = {Path("evidence")};
    for (std::string& root : roots) request.folders.push_back(std::move(root));
    return Check(request, keys_);
  }
};

TEST_F(StandingTest, AsksLessWhereSomethingIsMissingOrSmaller) {
  const std::vector<AskedItem> then = SampleUnit().asked;
  EXPECT_THAT(Lacking(then, then), IsEmpty());
  std::vector<AskedItem> more = then;
  more[1].number = 59;
  more[2].number = 0.001;
  more.push_back({"truth", Covers::kSame, "x", 0});
  EXPECT_THAT(Lacking(then, more), IsEmpty());
  EXPECT_THAT(Lacking(more, then), ElementsAre("run.repeats was 59, is 5",
                                               "task.band.mase was 0.001, is 0.005", "truth is not asked"));
  std::vector<AskedItem> other = then;
  other[0].text = *Sha256Hex("other cases");
  EXPECT_THAT(Lacking(then, other), ElementsAre(StrCat("layers.golden_cases was ", then[0].text.substr(0, 12),
                                                       "..., is ", other[0].text.substr(0, 12), "...")));
  other[0].covers = Covers::kAtLeast;  // a number covers no text
  EXPECT_EQ(Lacking(then, other).size(), 1u);
}

TEST_F(StandingTest, ALesserPassDoesNotWashAFailureClean) {
  WriteUnit(Failed("2026-12-01T00:00:00Z"));
  const WrittenEvidence lesser = WriteUnit(Lesser("2026-12-02T00:00:00Z"));
  EXPECT_EQ(lesser.verdict, Verdict::kFail);
  ASSERT_EQ(lesser.standing.size(), 1u);
  EXPECT_EQ(lesser.standing[0].finished, "2026-12-01T00:00:00Z");
  EXPECT_THAT(lesser.standing[0].questions, ElementsAre("layers"));
  const GateResult result = Ask();
  EXPECT_EQ(StateName(result.state), "failed");
  EXPECT_EQ(
      result.sentence,
      "the evidence of 2026-12-01T00:00:00Z says that it computes wrong: layers: golden sine differs by "
      "3e-2; that of 2026-12-02T00:00:00Z asks less (layers.golden_cases is not asked; run.repeats was 5, "
      "is 2)");
  EXPECT_EQ(result.command, "plinth accept --config full.toml");
  // Both are valid and on record; the statement, the envelope for other tools and the verdict agree.
  const auto opened = OpenEvidence(lesser.newest, keys_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->verdict, Verdict::kFail);
  EXPECT_EQ(opened->unit.standing.size(), 1u);
  EXPECT_EQ(ListUnits(Path("evidence"))->history.size(), 2u);
  // Asking the same lifts it; what asks less afterwards is good again.
  EXPECT_EQ(WriteUnit(SampleUnit("2026-12-03T00:00:00Z")).verdict, Verdict::kPass);
  EXPECT_EQ(StateName(Ask().state), "proven");
  EXPECT_EQ(WriteUnit(Lesser("2026-12-04T00:00:00Z")).verdict, Verdict::kPass);
  EXPECT_EQ(StateName(Ask().state), "proven");
}

TEST_F(StandingTest, WhatFailedMustBeAnswered) {
  WriteUnit(Failed("2026-12-01T00:00:00Z"));
  Unit open = SampleUnit("2026-12-02T00:00:00Z");
  open.Item("layers")->answer = Answer::kUnproven;
  EXPECT_EQ(WriteUnit(open).verdict, Verdict::kFail);
  EXPECT_THAT(Ask().sentence, HasSubstr("that of 2026-12-02T00:00:00Z leaves it open"));
  Unit warned = SampleUnit("2026-12-03T00:00:00Z");
  warned.Item("layers")->answer = Answer::kWarned;
  EXPECT_EQ(WriteUnit(warned).verdict, Verdict::kWarn);
  EXPECT_EQ(StateName(Ask().state), "proven");
}

TEST_F(StandingTest, TheNewestUnitTellsWithoutTheHistory) {
  WriteUnit(Failed("2026-12-01T00:00:00Z"));
  WriteUnit(Lesser("2026-12-02T00:00:00Z"));
  fs::remove_all(Path("evidence/history"));
  EXPECT_EQ(StateName(Ask().state), "failed");
  // And hands it on.
  EXPECT_EQ(WriteUnit(Lesser("2026-12-03T00:00:00Z")).verdict, Verdict::kFail);
  fs::remove_all(Path("evidence/history"));
  EXPECT_EQ(StateName(Ask().state), "failed");
  EXPECT_EQ(WriteUnit(SampleUnit("2026-12-04T00:00:00Z")).verdict, Verdict::kPass);
  EXPECT_EQ(StateName(Ask().state), "proven");
}

TEST_F(StandingTest, TheHistoryTellsWithoutTheNewestUnit) {
  const WrittenEvidence failed = WriteUnit(Failed("2026-12-01T00:00:00Z"));
  fs::remove_all(failed.newest);
  const GateResult result = Ask();
  EXPECT_EQ(StateName(result.state), "failed");
  EXPECT_EQ(result.sentence,
            "the evidence of 2026-12-01T00:00:00Z says that it computes wrong: layers: golden sine "
            "differs by 3e-2");
  EXPECT_EQ(result.command, "plinth accept --config full.toml");
}

TEST_F(StandingTest, AHistoryThatWasAwayMeanwhileCountsAgain) {
  WriteUnit(Failed("2026-12-01T00:00:00Z"));
  fs::rename(Path("evidence"), Path("away"));
  EXPECT_EQ(WriteUnit(Lesser("2026-12-02T00:00:00Z")).verdict, Verdict::kPass);
  EXPECT_EQ(StateName(Ask().state), "proven");
  // In another root, or back beside it.
  EXPECT_EQ(StateName(Ask({Path("away")}).state), "failed");
  fs::copy(Path("away/history"), Path("evidence/history"), fs::copy_options::recursive);
  EXPECT_EQ(StateName(Ask().state), "failed");
  EXPECT_EQ(OpenEvidence(Path("evidence/" + *SampleUnit().identity.Digest()), keys_)->verdict,
            Verdict::kFail);
}

TEST_F(StandingTest, OnlyTrustedFailuresCount) {
  const SigningKey stranger = *SigningKey::Generate();
  ASSERT_TRUE(WriteEvidence(Path("evidence"), Failed("2026-12-01T00:00:00Z"), SampleFiles(), stranger).ok());
  EXPECT_EQ(WriteUnit(Lesser("2026-12-02T00:00:00Z")).verdict, Verdict::kPass);
  EXPECT_EQ(StateName(Ask().state), "proven");
  const std::string root = Path("evidence");
  EXPECT_EQ(*UntrustedUnits({&root, 1}, *SampleUnit().identity.Digest(), keys_), 1);
  keys_.Add(stranger.public_key(), /*local=*/false);
  EXPECT_EQ(StateName(Ask().state), "failed");
}

TEST_F(StandingTest, OneThatImpliesAnotherSpeaksForBoth) {
  Unit small = Lesser("2026-12-01T00:00:00Z");
  small.Item("layers")->answer = Answer::kNo;
  WriteUnit(small);
  // Fails itself, asking more: that alone has to be asked again.
  EXPECT_THAT(WriteUnit(Failed("2026-12-02T00:00:00Z")).standing, IsEmpty());
  EXPECT_EQ(WriteUnit(Lesser("2026-12-03T00:00:00Z")).standing.size(), 1u);
  // Another question stands beside it.
  Unit slow = Lesser("2026-12-04T00:00:00Z");
  slow.Item("performance")->answer = Answer::kNo;
  EXPECT_EQ(WriteUnit(slow).standing.size(), 1u);
  EXPECT_EQ(WriteUnit(Lesser("2026-12-05T00:00:00Z")).standing.size(), 1u);
  EXPECT_EQ(WriteUnit(SampleUnit("2026-12-06T00:00:00Z")).verdict, Verdict::kPass);
}

TEST_F(StandingTest, AUnitSaysWhatItAsked) {
  const auto refused = [&](std::vector<AskedItem> asked) {
    Unit unit = SampleUnit();
    unit.asked = std::move(asked);
    const auto written = WriteEvidence(Path("evidence"), unit, SampleFiles(), key_);
    return std::string(written.status().message());
  };
  EXPECT_EQ(refused({}), "the unit of evidence: says nothing about what was asked");
  const std::string odd =
      "the unit of evidence: what was asked, \"a\", needs an id of its own and a text or a finite number";
  EXPECT_EQ(refused({{"a", Covers::kSame, "", 0}}), odd);
  EXPECT_EQ(refused({{"a", Covers::kSame, "x", 0}, {"a", Covers::kSame, "y", 0}}), odd);
  EXPECT_EQ(refused({{"a", Covers::kAtLeast, "", 0.0 / 0.0}}), odd);
}

}  // namespace
}  // namespace plinth::evidence
