// Whole runs: what each task refuses, rules, required samples, verdicts.
#include "plinth/verify/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plinth/verify/metrics/test_files.h"

namespace plinth::verify::metrics {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class MetricsTest : public testing::Test {
 protected:
  MetricsOptions Options(const std::string& task, std::string_view reference, std::string_view candidate,
                         std::string_view labels = "") {
    MetricsOptions options{
        .task = task, .reference = files_.Write("r", reference), .candidate = files_.Write("c", candidate)};
    if (!labels.empty()) options.labels = files_.Write("l", labels);
    return options;
  }
  static MetricsResult Run(const MetricsOptions& options) {
    auto result = RunMetrics(options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : MetricsResult();
  }
  // The message of one sample on both sides, without the folder.
  std::string Error(const std::string& task, const std::string& row, const std::string& label = "") {
    const std::string id = "{\"id\":\"x\"";
    const auto line = [&](const std::string& rest) { return rest.empty() ? "" : id + "," + rest + "}\n"; };
    return Message(RunMetrics(Options(task, line(row), line(row), line(label))).status());
  }
  std::string Message(const Status& status) const {
    std::string message(status.message());
    const std::string folder = files_.Path("");
    for (size_t at = message.find(folder); at != message.npos; at = message.find(folder))
      message.erase(at, folder.size());
    return message;
  }
  static const MetricRow& Find(const MetricsResult& result, std::string_view name) {
    for (const MetricRow& row : result.rows) {
      if (row.metric == name) return row;
    }
    static const MetricRow none;
    ADD_FAILURE() << "no metric " << name;
    return none;
  }
  TestFiles files_;
};

TEST_F(MetricsTest, RefusesWhatClassificationCannotUse) {
  const std::string start = "r: line 1: sample \"x\": ";
  EXPECT_EQ(
      Error("classification", "\"label\":1"),
      start + "\"truth\" is missing; the true class (here, or in a file given by --labels) is expected");
  EXPECT_EQ(Error("classification", "\"label\":1", "\"v\":1"),
            "l: line 1: sample \"x\": \"label\" is missing; the true class (here, or in a file given by "
            "--labels) is expected");
  EXPECT_EQ(Error("classification", "\"v\":1", "\"label\":1"),
            start + "\"label\" is missing; a class, or a \"score\" or \"scores\", is expected");
  EXPECT_EQ(Error("classification", "\"score\":\"high\"", "\"label\":1"),
            start + "\"score\" is \"high\"; a finite number is expected");
  EXPECT_EQ(Error("classification", "\"scores\":{\"a\":null}", "\"label\":\"a\""),
            start + "\"scores.a\" is null; a finite number is expected");
  EXPECT_EQ(Error("classification", "\"scores\":[]", "\"label\":1"),
            start + "\"scores\" is a list of 0; an object {class: score}, or a list of scores, is expected");
  EXPECT_THAT(Error("classification", "\"score\":0.5", "\"label\":\"cat\""),
              HasSubstr("--positive CLASS says whose score it is"));
  MetricsOptions options = Options("classification", "{\"id\":1,\"label\":\"a\"}",
                                   "{\"id\":1,\"label\":\"a\"}", "{\"id\":1,\"label\":\"a\"}");
  options.positive = "z";
  EXPECT_EQ(Message(RunMetrics(options).status()),
            "--positive \"z\": no sample has this class; there are \"a\"");
}

TEST_F(MetricsTest, RefusesWhatTheOtherTasksCannotUse) {
  const std::string start = "r: line 1: sample \"x\": ";
  const auto label = [](const std::string& text) { return "l: line 1: sample \"x\": " + text; };
  EXPECT_EQ(
      Error("logits", "\"v\":1"),
      start +
          "\"logits\" is missing; a list of numbers, or a list of such lists, one per position, is expected");
  EXPECT_EQ(Error("logits", "\"logits\":[1]"),
            start + "\"logits\" is a list of 1; two values or more per position is expected");
  EXPECT_EQ(Error("logits", "\"logits\":[[1,2],[3,null]]"),
            start + "\"logits[1][1]\" is null; a finite number is expected");
  EXPECT_EQ(Error("logits", "\"logits\":[1,2]", "\"label\":2"),
            label("\"label\" is 2; an index from 0 to 1 is expected"));
  EXPECT_EQ(Error("logits", "\"logits\":[1,2]", "\"label\":[0,1]"),
            label("\"label\" is a list of 2; one index for each of 1 positions is expected"));
  EXPECT_EQ(
      Error("detection", "\"objects\":[{\"class\":1,\"box\":[0,0,1],\"score\":1}]", "\"objects\":[]"),
      start +
          "\"objects[0].box\" is a list of 3; [x, y, width, height] with sizes of at least 0 is expected");
  EXPECT_EQ(
      Error("detection", "\"objects\":[{\"class\":1,\"box\":[0,0,1,-1],\"score\":1}]", "\"objects\":[]"),
      start +
          "\"objects[0].box\" is a list of 4; [x, y, width, height] with sizes of at least 0 is expected");
  EXPECT_EQ(Error("detection", "\"objects\":[{\"class\":1,\"box\":[0,0,1,1]}]", "\"objects\":[]"),
            start + "\"objects[0].score\" is missing; a finite number is expected");
  EXPECT_EQ(Error("detection", "\"objects\":[7]", "\"objects\":[]"),
            start + "\"objects[0].class\" is missing; a class (text, an integer, true or false) is expected");
  EXPECT_EQ(Error("detection", "\"objects\":[]"), start +
                                                      "\"truth\" is missing; the list of true objects (here, "
                                                      "or in a file given by --labels) is expected");
  EXPECT_EQ(Error("asr", "\"text\":1", "\"text\":\"a\""), start + "\"text\" is 1; text is expected");
  EXPECT_THAT(Error("asr", "\"text\":\"" + std::string(300'000, 'a') + "\"", "\"text\":\"a\""),
              HasSubstr("\"text\" has 300000 characters; at most 262144 are expected"));
  EXPECT_EQ(Error("retrieval", "\"ranking\":[\"a\",\"a\"]", "\"relevant\":[\"a\"]"),
            start + "\"ranking\" holds \"a\" twice; each document once is expected");
  EXPECT_EQ(Error("retrieval", "\"v\":1", "\"relevant\":[]"),
            start +
                "\"ranking\" is missing; a list of documents, best first, or \"scores\" with an object "
                "{document: score}, is expected");
  EXPECT_EQ(Error("retrieval", "\"ranking\":[]", "\"relevant\":{\"a\":1.5}"),
            label("\"relevant.a\" is 1.5; an integer is expected"));
  EXPECT_EQ(
      Error("forecasting", "\"quantiles\":{\"0.1\":[1]}", "\"truth\":[1]"),
      start + "\"quantiles\" is an object of 1; an object {level: values} with the level 0.5 is expected");
  EXPECT_EQ(
      Error("forecasting", "\"quantiles\":{\"0.5\":[1,2]}", "\"truth\":[1]"),
      start + "\"quantiles.0.5\" is a list of 2; a list of 1 values, as many as the truth has, is expected");
  EXPECT_EQ(Error("forecasting", "\"quantiles\":{\"0.5\":[null]}", "\"truth\":[1]"),
            start + "\"quantiles.0.5[0]\" is null; a finite number is expected");
  EXPECT_EQ(Error("forecasting", "\"quantiles\":{\"0.5\":[1],\"0.50\":[1]}", "\"truth\":[1]"),
            start + "\"quantiles\" names the level 0.5 twice; once is expected");
  EXPECT_EQ(Error("forecasting", "\"quantiles\":{\"p50\":[1]}", "\"truth\":[1]"),
            start + "\"quantiles.p50\" is a list of 1; a name that is a level such as 0.5 is expected");
  EXPECT_EQ(Error("forecasting", "\"quantiles\":{\"0.5\":[1]}", "\"truth\":[1],\"season\":0"),
            label("\"season\" is 0; a whole number of at least 1 is expected"));
  EXPECT_THAT(Error("generation", "\"text\":\"a\"", "\"format\":\"xml\""),
              HasSubstr("\"format\" is \"xml\"; one of the rules' formats (bullet_list, json, "));
}

TEST_F(MetricsTest, RefusesSidesThatDoNotFit) {
  MetricsOptions options = Options("logits", "{\"id\":1,\"logits\":[1,2]}", "{\"id\":1,\"logits\":[1,2,3]}");
  EXPECT_EQ(
      Message(RunMetrics(options).status()),
      "c: line 1: sample \"1\": \"logits\" has 3 values; the reference has 2, and as many are expected");
  options = Options("logits", "{\"id\":1,\"logits\":[1,2]}", "{\"id\":1,\"logits\":[[1,2],[1,2]]}");
  EXPECT_THAT(Message(RunMetrics(options).status()),
              HasSubstr("\"logits\" has 2 positions; the reference has 1"));
  options = Options("forecasting", "{\"id\":1,\"quantiles\":{\"0.5\":[1]}}",
                    "{\"id\":1,\"quantiles\":{\"0.5\":[1],\"0.9\":[1]}}", "{\"id\":1,\"truth\":[1]}");
  EXPECT_THAT(Message(RunMetrics(options).status()), HasSubstr("other levels than the reference"));
}

TEST_F(MetricsTest, RefusesOptions) {
  MetricsOptions options = Options("nosuch", "", "");
  EXPECT_EQ(RunMetrics(options).status().message(),
            "task \"nosuch\" is unknown; there are logits, classification, detection, asr, retrieval, "
            "forecasting, generation");
  options.task = "logits";
  options.ks = {0};
  EXPECT_EQ(RunMetrics(options).status().message(), "--k 0: at least 1 is expected");
  options.ks = {};
  options.thresholds = {1.5};
  EXPECT_EQ(RunMetrics(options).status().message(), "--threshold 1.5: a score from 0 to 1 is expected");
  options.thresholds = {};
  options.resamples = 5;
  EXPECT_EQ(RunMetrics(options).status().message(), "--resamples 5: 100 to 100000 is expected");
  options.resamples = 100;
  options.bands = {"kl=1", "kl=2"};
  EXPECT_EQ(RunMetrics(options).status().message(), "the band of \"kl\" is declared twice; once is expected");
  options = Options("logits", "{\"id\":1,\"logits\":[1,2]}", "{\"id\":1,\"logits\":[1,2]}");
  options.bands = {"kl=1%"};
  EXPECT_EQ(RunMetrics(options).status().message(),
            "the band of kl is 1% of a reference of 0; an absolute band is expected here");
  options.bands = {};
  options.interrupted = [] { return true; };
  EXPECT_EQ(RunMetrics(options).status().code(), absl::StatusCode::kCancelled);
}

// Two sides of 0/1 answers: `wrong_r` and `wrong_c` say which the sides get wrong; all is truly 1.
std::string Labels(int n, const std::function<bool(int)>& wrong) {
  std::string text;
  for (int i = 0; i < n; ++i)
    text += StrCat("{\"id\":", i, ",\"label\":", wrong(i) ? 0 : 1, ",\"truth\":1}\n");
  return text;
}

TEST_F(MetricsTest, VerdictsFollowBandsAndNumbers) {
  const auto never = [](int) { return false; };
  const auto verdict = [&](int n, const std::function<bool(int)>& r, const std::function<bool(int)>& c,
                           const char* band) {
    MetricsOptions options = Options("classification", Labels(n, r), Labels(n, c));
    options.resamples = 100;
    if (*band != 0) options.bands = {band};
    return Run(options);
  };
  const auto tenth = [](int i) { return i % 10 == 0; };
  EXPECT_EQ(verdict(50, never, never, "").verdict(), "unproven");
  EXPECT_EQ(verdict(1000, never, never, "accuracy=0.005").verdict(), "pass");
  const MetricsResult few = verdict(50, never, never, "accuracy=0.005");
  EXPECT_EQ(few.verdict(), "warn");
  EXPECT_NEAR(static_cast<double>(Find(few, "accuracy").samples_needed), 3.8415 * 199, 1.5);
  const MetricsResult worse = verdict(1000, never, tenth, "accuracy=5%");
  EXPECT_EQ(worse.verdict(), "fail");
  EXPECT_EQ(Find(worse, "accuracy").discordant, (std::pair<int64_t, int64_t>(100, 0)));
  EXPECT_LT(Find(worse, "accuracy").p_value, 1e-20);
  EXPECT_DOUBLE_EQ(worse.agreement, 0.9);
  const MetricsResult better = verdict(1000, tenth, never, "accuracy=5%");
  EXPECT_EQ(better.verdict(), "warn");
  EXPECT_THAT(Find(better, "accuracy").reason, HasSubstr("suspicious"));
  EXPECT_EQ(verdict(1000, tenth, tenth, "accuracy=1%").verdict(), "pass");
}

TEST_F(MetricsTest, AReferenceWithoutTheTruthUsesLabels) {
  const MetricsResult result =
      Run(Options("classification", Labels(10, [](int i) { return i < 2; }),
                  Labels(10, [](int i) { return i < 5; }), Labels(10, [](int i) { return i == 0; })));
  EXPECT_DOUBLE_EQ(Find(result, "accuracy").reference, 0.9);
  EXPECT_DOUBLE_EQ(Find(result, "accuracy").candidate, 0.6);
}

TEST_F(MetricsTest, GenerationSets) {
  const MetricsResult result = Run(Options("generation",
                                           R"({"id":1,"text":"Paris."}
{"id":2,"text":"I can't help with that."}
{"id":3,"text":"{\"a\":1}"}
{"id":4,"text":"See [doc-1] and [doc-2]."}
{"id":5,"text":"可以，如下。"}
)",
                                           R"({"id":1,"text":"London"}
{"id":2,"text":"Sure: first ..."}
{"id":3,"text":"{\"a\":1"}
{"id":4,"text":"See [doc-9]."}
{"id":5,"text":"抱歉，我无法回答。"}
)",
                                           R"({"id":1,"expected":["paris","the city of paris"]}
{"id":2,"must_refuse":true}
{"id":3,"format":"json_object"}
{"id":4,"citations":["doc-1","doc-3"]}
{"id":5,"must_refuse":false}
)"));
  const auto expect = [&](const char* name, double reference, double candidate, int64_t samples) {
    const MetricRow& row = Find(result, name);
    EXPECT_DOUBLE_EQ(row.reference, reference) << name;
    EXPECT_DOUBLE_EQ(row.candidate, candidate) << name;
    EXPECT_EQ(row.samples, samples) << name;
  };
  expect("agreement", 1, 0, 5);
  expect("exact_match", 1, 0, 1);
  expect("refusal_rate", 0.2, 0.2, 5);
  expect("refusal_right", 1, 0, 2);
  expect("format", 1, 0, 1);
  expect("citation_hit", 1, 0, 1);
  expect("citation_recall", 0.5, 0, 1);
  EXPECT_EQ(result.rules_name, "shipped generation_rules.toml");
  EXPECT_EQ(result.rules_digest.size(), 64u);
}

TEST_F(MetricsTest, GenerationLeavesOutWhatNobodyAskedFor) {
  const MetricsResult result =
      Run(Options("generation", "{\"id\":1,\"text\":\"a\"}", "{\"id\":1,\"text\":\"a\"}"));
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_EQ(result.rows[1].metric, "refusal_rate");
}

constexpr char kRequired[] = R"(schema = "plinth.required/1"
[[group]]
name = "long"
at_least = 2
tags = ["long"]
[[group]]
name = "named"
ids = ["0", "7", "ghost"]
[[group]]
name = "few"
at_least = 1
tags = ["few"]
)";

TEST_F(MetricsTest, RequiredSamplesHaveScoresOfTheirOwn) {
  std::string tags;
  for (int i = 0; i < 10; ++i)
    tags += StrCat("{\"id\":", i, ",\"label\":1,\"tags\":[", i < 2 ? "\"long\"" : "", "]}\n");
  MetricsOptions options = Options("classification", Labels(10, [](int) { return false; }),
                                   Labels(10, [](int i) { return i == 0; }), tags);
  options.required_file = files_.Write("q.toml", kRequired);
  const MetricsResult result = Run(options);
  EXPECT_EQ(result.verdict(), "fail");
  ASSERT_EQ(result.groups.size(), 3u);
  EXPECT_EQ(result.groups[0].status, CheckStatus::kPassed);
  EXPECT_EQ(result.groups[0].present, 2);
  EXPECT_EQ(result.groups[0].scores[1].metric, "accuracy");
  EXPECT_DOUBLE_EQ(result.groups[0].scores[1].candidate, 0.5);
  EXPECT_EQ(result.groups[1].status, CheckStatus::kMissing);
  EXPECT_EQ(result.groups[1].reason, "lacks \"ghost\"");
  EXPECT_EQ(result.groups[2].reason, "holds 0 of at least 1 samples with the tag \"few\"");
  EXPECT_TRUE(result.groups[2].scores.empty());
  EXPECT_EQ(result.required_digest.size(), 64u);

  const auto error = [&](const std::string& text) {
    options.required_file = files_.Write("bad.toml", text);
    return Message(RunMetrics(options).status());
  };
  const std::string schema = "schema = \"plinth.required/1\"\n";
  EXPECT_THAT(error(schema), HasSubstr("one table [[group]] or more is expected"));
  EXPECT_THAT(error(schema + "[[group]]\nname = \"a\"\n"),
              HasSubstr("a list of tags, or of ids in \"ids\", is expected"));
  EXPECT_THAT(error(schema + "[[group]]\ntags = [\"a\"]\n"), HasSubstr("\"group[0].name\" is missing"));
  EXPECT_THAT(
      error(schema + "[[group]]\nname = \"a\"\ntags = [\"a\"]\n[[group]]\nname = \"a\"\ntags = [\"a\"]\n"),
      HasSubstr("a name that no other group has"));
}

TEST_F(MetricsTest, ShippedTemplateOfRequiredSamplesIsGood) {
  MetricsOptions options =
      Options("classification", Labels(3, [](int) { return false; }), Labels(3, [](int) { return false; }));
  options.required_file = SourcePath("cases/required_samples.toml");
  EXPECT_EQ(Run(options).groups.size(), 5u);
}

TEST_F(MetricsTest, WritesEachSample) {
  MetricsOptions options = Options("asr", "{\"id\":\"a\",\"text\":\"x y\"}\n{\"id\":\"b\",\"text\":\"\"}\n",
                                   "{\"id\":\"b\",\"text\":\"z\"}\n{\"id\":\"a\",\"text\":\"x\"}\n",
                                   "{\"id\":\"a\",\"text\":\"x y\"}\n{\"id\":\"b\",\"text\":\"\"}\n");
  options.samples_file = files_.Path("s.jsonl");
  Run(options);
  const std::string text = *ReadFile(options.samples_file, 1 << 20);
  const std::string first = text.substr(0, text.find('\n'));
  EXPECT_EQ(json::parse(first)["wer"]["difference"], 0.5);
  EXPECT_EQ(json::parse(first)["id"], "a");
  // A sample without words has no rate.
  EXPECT_FALSE(json::parse(text.substr(first.size()))["wer"].is_object());
}

TEST_F(MetricsTest, OrderOfTheCandidateDoesNotMatter) {
  std::string forward, backward, labels;
  for (int i = 0; i < 40; ++i) {
    const std::string row = StrCat("{\"id\":", i, ",\"text\":\"a b ", i % 3, "\"}\n");
    forward += row;
    backward = row + backward;
    labels += StrCat("{\"id\":", i, ",\"text\":\"a b ", i % 2, "\"}\n");
  }
  const MetricsResult one = Run(Options("asr", labels, forward, labels));
  const MetricsResult two = Run(Options("asr", labels, backward, labels));
  for (size_t i = 0; i < one.rows.size(); ++i) {
    EXPECT_EQ(one.rows[i].candidate, two.rows[i].candidate);
    EXPECT_EQ(one.rows[i].interval, two.rows[i].interval);
  }
}

TEST_F(MetricsTest, JsonIsOneObjectPerLine) {
  MetricsOptions options = Options("classification", Labels(30, [](int i) { return i < 2; }),
                                   Labels(30, [](int i) { return i < 3; }));
  options.bands = {"accuracy=0.1"};
  const MetricsResult result = Run(options);
  std::istringstream lines(ToJson(result));
  std::vector<json> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(json::parse(line));
  ASSERT_EQ(rows.size(), result.rows.size() + 1);
  EXPECT_EQ(rows[1]["metric"], "accuracy");
  EXPECT_EQ(rows[1]["band"], "0.1");
  EXPECT_EQ(rows[1]["only_reference"], 1);
  EXPECT_EQ(rows[1]["only_candidate"], 0);
  EXPECT_EQ(rows[1]["mcnemar_p"], 1.0);
  EXPECT_EQ(rows[1]["interval"].size(), 2u);
  EXPECT_EQ(rows[0]["band"], nullptr);
  EXPECT_EQ(rows.back()["summary"], true);
  EXPECT_EQ(rows.back()["compared"], rows.size() - 1);
  EXPECT_EQ(rows.back()["verdict"], result.verdict());
  EXPECT_EQ(rows.back()["digests"]["reference"], result.reference_digest);
}

}  // namespace
}  // namespace plinth::verify::metrics
