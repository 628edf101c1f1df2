// Whole acceptances by the real program: what they answer, sign, refuse and go on with.
#include <csignal>
#include <filesystem>
#include <iterator>

#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

namespace fs = std::filesystem;

class AcceptTest : public CliTest {
 protected:
  AcceptTest() : model_(Source("tests/golden/plinth_ts_rand")) {
    options_.settings.emplace_back("XDG_CONFIG_HOME", Path("config"));
  }
  // Runs `plinth accept ARGUMENTS --json` and gives its object.
  json Accept(std::vector<std::string> arguments, int exit_code) {
    arguments.insert(arguments.begin(), "accept");
    arguments.push_back("--json");
    const RunResult run = Run(arguments, options_);
    EXPECT_EQ(run.exit_code, exit_code) << run.err << run.out;
    return json::parse(run.out, nullptr, false);
  }
  json AcceptModel(int exit_code, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"--model", model_, "--config", "r.toml", "--evidence", "ev"};
    all.insert(all.end(), more.begin(), more.end());
    return Accept(std::move(all), exit_code);
  }
  std::string Answer(const json& result, const std::string& id) {
    for (const json& q : result["questions"]) {
      if (q["id"] == id) return q["answer"];
    }
    return "";
  }
  // A capture of chronos_bolt_rand over `data`.
  void Capture(const std::string& out, const std::string& data, const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = {
        "capture", "-m", Source("tests/golden/chronos_bolt_rand"), "-d", data, "-o", out, "--full", "all"};
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(Run(all, options_).exit_code, 0);
  }

  const std::string model_;
  RunOptions options_;
};

constexpr char kSmall[] =
    "[data]\nwindows = 3\n[performance]\nbatches = [1]\nseconds = 0.05\n[envelope]\nbatch = 2\n";

TEST_F(AcceptTest, AnswersTheSevenQuestionsAndSigns) {
  Write("r.toml", kSmall);
  const json result = AcceptModel(0);
  EXPECT_EQ(result["verdict"], "pass");
  for (const char* id : {"environment", "inputs", "operators", "layers", "task", "repeatability"}) {
    EXPECT_THAT(Answer(result, id), ::testing::AnyOf("yes", "warned")) << id;
  }
  EXPECT_EQ(Answer(result, "performance"), "unproven");
  EXPECT_TRUE(result["first_drift"].is_null());
  const std::string folder = result["evidence"];
  EXPECT_EQ(Run({"evidence", "verify", folder}, options_).exit_code, 0);
  for (const char* name : {"records.jsonl", "report.html", "junit.xml", "ctrf.json", "environment.json"}) {
    EXPECT_TRUE(fs::exists(Path(folder + "/" + name))) << name;
  }
  EXPECT_FALSE(fs::exists(Path("ev/.unfinished")));
  // A changed file is noticed.
  Write(folder + "/report.html", "<html></html>");
  EXPECT_EQ(Run({"evidence", "verify", folder}, options_).exit_code, 1);
}

TEST_F(AcceptTest, ASlowOneFailsAndHistoryShowsBoth) {
  Write("r.toml", kSmall);
  AcceptModel(0);
  Write("fast.json", "{\"batch\":1,\"series_per_second\":1e12}\n");
  Write("r.toml", StrCat(kSmall, "[incumbent]\nperformance = 'fast.json'\n"));
  const json slow = AcceptModel(1);
  EXPECT_EQ(slow["verdict"], "fail");
  EXPECT_EQ(Answer(slow, "performance"), "no");
  const RunResult history = Run({"accept", "history", "--evidence", "ev"}, options_);
  EXPECT_EQ(history.exit_code, 0) << history.err;
  EXPECT_THAT(history.out, HasSubstr("yyyyy-y"));
  EXPECT_THAT(history.out, HasSubstr("yyyyyNy"));
  EXPECT_EQ(Run({"accept", "history", "--evidence", "ev", "--json"}, options_).exit_code, 0);
}

TEST_F(AcceptTest, TheCustomersContractIsReportedBesideTheRules) {
  Write("contract.toml",
        "[[requirement]]\nname = 'far too tight'\nkind = 'distance'\ntensor = 'output'\nmax_abs = 1e-30\n"
        "[[requirement]]\nname = 'nobody measured'\nkind = 'task'\nmetric = 'accuracy'\nat_least = 0.5\n");
  Write("r.toml", StrCat(kSmall, "[rules]\nrequirements = 'contract.toml'\n"));
  const json result = AcceptModel(1);
  EXPECT_EQ(Answer(result, "layers"), "no");
  const std::string records = Read(result["evidence"].get<std::string>() + "/records.jsonl");
  EXPECT_THAT(records, HasSubstr("requirement far too tight: output\",\"status\":\"failed\""));
  EXPECT_THAT(records, HasSubstr("requirement nobody measured\",\"status\":\"unproven\""));
}

TEST_F(AcceptTest, GoesOnAfterAnInterruption) {
  Write("r.toml", kSmall);
  RunOptions stopped = options_;
  bool sent = false;  // a second signal would end it at once
  size_t known = 0;   // bytes of the journal that an earlier run left
  // Once the first repeats are on record.
  stopped.meanwhile = [&](int process) {
    std::error_code error;
    for (fs::directory_iterator it(Path("ev/.unfinished"), error), end; !error && it != end;
         it.increment(error)) {
      if (it->path().extension() != ".jsonl") continue;
      std::ifstream journal(it->path());
      const std::string text((std::istreambuf_iterator<char>(journal)), std::istreambuf_iterator<char>());
      if (sent || text.size() < known + 500 || text.find("repeat 3") == std::string::npos) continue;
      kill(process, SIGTERM);
      sent = true;
    }
  };
  const RunResult first =
      Run({"accept", "--model", model_, "--config", "r.toml", "--evidence", "ev", "--repeats", "100000"},
          stopped);
  EXPECT_EQ(first.exit_code, 130) << first.err;
  EXPECT_FALSE(fs::exists(Path("ev/history")));
  sent = false;
  // What was done is remembered, and the folder of files on the way is gone.
  int journals = 0;
  for (const auto& entry : fs::directory_iterator(Path("ev/.unfinished"))) {
    EXPECT_EQ(entry.path().extension(), ".jsonl") << entry.path();
    known = fs::file_size(entry.path());
    ++journals;
  }
  EXPECT_EQ(journals, 1);
  const RunResult second =
      Run({"accept", "--model", model_, "--config", "r.toml", "--evidence", "ev", "--repeats", "100000"},
          stopped);
  EXPECT_EQ(second.exit_code, 130);
  EXPECT_THAT(second.err, HasSubstr("interrupted"));
  // Another acceptance begins by itself.
  EXPECT_EQ(AcceptModel(0)["verdict"], "pass");
}

TEST_F(AcceptTest, RefusesWhatItCannotUse) {
  const auto refused = [&](const std::string& recipe, const std::string& message) {
    Write("r.toml", recipe);
    ExpectError({"accept", "--model", model_, "--config", "r.toml", "--evidence", "ev"}, 2, message,
                options_);
    EXPECT_FALSE(fs::exists(Path("ev/history"))) << recipe;
  };
  refused("[modle]\n",
          "r.toml: unknown key \"modle\"; model, data, envelope, run, task, performance, incumbent, "
          "candidate, truth, rules are expected");
  refused("[envelope]\ncontext = 100000000\n",
          "r.toml: \"envelope.context\" is 100000000; plinth_ts takes at most 96");
  refused("[candidate]\ncaptures = []\n",
          "r.toml: \"candidate\" is an object of 1; a section whose captures are held against those of "
          "[incumbent] is "
          "expected");
  refused("[rules]\nwaivers = 'nowhere.toml'\n", "nowhere.toml: cannot be opened: No such file or directory");
  refused("[task]\nkind = 'asr'\n", "r.toml: \"task.kind\" is \"asr\"; forecasting is expected");
  refused("[model]\ncases = 'nowhere.json'\n",
          "nowhere.json: no such file; the cases.json of a golden folder is expected");
  EXPECT_EQ(Run({"accept", "--model", "nowhere", "--evidence", "ev"}, options_).exit_code, 2);
  EXPECT_EQ(Run({"accept", "--lang", "de", "--evidence", "ev", "--model", model_}, options_).exit_code, 2);
}

TEST_F(AcceptTest, HoldsCapturesOfTwoPlatformsTogether) {
  Write("d.csv", HourlyCsv(80));
  std::string other = "time,y\n";
  for (int64_t i = 0; i < 80; ++i) other += HourlyRow(i, StrCat((i * i) % 17));
  Write("other.csv", other);
  Capture("cuda", "d.csv");
  Capture("dcu", "d.csv");
  Capture("x", "other.csv");
  Write("sound.toml", "[incumbent]\ncaptures = ['cuda', 'dcu']\n[candidate]\ncaptures = ['dcu', 'cuda']\n");
  const json sound = Accept({"--config", "sound.toml", "--evidence", "ev"}, 0);
  EXPECT_EQ(Answer(sound, "layers"), "yes");
  EXPECT_EQ(Answer(sound, "repeatability"), "yes");
  EXPECT_EQ(Answer(sound, "task"), "unproven");
  EXPECT_EQ(sound["verdict"], "warn");
  // What follows a layer whose output was replaced is the first thing that is wrong.
  Capture("bad", "d.csv", {"--replace", StrCat("encoder.block.1=", Path("x"))});
  Write("bad.toml", "[incumbent]\ncaptures = ['cuda']\n[candidate]\ncaptures = ['bad']\n");
  const json bad = Accept({"--config", "bad.toml", "--evidence", "ev"}, 1);
  EXPECT_EQ(bad["verdict"], "fail");
  EXPECT_EQ(Answer(bad, "layers"), "no");
  EXPECT_THAT(bad["first_drift"].get<std::string>(), StartsWith("encoder"));
  EXPECT_EQ(Answer(bad, "performance"), "unproven");
  // Captures of other inputs are no pair.
  Write("mixed.toml", "[incumbent]\ncaptures = ['cuda']\n[candidate]\ncaptures = ['x']\n");
  const RunResult mixed = Run({"accept", "--config", "mixed.toml", "--evidence", "ev"}, options_);
  EXPECT_EQ(mixed.exit_code, 2);
  EXPECT_THAT(mixed.err, HasSubstr("was made with another digest of inputs"));
}

}  // namespace
}  // namespace plinth::cli
