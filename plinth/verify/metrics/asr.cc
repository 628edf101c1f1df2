// Speech recognition: word, character and sentence error rates, over all samples as jiwer counts them: errors
// of all samples by symbols of all truths.
#include <unordered_map>

#include "plinth/verify/metrics/edit_distance.h"
#include "plinth/verify/metrics/task.h"
#include "plinth/verify/metrics/transcript.h"

namespace plinth::verify::metrics {
namespace {

// Of one transcript; the work of a comparison grows with the product of two.
constexpr size_t kMostSymbols = size_t{1} << 18;

class AsrTask : public Task {
 public:
  explicit AsrTask(TranscriptRules rules) : rules_(std::move(rules)) {
    Between("agreement", Better::kHigher, 1);
    wer_ = Mean("wer", Better::kLower);
    cer_ = Mean("cer", Better::kLower);
    ser_ = Mean("ser", Better::kLower);
    metrics[wer_].sum_without_weights = metrics[cer_].sum_without_weights = true;
  }

  Status Add(const Sample& sample) override {
    const char* key = sample.TruthKey("text");
    if (sample.truth.Find(key) == nullptr) {
      return sample.truth.Refuse(key, nullptr, "the true transcript (here, or in a file given by --labels)");
    }
    PLINTH_ASSIGN_OR_RETURN(const auto truth, Read(sample.truth, key));
    PLINTH_ASSIGN_OR_RETURN(const auto reference, Read(sample.reference, "text"));
    PLINTH_ASSIGN_OR_RETURN(const auto candidate, Read(sample.candidate, "text"));
    std::unordered_map<std::string, uint32_t> numbers;
    const auto numbered = [&](const std::vector<std::string>& words) {
      std::vector<uint32_t> out;
      for (const std::string& word : words) {
        out.push_back(numbers.try_emplace(word, static_cast<uint32_t>(numbers.size())).first->second);
      }
      return out;
    };
    const std::vector<uint32_t> true_words = numbered(truth.words);
    const auto words_wrong = [&](const TranscriptRules::Symbols& s) {
      return static_cast<double>(EditDistance(true_words, numbered(s.words)));
    };
    const auto characters_wrong = [&](const TranscriptRules::Symbols& s) {
      return static_cast<double>(EditDistance(truth.characters, s.characters));
    };
    const double wrong[2] = {words_wrong(reference), words_wrong(candidate)};
    const size_t i = sample.index;
    metrics[wer_].Set(i, wrong[0], wrong[1], static_cast<double>(truth.words.size()));
    metrics[cer_].Set(i, characters_wrong(reference), characters_wrong(candidate),
                      static_cast<double>(truth.characters.size()));
    metrics[ser_].Set(i, wrong[0] > 0 ? 1 : 0, wrong[1] > 0 ? 1 : 0);
    metrics[0].Set(i, 0, reference.words == candidate.words ? 1 : 0);
    return absl::OkStatus();
  }

 private:
  StatusOr<TranscriptRules::Symbols> Read(const Row& row, const char* key) const {
    PLINTH_ASSIGN_OR_RETURN(const std::string text, row.Text(key));
    TranscriptRules::Symbols symbols = rules_.Cut(text);
    if (symbols.characters.size() > kMostSymbols) {
      return row.Refuse(StrCat("\"", key, "\" has ", symbols.characters.size(), " characters; at most ",
                               kMostSymbols, " are expected"));
    }
    return symbols;
  }

  const TranscriptRules rules_;
  size_t wer_, cer_, ser_;
};

}  // namespace

StatusOr<std::unique_ptr<Task>> MakeAsrTask(const MetricsOptions& options) {
  PLINTH_ASSIGN_OR_RETURN(TranscriptRules rules,
                          options.rules_file.empty()
                              ? TranscriptRules::Shipped(options.language)
                              : TranscriptRules::Load(options.rules_file, options.language));
  const std::string digest = rules.digest();
  auto task = std::make_unique<AsrTask>(std::move(rules));
  task->rules_digest = digest;
  task->rules_name = StrCat(options.rules_file.empty() ? "shipped asr_rules.toml" : options.rules_file, " [",
                            options.language, "]");
  return task;
}

}  // namespace plinth::verify::metrics
