#include "plinth/verify/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "plinth/verify/placed.h"

namespace plinth::verify {
namespace {

using ops::RefTensor;

std::string Number(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", x);
  return text;
}

// Gathers a comparison element by element.
class Comparer {
 public:
  Comparer(const View& result, const RefTensor& reference, const CompareRules& rules)
      : result_(result), reference_(reference), rules_(rules) {}

  Comparison Run() {
    if (!CheckShape()) return std::move(c_);
    ForEachElement(result_, [&](int64_t i, int64_t offset) { Element(i, offset); });
    Finish();
    return std::move(c_);
  }

 private:
  bool CheckShape() {
    const std::vector<int64_t> dims(result_.dims, result_.dims + result_.rank);
    if (dims != reference_.dims || result_.size() != reference_.size()) {
      c_.problem = StrCat("shape is [", Join(dims, ","), "], expected [", Join(reference_.dims, ","), "]");
      c_.outside = 1;
      return false;
    }
    if (rules_.limits != nullptr && static_cast<int64_t>(rules_.limits->size()) != result_.size()) {
      c_.bad_limits =
          StrCat("the tolerance gives ", rules_.limits->size(), " limits for ", result_.size(), " elements");
      return false;
    }
    return true;
  }

  void Element(int64_t i, int64_t offset) {
    const auto* at = static_cast<const std::byte*>(result_.data) + offset * SizeOf(result_.dtype);
    const double r = reference_.data[static_cast<size_t>(i)];
    const double x = LoadElement(result_.dtype, at);
    ++c_.count;
    Count(x, r);
    if (Unwritten(at)) {
      // The pattern may be the right answer of an integer operator: whoever sets `prefill` sees to that.
      Break(i, StrCat("was not written, expected ", Number(r)));
      return;
    }
    const double limit = LimitAt(i, r);
    if (std::isnan(x) || std::isnan(r)) {
      if (std::isnan(x) != std::isnan(r)) Break(i, StrCat("is ", Number(x), ", expected ", Number(r)));
    } else if (std::isinf(x) || std::isinf(r)) {
      Infinite(i, x, r, limit);
    } else {
      Finite(i, x, r, limit);
    }
  }

  bool Exact() const { return rules_.limits == nullptr && !rules_.rel_l2.has_value(); }

  bool Unwritten(const std::byte* at) const {
    if (!rules_.prefill.has_value()) return false;
    for (int64_t b = 0; b < SizeOf(result_.dtype); ++b) {
      if (at[b] != std::byte{*rules_.prefill}) return false;
    }
    return true;
  }

  double LimitAt(int64_t i, double r) {
    if (rules_.rel_l2.has_value()) return std::numeric_limits<double>::max();
    if (rules_.limits == nullptr) return 0;
    const double limit = (*rules_.limits)[static_cast<size_t>(i)];
    if (std::isfinite(r) && !(limit >= 0 && std::isfinite(limit)) && c_.bad_limits.empty()) {
      c_.bad_limits = StrCat("the limit of element ", i, " is ", Number(limit));
    }
    return limit;
  }

  void Infinite(int64_t i, double x, double r, double limit) {
    if (x == r) return;
    // The reference is wider than the result: what rounds to infinity within the limit may be infinite,
    // and the other way round.
    const bool overflow = IsFloat(result_.dtype) && std::isinf(x) && std::signbit(x) == std::signbit(r) &&
                          std::isinf(ops::RoundTo(result_.dtype, std::abs(r) + limit));
    if (!overflow) Break(i, StrCat("is ", Number(x), ", expected ", Number(r)));
  }

  void Finite(int64_t i, double x, double r, double limit) {
    const double expected = Exact() ? ops::RoundTo(result_.dtype, r) : r;
    if (std::isinf(expected)) {
      Break(i, StrCat("is ", Number(x), ", expected ", Number(expected)));
      return;
    }
    const double error = x - expected;
    const double a = std::abs(error);
    c_.max_abs = std::max(c_.max_abs, a);
    if (const double ulp = ops::Ulp(rules_.ulp_type.value_or(result_.dtype), r); ulp > 0)
      c_.max_ulp = std::max(c_.max_ulp, a / ulp);
    sum_error_ += error;
    sum_error2_ += error * error;
    sum_ref2_ += expected * expected;
    sum_result2_ += x * x;
    sum_product_ += x * expected;
    ++finite_;
    const double share = a == 0 ? 0 : (limit > 0 ? a / limit : INFINITY);
    if (c_.worst < 0 || share > c_.worst_share) {
      c_.worst = i;
      c_.worst_share = share;
      c_.limit = limit;
    }
    if (!(a <= limit)) {
      ++c_.outside;
    } else if ((Exact() || rules_.signed_zero) && x == 0 && expected == 0 &&
               std::signbit(x) != std::signbit(expected) && IsFloat(result_.dtype)) {
      Break(i, StrCat("is ", x < 0 || std::signbit(x) ? "-0" : "+0", ", expected the other zero"));
    }
  }

  void Count(double x, double r) {
    const double normal = NormalOf(result_.dtype);
    c_.nan += std::isnan(x);
    c_.inf += std::isinf(x);
    c_.zero += x == 0;
    c_.subnormal += x != 0 && std::abs(x) < normal;
    c_.reference_subnormal += r != 0 && std::abs(r) < normal;
  }

  static double NormalOf(DType dtype) {
    if (dtype == DType::kF64) return 0x1p-1022;
    if (dtype == DType::kF16) return 0x1p-14;
    return IsFloat(dtype) ? 0x1p-126 : 0;
  }

  void Break(int64_t i, std::string what) {
    ++c_.outside;
    if (c_.problem.empty()) c_.problem = StrCat("element ", i, " ", what);
  }

  void Finish() {
    if (finite_ > 0) {
      const auto n = static_cast<double>(finite_);
      c_.mean_error = sum_error_ / n;
      c_.rmse = std::sqrt(sum_error2_ / n);
      c_.rel_l2 = sum_ref2_ > 0 ? std::sqrt(sum_error2_ / sum_ref2_) : (sum_error2_ > 0 ? INFINITY : 0);
      const double norms = std::sqrt(sum_ref2_) * std::sqrt(sum_result2_);
      c_.cosine = norms > 0 ? std::clamp(sum_product_ / norms, -1.0, 1.0) : (sum_error2_ > 0 ? 0 : 1);
    }
    if (rules_.rel_l2.has_value()) {
      c_.limit = *rules_.rel_l2;
      c_.worst_share = c_.rel_l2 == 0 ? 0 : (c_.limit > 0 ? c_.rel_l2 / c_.limit : INFINITY);
      if (!(c_.rel_l2 <= *rules_.rel_l2) && c_.problem.empty()) {
        c_.problem = StrCat("relative L2 error ", Number(c_.rel_l2), ", limit ", Number(*rules_.rel_l2));
      }
      return;
    }
    if (c_.outside > 0 && c_.problem.empty()) {
      const auto w = static_cast<size_t>(c_.worst);
      c_.problem = StrCat(c_.outside, " of ", c_.count, " elements are outside; element ", c_.worst,
                          " is off by ", Number(c_.worst_share * c_.limit), " with limit ", Number(c_.limit),
                          ", expected ", Number(reference_.data[w]));
      if (c_.limit == 0) {
        c_.problem = StrCat(c_.outside, " of ", c_.count, " elements differ, the first worst at ", c_.worst,
                            "; largest difference ", Number(c_.max_abs), ", expected exactly ",
                            Number(reference_.data[w]));
      }
    }
  }

  const View& result_;
  const RefTensor& reference_;
  const CompareRules& rules_;
  Comparison c_;
  int64_t finite_ = 0;
  double sum_error_ = 0, sum_error2_ = 0, sum_ref2_ = 0, sum_result2_ = 0, sum_product_ = 0;
};

}  // namespace

Comparison Compare(const View& result, const RefTensor& reference, const CompareRules& rules) {
  return Comparer(result, reference, rules).Run();
}

int64_t FirstBitDifference(const View& a, const View& b) {
  const int64_t size = SizeOf(a.dtype);
  std::vector<const std::byte*> at_a(static_cast<size_t>(a.size()));
  ForEachElement(a, [&](int64_t i, int64_t offset) {
    at_a[static_cast<size_t>(i)] = static_cast<const std::byte*>(a.data) + offset * size;
  });
  int64_t first = -1;
  ForEachElement(b, [&](int64_t i, int64_t offset) {
    if (first >= 0) return;
    const auto* x = at_a[static_cast<size_t>(i)];
    const auto* y = static_cast<const std::byte*>(b.data) + offset * size;
    if (std::memcmp(x, y, static_cast<size_t>(size)) == 0) return;
    if (std::isnan(LoadElement(a.dtype, x)) && std::isnan(LoadElement(b.dtype, y))) return;
    first = i;
  });
  return first;
}

}  // namespace plinth::verify
