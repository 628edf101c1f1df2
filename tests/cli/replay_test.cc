// plinth replay: rows, exit codes and messages.
#include <cstring>
#include <filesystem>

#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

class Replay : public CliTest {
 protected:
  const std::string f64_ = Source("tests/data/replay/torch_f64");
  const std::string types_ = Source("tests/data/replay/torch_types");

  // A copy in which one byte of the tensor `key` is another one: the last, where a number's exponent is.
  std::string Spoilt(const std::string& name, const std::string& entry, const std::string& direction) {
    std::filesystem::copy(types_, Path(name), std::filesystem::copy_options::recursive);
    const json capture = json::parse(Read(name + "/capture.json"));
    std::string key;
    for (const json& e : capture["entries"]) {
      if (e["name"] == entry && e["direction"] == direction && e["port"] == 0) key = e["tensor"];
    }
    const std::string file = name + "/tensors-00001-of-00001.safetensors";
    std::string bytes = Read(file);
    uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof(header));
    const json index = json::parse(bytes.substr(8, header));
    const size_t end = 8 + header + index[key]["data_offsets"][1].get<size_t>();
    bytes[end - 1] = static_cast<char>(bytes[end - 1] ^ 1);
    Write(file, bytes);
    return Path(name);
  }
};

TEST_F(Replay, ACleanCapturePasses) {
  const RunResult run = Run({"replay", f64_});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("171 passed, 0 failed\n"));
  EXPECT_EQ(run.err, "");
}

TEST_F(Replay, JsonRowsHaveTheKeysOfTheContract) {
  const std::vector<json> rows = RunJsonLines(
      {"replay", types_, "--incumbent", types_, "--op", "linear,softmax", "--name", "bf16/*", "--json"});
  ASSERT_GE(rows.size(), 4U);
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    for (const char* key :
         {"case", "output", "op", "device", "dtype", "mode", "status", "max_abs", "rel_l2", "max_ulp",
          "limit", "reproduce", "truth", "class", "depth", "candidate", "incumbent", "pair", "rules"}) {
      EXPECT_TRUE(rows[i].contains(key)) << key;
    }
    EXPECT_EQ(rows[i]["dtype"], "bf16");
    EXPECT_EQ(rows[i]["mode"], "replay");
    EXPECT_EQ(rows[i]["rules"]["incumbent"], "holds");
  }
  EXPECT_EQ(rows.back()["verdict"], "pass");
  EXPECT_EQ(rows.back()["compared"], rows.size() - 1);
}

TEST_F(Replay, AChangedOutputFailsAndNamesThePlace) {
  const RunResult run =
      Run({"replay", Spoilt("wrong", "f32/layer_norm/affine", "output"), "--name", "f32/*"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(
      run.out,
      HasSubstr(
          "failed  layer_norm f32/layer_norm/affine y0 f32: 1 of 248 elements are outside; element 247"));
  EXPECT_THAT(run.out, HasSubstr("replay"));
  EXPECT_THAT(run.out, HasSubstr(" --name f32/layer_norm/affine\n"));
  EXPECT_THAT(run.out, HasSubstr(", 1 failed\n"));
}

TEST_F(Replay, NothingReplayedIsAFailure) {
  const RunResult run = Run({"replay", f64_, "--name", "no.such.module"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("nothing was compared"));
}

TEST_F(Replay, BadInputIsOneLine) {
  ExpectError({"replay", Path("none")}, 2,
              StrCat(Path("none"), ": there is no such folder; a capture is expected"));
  ExpectError({"replay", f64_, "--risks", "--incumbent", f64_}, 2,
              "--risks looks at one capture; leave --incumbent and --truth out");
}

TEST_F(Replay, RisksComeByFallingEstimate) {
  const std::vector<json> risks = RunJsonLines({"replay", types_, "--risks", "--name", "f32/*", "--json"});
  ASSERT_FALSE(risks.empty());
  bool offset = false;
  for (size_t i = 1; i < risks.size(); ++i) {
    if (!risks[i - 1]["estimate"].is_null() && !risks[i]["estimate"].is_null()) {
      EXPECT_GE(risks[i - 1]["estimate"].get<double>(), risks[i]["estimate"].get<double>());
    }
  }
  for (const json& risk : risks) {
    if (risk["name"] != "f32/layer_norm/offset") continue;
    offset = true;
    EXPECT_EQ(risk["kind"], "normalisation");
    EXPECT_EQ(risk["condition_name"], "|mean|/std");
    EXPECT_GT(risk["condition"].get<double>(), 5);
  }
  EXPECT_TRUE(offset);
  const RunResult text = Run({"replay", types_, "--risks", "--op", "layer_norm"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("normalisation  layer_norm f32/layer_norm/offset f32: |mean|/std up to "));
  EXPECT_THAT(text.out, HasSubstr("errors in unit roundoffs of the output\n"));
}

}  // namespace
}  // namespace plinth::cli
