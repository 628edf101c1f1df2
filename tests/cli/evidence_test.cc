// plinth evidence, and what other commands say about evidence.
#include <sys/stat.h>

#include <filesystem>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/engine/identity.h"
#include "plinth/evidence/keys.h"
#include "plinth/evidence/sample_unit.h"
#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

namespace fs = std::filesystem;
using evidence::SampleFiles;
using evidence::SampleUnit;

class EvidenceCliTest : public CliTest {
 protected:
  void SetUp() override {
    settings_.settings = {{"XDG_CONFIG_HOME", Path("config")}};
    key_ = evidence::LoadOrMakeLocalKey(Path("config/plinth"))->key;
  }
  evidence::WrittenEvidence WriteUnit(const evidence::Unit& unit = SampleUnit()) {
    auto written = evidence::WriteEvidence(Path("evidence"), unit, SampleFiles(), *key_);
    EXPECT_TRUE(written.ok()) << written.status();
    return *written;
  }
  // A small model and evidence for it as it runs here.
  void MakeModel() {
    fs::create_directories(Path("m"));
    for (const char* file : {"config.json", "model.safetensors"}) {
      fs::copy(Source(StrCat("tests/golden/plinth_ts_rand/", file)), Path(StrCat("m/", file)));
    }
  }
  json Show() { return RunJson({"models", "show", "m", "--json"}, settings_); }

  RunOptions settings_;
  std::optional<evidence::SigningKey> key_;
};

TEST_F(EvidenceCliTest, VerifiesOneUnit) {
  const auto written = WriteUnit();
  const std::string keyid = key_->public_key().keyid();
  for (const std::string& path :
       {written.newest, written.history, StrCat(written.newest, "/statement.dsse.json")}) {
    const RunResult run = Run({"evidence", "verify", path}, settings_);
    EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
    EXPECT_THAT(run.out, testing::StartsWith("passed: "));
    EXPECT_THAT(run.out, testing::EndsWith(
                             StrCat(": plinth-ts-0, 2026-11-30T18:30:00.125Z, 6 files unaltered, signed by ",
                                    keyid, " (self-attested: by this machine's own key)\n")));
  }
  const json result = RunJson({"evidence", "verify", written.newest, "--json"}, settings_);
  EXPECT_EQ(result["status"], "passed");
  EXPECT_EQ(result["verdict"], "pass");
  EXPECT_EQ(result["fault"], "none");
  EXPECT_EQ(result["identity"], StrCat("sha256:", written.identity));
  EXPECT_EQ(result["signers"], json::array({keyid}));
  EXPECT_EQ(result["self_attested"], true);
  EXPECT_EQ(result["records"]["total"], 2);
  EXPECT_EQ(Run({"evidence", "verify", written.newest, "--identity", StrCat("sha256:", written.identity)},
                settings_)
                .exit_code,
            0);
}

TEST_F(EvidenceCliTest, RefusalsAreResults) {
  const auto written = WriteUnit();
  const auto refused = [&](const std::vector<std::string>& more, const std::string& fault,
                           const std::string& sentence) {
    std::vector<std::string> arguments = {"evidence", "verify", written.newest};
    arguments.insert(arguments.end(), more.begin(), more.end());
    RunResult run = Run(arguments, settings_);
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.err, "");
    EXPECT_THAT(run.out, testing::StartsWith("refused: "));
    EXPECT_THAT(run.out, HasSubstr(sentence));
    arguments.push_back("--json");
    run = Run(arguments, settings_);
    EXPECT_EQ(run.exit_code, 1);
    const json result = json::parse(run.out);
    EXPECT_EQ(result["status"], "refused");
    EXPECT_EQ(result["fault"], fault);
    EXPECT_THAT(result["reason"].get<std::string>(), HasSubstr(sentence));
  };
  refused({"--identity", std::string(64, '0')}, "other-identity", "it proves nothing for 000");
  const std::string report = StrCat(written.newest, "/report.html"), text = *ReadFile(report, 1000);
  ASSERT_TRUE(WriteFile(report, "x").ok());
  refused({}, "altered", "report.html: was altered: it holds 1 bytes; the statement says 29");
  ASSERT_TRUE(WriteFile(report, text).ok());
  ASSERT_TRUE(WriteFile(StrCat(written.newest, "/more"), "x").ok());
  refused({}, "unlisted-file", "more: is not named by the statement");
  fs::remove(StrCat(written.newest, "/more"));
  // Another machine, which does not know the key, until it is named.
  settings_.settings = {{"XDG_CONFIG_HOME", Path("elsewhere")}};
  refused({}, "untrusted-key",
          "by no key that is trusted here (there is none); give the signer's public key with --key");
  const RunResult run = Run(
      {"evidence", "verify", written.newest, "--key", Path("config/plinth/evidence-key.pub.pem")}, settings_);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, testing::Not(HasSubstr("self-attested")));
  settings_.settings = {{"XDG_CONFIG_HOME", Path("config")}};
  fs::remove(StrCat(written.newest, "/statement.dsse.json"));
  refused({}, "missing", "holds no statement.dsse.json");
}

TEST_F(EvidenceCliTest, VerifiesARoot) {
  evidence::Unit failed = SampleUnit("2026-11-29T00:00:00Z");
  failed.Item("task")->answer = evidence::Answer::kNo;
  const auto first = WriteUnit(failed);
  RunResult run = Run({"evidence", "verify", "evidence"}, settings_);
  EXPECT_EQ(run.exit_code, 1);  // the newest one says that it failed
  EXPECT_THAT(run.out, testing::EndsWith("2 verified, 0 refused\n"));
  EXPECT_EQ(Run({"evidence", "verify", first.newest}, settings_).exit_code, 1);
  WriteUnit();
  run = Run({"evidence", "verify", "evidence"}, settings_);
  EXPECT_EQ(run.exit_code, 0);  // the failure is history
  EXPECT_THAT(run.out, testing::EndsWith("3 verified, 0 refused\n"));
  ASSERT_TRUE(WriteFile(StrCat(first.history, "/records.jsonl"), "").ok());
  run = Run({"evidence", "verify", "evidence", "--json"}, settings_);
  EXPECT_EQ(run.exit_code, 1);
  const json summary = json::parse(run.out.substr(run.out.rfind('\n', run.out.size() - 2) + 1));
  EXPECT_EQ(summary, (json{{"summary", true},
                           {"verified", 2},
                           {"passed", 2},
                           {"warned", 0},
                           {"failed", 0},
                           {"refused", 1},
                           {"verdict", "fail"}}));
}

TEST_F(EvidenceCliTest, BadCommandLines) {
  const auto written = WriteUnit();
  const auto error = [&](const std::vector<std::string>& arguments, int code, const std::string& message) {
    ExpectError(arguments, code, message, settings_);
  };
  error({"evidence", "verify", "nosuch"}, 2, "nosuch: cannot be opened: No such file or directory");
  error(
      {"evidence", "verify", "config"}, 2,
      "config: holds no evidence; a folder with statement.dsse.json, or one with such folders, is expected");
  error({"evidence", "verify", StrCat(written.newest, "/report.html")}, 2,
        StrCat(
            written.newest,
            "/report.html: is a file; a folder of evidence, or the statement.dsse.json in one, is expected"));
  error({"evidence", "verify", "evidence", "--identity", "abc"}, 2,
        "--identity abc: a digest is expected, sha256: and 64 hex digits, as forecast --json gives it");
  error({"evidence", "verify", "evidence", "--key", "nosuch.pem"}, 2,
        "nosuch.pem: cannot be opened: No such file or directory");
  error({"evidence", "verify", "evidence", "--key", Path("config/plinth/evidence-key.pem")}, 2,
        StrCat(Path("config/plinth/evidence-key.pem"),
               ": holds a private key; an Ed25519 public key in PEM (BEGIN PUBLIC KEY) is expected"));
  error({"evidence", "verify"}, 2, "path is required; see plinth evidence verify --help");
  chmod(Path("config/plinth/evidence-key.pem").c_str(), 0644);
  error({"evidence", "verify", "evidence"}, 3,
        StrCat(Path("config/plinth/evidence-key.pem"),
               ": others may read or write this private key (mode 0644); take a new key, or set mode 0600 if "
               "nobody "
               "has seen it"));
}

TEST_F(EvidenceCliTest, ShowsWhatIsVerified) {
  evidence::Unit unit = SampleUnit();
  unit.limits.push_back("escape \x1b[31m sequences");
  const auto written = WriteUnit(unit);
  const RunResult run = Run({"evidence", "show", "evidence"}, settings_);
  EXPECT_EQ(run.exit_code, 0);
  for (const char* part : {"pass: plinth-ts-0, 2026-11-30T18:30:00.125Z\n", "  yes  operators: measured\n",
                           "  batches up to 64, contexts up to 512, horizons up to 96\n", "  isa  v3\n",
                           "  layer 3: known \"rounding\" (A. Person, until 2027-01-31)\n",
                           "  plinth accept --model plinth-ts-0 --repeats 5\n", "  report.html  sha256:"}) {
    EXPECT_THAT(run.out, HasSubstr(part));
  }
  EXPECT_EQ(run.out.find('\x1b'), std::string::npos);
  const json shown = RunJson({"evidence", "show", written.newest, "--json"}, settings_);
  EXPECT_EQ(shown["statement"]["_type"], "https://in-toto.io/Statement/v1");
  EXPECT_EQ(shown["statement"]["predicate"]["verdict"], "pass");
  ASSERT_TRUE(WriteFile(StrCat(written.newest, "/records.jsonl"), "").ok());
  const RunResult refused = Run({"evidence", "show", written.newest}, settings_);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.out, testing::StartsWith("refused: "));
}

TEST_F(EvidenceCliTest, PublicHalfOfTheKey) {
  EXPECT_EQ(Run({"evidence", "key"}, settings_).out, key_->public_key().pem());
  EXPECT_EQ(RunJson({"evidence", "key", "--json"}, settings_)["keyid"], key_->public_key().keyid());
  settings_.settings = {{"XDG_CONFIG_HOME", Path("elsewhere")}};
  ExpectError({"evidence", "key"}, 2,
              StrCat(Path("elsewhere/plinth/evidence-key.pem"),
                     ": there is no local key yet; the first plinth accept makes one"),
              settings_);
  EXPECT_FALSE(fs::exists(Path("elsewhere")));
}

TEST_F(EvidenceCliTest, CommandsReportTheState) {
  MakeModel();
  Write("d.csv", HourlyCsv(100));
  json sheet = Show();
  EXPECT_EQ(sheet["evidence"], "unproven");
  EXPECT_EQ(sheet["evidence_command"], "plinth accept --model m");
  EXPECT_EQ(Show()["identity"], sheet["identity"]);
  const std::vector<std::string> forecast = {"forecast", "-m", "m", "-d", "d.csv", "--json"};
  EXPECT_EQ(RunJson(forecast, settings_)["identity"], sheet["identity"]);

  // Evidence for another state of this model: the parts are not those of this machine.
  evidence::Unit unit = SampleUnit();
  unit.model_name = "m";
  ASSERT_TRUE(evidence::WriteEvidence(Path("m/evidence"), unit, SampleFiles(), *key_).ok());
  sheet = Show();
  EXPECT_EQ(sheet["evidence"], "stale");
  EXPECT_THAT(sheet["evidence_reason"].get<std::string>(), HasSubstr("model was "));
  EXPECT_EQ(RunJson(forecast, settings_)["evidence"], "stale");
  EXPECT_THAT(Run({"models", "show", "m"}, settings_).out,
              HasSubstr("evidence          stale: the evidence of 2026-"));
  EXPECT_THAT(Run({"models", "list", "m"}, settings_).out, testing::EndsWith("parameters, stale\n"));
  const std::vector<std::string> backtest = {"backtest", "-m", "m",  "-d", "d.csv",
                                             "-H",       "6",  "-s", "7",  "--json"};
  EXPECT_EQ(RunJson(backtest, settings_)["evidence"], "stale");
  // Evidence for exactly what runs here.
  Threads one(1);
  const Context context{&one, *IsaFromEnvironment()};
  unit.identity = *engine::IdentityOf(**engine::Session::Load(Path("m"), context));
  unit.model_files.clear();
  ASSERT_TRUE(evidence::WriteEvidence(Path("m/evidence"), unit, SampleFiles(), *key_).ok());
  EXPECT_EQ(StrCat("sha256:", *unit.identity.Digest()), sheet["identity"].get<std::string>());
  EXPECT_EQ(Show()["evidence"], "proven");
  EXPECT_EQ(Show()["evidence_command"], "");
  EXPECT_EQ(RunJson(forecast, settings_)["evidence"], "proven");
  EXPECT_EQ(RunJson(backtest, settings_)["evidence"], "proven");
  std::vector<std::string> longer = forecast;
  longer.insert(longer.end(), {"-H", "97"});
  EXPECT_EQ(json::parse(Run(longer, settings_).out)["evidence"], "unproven");
  // A folder that is named comes first.
  unit.Item("layers")->answer = evidence::Answer::kNo;
  ASSERT_TRUE(evidence::WriteEvidence(Path("other"), unit, SampleFiles(), *key_).ok());
  EXPECT_EQ(RunJson({"models", "show", "m", "--evidence", "other", "--json"}, settings_)["evidence"],
            "failed");
  // Whatever the evidence says, these commands only report; a key that cannot be used is told as the reason.
  chmod(Path("config/plinth/evidence-key.pem").c_str(), 0644);
  EXPECT_THAT(Show()["evidence_reason"].get<std::string>(),
              HasSubstr("others may read or write this private key"));
  EXPECT_EQ(Show()["evidence"], "unproven");
}

}  // namespace
}  // namespace plinth::cli
