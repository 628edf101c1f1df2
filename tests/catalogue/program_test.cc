// Plants some rows of every kind into captures on disk and runs the program over them: exit code, verdict,
// place and kind of fault are those of cases/silent_errors.toml.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plinth/base/files.h"
#include "plinth/formats/capture.h"
#include "plinth/formats/toml.h"
#include "tests/catalogue/scene.h"
#include "tests/cli/fixture.h"

namespace plinth::catalogue {
namespace {

using cli::json;
using cli::RunResult;
using testing::HasSubstr;

// One recorded value.
struct Recorded {
  std::string name, op;
  const Stored* tensor;
};

class ProgramTest : public cli::CliTest {
 protected:
  ProgramTest() {
    const std::string path = cli::Source("cases/silent_errors.toml");
    const auto text = ReadFile(path, formats::kMaxConfigBytes);
    EXPECT_TRUE(text.ok()) << text.status();
    const auto table = formats::ParseTomlWithLines(text.ok() ? *text : "", path);
    EXPECT_TRUE(table.ok()) << table.status();
    const auto rows = table->Sections("row");
    EXPECT_TRUE(rows.ok()) << rows.status();
    for (const formats::Config& row : *rows) {
      if (row.Has("plant")) rows_.emplace(*row.Text("plant"), row);
    }
  }

  void Capture(const std::string& folder, const std::vector<Recorded>& values, int64_t rank = 0,
               int64_t world = 1, int64_t repeat = 0) const {
    formats::CaptureInfo info;
    info.producer =
        formats::JsonValue(formats::JsonValue::Object{{"name", formats::JsonValue(std::string("test"))}});
    info.run_id = "r";
    info.rank = rank, info.world = world, info.repeat = repeat;
    info.model_name = "m";
    std::filesystem::create_directories(std::filesystem::path(Path(folder)).parent_path());
    auto writer = formats::CaptureWriter::Create(Path(folder), info);
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (const Recorded& value : values) {
      const formats::ConstTensorRef t = value.tensor->ref();
      formats::CaptureEntry entry;
      entry.name = value.name, entry.op = value.op;
      const View view =
          DenseView(const_cast<std::byte*>(t.data), t.dtype, t.dims.data(), static_cast<int>(t.dims.size()));
      ASSERT_TRUE(writer->Add(entry, view, true).ok());
    }
    ASSERT_TRUE(writer->Finish().ok());
  }

  // The sides of a scene; what the buffer held before is the entry before.
  void Write(const Scene& scene) const {
    const auto values = [&](const Stored& planted, bool truth) {
      std::vector<Recorded> all;
      if (!scene.earlier.empty() && !truth) all.push_back({"before", scene.op, &scene.earlier});
      all.push_back({"planted", scene.op, &planted});
      return all;
    };
    Capture("truth", values(scene.truth, true));
    Capture("incumbent", values(scene.incumbent, false));
    const auto count = static_cast<int64_t>(scene.candidates.size());
    const bool ranks = count > 1 && scene.labels[0].starts_with("rank");
    for (int64_t i = 0; i < count; ++i) {
      Capture(StrCat("candidate/", i), values(scene.candidates[static_cast<size_t>(i)], false), ranks ? i : 0,
              ranks ? count : 1, ranks ? 0 : i);
    }
  }

  std::map<std::string, formats::Config> rows_;
};

std::vector<json> ParseLines(const std::string& text) {
  std::vector<json> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

TEST_F(ProgramTest, CompareGivesVerdictPlaceAndKind) {
  for (const std::string name :
       {"rms_norm_lanes", "tail_rows_unwritten", "half_through_bf16", "split_k_nan", "swapped_rows",
        "transposed_layout", "stale_replay", "subnormals_flushed", "only_rank_zero_right", "second_run_wrong",
        "all_reduce_turns", "tf32_on_the_incumbent"}) {
    SCOPED_TRACE(name);
    const formats::Config& row = rows_.at(name);
    const Scene scene = Plants().at(name)();
    Write(scene);
    std::vector<std::string> arguments = {
        "compare", "incumbent", "candidate", "--truth", "truth",
        "--rules", "builtin",   "--json",    "--k",     StrCat(static_cast<int64_t>(scene.terms))};
    if (!scene.rule_class.empty()) arguments.insert(arguments.end(), {"--class", scene.rule_class});
    if (scene.canary.has_value()) {
      char pattern[32];
      std::snprintf(pattern, sizeof(pattern), "%llx", static_cast<unsigned long long>(*scene.canary));
      arguments.insert(arguments.end(), {"--canary", pattern});
    }
    const RunResult run = Run(arguments);
    const std::string verdict = *row.Text("verdict"), kind = *row.Text("kind");
    ASSERT_EQ(run.exit_code, verdict == "fail" ? 1 : 0) << run.err << run.out;
    EXPECT_EQ(run.err, "");
    const std::vector<json> lines = ParseLines(run.out);
    EXPECT_EQ(lines.back()["verdict"], verdict) << run.out;
    EXPECT_THAT(run.out, HasSubstr(*row.Text("place")));
    // The row that decided names the kind.
    bool named = false;
    for (const json& line : lines) {
      if (line.contains("summary") || line["tensor"] != "planted:out0@0") continue;
      named = named || line["fault_kind"] == kind;
      for (const json& finding : line["findings"]) named = named || finding["id"] == kind;
    }
    EXPECT_TRUE(named) << kind << " in " << run.out;
    for (const char* side : {"truth", "incumbent", "candidate"}) std::filesystem::remove_all(Path(side));
  }
}

// A fault in one layer of a stack, carried on by the layers behind it.
TEST_F(ProgramTest, LocateNamesTheLayer) {
  constexpr int kLayers = 24;
  for (const auto& [name, wrong_layer] : std::vector<std::pair<std::string, int>>{
           {"rms_norm_lanes", 9}, {"swapped_rows", 0}, {"split_k_nan", 23}}) {
    SCOPED_TRACE(name);
    const Scene scene = Plants().at(name)();
    Numbers right{{scene.incumbent.ref().dims.begin(), scene.incumbent.ref().dims.end()}, {}};
    for (int64_t i = 0; i < scene.incumbent.ref().size(); ++i) right.data.push_back(scene.incumbent.Get(i));
    std::vector<Stored> reference(kLayers), candidate(kLayers);
    std::vector<Recorded> a, b;
    for (int layer = 0; layer < kLayers; ++layer) {
      const auto at = static_cast<size_t>(layer);
      Numbers drifted = right;
      const Numbers noise = Normal(right.dims, 300 + static_cast<uint64_t>(layer), 0.05);
      for (size_t i = 0; i < drifted.data.size(); ++i) drifted.data[i] += noise.data[i];
      const DType dtype = scene.incumbent.ref().dtype;
      reference[at] = Stored(dtype, right);
      candidate[at] = layer < wrong_layer    ? reference[at]
                      : layer == wrong_layer ? scene.candidates[0]
                                             : Stored(dtype, drifted);
      a.push_back({StrCat("encoder.block.", layer), "module", &reference[at]});
      b.push_back({StrCat("encoder.block.", layer), "module", &candidate[at]});
    }
    Capture("a", a), Capture("b", b);
    const RunResult run = Run({"locate", "a", "b", "--json"});
    ASSERT_EQ(run.exit_code, 1) << run.err;
    const json found = json::parse(run.out);
    EXPECT_EQ(found["verdict"], "fail");
    EXPECT_EQ(found["first_drift"]["layer"], wrong_layer) << run.out;
    EXPECT_THAT(found["first_drift"]["name"].get<std::string>(),
                HasSubstr(StrCat("encoder.block.", wrong_layer)));
    const RunResult same = Run({"locate", "a", "a", "--json"});
    EXPECT_EQ(same.exit_code, 0) << same.err;
    EXPECT_EQ(json::parse(same.out)["first_drift"], nullptr);
    for (const char* side : {"a", "b"}) std::filesystem::remove_all(Path(side));
  }
}

}  // namespace
}  // namespace plinth::catalogue
