#include "plinth/verify/cap_exact.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "plinth/base/text.h"
#include "plinth/ops/checks.h"
#include "plinth/verify/element.h"
#include "plinth/verify/short_number.h"

namespace plinth::verify {
namespace {

using formats::ConstTensorRef;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kMostSamples = int64_t{1} << 20;

bool IsFloat8(Element e) { return e >= Element::kF8E4M3 && e <= Element::kF8E5M2Fnuz; }

// Whether the types agree, or the truth can be rounded to d's.
bool SameElement(const ConstTensorRef& r, const ConstTensorRef& d) { return ElementOf(r) == ElementOf(d); }

struct Ends {
  double low = 0, high = 0;
};
Ends EndsOf(const ElementInfo& info) {
  if (info.floating) return {-info.largest, info.largest};
  const bool sign = info.name[0] == 'i';
  return {sign ? -info.largest - 1 : 0, info.largest};
}

// Codes in the order of their values: neighbours differ by 1.
int CodeOf(const ConstTensorRef& t, int64_t i) {
  const int byte = static_cast<int>(t.data[i]);
  return (byte & 0x80) != 0 ? -(byte & 0x7f) : byte;
}

// Numbers of an even choice of the elements, NaN counted apart, in ascending order.
std::vector<double> SortedSample(const ConstTensorRef& t, int64_t* nan) {
  const int64_t step = (t.size() + kMostSamples - 1) / kMostSamples;
  std::vector<double> sample;
  for (int64_t i = 0; i < t.size(); i += step) {
    const double x = ValueAt(t, i);
    if (std::isnan(x)) {
      ++*nan;
    } else {
      sample.push_back(x);
    }
  }
  std::sort(sample.begin(), sample.end());
  return sample;
}

double KolmogorovSmirnov(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  double most = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double x = std::min(a[i], b[j]);
    while (i < a.size() && a[i] <= x) ++i;
    while (j < b.size() && b[j] <= x) ++j;
    most = std::max(most, std::abs(static_cast<double>(i) / n - static_cast<double>(j) / m));
  }
  return most;
}

struct Moments {
  double mean = 0, variance = 0, mean_error2 = 0,
         variance_error2 = 0;  // and the squares of their standard errors
};
Moments MomentsOf(const std::vector<double>& x) {
  const auto n = static_cast<double>(x.size());
  Moments m;
  for (const double v : x) m.mean += v / n;
  double fourth = 0;
  for (const double v : x) {
    const double square = (v - m.mean) * (v - m.mean);
    m.variance += square / n;
    fourth += square * square / n;
  }
  m.mean_error2 = m.variance / n;
  m.variance_error2 = std::max(fourth - m.variance * m.variance, 0.0) / n;
  return m;
}

}  // namespace

CapResult CheckBitwise(const ConstTensorRef& r, const ConstTensorRef& d) {
  CapResult result;
  result.decided = true;
  const bool same = SameElement(r, d);
  const auto width = static_cast<size_t>(SizeOf(d.dtype));
  const ElementInfo& info = InfoOf(ElementOf(d));
  // Types without a DType are held against the truth by value: their own rounding is not known here.
  const bool rounds = IsFloat(d.dtype) || (!info.floating && d.stored.empty());
  for (int64_t i = 0; i < d.size(); ++i) {
    const size_t at = static_cast<size_t>(i) * width;
    if (same && std::memcmp(r.data + at, d.data + at, width) == 0) continue;
    double x = ValueAt(r, i);
    const double y = ValueAt(d, i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (!same) {
      if (rounds) x = ops::RoundTo(d.dtype, x);
      if (x == y && std::signbit(x) == std::signbit(y)) continue;
    }
    if (std::isfinite(x) != std::isfinite(y)) ++result.nonfinite;
    ++result.outside;
    if (result.worst < 0) {
      result.worst = i;
      result.detail = StrCat("element ", i, " is ", ShortNumber(y), " instead of ", ShortNumber(x),
                             ", off by ", ShortNumber(std::abs(y - x)), "; the same bits are expected");
    }
  }
  result.measured = static_cast<double>(result.outside);
  result.broken = result.outside > 0;
  result.share = result.broken ? kInfinity : 0;
  result.detail = result.broken ? StrCat(result.outside, " of ", d.size(), " differ: ", result.detail)
                                : "the same bits as the truth";
  return result;
}

CapResult CheckSteps(const Limit& limit, const ConstTensorRef& r, const ConstTensorRef& d) {
  CapResult result;
  const bool codes = limit.kind == LimitKind::kCodes;
  const ElementInfo& info = InfoOf(ElementOf(d));
  if (codes && !IsFloat8(ElementOf(d))) return CheckBitwise(r, d);
  if (codes && IsFloat8(ElementOf(r)) && !SameElement(r, d)) {
    result.decided = result.broken = true;
    result.fault_kind = "encoding";
    result.share = kInfinity;
    result.detail = StrCat("encoded as ", info.name, " instead of ", InfoOf(ElementOf(r)).name);
    return result;
  }
  if (codes && !SameElement(r, d)) {
    result.detail = StrCat("codes of ", info.name, " need a truth in ", info.name);
    return result;
  }
  const Ends ends = EndsOf(info);
  int64_t off = 0, saturated_r = 0, saturated_d = 0;
  double most = 0;
  for (int64_t i = 0; i < d.size(); ++i) {
    const double y = ValueAt(d, i), raw = ValueAt(r, i);
    const double x = codes ? raw : std::clamp(std::nearbyint(raw), ends.low, ends.high);
    saturated_r += x <= ends.low || x >= ends.high;
    saturated_d += y <= ends.low || y >= ends.high;
    double steps = codes ? std::abs(CodeOf(r, i) - CodeOf(d, i)) : std::abs(x - y);
    if (std::isnan(x) || std::isnan(y)) steps = std::isnan(x) && std::isnan(y) ? 0 : kInfinity;
    if (steps == 0) continue;
    ++off;
    if (!(steps <= limit.most)) ++result.outside;
    if (steps > most) most = steps, result.worst = i;
  }
  const auto n = static_cast<double>(std::max<int64_t>(d.size(), 1));
  const double share_off = static_cast<double>(off) / n;
  const auto saturated = static_cast<double>(std::max(saturated_r, saturated_d));
  const double moved = static_cast<double>(std::abs(saturated_r - saturated_d));
  result.decided = true;
  result.measured = share_off, result.limit = limit.share;
  result.share = std::max({share_off == 0 ? 0 : share_off / limit.share,
                           limit.most > 0 ? most / limit.most : 0, moved / (1 + limit.share * saturated)});
  // One element of a small tensor is more than any share: it may be off by itself.
  const bool many = off > 1 && share_off > limit.share;
  result.broken = result.outside > 0 || many || moved > 1 + limit.share * saturated;
  if (!result.broken) result.share = std::min(result.share, 1.0);
  result.detail = StrCat(ShortNumber(100 * share_off), " % are off, by up to ", ShortNumber(most),
                         codes ? " codes; at most " : "; at most ", ShortNumber(100 * limit.share), " % by ",
                         ShortNumber(limit.most), "; at the ends of the range ", saturated_d, " instead of ",
                         saturated_r);
  return result;
}

CapResult CheckDistribution(const RuleSet& rules, const ConstTensorRef& r, const ConstTensorRef& d) {
  CapResult result;
  int64_t nan_r = 0, nan_d = 0;
  const std::vector<double> a = SortedSample(r, &nan_r), b = SortedSample(d, &nan_d);
  if (a.size() < 2 || b.size() < 2) {
    result.detail = "two samples of one distribution need at least two numbers each";
    return result;
  }
  result.decided = true;
  result.nonfinite = std::abs(nan_r - nan_d);
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const double distance = KolmogorovSmirnov(a, b), limit = rules.ks * std::sqrt((n + m) / (n * m));
  const Moments ma = MomentsOf(a), mb = MomentsOf(b);
  const auto sigmas = [](double difference, double error2) {
    return difference == 0 ? 0 : std::abs(difference) / std::sqrt(error2);
  };
  const double mean = sigmas(ma.mean - mb.mean, ma.mean_error2 + mb.mean_error2);
  const double variance = sigmas(ma.variance - mb.variance, ma.variance_error2 + mb.variance_error2);
  result.measured = distance, result.limit = limit;
  result.share = std::max({distance / limit, mean / rules.z, variance / rules.z});
  result.broken = !(result.share <= 1) || nan_r != nan_d;
  result.detail =
      StrCat("distance of the distributions ", ShortNumber(distance), ", at most ", ShortNumber(limit),
             "; mean off by ", ShortNumber(mean), " standard errors, variance by ", ShortNumber(variance),
             ", at most ", ShortNumber(rules.z));
  return result;
}

}  // namespace plinth::verify
