#include "plinth/verify/metrics/judgement.h"

#include <algorithm>
#include <cmath>

#include "plinth/base/interrupt.h"
#include "plinth/base/random.h"
#include "plinth/verify/metrics/paired.h"

namespace plinth::verify::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool ZeroOrOne(double x) { return x == 0 || x == 1; }

// Whether each sample has the outcome 0 or 1 on both sides.
bool IsBinary(const SampleMetric& m) {
  for (size_t i = 0; i < m.candidate.size(); ++i) {
    const double weight = m.Weight(i), candidate = m.candidate[i], reference = m.Reference(i);
    if (!ZeroOrOne(weight) || !ZeroOrOne(candidate) || !ZeroOrOne(reference)) return false;
    if (candidate > weight || reference > weight) return false;  // an error in a sample of no words
  }
  return true;
}

int64_t Participants(const SampleMetric& m) {
  if (m.weight.empty()) return static_cast<int64_t>(m.candidate.size());
  return std::count_if(m.weight.begin(), m.weight.end(), [](double w) { return w != 0; });
}

void BinaryInterval(const SampleMetric& m, MetricRow* row) {
  int64_t only_reference = 0, only_candidate = 0, candidate = 0;
  for (size_t i = 0; i < m.candidate.size(); ++i) {
    if (m.Weight(i) == 0) continue;
    candidate += m.candidate[i] == 1;
    only_reference += m.Reference(i) > m.candidate[i];
    only_candidate += m.candidate[i] > m.Reference(i);
  }
  const auto n = static_cast<double>(row->samples);
  if (m.between) {
    const auto [low, high] = WilsonInterval(static_cast<double>(candidate), n);
    row->interval = {low - m.ideal, high - m.ideal};
    row->method = "Wilson score interval";
    return;
  }
  row->interval = TangoInterval(static_cast<double>(only_candidate), static_cast<double>(only_reference), n);
  row->method = "Tango score interval";
  row->discordant = {only_reference, only_candidate};
  row->p_value = McNemarExact(only_reference, only_candidate);
}

// Student's interval of the ratio sum(d) / sum(w), linearised (delta method).
void LinearInterval(const SampleMetric& m, MetricRow* row) {
  const auto n = static_cast<double>(row->samples);
  double weights = 0, squares = 0;
  for (size_t i = 0; i < m.candidate.size(); ++i) weights += m.Weight(i);
  for (size_t i = 0; i < m.candidate.size(); ++i) {
    const double rest = m.candidate[i] - m.Reference(i) - row->difference * m.Weight(i);
    squares += rest * rest;
  }
  const double error = std::sqrt(squares * n / (n - 1)) / weights;
  const double half = StudentQuantile(0.975, n - 1) * error;
  row->interval = {row->difference - half, row->difference + half};
  row->method = "Student's t of the linearised mean";
}

// The draws of one metric's difference.
struct Draws {
  MetricRow* row;
  std::vector<double> values;
};

void DrawnInterval(Draws& draws, int64_t resamples) {
  auto& values = draws.values;
  const size_t wanted = values.size();
  std::erase_if(values, [](double v) { return std::isnan(v); });
  MetricRow& row = *draws.row;
  // A statistic that most resamples do not define has no interval.
  if (values.size() * 2 <= wanted || row.samples < 2) return;
  std::sort(values.begin(), values.end());
  row.interval = ExpandedPercentile(values, row.samples);
  row.method = StrCat("paired bootstrap, ", resamples, " resamples, expanded percentiles");
}

class Bootstrap {
 public:
  Bootstrap(int64_t samples, const MetricsOptions& options)
      : samples_(static_cast<size_t>(samples)), options_(options), random_(options.seed), counts_(samples_) {}

  void Add(const SampleMetric& metric, MetricRow* row) {
    Mean mean;
    mean.draws.row = row;
    mean.difference.resize(samples_);
    for (size_t i = 0; i < metric.candidate.size(); ++i)
      mean.difference[i] = metric.candidate[i] - metric.Reference(i);
    mean.weight = metric.weight;
    if (!mean.weight.empty()) mean.weight.resize(samples_);
    means_.push_back(std::move(mean));
  }
  void Add(const JointMetrics& metrics, MetricRow* rows) {
    Joint joint{&metrics, {}, 0};
    const double steps = std::max(1.0, metrics.Steps());
    // About a second of work for each side.
    joint.resamples = std::clamp<int64_t>(static_cast<int64_t>(2e8 / steps),
                                          std::min<int64_t>(100, options_.resamples), options_.resamples);
    for (size_t i = 0; i < metrics.names().size(); ++i) joint.draws.push_back({rows + i, {}});
    joints_.push_back(std::move(joint));
  }

  Status Run() {
    int64_t most = means_.empty() ? 0 : options_.resamples;
    for (const Joint& joint : joints_) most = std::max(most, joint.resamples);
    if (samples_ < 2) return absl::OkStatus();
    for (int64_t r = 0; r < most; ++r) {
      if (Interrupted() || (options_.interrupted && options_.interrupted()))
        return absl::CancelledError("interrupted");
      std::fill(counts_.begin(), counts_.end(), 0);
      for (size_t i = 0; i < samples_; ++i) ++counts_[random_.Below(samples_)];
      for (Mean& mean : means_) mean.draws.values.push_back(DrawMean(mean));
      for (Joint& joint : joints_) {
        if (r < joint.resamples) DrawJoint(joint);
      }
    }
    for (Mean& mean : means_) DrawnInterval(mean.draws, options_.resamples);
    for (Joint& joint : joints_) {
      for (Draws& draws : joint.draws) DrawnInterval(draws, joint.resamples);
    }
    return absl::OkStatus();
  }

 private:
  struct Mean {
    Draws draws;
    std::vector<double> difference, weight;
  };
  struct Joint {
    const JointMetrics* metrics;
    std::vector<Draws> draws;
    int64_t resamples;
  };

  double DrawMean(const Mean& mean) const {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < samples_; ++i) sum += counts_[i] * mean.difference[i];
    if (mean.weight.empty()) return sum / static_cast<double>(samples_);
    for (size_t i = 0; i < samples_; ++i) weights += counts_[i] * mean.weight[i];
    return weights == 0 ? kNan : sum / weights;
  }
  void DrawJoint(Joint& joint) const {
    std::vector<double> reference(joint.draws.size()), candidate(joint.draws.size());
    joint.metrics->Evaluate(false, counts_, reference);
    joint.metrics->Evaluate(true, counts_, candidate);
    for (size_t i = 0; i < joint.draws.size(); ++i)
      joint.draws[i].values.push_back(candidate[i] - reference[i]);
  }

  const size_t samples_;
  const MetricsOptions& options_;
  Random random_;
  std::vector<uint32_t> counts_;
  std::vector<Mean> means_;
  std::vector<Joint> joints_;
};

// How far the candidate is worse (positive) or better than the reference, and the worst that the interval
// allows.
struct Loss {
  double seen, worst, best;
};
Loss LossOf(const MetricRow& row) {
  const double d = row.difference;
  const Interval interval = row.interval.value_or(Interval{d, d});
  switch (row.better) {
    case Better::kHigher:
      return {-d, -interval.first, -interval.second};
    case Better::kLower:
      return {d, interval.second, interval.first};
    case Better::kNeither:
      break;
  }
  return {std::abs(d), std::max(std::abs(interval.first), std::abs(interval.second)), std::abs(d)};
}

// Samples of the same kind after which the interval would end at the band.
int64_t SamplesNeeded(const MetricRow& row, const Loss& loss, double band) {
  const auto n = static_cast<double>(row.samples);
  if (loss.seen >= band) return 0;
  if (!row.discordant.has_value()) {
    // Widths shrink with the root of the number.
    const double ratio = (loss.worst - loss.seen) / (band - loss.seen);
    return static_cast<int64_t>(std::min(std::ceil(n * ratio * ratio), 1e15));
  }
  const double b = static_cast<double>(row.discordant->second) / n,
               c = static_cast<double>(row.discordant->first) / n;
  double low = n, high = n;
  const auto excludes = [&](double size) {
    MetricRow planned = row;
    planned.interval = TangoInterval(b * size, c * size, size);
    return LossOf(planned).worst <= band;
  };
  while (!excludes(high) && high < 1e15) high *= 2;
  while (high - low > 0.5) {
    const double middle = (low + high) / 2;
    (excludes(middle) ? high : low) = middle;
  }
  return static_cast<int64_t>(std::ceil(high));
}

std::string IntervalText(const MetricRow& row) {
  if (!row.interval.has_value()) return "";
  return StrCat("; 95 % interval of the difference [", row.interval->first, ", ", row.interval->second, "]");
}

MetricRow NewRow(std::string name, Better better, double reference, double candidate, int64_t samples,
                 const Bands& bands) {
  MetricRow row{.metric = std::move(name),
                .better = better,
                .reference = reference,
                .candidate = candidate,
                .difference = candidate - reference,
                .samples = samples};
  const auto band = bands.find(row.metric);
  if (band != bands.end()) row.band = band->second;
  return row;
}

Status CheckBands(const std::vector<MetricRow>& rows, const Bands& bands, const std::string& task) {
  for (const auto& [name, band] : bands) {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const MetricRow& r) { return r.metric == name; });
    if (row == rows.end()) {
      return absl::InvalidArgumentError(StrCat(
          "the band of ", formats::QuotedShort(name), ": ", task, " has no such metric here; there are ",
          Join(rows, ", ", [](const MetricRow& r) { return r.metric; })));
    }
    if (band.relative && row->reference == 0) {
      return absl::InvalidArgumentError(StrCat("the band of ", name, " is ", band.text,
                                               " of a reference of 0; an absolute band is expected here"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void JudgeRow(MetricRow* row) {
  if (!row->band.has_value()) {
    row->status = CheckStatus::kUnproven;
    row->reason = "no band was declared before the run";
    return;
  }
  if (!std::isfinite(row->difference)) {
    row->status = CheckStatus::kFailed;
    row->reason = "a band was declared, but the metric is not defined for these samples";
    return;
  }
  const double band = row->band->relative ? row->band->amount * std::abs(row->reference) : row->band->amount;
  const Loss loss = LossOf(*row);
  // A difference that equals the band may come out a rounding above it: 0.95 - 0.94 against 0.01.
  const double rounding = std::ldexp(std::max(std::abs(row->reference), std::abs(row->candidate)), -50);
  const double within = band + rounding;
  const std::string band_text = row->band->relative ? StrCat("the band of ", row->band->text, " (", band, ")")
                                                    : StrCat("the band of ", row->band->text);
  const char* worse = row->better == Better::kNeither ? "differs by " : "is worse by ";
  if (loss.seen > within) {
    row->status = CheckStatus::kFailed;
    row->reason = StrCat(worse, loss.seen, ", beyond ", band_text, IntervalText(*row));
  } else if (loss.seen < -within) {
    row->status = CheckStatus::kWarned;
    row->reason = StrCat("is better by ", -loss.seen, ", beyond ", band_text,
                         ": suspicious, an exact port has no reason to be better", IntervalText(*row));
  } else if (!row->interval.has_value() && !row->method.empty()) {
    row->status = CheckStatus::kPassed;  // the worst of all samples, which has no interval
  } else if (!row->interval.has_value()) {
    row->status = CheckStatus::kWarned;
    row->reason = StrCat(row->samples, row->samples == 1 ? " sample gives" : " samples give",
                         " no interval; more are needed to exclude a difference beyond ", band_text);
  } else if (loss.worst > within) {
    row->status = CheckStatus::kWarned;
    row->samples_needed = SamplesNeeded(*row, loss, band);
    row->reason = StrCat(
        "with ", row->samples, row->samples == 1 ? " sample" : " samples", " the candidate may be ",
        row->better == Better::kNeither ? "off" : "worse", " by up to ", loss.worst, ", beyond ", band_text,
        row->samples_needed > 0 ? StrCat("; about ", row->samples_needed, " samples would exclude that")
                                : "");
  } else {
    row->status = CheckStatus::kPassed;
  }
}

StatusOr<std::vector<MetricRow>> JudgeMetrics(const Task& task, int64_t samples, const Bands& bands,
                                              const MetricsOptions& options) {
  std::vector<MetricRow> rows;
  for (const SampleMetric& m : task.metrics) {
    rows.push_back(NewRow(m.name, m.better, m.Value(false, {}), m.Value(true, {}), Participants(m), bands));
  }
  for (const auto& joint : task.joint) {
    std::vector<double> reference(joint->names().size()), candidate(reference.size());
    joint->Evaluate(false, {}, reference);
    joint->Evaluate(true, {}, candidate);
    for (size_t i = 0; i < reference.size(); ++i) {
      rows.push_back(NewRow(joint->names()[i].name, joint->names()[i].better, reference[i], candidate[i],
                            samples, bands));
    }
  }
  PLINTH_RETURN_IF_ERROR(CheckBands(rows, bands, options.task));
  Bootstrap bootstrap(samples, options);
  for (size_t i = 0; i < task.metrics.size(); ++i) {
    const SampleMetric& m = task.metrics[i];
    if (m.fold != SampleMetric::Fold::kMean) {
      rows[i].method = "the worst of all samples";
    } else if (rows[i].samples > 0 && IsBinary(m)) {
      BinaryInterval(m, &rows[i]);
    } else if (samples >= kBootstrapSamples) {
      if (rows[i].samples > 1) LinearInterval(m, &rows[i]);
    } else if (rows[i].samples > 1) {
      bootstrap.Add(m, &rows[i]);
    }
  }
  size_t next = task.metrics.size();
  for (const auto& joint : task.joint) {
    bootstrap.Add(*joint, &rows[next]);
    next += joint->names().size();
  }
  PLINTH_RETURN_IF_ERROR(bootstrap.Run());
  for (MetricRow& row : rows) JudgeRow(&row);
  return rows;
}

}  // namespace plinth::verify::metrics
