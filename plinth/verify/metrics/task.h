// What a task gives to the judge: each metric as a function of how often each sample counts.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plinth/verify/metrics/metrics.h"
#include "plinth/verify/metrics/samples.h"

namespace plinth::verify::metrics {

// A metric that is made of one number per sample and side.
struct SampleMetric {
  enum class Fold : uint8_t { kMean, kMax, kMin };
  std::string name;
  Better better = Better::kHigher;
  Fold fold = Fold::kMean;
  // A metric between the two sides has no value of the reference's own: this one, the reference against
  // itself.
  bool between = false;
  double ideal = 0;
  // Mean: where no sample has a weight, the sum of values stands alone (jiwer: words inserted into silence).
  bool sum_without_weights = false;
  // Mean: the sum of values over the sum of weights (errors over words). A sample that does not take part has
  // both 0. `reference` stays empty where `between`; `weight` empty means 1 throughout. Largest and smallest:
  // over samples whose weight is not 0.
  std::vector<double> reference, candidate, weight;

  double Weight(size_t i) const { return weight.empty() ? 1 : weight[i]; }
  double Reference(size_t i) const { return between ? ideal * Weight(i) : reference[i]; }
  // Grows the columns as needed; samples come in any order.
  void Set(size_t i, double reference_value, double candidate_value);
  void Set(size_t i, double reference_value, double candidate_value, double sample_weight);
  // The value over samples, each counted counts[i] times (empty: once); NaN where none takes part.
  double Value(bool of_candidate, std::span<const uint32_t> counts) const;
};

// Metrics that only all samples together have (F1, AUC, mAP).
class JointMetrics {
 public:
  virtual ~JointMetrics() = default;
  struct Name {
    std::string name;
    Better better = Better::kHigher;
  };
  virtual const std::vector<Name>& names() const = 0;
  // Values, in the order of names(), of one side over samples counted counts[i] times (empty: once); NaN
  // where not defined.
  virtual void Evaluate(bool of_candidate, std::span<const uint32_t> counts, std::span<double> out) const = 0;
  // Rough number of steps of one Evaluate, from which the number of resamples is chosen.
  virtual double Steps() const = 0;
};

class Task {
 public:
  virtual ~Task() = default;
  // Errors: InvalidArgument from the sample's rows.
  virtual Status Add(const Sample& sample) = 0;
  // After the last sample. Errors: InvalidArgument for what only the whole shows.
  virtual Status Finish() { return absl::OkStatus(); }
  // JSON object of what only this task reports, or empty.
  virtual std::string Details() const { return ""; }
  // Where rules were used: their name and digest.
  std::string rules_name, rules_digest;

  // Deques would do; a fixed order of metrics is what matters. The first is "agreement".
  std::vector<SampleMetric> metrics;
  std::vector<std::unique_ptr<JointMetrics>> joint;

 protected:
  // Adds a metric and gives its index; metrics move as more are added.
  size_t Mean(std::string name, Better better);
  // One between the two sides.
  size_t Between(std::string name, Better better, double ideal,
                 SampleMetric::Fold fold = SampleMetric::Fold::kMean);
};

// One maker per task; errors are those of options and rule files.
StatusOr<std::unique_ptr<Task>> MakeLogitsTask(const MetricsOptions& options);
StatusOr<std::unique_ptr<Task>> MakeClassificationTask(const MetricsOptions& options);
StatusOr<std::unique_ptr<Task>> MakeDetectionTask(const MetricsOptions& options);
StatusOr<std::unique_ptr<Task>> MakeAsrTask(const MetricsOptions& options);
StatusOr<std::unique_ptr<Task>> MakeRetrievalTask(const MetricsOptions& options);
StatusOr<std::unique_ptr<Task>> MakeForecastingTask(const MetricsOptions& options);
StatusOr<std::unique_ptr<Task>> MakeGenerationTask(const MetricsOptions& options);

// `options.ks` sorted, or 1, 5 and 10. Error: InvalidArgument for one below 1.
StatusOr<std::vector<int64_t>> SortedKs(const MetricsOptions& options);

}  // namespace plinth::verify::metrics
