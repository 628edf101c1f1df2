// Captures and the search for drift in them, by the real program.
#include <filesystem>

#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

class CaptureCliTest : public CliTest {
 protected:
  CaptureCliTest() : model_(Source("tests/golden/chronos_bolt_rand")) {
    std::string text = "time,y\n";
    for (int64_t i = 0; i < 80; ++i) text += HourlyRow(i, StrCat((i * 7) % 24));
    Write("d.csv", text);
  }
  // Captures d.csv into `out` and expects success.
  void Capture(const std::string& out, const std::vector<std::string>& options = {}) {
    std::vector<std::string> all = {"capture", "-m", model_, "-d", "d.csv", "-o", out};
    all.insert(all.end(), options.begin(), options.end());
    const RunResult run = Run(all);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    EXPECT_EQ(run.out, "");
  }
  json Text(const std::string& capture) {
    return json::parse(Read(capture + "/capture.json"), nullptr, false);
  }
  json Locate(const std::string& a, const std::string& b, int exit_code,
              const std::vector<std::string>& options = {}) {
    std::vector<std::string> all = {"locate", a, b, "--json"};
    all.insert(all.end(), options.begin(), options.end());
    const RunResult run = Run(all);
    EXPECT_EQ(run.exit_code, exit_code) << run.err;
    return json::parse(run.out, nullptr, false);
  }
  std::string model_;
};

TEST_F(CaptureCliTest, StatisticsOfAllModulesByDefault) {
  Capture("c");
  EXPECT_EQ(Files(), (std::vector<std::string>{"c", "d.csv"}));
  const json capture = Text("c");
  EXPECT_EQ(capture["schema"], "plinth.capture/1");
  EXPECT_EQ(capture["run"]["mode"], "free");
  EXPECT_EQ(capture["model"]["name"], "chronos_bolt_rand");
  EXPECT_EQ(capture["inputs"]["digest"].get<std::string>().size(), 64u);
  int64_t blocks = 0;
  for (const json& entry : capture["entries"]) {
    EXPECT_EQ(entry["tensor"].is_null(), entry["name"] != "output") << entry["name"];
    EXPECT_EQ(entry["stats"]["count"], entry["stats"]["finite"]);
    blocks += entry["name"] == "encoder.block.0" ? 1 : 0;
  }
  EXPECT_EQ(blocks, 1);
  EXPECT_EQ(json::parse(Read("c/environment.json"), nullptr, false)["schema"], "plinth.environment/1");
}

TEST_F(CaptureCliTest, FullTensorsAndOperatorsOfChosenModules) {
  Capture("c", {"--full", "encoder.block.0", "--names", "encoder.block.1*", "--operators"});
  const json capture = Text("c");
  int64_t full = 0, operators = 0;
  for (const json& entry : capture["entries"]) {
    const std::string name = entry["name"];
    if (name == "output") continue;
    EXPECT_EQ(name.find("encoder.block."), 0u) << name;
    full += entry["tensor"].is_null() ? 0 : 1;
    operators += entry.contains("attributes") ? 1 : 0;
  }
  EXPECT_GT(full, 10);
  EXPECT_GT(operators, 20);
}

TEST_F(CaptureCliTest, RepeatsLieBesideEachOther) {
  Capture("c", {"--repeat", "3", "--statistics"});
  EXPECT_EQ(Text("c/repeat-0002")["run"]["repeat"], 2);
  EXPECT_EQ(Text("c/repeat-0000")["run"]["id"], Text("c/repeat-0002")["run"]["id"]);
  EXPECT_EQ(Text("c/repeat-0000")["entries"], Text("c/repeat-0001")["entries"]);
  EXPECT_FALSE(std::filesystem::exists(Path("c/repeat-0000/tensors-00001-of-00001.safetensors")));
}

TEST_F(CaptureCliTest, ForcesByTheSameModelAndInputsAlone) {
  std::string text = "time,y\n";
  for (int64_t i = 0; i < 80; ++i) text += HourlyRow(i, StrCat((i * i) % 17));
  Write("other.csv", text);
  EXPECT_EQ(Run({"capture", "-m", model_, "-d", "other.csv", "-o", "inputs", "--full", "all"}).exit_code, 0);
  EXPECT_EQ(
      Run({"capture", "-m", Source("models/plinth-ts-0"), "-d", "d.csv", "-o", "model", "--full", "all"})
          .exit_code,
      0);
  for (const char* what : {"inputs", "model"}) {
    const RunResult run = Run({"capture", "-m", model_, "-d", "d.csv", "-o", "forced", "--forced-by", what});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err,
                HasSubstr(std::string(what) == "inputs" ? "inputs: is of other inputs, with digest "
                                                        : "model: is of another model, with digest "));
    EXPECT_FALSE(std::filesystem::exists(Path("forced")));
  }
  Capture("same", {"--full", "all"});
  Capture("forced", {"--forced-by", "same"});
}

TEST_F(CaptureCliTest, APlanFileSaysWhatToRecord) {
  Write("p.toml", R"(schema = "plinth.capture-plan/1"
[[record]]
name = "encoder.block.*"
[[record]]
name = "encoder.block.1"
what = "full"
[[replace]]
name = "encoder.block.0"
capture = "ref"
)");
  Capture("ref", {"--full", "all"});
  Capture("c", {"--plan", "p.toml"});
  const json capture = Text("c");
  EXPECT_EQ(capture["producer"]["replaced"], json::array({"encoder.block.0"}));
  for (const json& entry : capture["entries"]) {
    const std::string name = entry["name"];
    EXPECT_EQ(entry["tensor"].is_null(), name != "encoder.block.1" && name != "output") << name;
  }
}

TEST_F(CaptureCliTest, EqualRunsPassAndOtherKernelsStayWithinRounding) {
  Capture("a", {"--full", "all"});
  Capture("b", {"--full", "all", "--threads", "1"});
  json result = Locate("a", "b", 0);
  EXPECT_EQ(result["verdict"], "pass");
  EXPECT_TRUE(result["first_drift"].is_null());
  EXPECT_GT(result["compared"], 5);
  for (const json& layer : result["layers"]) EXPECT_EQ(layer["rel_l2_free"], 0) << layer["module"];
  // Rounding differs at every step on another instruction set.
  const RunResult run = Run({"capture", "-m", model_, "-d", "d.csv", "-o", "c", "--full", "all"},
                            {.settings = {{"PLINTH_ISA", "v2"}}});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  result = Locate("a", "c", 0);
  EXPECT_EQ(result["verdict"], "pass");
}

// Another series is another input: refused by its digest, and different when compared all the same.
TEST_F(CaptureCliTest, DriftIsExitOneAndOtherInputsAreExitTwo) {
  Capture("a", {"--full", "all"});
  std::string text = "time,y\n";
  for (int64_t i = 0; i < 80; ++i) text += HourlyRow(i, StrCat((i * 11) % 24));
  Write("d.csv", text);
  Capture("b", {"--full", "all"});
  const RunResult refused = Run({"locate", "a", "b"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("plinth: error: b: is of other inputs, with digest "), std::string::npos)
      << refused.err;
  const json result = Locate("a", "b", 1, {"--any-inputs", "--next-plan", "next.toml"});
  EXPECT_EQ(result["verdict"], "fail");
  EXPECT_EQ(result["first_drift"]["layer"], nullptr);  // it begins before the layers
  EXPECT_NE(Read("next.toml").find("schema = \"plinth.capture-plan/1\""), std::string::npos);
  const RunResult shown = Run({"locate", "a", "b", "--any-inputs"});
  EXPECT_EQ(shown.exit_code, 1);
  EXPECT_NE(shown.out.find("first drift at "), std::string::npos) << shown.out;
}

// A capture whose drift a run made here does not show.
TEST_F(CaptureCliTest, TheModelAtHandConfirms) {
  Capture("a", {"--full", "all"});
  Capture("b", {"--full", "all"});
  json capture = Text("b");
  for (json& entry : capture["entries"]) {
    if (entry["name"] != "encoder.block.1") continue;
    entry["stats"]["l2"] = entry["stats"]["l2"].get<double>() * 1.5;
    entry["digest"] = nullptr;
    entry["tensor"] = nullptr;
  }
  Write("b/capture.json", capture.dump());
  json result = Locate("a", "b", 1);
  EXPECT_EQ(result["first_drift"]["name"], "encoder.block.1");
  EXPECT_EQ(result["first_drift"]["layer"], 1);
  EXPECT_EQ(result["first_drift"]["by"], "statistics");
  result = Locate("a", "b", 1, {"--model", model_, "--data", "d.csv"});
  EXPECT_EQ(result["confirmation"]["status"], "not_seen_here") << result["confirmation"]["text"];
}

TEST_F(CaptureCliTest, Refusals) {
  const std::vector<std::string> head = {"capture", "-m", model_, "-d", "d.csv", "-o", "c"};
  const auto refuse = [&](const std::vector<std::string>& options, const std::string& message) {
    std::vector<std::string> all = head;
    all.insert(all.end(), options.begin(), options.end());
    ExpectError(all, 2, message);
    EXPECT_FALSE(std::filesystem::exists(Path("c")));
  };
  refuse({"--statistics", "--full", "all"},
         "--statistics and --full exclude each other; --full names what is kept");
  refuse({"--replace", "x"},
         "--replace x: NAME=CAPTURE is expected, a module and the capture that holds its tensor");
  refuse({"--replace", "x=no"}, "no: there is no such folder; a capture is expected");
  refuse({"--kernel", "lineal=f32"},
         "--kernel lineal=f32: OPERATOR=KERNEL is expected, and there is no such operator");
  refuse(
      {"--names", "nothing"},
      "no value of chronos_bolt_rand has a name that was asked for (\"nothing\"); a capture without --names "
      "lists them all");
  Write("c/x", "");
  ExpectError(head, 2, "c: exists already and is not overwritten; name a new folder");
  ExpectError({"locate", "a", "b"}, 2, "a: there is no such folder; a capture is expected");
  Capture("a");
  ExpectError({"locate", "a", "a", "--model", model_}, 2,
              "--model runs the model again and needs the series of the captures: --data FILE");
}

// The limit of a file's size stands for a full disk: exit 3, and nothing stays.
TEST_F(CaptureCliTest, AFullDiskLeavesNothing) {
  const RunResult run =
      Run({"capture", "-m", model_, "-d", "d.csv", "-o", "c", "--full", "all"}, {.file_bytes = 4096});
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_NE(run.err.find("c/"), std::string::npos) << run.err;
  EXPECT_EQ(Files(), (std::vector<std::string>{"d.csv"}));
}

}  // namespace
}  // namespace plinth::cli
