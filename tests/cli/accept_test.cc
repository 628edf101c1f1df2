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

TEST_F(AcceptTest, AWeakerRecipeDoesNotWashAFailureClean) {
  // Golden cases that the model does not reproduce.
  fs::copy(model_, Path("golden"), fs::copy_options::recursive);
  std::string arrays = Read("golden/cases.safetensors");
  for (size_t i = arrays.size() / 2; i + 8 <= arrays.size(); i += 8) arrays[i + 6] ^= 0x10;
  Write("golden/cases.safetensors", arrays);
  Write("full.toml", StrCat(kSmall, "[model]\ncases = 'golden/cases.json'\n"));
  Write("r.toml", kSmall);
  const std::vector<std::string> full = {"--model", model_, "--config", "full.toml", "--evidence", "ev"};
  const json failed = Accept(full, 1);
  EXPECT_EQ(Answer(failed, "layers"), "no");
  EXPECT_THAT(failed["standing"], ::testing::IsEmpty());
  // Without the cases everything is right, but the failure stands, with the command that asks again.
  fs::copy(model_, Path("bare"), fs::copy_options::recursive);
  fs::remove(Path("bare/cases.json"));
  const json lesser = Accept({"--model", "bare", "--config", "r.toml", "--evidence", "ev"}, 1);
  EXPECT_EQ(lesser["identity"], failed["identity"]);
  EXPECT_EQ(Answer(lesser, "layers"), "yes");
  EXPECT_EQ(lesser["verdict"], "fail");
  ASSERT_EQ(lesser["standing"].size(), 1u);
  EXPECT_THAT(lesser["standing"][0]["reproduce"].get<std::string>(), HasSubstr("--config full.toml"));
  const RunResult text =
      Run({"accept", "--model", "bare", "--config", "r.toml", "--evidence", "ev"}, options_);
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.out, HasSubstr("This run found nothing wrong, but an earlier failure of the same numerics "
                                  "identity stands"));
  EXPECT_THAT(text.out, HasSubstr("layers.golden_cases is not asked"));
  EXPECT_EQ(Run({"evidence", "verify", lesser["evidence"].get<std::string>()}, options_).exit_code, 1);
  Write("d.csv", HourlyCsv(200));
  const auto state = [&] {
    const RunResult run =
        Run({"forecast", "-m", "bare", "-d", "d.csv", "--evidence", "ev", "--json"}, options_);
    return json::parse(run.out, nullptr, false)["evidence"];
  };
  EXPECT_EQ(state(), "failed");
  const RunResult history = Run({"accept", "history", "--evidence", "ev"}, options_);
  EXPECT_THAT(history.out, HasSubstr("stands: "));
  // Nor does another folder: an acceptance looks where the gate does.
  fs::copy(Path("ev"), Path("bare/evidence"), fs::copy_options::recursive);
  const json elsewhere = Accept({"--model", "bare", "--config", "r.toml", "--evidence", "other"}, 1);
  EXPECT_EQ(elsewhere["standing"].size(), 1u);
  fs::remove_all(Path("bare/evidence"));
  // Whoever takes all of the evidence away begins anew; docs/evidence.md says so.
  fs::remove_all(Path("ev"));
  EXPECT_EQ(Accept({"--model", "bare", "--config", "r.toml", "--evidence", "ev"}, 0)["verdict"], "pass");
  EXPECT_EQ(state(), "proven");
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
          "r.toml: line 1: unknown key \"modle\"; model, data, envelope, run, task, performance, incumbent, "
          "candidate, truth, rules are expected");
  refused("[envelope]\ncontext = 100000000\n",
          "r.toml: \"envelope.context\" is 100000000; plinth_ts takes at most 96");
  refused(
      "[candidate]\ncaptures = []\n",
      "r.toml: line 1: \"candidate\" is an object of 1; a section whose captures are held against those of "
      "[incumbent] is "
      "expected");
  refused("[rules]\nwaivers = 'nowhere.toml'\n", "nowhere.toml: cannot be opened: No such file or directory");
  refused("[task]\nkind = 'asr'\n", "r.toml: \"task.kind\" is \"asr\"; forecasting is expected");
  refused("[model]\ncases = 'nowhere.json'\n",
          "nowhere.json: no such file; the cases.json of a golden folder is expected");
  refused("[task]\nlabels = 'l.jsonl'\n",
          "r.toml: line 2: \"task.labels\" is \"l.jsonl\"; labels belong to captures; a model's truth is the "
          "held-out series of [data]: nothing is expected");
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
  Capture("cuda-1", "d.csv");
  Capture("dcu-1", "d.csv");
  Capture("x", "other.csv");
  Write("sound.toml",
        "[incumbent]\ncaptures = ['cuda', 'cuda-1']\n[candidate]\ncaptures = ['dcu', 'dcu-1']\n");
  const json sound = Accept({"--config", "sound.toml", "--evidence", "ev"}, 0);
  EXPECT_EQ(Answer(sound, "layers"), "yes");
  EXPECT_EQ(Answer(sound, "repeatability"), "yes");
  EXPECT_EQ(Answer(sound, "task"), "unproven");
  EXPECT_EQ(sound["verdict"], "warn");
  // What follows a layer whose output was replaced is the first thing that is wrong.
  Capture("bad", "d.csv", {"--replace", StrCat("encoder.block.1=", Path("x"))});
  Write("large.toml", StrCat(Read("sound.toml"), "[envelope]\nbatch = 1000000\n"));
  const RunResult large = Run({"accept", "--config", "large.toml", "--evidence", "ev"}, options_);
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_THAT(large.err, HasSubstr("what was not captured is not covered"));
  Write("truth.toml", StrCat(Read("sound.toml"), "[truth]\ncapture = 'cuda'\n"));
  const RunResult coarse = Run({"accept", "--config", "truth.toml", "--evidence", "ev"}, options_);
  EXPECT_EQ(coarse.exit_code, 2);
  EXPECT_THAT(coarse.err, HasSubstr("which holds no tensor in double"));
  const RunResult many = Run({"accept", "--config", "sound.toml", "--repeats", "59"}, options_);
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_THAT(many.err, HasSubstr("--repeats: the repeats of captures are those"));
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
  // One recording is one repeat, however often and under whatever name it is given, and no pair with itself.
  fs::copy(Path("dcu"), Path("dcu-copy"), fs::copy_options::recursive);
  for (const char* again : {"'dcu', './dcu'", "'dcu', 'dcu-copy'"}) {
    Write("twice.toml", StrCat("[incumbent]\ncaptures = ['cuda']\n[candidate]\ncaptures = [", again, "]\n"));
    const RunResult twice = Run({"accept", "--config", "twice.toml", "--evidence", "ev"}, options_);
    EXPECT_EQ(twice.exit_code, 2) << again;
    EXPECT_THAT(twice.err, HasSubstr("is the same capture as dcu/capture.json of [candidate]"));
    EXPECT_THAT(twice.err, HasSubstr("repeats are runs of their own, each recorded once"));
  }
  Write("itself.toml", "[incumbent]\ncaptures = ['dcu']\n[candidate]\ncaptures = ['dcu-copy']\n");
  const RunResult itself = Run({"accept", "--config", "itself.toml", "--evidence", "ev"}, options_);
  EXPECT_EQ(itself.exit_code, 2);
  EXPECT_THAT(itself.err, HasSubstr("a capture held against itself shows nothing"));
}

}  // namespace
}  // namespace plinth::cli
