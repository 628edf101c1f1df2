#include "plinth/verify/replay/judgement.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "plinth/base/random.h"

namespace plinth::verify::replay {
namespace {

std::string Number(double x) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.6g", x);
  return text;
}

// Judges elements as they come.
class Judging final : public TruthSink {
 public:
  Judging(const Values& output, const JudgeLine& line, const Arithmetic& arithmetic)
      : output_(output), format_(output.format()), line_(line), accumulate_(arithmetic.accumulate) {
    floor_ = format_.floating ? format_.smallest_normal() : 0;
    roundoff_ = format_.roundoff();
  }

  void Put(int64_t i, long double truth, double slack, double spread) override {
    ++s_.judged;
    if (!format_.floating) return Integer(i, truth);
    const double is = output_[i];
    const auto r = static_cast<double>(truth);
    if (line_.exact) return Exact(i, is, RoundTo(format_, truth));
    double limit = line_.out_roundoffs * roundoff_ * std::abs(r) + accumulate_ * slack + floor_;
    double level = line_.out_roundoffs * roundoff_ * std::abs(r) + accumulate_ * spread + floor_;
    if (line_.out_ulps > 0) {
      const double ulp = UlpOf(format_, r);
      limit += line_.out_ulps * ulp, level += line_.out_ulps * ulp / 2;
    }
    if (std::isnan(is) || std::isnan(r)) {
      if (std::isnan(is) != std::isnan(r)) Break(i, is, r);
      return;
    }
    if (std::isinf(is) || std::isinf(r) || std::abs(r) > format_.largest) return Infinite(i, is, r, limit);
    Finite(i, is, truth, limit, level);
  }

  void Verdict(int64_t i, std::string wrong) override {
    ++s_.judged;
    if (wrong.empty()) return;
    ++s_.outside, ++s_.wrong;
    Keep(i, StrCat("element ", i, ": ", wrong));
  }

  WayStats& stats() { return s_; }

 private:
  // The widest integers fit a long double.
  void Integer(int64_t i, long double truth) {
    const auto is = static_cast<long double>(output_.integer(i));
    Account(i, static_cast<double>(is), truth, static_cast<double>(is - truth), is == truth ? 0 : INFINITY, 0,
            0);
    if (is != truth) ++s_.outside;
  }

  void Exact(int64_t i, double is, double expected) {
    if (std::isnan(is) || std::isnan(expected) || std::isinf(is) || std::isinf(expected)) {
      if (!(is == expected || (std::isnan(is) && std::isnan(expected)))) Break(i, is, expected);
      return;
    }
    const bool sign = line_.zero_sign && is == 0 && std::signbit(is) != std::signbit(expected);
    const bool equal = is == expected && !sign;
    Account(i, is, expected, is - expected, equal ? 0 : INFINITY, 0, 0);
    if (!equal) ++s_.outside;
  }

  void Finite(int64_t i, double is, long double truth, double limit, double level) {
    const auto error = static_cast<double>(is - truth);
    const double size = std::abs(error);
    // A limit that is itself not finite (operands near overflow) says nothing: such an element passes.
    const double share = size == 0 || !std::isfinite(limit) ? 0 : size / limit;
    Account(i, is, truth, error, share, limit, level);
    if (share > 1) ++s_.outside;
  }

  // What rounds to infinity within the limit may be infinite, and the other way round.
  void Infinite(int64_t i, double is, double r, double limit) {
    if (is == r) return;
    const bool same_sign = std::signbit(is) == std::signbit(r);
    const double reach = RoundTo(format_, std::abs(r) + limit);
    if (same_sign && !std::isfinite(reach) && (std::isinf(is) || std::abs(is) >= std::abs(r) - limit)) return;
    Break(i, is, r);
  }

  void Account(int64_t i, double is, long double truth, double error, double share, double limit,
               double level) {
    const auto r = static_cast<double>(truth);
    ++s_.finite;
    s_.max_abs = std::max(s_.max_abs, std::abs(error));
    if (const double ulp = UlpOf(format_, r); ulp > 0)
      s_.max_ulp = std::max(s_.max_ulp, std::abs(error) / ulp);
    s_.max_truth = std::max(s_.max_truth, std::abs(r));
    s_.sum_error += error, s_.sum_error2 += error * error;
    s_.sum_truth2 += r * r;
    s_.sum_shrink += error * r, s_.sum_shrink2 += error * r * error * r;
    s_.sum_level2 += level * level;
    if (s_.worst < 0 || share > s_.worst_share) {
      s_.worst = i, s_.worst_share = share, s_.limit = limit, s_.worst_is = is, s_.worst_truth = r;
    }
  }

  void Break(int64_t i, double is, double r) {
    ++s_.outside, ++s_.structure;
    Keep(i, StrCat("element ", i, " is ", Number(is), ", the truth is ", Number(r)));
  }
  void Keep(int64_t i, std::string what) {
    if (s_.first_problem >= 0 && s_.first_problem < i) return;
    s_.first_problem = i;
    s_.problem = std::move(what);
  }

  const Values& output_;
  const NumberFormat& format_;
  const JudgeLine& line_;
  double accumulate_, floor_ = 0, roundoff_ = 0;
  WayStats s_;
};

// Which pieces are computed: all, or a seeded choice that holds the first and the last one.
std::vector<int64_t> Choose(const Reference& reference, const ReplayBudget& budget) {
  const int64_t all = reference.pieces();
  const double fits = budget.flops / std::max(1.0, reference.piece_flops());
  std::vector<int64_t> chosen;
  if (static_cast<double>(all) <= std::max(2.0, fits)) {
    for (int64_t p = 0; p < all; ++p) chosen.push_back(p);
    return chosen;
  }
  const auto wanted = static_cast<int64_t>(std::max(2.0, fits));
  // One piece of each of `wanted` stretches of equal length.
  Random random(budget.seed);
  for (int64_t s = 0; s < wanted; ++s) {
    const auto stretch = [&](int64_t n) {
      return static_cast<int64_t>(static_cast<double>(all) / static_cast<double>(wanted) *
                                  static_cast<double>(n));
    };
    const int64_t begin = stretch(s), end = std::max(begin + 1, s + 1 == wanted ? all : stretch(s + 1));
    const int64_t piece = begin + static_cast<int64_t>(random.Below(static_cast<uint64_t>(end - begin)));
    chosen.push_back(s == 0 ? 0 : s + 1 == wanted ? all - 1 : std::min(piece, all - 1));
  }
  return chosen;
}

// Beyond so few elements a mean square says little; the cap decides alone.
constexpr int64_t kFewElements = 16;

void Conclude(Way& way) {
  const WayStats& s = way.stats;
  way.structure_holds = s.structure == 0;
  way.cap_holds = s.outside == s.structure;
  const double rmse = s.rmse(), level = s.level() * (s.finite < 128 ? 2 : 1);
  const bool lined = !way.line.exact && s.finite >= kFewElements;
  way.level_holds = !lined || !(rmse > level);
  const double truth = s.rms_truth(), shrink = s.shrink();
  const double sigma = s.sum_truth2 > 0 ? std::sqrt(s.sum_shrink2) / s.sum_truth2 : 0;
  way.shrinks = lined && way.line.watch_shrink && s.finite >= 256 && shrink < -6 * sigma &&
                -shrink * truth > 0.5 * s.level();
  if (!s.problem.empty()) {
    way.problem =
        StrCat(s.problem, s.outside > 1 ? StrCat("; ", s.outside, " of ", s.judged, " are wrong") : "");
  } else if (!way.cap_holds) {
    const bool exact = std::isinf(s.worst_share);
    way.problem = StrCat(s.outside, " of ", s.judged, " elements are outside; element ", s.worst, " is ",
                         Number(s.worst_is), ", the truth is ", Number(s.worst_truth),
                         exact ? " exactly" : StrCat(", limit ", Number(s.limit)));
  } else if (way.shrinks) {
    way.problem = StrCat("results are too small by ", Number(-shrink),
                         " of their size on average: sums are cut off "
                         "instead of rounded");
  } else if (!way.level_holds) {
    way.problem = StrCat("the errors' root mean square is ", Number(rmse), ", ", Number(rmse / level),
                         " times what this arithmetic gives (relative L2 ", Number(s.rel_l2()), ")");
  }
}

}  // namespace

void WayStats::Merge(const WayStats& o) {
  judged += o.judged, finite += o.finite, outside += o.outside, structure += o.structure, wrong += o.wrong;
  max_abs = std::max(max_abs, o.max_abs), max_ulp = std::max(max_ulp, o.max_ulp);
  max_truth = std::max(max_truth, o.max_truth);
  if (o.worst >= 0 && (worst < 0 || o.worst_share > worst_share)) {
    worst = o.worst, worst_share = o.worst_share, limit = o.limit, worst_is = o.worst_is,
    worst_truth = o.worst_truth;
  }
  sum_error += o.sum_error, sum_error2 += o.sum_error2, sum_truth2 += o.sum_truth2;
  sum_shrink += o.sum_shrink, sum_shrink2 += o.sum_shrink2, sum_level2 += o.sum_level2;
  if (o.first_problem >= 0 && (first_problem < 0 || o.first_problem < first_problem)) {
    first_problem = o.first_problem, problem = o.problem;
  }
}

double WayStats::rmse() const { return finite > 0 ? std::sqrt(sum_error2 / static_cast<double>(finite)) : 0; }
double WayStats::rel_l2() const {
  return sum_truth2 > 0 ? std::sqrt(sum_error2 / sum_truth2) : (sum_error2 > 0 ? INFINITY : 0);
}
double WayStats::rms_truth() const {
  return finite > 0 ? std::sqrt(sum_truth2 / static_cast<double>(finite)) : 0;
}
double WayStats::mean_error() const { return finite > 0 ? sum_error / static_cast<double>(finite) : 0; }
double WayStats::shrink() const { return sum_truth2 > 0 ? sum_shrink / sum_truth2 : 0; }
double WayStats::residual() const {
  return sum_truth2 > 0 ? sum_error2 - sum_shrink * sum_shrink / sum_truth2 : sum_error2;
}
double WayStats::level() const {
  return finite > 0 ? std::sqrt(sum_level2 / static_cast<double>(finite)) : 0;
}

Way Judge(const Reference& reference, const Values& output, const Arithmetic& arithmetic,
          const ReplayBudget& budget, Threads& threads) {
  const std::vector<int64_t> chosen = Choose(reference, budget);
  // Groups are fixed by the pieces alone, and merged in order.
  const auto count = static_cast<int64_t>(chosen.size());
  const int64_t groups = std::min<int64_t>(count, 256);
  std::vector<WayStats> parts(static_cast<size_t>(groups));
  threads.For(groups, [&](int64_t g, int) {
    Judging judging(output, reference.line, arithmetic);
    for (int64_t p = count * g / groups; p < count * (g + 1) / groups; ++p) {
      reference.Compute(chosen[static_cast<size_t>(p)], judging);
    }
    parts[static_cast<size_t>(g)] = std::move(judging.stats());
  });
  Way way;
  way.line = reference.line;
  way.elements = output.size();
  for (const WayStats& part : parts) way.stats.Merge(part);
  Conclude(way);
  return way;
}

}  // namespace plinth::verify::replay
