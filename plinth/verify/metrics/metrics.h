// Runs the task metrics of an acceptance: a reference's and a candidate's answers to the same samples,
// paired.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/verify/rows.h"

namespace plinth::verify::metrics {

// Which way a metric is good. kNeither: any change beyond the band is bad (coverage, a refusal rate).
enum class Better : uint8_t { kHigher, kLower, kNeither };

// A tolerance that was declared before the run.
struct Band {
  double amount = 0;      // at least 0
  bool relative = false;  // a share of the reference's value instead of an absolute difference
  std::string text;       // as declared: "0.005", "2%"
};

struct MetricsOptions {
  std::string task;       // TaskNames()
  std::string reference;  // JSON lines of answers; keys in docs/metrics.md
  std::string candidate;
  std::string labels;              // empty: the truth, where a task needs one, stands in the reference's rows
  std::vector<std::string> bands;  // "METRIC=0.005" (absolute), "METRIC=2%" (of the reference's value)
  std::string bands_file;          // TOML with a table [bands]
  std::string required_file;       // TOML with groups of samples that must be there
  std::string rules_file;          // normalisation (asr) or generation rules; empty: the shipped ones
  std::string language = "en";     // asr: which table of the rules
  std::vector<double> thresholds;  // classification, detection; empty: 0.5
  std::vector<int64_t> ks;         // logits, retrieval; empty: 1, 5, 10
  std::string positive;            // classification: the positive class; empty: 1, or true
  int64_t season = 1;              // forecasting, where a row of the labels says nothing
  uint64_t seed = 0;               // of the bootstrap
  int64_t resamples = 2000;        // of the bootstrap, 100 to 100000
  std::string samples_file;        // where to write each sample's values as JSON lines; empty: nowhere
  std::function<bool()> interrupted;  // polled; may be empty
};

// One metric. Values that are not defined (AUC of one class) are NaN and become null in JSON.
struct MetricRow {
  std::string metric;
  Better better = Better::kHigher;
  double reference = 0;  // for metrics between the two sides, what the reference has against itself
  double candidate = 0;
  double difference = 0;                              // candidate - reference
  std::optional<std::pair<double, double>> interval;  // of the difference, 95 %
  std::string method;                                 // how the interval was made
  int64_t samples = 0;                                // that count for this metric
  std::optional<Band> band;
  CheckStatus status = CheckStatus::kUnproven;  // passed, warned, failed, unproven
  std::string reason;                           // why it is no pass; one sentence
  // So many samples of the same kind would let the interval exclude a difference beyond the band; 0: it does,
  // or no number would.
  int64_t samples_needed = 0;
  // Outcomes of 0 and 1 only: samples that only the reference or only the candidate got right, and McNemar's
  // exact two-sided probability of a split at least as uneven when neither is better.
  std::optional<std::pair<int64_t, int64_t>> discordant;
  double p_value = 1;
};

// A group of the required list.
struct GroupRow {
  std::string group;
  int64_t required = 0, present = 0;
  std::vector<std::string> missing_ids;  // of those that were named; the first ten
  int64_t missing = 0;
  CheckStatus status = CheckStatus::kPassed;  // passed or missing
  std::string reason;
  struct Score {
    std::string metric;
    double reference, candidate, difference;
  };
  std::vector<Score> scores;  // over this group's samples alone
};

struct MetricsResult {
  std::string task;
  int64_t samples = 0;
  double agreement = 0;  // share of samples with identical answers, as the task defines it
  std::vector<MetricRow> rows;
  std::vector<GroupRow> groups;
  // SHA-256 of what the result rests on; empty where there was no such file.
  std::string reference_digest, candidate_digest, labels_digest, bands_digest, required_digest, rules_digest;
  std::string rules_name;  // the file, or the shipped one's name
  std::string details;     // JSON object of what only this task reports (the confusion matrix), or empty
  uint64_t seed = 0;

  int64_t Count(CheckStatus status) const;  // rows and groups
  // "fail" where anything failed or is missing, else "warn" where anything is warned, else "pass" where a
  // band was declared, else "unproven".
  std::string_view verdict() const;
};

// "logits", "classification", "detection", "asr", "retrieval", "forecasting", "generation".
const std::vector<std::string>& TaskNames();

// Reads both sides in step (any order of samples will do; what is out of step is held in memory), scores
// them, and judges each metric that has a band by the interval of the paired difference. Definitions and
// sources: docs/metrics.md. Errors: FileError; Cancelled; InvalidArgument "FILE: line N: what, what would be
// right" for broken lines, samples that appear twice or on one side only, values that a task cannot use,
// bands for metrics that the task does not have.
StatusOr<MetricsResult> RunMetrics(const MetricsOptions& options);

// One object per metric and per group, and the summary, each on a line of its own.
std::string ToJson(const MetricsResult& result);
// The same for people, several lines.
std::string ToText(const MetricsResult& result);

}  // namespace plinth::verify::metrics

namespace plinth::verify {
using metrics::MetricsOptions;
using metrics::MetricsResult;
using metrics::RunMetrics;
}  // namespace plinth::verify
