// Logits: how far apart two sides' scores over a vocabulary are, in value, direction, distribution and order.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "plinth/formats/json_writer.h"
#include "plinth/verify/metrics/task.h"

namespace plinth::verify::metrics {
namespace {

using formats::JsonValue;

// The log of the sum of exponentials, without overflow.
double LogSumExp(std::span<const double> x) {
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double v : x) sum += std::exp(v - top);
  return top + std::log(sum);
}

// KL(p || q) in nats of the two softmax distributions; at least 0 but for rounding.
double Divergence(std::span<const double> p, std::span<const double> q) {
  const double p_log = LogSumExp(p), q_log = LogSumExp(q);
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double log_p = p[i] - p_log, share = std::exp(log_p);
    if (share > 0) sum += share * (log_p - (q[i] - q_log));
  }
  return std::max(sum, 0.0);
}

double LargestSize(std::span<const double> x) {
  double most = 0;
  for (const double v : x) most = std::max(most, std::abs(v));
  return most;
}

// Scaled by the largest value of each side, so that no square overflows.
double Cosine(std::span<const double> a, std::span<const double> b) {
  const double a_size = LargestSize(a), b_size = LargestSize(b);
  if (a_size == 0 && b_size == 0) return 1;  // the same vector
  if (a_size == 0 || b_size == 0) return 0;
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i] / a_size, y = b[i] / b_size;
    dot += x * y, aa += x * x, bb += y * y;
  }
  return dot / (std::sqrt(aa) * std::sqrt(bb));
}

// Indices of the `k` largest, the lower index first among equal ones.
std::vector<uint32_t> TopK(std::span<const double> x, size_t k) {
  std::vector<uint32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto before = [&](uint32_t a, uint32_t b) { return x[a] != x[b] ? x[a] > x[b] : a < b; };
  k = std::min(k, x.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<int64_t>(k), order.end(), before);
  order.resize(k);
  return order;
}

// Share of the first k of `a` that are among the first k of `b`.
double Overlap(std::span<const uint32_t> a, std::span<const uint32_t> b, size_t k) {
  std::vector<uint32_t> x(a.begin(), a.begin() + static_cast<int64_t>(k)),
      y(b.begin(), b.begin() + static_cast<int64_t>(k));
  std::sort(x.begin(), x.end());
  std::sort(y.begin(), y.end());
  std::vector<uint32_t> both;
  std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(k);
}

class LogitsTask : public Task {
 public:
  explicit LogitsTask(std::vector<int64_t> ks) : ks_(std::move(ks)) {
    using Fold = SampleMetric::Fold;
    Between("agreement", Better::kHigher, 1);
    max_abs_ = Between("max_abs", Better::kLower, 0, Fold::kMax);
    mean_abs_ = Between("mean_abs", Better::kLower, 0);
    cosine_ = Between("cosine", Better::kHigher, 1);
    cosine_min_ = Between("cosine_min", Better::kHigher, 1, Fold::kMin);
    kl_ = Between("kl", Better::kLower, 0);
    kl_max_ = Between("kl_max", Better::kLower, 0, Fold::kMax);
    kl_reverse_ = Between("kl_reverse", Better::kLower, 0);
    flips_ = Between("top1_flips", Better::kLower, 0);
    flip_margin_ = Between("flip_margin_max", Better::kLower, 0, Fold::kMax);
    margin_ = Mean("top1_margin", Better::kNeither);
    for (const int64_t k : ks_) overlaps_.push_back(Between(StrCat("overlap@", k), Better::kHigher, 1));
  }

  Status Add(const Sample& sample) override {
    PLINTH_ASSIGN_OR_RETURN(const Rows reference, Read(sample.reference));
    PLINTH_ASSIGN_OR_RETURN(const Rows candidate, Read(sample.candidate));
    if (reference.size() != candidate.size()) {
      return sample.candidate.Refuse(StrCat("\"logits\" has ", candidate.size(),
                                            " positions; the reference has ", reference.size(),
                                            ", and as many are expected"));
    }
    Sums sums(overlaps_.size());
    for (size_t p = 0; p < reference.size(); ++p) {
      if (reference[p].size() != candidate[p].size()) {
        return sample.candidate.Refuse(StrCat("\"logits\" has ", candidate[p].size(),
                                              " values; the reference has ", reference[p].size(),
                                              ", and as many are expected"));
      }
      AddPosition(reference[p], candidate[p], &sums);
    }
    const auto n = static_cast<double>(reference.size());
    Store(sample.index, sums, n);
    return AddTruth(sample, reference, candidate, n);
  }

 private:
  using Rows = std::vector<std::vector<double>>;
  struct Sums {
    explicit Sums(size_t ks) : overlaps(ks, 0.0) {}
    double max_abs = 0, mean_abs = 0, cosine = 0, cosine_min = 1, kl = 0, kl_max = 0, kl_reverse = 0,
           flips = 0, flip_margin = 0, margin[2] = {0, 0};
    std::vector<double> overlaps;
  };

  // [positions, vocabulary]; one list of numbers is one position.
  static StatusOr<Rows> Read(const Row& row) {
    const JsonValue* value = row.Find("logits");
    const JsonValue::Array* array = value == nullptr ? nullptr : value->array();
    if (array == nullptr || array->empty()) {
      return row.Refuse("logits", value, "a list of numbers, or a list of such lists, one per position,");
    }
    Rows rows;
    if ((*array)[0].array() == nullptr) {
      PLINTH_ASSIGN_OR_RETURN(rows.emplace_back(), row.Reals("logits"));
    } else {
      for (size_t p = 0; p < array->size(); ++p) {
        PLINTH_ASSIGN_OR_RETURN(rows.emplace_back(),
                                row.Reals(StrCat("logits[", p, "]"), (*array)[p], false));
      }
    }
    for (const auto& position : rows) {
      if (position.size() < 2) return row.Refuse("logits", value, "two values or more per position");
    }
    return rows;
  }

  void AddPosition(std::span<const double> a, std::span<const double> b, Sums* sums) const {
    double total = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double distance = std::abs(b[i] - a[i]);
      sums->max_abs = std::max(sums->max_abs, distance);
      total += distance;
    }
    sums->mean_abs += total / static_cast<double>(a.size());
    const double cosine = Cosine(a, b), kl = Divergence(a, b);
    sums->cosine += cosine;
    sums->cosine_min = std::min(sums->cosine_min, cosine);
    sums->kl += kl;
    sums->kl_max = std::max(sums->kl_max, kl);
    sums->kl_reverse += Divergence(b, a);
    const size_t most = static_cast<size_t>(std::max<int64_t>(2, ks_.back()));
    const std::vector<uint32_t> top_a = TopK(a, most), top_b = TopK(b, most);
    const double margin = a[top_a[0]] - a[top_a[1]];
    sums->margin[0] += margin;
    sums->margin[1] += b[top_b[0]] - b[top_b[1]];
    if (top_a[0] != top_b[0]) {
      sums->flips += 1;
      sums->flip_margin = std::max(sums->flip_margin, margin);
    }
    for (size_t k = 0; k < ks_.size(); ++k) {
      sums->overlaps[k] += Overlap(top_a, top_b, std::min(static_cast<size_t>(ks_[k]), a.size()));
    }
  }

  void Store(size_t i, const Sums& sums, double n) {
    metrics[0].Set(i, 0, sums.flips == 0 ? 1 : 0);
    metrics[max_abs_].Set(i, 0, sums.max_abs);
    metrics[mean_abs_].Set(i, 0, sums.mean_abs, n);
    metrics[cosine_].Set(i, 0, sums.cosine, n);
    metrics[cosine_min_].Set(i, 0, sums.cosine_min);
    metrics[kl_].Set(i, 0, sums.kl, n);
    metrics[kl_max_].Set(i, 0, sums.kl_max);
    metrics[kl_reverse_].Set(i, 0, sums.kl_reverse, n);
    metrics[flips_].Set(i, 0, sums.flips, n);
    metrics[flip_margin_].Set(i, 0, sums.flip_margin);
    metrics[margin_].Set(i, sums.margin[0], sums.margin[1], n);
    for (size_t k = 0; k < overlaps_.size(); ++k) metrics[overlaps_[k]].Set(i, 0, sums.overlaps[k], n);
  }

  // "label": the right token, or one per position; top-1 accuracy and the mean negative log-likelihood.
  Status AddTruth(const Sample& sample, const Rows& reference, const Rows& candidate, double n) {
    const JsonValue* value = sample.truth.Find("label");
    if (value == nullptr) return absl::OkStatus();
    if (accuracy_ == 0) {
      accuracy_ = Mean("accuracy", Better::kHigher);
      nll_ = Mean("nll", Better::kLower);
    }
    JsonValue::Array one{*value};
    const JsonValue::Array& labels = value->array() != nullptr ? *value->array() : one;
    if (labels.size() != reference.size()) {
      return sample.truth.Refuse("label", value,
                                 StrCat("one index for each of ", reference.size(), " positions"));
    }
    double hits[2] = {}, loss[2] = {};
    for (size_t p = 0; p < labels.size(); ++p) {
      const int64_t* index = labels[p].integer();
      if (index == nullptr || *index < 0 || *index >= static_cast<int64_t>(reference[p].size())) {
        return sample.truth.Refuse("label", &labels[p],
                                   StrCat("an index from 0 to ", reference[p].size() - 1));
      }
      for (int side = 0; side < 2; ++side) {
        const std::vector<double>& x = side == 0 ? reference[p] : candidate[p];
        hits[side] += TopK(x, 1)[0] == static_cast<uint32_t>(*index) ? 1 : 0;
        loss[side] += LogSumExp(x) - x[static_cast<size_t>(*index)];
      }
    }
    metrics[accuracy_].Set(sample.index, hits[0], hits[1], n);
    metrics[nll_].Set(sample.index, loss[0], loss[1], n);
    return absl::OkStatus();
  }

  const std::vector<int64_t> ks_;
  size_t max_abs_, mean_abs_, cosine_, cosine_min_, kl_, kl_max_, kl_reverse_, flips_, flip_margin_, margin_;
  std::vector<size_t> overlaps_;
  size_t accuracy_ = 0, nll_ = 0;  // 0: no label yet
};

}  // namespace

StatusOr<std::unique_ptr<Task>> MakeLogitsTask(const MetricsOptions& options) {
  PLINTH_ASSIGN_OR_RETURN(std::vector<int64_t> ks, SortedKs(options));
  return std::make_unique<LogitsTask>(std::move(ks));
}

}  // namespace plinth::verify::metrics
