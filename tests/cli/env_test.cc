// env: what it prints, its keys, exit codes and messages.
#include <sys/stat.h>

#include <chrono>

#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

using ::testing::AllOf;
using ::testing::Not;
using EnvTest = CliTest;

std::string Tree(const std::string& name) { return Source("cases/environments/synthetic-" + name); }

TEST_F(EnvTest, KeysOfJson) {
  const json e = RunJson({"env", "--root", Tree("bw1000"), "--json"});
  EXPECT_EQ(e["schema"], "plinth.environment/1");
  EXPECT_EQ(e["producer"]["name"], "plinth");
  EXPECT_EQ(e["time"], "2026-01-01T00:00:00Z");
  EXPECT_EQ(e["root"], Tree("bw1000"));
  EXPECT_EQ(e["facts"]["devices"]["count"]["value"], 8);
  const json& card = e["facts"]["devices"]["7"];
  EXPECT_EQ(card["product"]["value"], "BW1000");
  EXPECT_EQ(card["gfx"]["sources"], json({"/sys/class/kfd/kfd/topology/nodes/8", "tool rocminfo"}));
  EXPECT_EQ(e["facts"]["cpu"]["features"]["value"].at(0), "sse4_1");
  ASSERT_EQ(e["findings"].size(), 1u);
  EXPECT_EQ(e["findings"][0]["id"], "hygon-cpu-functions");
  EXPECT_EQ(e["findings"][0]["severity"], "note");
  EXPECT_FALSE(e["findings"][0]["resolve"].get<std::string>().empty());
}

TEST_F(EnvTest, TextHasFindingsFirstAndAlikeCardsOnOneLine) {
  const RunResult run = Run({"env", "--root", Tree("container")});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(
      run.out,
      StartsWith("error    this container has neither /opt/hyhal nor /opt/dtk/.hyhal, whose libraries "
                 "every DCU program loads\n         to resolve: start it with -v "
                 "/opt/hyhal:/opt/hyhal:ro [hal-missing]\n"));
  EXPECT_THAT(run.out, HasSubstr("limited to 8 cores, 64.0 GiB\n"));
  EXPECT_THAT(
      Run({"env", "--root", Tree("bw1000")}).out,
      HasSubstr(
          "\n  0 to 7        BW1000, 1d94:6320, gfx936:sramecc+:xnack-, wave 64, 80 compute units, 64 KiB "
          "LDS, 64.0 GiB, driver hydcu\n"));
  EXPECT_THAT(Run({"env", "--root", Tree("mixed-versions")}).out,
              AllOf(HasSubstr("gfx936 or gfx928:sramecc+:xnack- (sources disagree)"),
                    HasSubstr("Hygon product unknown, 1d94:63ff")));
  EXPECT_THAT(Run({"env", "--root", Tree("cpu")}).out, HasSubstr("\n  cards         none\n"));
}

TEST_F(EnvTest, StrictIsOneWhereThereIsAnError) {
  EXPECT_EQ(Run({"env", "--root", Tree("no-kfd-permission"), "--strict"}).exit_code, 1);
  EXPECT_EQ(Run({"env", "--root", Tree("no-kfd-permission")}).exit_code, 0);
  EXPECT_EQ(Run({"env", "--root", Tree("bw1000"), "--strict"}).exit_code, 0);
}

TEST_F(EnvTest, ThisMachineWithDigestsInTime) {
  Write("input.csv", "a,b\n1,2\n");
  const auto begin = std::chrono::steady_clock::now();
  const json e = RunJson({"env", "--json", "--no-tools", "--inputs", "input.csv"});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  // One second by itself; machines that build and test at once are given more.
  EXPECT_LT(took.count(), 10);
  const json& digests = e["facts"]["digests"];
  EXPECT_THAT(digests["program"]["value"].get<std::string>(), StartsWith("sha256:"));
  // sha256sum of the eight bytes above.
  EXPECT_EQ(digests["input input.csv"]["value"],
            "sha256:492d5ea496056f1a6a6592241032fab764c321596317930b4fa0e1e8bc3b7470");
  EXPECT_GE(e["facts"]["cpu"]["cores_visible"]["value"].get<int>(), 1);
  EXPECT_GT(e["facts"]["memory"]["total_bytes"]["value"].get<int64_t>(), 0);
  EXPECT_TRUE(e["facts"].contains("os"));
}

TEST_F(EnvTest, TheIsaThatPlinthUses) {
  const json e = RunJson({"env", "--json", "--no-tools"},
                         {.settings = {{"PLINTH_ISA", "v2"}, {"NCCL_TOKEN", "told-to-nobody"}}});
  EXPECT_EQ(e["facts"]["cpu"]["isa_plinth"]["value"], "x86-64-v2");
  EXPECT_THAT(e.dump(), Not(HasSubstr("told-to-nobody")));
}

TEST_F(EnvTest, AsksAToolThatHangsAndAPythonThatTalks) {
  Write("bin/hy-smi", "#!/bin/sh\nsleep 60\n");
  Write("bin/rocminfo", "#!/bin/sh\nprintf 'Agent 1\\n\\377\\376'\n");
  Write("python",
        "#!/bin/sh\necho a warning\necho "
        "'{\"python\":\"3.9.9\",\"packages\":{\"torch\":\"2.4.1+das.opt1.dtk2504\"}}'\n");
  for (const char* name : {"bin/hy-smi", "bin/rocminfo", "python"}) chmod(Path(name).c_str(), 0755);
  const RunOptions options{.settings = {{"PATH", Path("bin") + ":/usr/bin:/bin"}}};
  const json e = RunJson({"env", "--json", "--tool-seconds", "1", "--python", Path("python")}, options);
  EXPECT_EQ(e["facts"]["tools"]["hy-smi"]["exit_code"]["value"], 124);
  EXPECT_EQ(e["facts"]["tools"]["rocminfo"]["cards"]["value"], 0);
  EXPECT_EQ(e["facts"]["frameworks"]["torch_dtk"]["value"], "25.04");
  EXPECT_EQ(e["findings"].dump().find("tool-failed") != std::string::npos, true);
}

TEST_F(EnvTest, APythonThatTellsNothingIsAFinding) {
  const RunResult run = Run({"env", "--no-tools", "--python", "/bin/false"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("the Python interpreter ended with exit code 1 and told no packages"));
  const json e = RunJson({"env", "--no-tools", "--python", "/bin/false", "--json"});
  ASSERT_FALSE(e["findings"].empty());
  EXPECT_EQ(e["findings"][0]["id"], "tool-failed");
  EXPECT_EQ(e["findings"][0]["severity"], "warning");
}

TEST_F(EnvTest, DiffOfEverythingThatHoldsAnEnvironment) {
  const RunResult recorded = Run({"env", "--root", Tree("bw1000"), "--json"});
  Write("capture/environment.json", recorded.out);
  const RunResult same = Run({"env", "diff", "capture", Tree("bw1000")});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.out,
              HasSubstr(" facts are the same, 0 differ; nothing that can change numbers differs\n"));
  const RunResult other = Run({"env", "diff", "capture/environment.json", Tree("k100_ai")});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.out, StartsWith("can change numbers ("));
  EXPECT_THAT(other.out, HasSubstr("BW1000  ->  K100_AI\n"));
}

TEST_F(EnvTest, DiffAsJson) {
  json a = RunJson({"env", "--root", Tree("cpu"), "--json"});
  json b = a;
  b["facts"]["os"]["kernel"]["value"] = "7.0";
  b["facts"]["cpu"]["cores_allowed"]["value"] = 1;
  Write("a.json", a.dump());
  Write("b.json", b.dump());
  const json warn = RunJson({"env", "diff", "a.json", "b.json", "--json"});
  EXPECT_EQ(warn["verdict"], "warn");
  EXPECT_EQ(warn["can_change_numbers"], false);
  EXPECT_EQ(warn["numbers"], json::array());
  EXPECT_EQ(warn["speed"][0]["fact"], "cpu.cores_allowed");
  EXPECT_EQ(warn["speed"][0]["a"], "2");
  EXPECT_EQ(warn["speed"][0]["b"], "1");
  EXPECT_EQ(warn["recorded"][0]["fact"], "os.kernel");
  EXPECT_EQ(RunJson({"env", "diff", "a.json", "a.json", "--json"})["verdict"], "pass");
  b["facts"]["cpu"].erase("isa_plinth");
  Write("b.json", b.dump());
  const RunResult fail = Run({"env", "diff", "a.json", "b.json", "--json"});
  EXPECT_EQ(fail.exit_code, 1);
  const json diff = json::parse(fail.out);
  EXPECT_EQ(diff["verdict"], "fail");
  EXPECT_EQ(diff["numbers"][0]["fact"], "cpu.isa_plinth");
  EXPECT_EQ(diff["numbers"][0]["b"], nullptr);
  EXPECT_THAT(diff["numbers"][0]["reason"].get<std::string>(), HasSubstr("known on one side only"));
}

TEST_F(EnvTest, WhatCannotBeRead) {
  ExpectError({"env", "--root", "no"}, 2, "no: cannot be opened: No such file or directory");
  ExpectError({"env", "--inputs", "no.csv"}, 2, "no.csv: cannot be opened: No such file or directory");
  ExpectError({"env", "--python", "/no/python"}, 2, "/no/python: no such program; name a Python interpreter");
  ExpectError({"env", "--libraries", "no.so"}, 2,
              "no.so: no such file or folder; name a library or a folder of them");
  ExpectError({"env", "diff", "no.json", "no.json"}, 2,
              "no.json: cannot be opened: No such file or directory");
  std::filesystem::create_directory(Path("empty"));
  ExpectError({"env", "diff", "empty", "empty"}, 2,
              "empty: holds neither environment.json nor a recorded system (proc/, plinth-recorded/)");
  Write("bad.json", "{\"schema\":\"other/1\"}");
  ExpectError({"env", "diff", "bad.json", "bad.json"}, 2,
              "bad.json: \"schema\" is \"other/1\"; it must be \"plinth.environment/1\"");
  Write("cut.json", "{\"schema\":");
  EXPECT_EQ(Run({"env", "diff", "cut.json", "cut.json"}).exit_code, 2);
  EXPECT_EQ(Run({"env", "diff", "cut.json"}).exit_code, 2);
}

TEST_F(EnvTest, AFullDiskIsTold) {
  const RunResult run = Run({"env", "--root", Tree("cpu")}, {.output_file = "/dev/full"});
  EXPECT_EQ(run.exit_code, 3);
}

// The recorder and the program agree about this machine, except for what a recording does not hold.
TEST_F(EnvTest, RecordsThisMachine) {
  const std::string command = "PATH=/usr/bin:/bin NCCL_ALGO=Ring sh '" + Source("tools/record_environment") +
                              "' '" + Path("tree") + "' > '" + Path("log") + "' 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << Read("log");
  const json tree = RunJson({"env", "--root", "tree", "--json"});
  EXPECT_EQ(tree["facts"]["variables"]["NCCL_ALGO"]["value"], "Ring");
  const RunOptions options{.settings = {{"NCCL_ALGO", "Ring"}, {"PATH", "/usr/bin:/bin"}}};
  Write("live.json", Run({"env", "--json"}, options).out);
  const json diff = json::parse(Run({"env", "diff", "tree", "live.json", "--json"}).out);
  for (const json& d : diff["numbers"]) {
    const std::string fact = d["fact"];
    // The test runner may set variables of its own for the program alone.
    EXPECT_TRUE(fact == "digests" || fact.starts_with("variables.")) << d;
  }
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_THAT(Read("log"), HasSubstr("is not empty; name a new folder"));
}

}  // namespace
}  // namespace plinth::cli
