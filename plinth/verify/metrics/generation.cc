// Generated answers: exact match, adherence to a format, refusals, citations; by rules that are data.
#include <algorithm>

#include "plinth/verify/metrics/answer_rules.h"
#include "plinth/verify/metrics/task.h"

namespace plinth::verify::metrics {
namespace {

class GenerationTask : public Task {
 public:
  explicit GenerationTask(AnswerRules rules) : rules_(std::move(rules)) {
    Between("agreement", Better::kHigher, 1);
    refusal_ = Mean("refusal_rate", Better::kNeither);
    exact_match_ = Mean("exact_match", Better::kHigher);
    format_ = Mean("format", Better::kHigher);
    refusal_right_ = Mean("refusal_right", Better::kHigher);
    citation_hit_ = Mean("citation_hit", Better::kHigher);
    citation_recall_ = Mean("citation_recall", Better::kHigher);
  }

  Status Add(const Sample& sample) override {
    std::string answers[2];
    PLINTH_ASSIGN_OR_RETURN(answers[0], sample.reference.Text("text"));
    PLINTH_ASSIGN_OR_RETURN(answers[1], sample.candidate.Text("text"));
    const size_t i = sample.index;
    metrics[0].Set(i, 0, answers[0] == answers[1] ? 1 : 0);
    const bool refuses[2] = {rules_.Refuses(answers[0]), rules_.Refuses(answers[1])};
    metrics[refusal_].Set(i, refuses[0] ? 1 : 0, refuses[1] ? 1 : 0);
    if (sample.truth.Find("must_refuse") != nullptr) {
      PLINTH_ASSIGN_OR_RETURN(const bool must, sample.truth.FlagOr("must_refuse", false));
      metrics[refusal_right_].Set(i, refuses[0] == must ? 1 : 0, refuses[1] == must ? 1 : 0, 1);
    }
    PLINTH_RETURN_IF_ERROR(AddExactMatch(sample, answers));
    PLINTH_RETURN_IF_ERROR(AddFormat(sample, answers));
    return AddCitations(sample, answers);
  }

  // What no sample asks for is no metric of this run.
  Status Finish() override {
    std::erase_if(metrics, [](const SampleMetric& m) { return m.candidate.empty(); });
    return absl::OkStatus();
  }

 private:
  Status AddExactMatch(const Sample& sample, const std::string (&answers)[2]) {
    if (sample.truth.Find("expected") == nullptr) return absl::OkStatus();
    PLINTH_ASSIGN_OR_RETURN(std::vector<std::string> expected, sample.truth.Texts("expected"));
    for (std::string& text : expected) text = rules_.Comparable(text);
    const auto hit = [&](const std::string& answer) {
      return std::find(expected.begin(), expected.end(), rules_.Comparable(answer)) != expected.end() ? 1 : 0;
    };
    metrics[exact_match_].Set(sample.index, hit(answers[0]), hit(answers[1]), 1);
    return absl::OkStatus();
  }

  Status AddFormat(const Sample& sample, const std::string (&answers)[2]) {
    const formats::JsonValue* value = sample.truth.Find("format");
    if (value == nullptr) return absl::OkStatus();
    const AnswerFormat* format = value->text() == nullptr ? nullptr : rules_.Format(*value->text());
    if (format == nullptr) {
      return sample.truth.Refuse(
          "format", value, StrCat("one of the rules' formats (", Join(rules_.FormatNames(), ", "), ")"));
    }
    metrics[format_].Set(sample.index, format->Adheres(answers[0]) ? 1 : 0,
                         format->Adheres(answers[1]) ? 1 : 0, 1);
    return absl::OkStatus();
  }

  Status AddCitations(const Sample& sample, const std::string (&answers)[2]) {
    PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> wanted, sample.truth.Texts("citations"));
    if (wanted.empty()) return absl::OkStatus();
    double found[2];
    for (int side = 0; side < 2; ++side) {
      const std::vector<std::string> cited = rules_.Citations(answers[side]);
      found[side] =
          static_cast<double>(std::count_if(wanted.begin(), wanted.end(), [&](const std::string& source) {
            return std::find(cited.begin(), cited.end(), source) != cited.end();
          }));
    }
    const auto n = static_cast<double>(wanted.size());
    metrics[citation_hit_].Set(sample.index, found[0] > 0 ? 1 : 0, found[1] > 0 ? 1 : 0, 1);
    metrics[citation_recall_].Set(sample.index, found[0] / n, found[1] / n, 1);
    return absl::OkStatus();
  }

  const AnswerRules rules_;
  size_t refusal_, exact_match_, format_, refusal_right_, citation_hit_, citation_recall_;
};

}  // namespace

StatusOr<std::unique_ptr<Task>> MakeGenerationTask(const MetricsOptions& options) {
  PLINTH_ASSIGN_OR_RETURN(AnswerRules rules, options.rules_file.empty()
                                                 ? AnswerRules::Shipped()
                                                 : AnswerRules::Load(options.rules_file));
  const std::string digest = rules.digest();
  auto task = std::make_unique<GenerationTask>(std::move(rules));
  task->rules_digest = digest;
  task->rules_name = options.rules_file.empty() ? "shipped generation_rules.toml" : options.rules_file;
  return task;
}

}  // namespace plinth::verify::metrics
