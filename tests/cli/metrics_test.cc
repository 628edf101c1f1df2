// plinth metrics: the examples of the documentation, exit codes, hostile files.
#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

using testing::AllOf;
using testing::Not;

class MetricsTest : public CliTest {
 protected:
  static std::vector<std::string> Example(const std::string& task, bool labels = true) {
    const std::string start = Source("examples/metrics/" + task);
    std::vector<std::string> arguments = {
        "metrics", task, "-r", start + "_reference.jsonl", "-c", start + "_candidate.jsonl"};
    if (labels) arguments.insert(arguments.end(), {"-l", start + "_labels.jsonl"});
    return arguments;
  }
  static std::vector<std::string> With(std::vector<std::string> arguments,
                                       const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // The summary of a run with --json, and its rows by metric.
  json Summary(const std::vector<std::string>& arguments, int exit_code,
               std::map<std::string, json>* rows = nullptr) {
    const RunResult run = Run(With(arguments, {"--json"}));
    EXPECT_EQ(run.exit_code, exit_code) << run.err;
    EXPECT_EQ(run.err, "");
    json last;
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);) {
      last = json::parse(line);
      if (rows != nullptr && last.contains("metric")) (*rows)[last["metric"]] = last;
    }
    EXPECT_EQ(last["summary"], true);
    return last;
  }
};

TEST_F(MetricsTest, ExamplesOfEveryTask) {
  for (const char* task :
       {"logits", "classification", "detection", "asr", "retrieval", "forecasting", "generation"}) {
    SCOPED_TRACE(task);
    const json summary = Summary(Example(task, std::string(task) != "logits"), 0);
    EXPECT_EQ(summary["task"], task);
    EXPECT_EQ(summary["verdict"], "unproven");
    EXPECT_EQ(summary["passed"], 0);
    EXPECT_EQ(summary["unproven"], summary["compared"]);
  }
}

TEST_F(MetricsTest, ValuesOfTheExamples) {
  std::map<std::string, json> rows;
  Summary(With(Example("asr"), {"--language", "zh"}), 0, &rows);
  EXPECT_EQ(rows["cer"]["reference"], 0);
  EXPECT_GT(rows["cer"]["candidate"], 0);
  EXPECT_EQ(rows["ser"]["candidate"], 0.25);
  Summary(Example("classification"), 0, &rows);
  EXPECT_EQ(rows["accuracy"]["reference"], 1);
  EXPECT_EQ(rows["accuracy"]["candidate"], 0.875);
  EXPECT_EQ(rows["crossings@0.5"]["candidate"], 0.125);
  Summary(Example("generation"), 0, &rows);
  EXPECT_EQ(rows["format"]["candidate"], 0);
  EXPECT_EQ(rows["refusal_rate"]["candidate"], 0.4);
  EXPECT_EQ(rows["citation_hit"]["candidate"], 1);
}

TEST_F(MetricsTest, VerdictsAndExitCodes) {
  EXPECT_EQ(Summary(With(Example("classification"), {"--band", "accuracy=0.01"}), 1)["verdict"], "fail");
  EXPECT_EQ(Summary(With(Example("classification"), {"--band", "accuracy=0.2"}), 0)["verdict"], "warn");
  EXPECT_EQ(Summary(With(Example("forecasting"), {"-b", "rel_l2_max=0.001", "-b", "mase=1%"}), 0)["verdict"],
            "pass");
  Write("b.toml", "schema = \"plinth.bands/1\"\n[bands]\nkl = 0.001\nmax_abs = 0.02\n");
  const json summary = Summary(With(Example("logits", false), {"--bands", "b.toml"}), 0);
  EXPECT_EQ(summary["verdict"], "pass");
  EXPECT_EQ(summary["digests"]["bands"].get<std::string>().size(), 64u);
  const RunResult text = Run(With(Example("classification"), {"--band", "accuracy=0.01"}));
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.out, AllOf(HasSubstr("accuracy: is worse by 0.125, beyond the band of 0.01"),
                              HasSubstr("8 samples, 87.5 % with identical answers\n"),
                              testing::EndsWith(" unproven: fail\n")));
}

TEST_F(MetricsTest, RequiredSamples) {
  Write("q.toml",
        "schema = \"plinth.required/1\"\n[[group]]\nname = \"edge\"\nat_least = 2\ntags = [\"boundary\"]\n");
  const RunResult good = Run(With(Example("classification"), {"--required", "q.toml", "--json"}));
  EXPECT_EQ(good.exit_code, 0);
  EXPECT_THAT(good.out, HasSubstr("{\"group\":\"edge\",\"required\":2,\"present\":2,\"status\":\"passed\","
                                  "\"scores\":{\"agreement\":"));
  const RunResult bad =
      Run(With(Example("classification"), {"--required", Source("cases/required_samples.toml")}));
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.out, HasSubstr("group \"multi-turn\": holds 0 of at least 5 samples with the tag "
                                 "\"multi-turn\" or \"multi_turn\""));
}

TEST_F(MetricsTest, OwnRules) {
  Write("g.toml",
        "schema = \"plinth.generation-rules/1\"\n[formats.json_object]\nkind = \"pattern\"\npattern = "
        "'\\{.*'\n");
  std::map<std::string, json> rows;
  const json summary = Summary(With(Example("generation"), {"--rules", "g.toml"}), 0, &rows);
  EXPECT_EQ(rows["format"]["candidate"], 1);
  EXPECT_EQ(summary["rules"], "g.toml");
  ExpectError(With(Example("asr"), {"--language", "fr"}), 2,
              "the shipped rules (asr_rules.toml): has no table \"fr\"; there are plain, en, zh");
  ExpectError(With(Example("asr"), {"--rules", "none.toml"}), 2,
              "none.toml: cannot be opened: No such file or directory");
}

TEST_F(MetricsTest, HostileFiles) {
  Write("good.jsonl", "{\"id\":\"a\",\"text\":\"x\",\"truth\":\"x\"}\n");
  const auto refuse = [&](const std::string& text, const std::string& message) {
    Write("bad.jsonl", text);
    ExpectError({"metrics", "asr", "-r", "good.jsonl", "-c", "bad.jsonl"}, 2, message);
  };
  refuse("", "bad.jsonl: holds no row; one JSON object per line is expected");
  refuse("{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"a\",\"text\":\"x\"}\n",
         "bad.jsonl: line 2: sample \"a\" appears twice; each id may appear once in a file");
  refuse("{\"id\":\"b\",\"text\":\"x\"}\n",
         "good.jsonl: line 1: sample \"a\" is not in bad.jsonl; all files must hold the same ids (2 ids are "
         "not in all)");
  refuse("\n{\"id\":\"a\",\"text\":NaN}\n",
         "bad.jsonl: line 2: not JSON; last read \"\"text\":N\"; JSON has no NaN and no Infinity: null is a "
         "missing number");
  refuse("{\"id\":\"a\",\"text\":\"x\"", "bad.jsonl: line 1: not JSON; last read \"\"x\"\"");
  refuse("\xff\xfe{", "bad.jsonl: is UTF-16; UTF-8 is expected");
  refuse("{\"id\":\"a\"}\n", "bad.jsonl: line 1: sample \"a\": \"text\" is missing; text is expected");
  ExpectError({"metrics", "asr", "-r", "good.jsonl", "-c", "none.jsonl"}, 2,
              "none.jsonl: cannot be opened: No such file or directory");
  // A mark, carriage returns and a last line without its end are fine.
  Write("odd.jsonl", "\xef\xbb\xbf{\"id\":\"a\",\"text\":\"x\"}\r\n\r\n");
  EXPECT_EQ(Run({"metrics", "asr", "-r", "good.jsonl", "-c", "odd.jsonl"}).exit_code, 0);
}

TEST_F(MetricsTest, BadOptions) {
  ExpectError({"metrics"}, 2, "task is required; see plinth metrics --help");
  ExpectError(With(Example("asr"), {"--band", "wer"}), 2,
              "--band \"wer\": METRIC=AMOUNT is expected, AMOUNT being a number of at least 0 such as 0.005 "
              "(absolute), or a "
              "percentage such as 2% (of the reference's value)");
  ExpectError(With(Example("asr"), {"--band", "f1=1"}), 2,
              "the band of \"f1\": asr has no such metric here; there are agreement, wer, cer, ser");
  std::vector<std::string> unknown = Example("asr");
  unknown[1] = "speech";
  ExpectError(unknown, 2,
              "task \"speech\" is unknown; there are logits, classification, detection, asr, retrieval, "
              "forecasting, generation");
}

TEST_F(MetricsTest, SamplesAreWrittenWholeOrNotAtAll) {
  EXPECT_EQ(Run(With(Example("asr"), {"--samples", "s.jsonl"})).exit_code, 0);
  EXPECT_THAT(Read("s.jsonl"), HasSubstr("{\"id\":\"1\",\"agreement\":{\"candidate\":"));
  std::string rows;
  for (int i = 0; i < 2000; ++i) rows += StrCat("{\"id\":", i, ",\"text\":\"x\",\"truth\":\"x\"}\n");
  Write("many.jsonl", rows);
  const RunResult full =
      Run({"metrics", "asr", "-r", "many.jsonl", "-c", "many.jsonl", "--samples", "t.jsonl"},
          {.file_bytes = 4096});
  EXPECT_EQ(full.exit_code, 3);
  EXPECT_EQ(full.out, "");
  EXPECT_THAT(Files(), Not(testing::Contains(HasSubstr("t.jsonl"))));
}

}  // namespace
}  // namespace plinth::cli
