#include "plinth/verify/cap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "plinth/base/text.h"
#include "plinth/verify/cap_exact.h"
#include "plinth/verify/element.h"
#include "plinth/verify/short_number.h"

namespace plinth::verify {
namespace {

using formats::ConstTensorRef;

constexpr int64_t kBlock = 1024;
// A root mean square of fewer numbers says too little about the scale of its row or column.
constexpr int64_t kLeastForScale = 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Both tensors as doubles, block by block; a block never crosses a row.
template <typename Body>
void ForBlocks(const ConstTensorRef& r, const ConstTensorRef& d, int64_t last, Body body) {
  const Element re = ElementOf(r), de = ElementOf(d);
  const int64_t count = r.size();
  double a[kBlock], b[kBlock];
  for (int64_t row = 0; row * last < count; ++row) {
    for (int64_t column = 0; column < last; column += kBlock) {
      const int64_t n = std::min(kBlock, last - column), at = row * last + column;
      ReadValues(re, r.data, at, n, a);
      ReadValues(de, d.data, at, n, b);
      body(row, column, n, a, b);
    }
  }
}

// The scale of an element where nobody gave one: its row's rms times its column's, divided by the whole's.
// For a matrix product of independent rows and columns that is |a_i| |b_j| / sqrt(K), the size of a result
// that does not cancel. What a mask filled in (-1e4, the type's lowest number) is no result, and the errors
// of the others do not grow with it: it counts in no norm.
class EstimatedScale {
 public:
  EstimatedScale(const ConstTensorRef& r, int64_t last) : last_(last) {
    const int64_t rows = r.size() / last;
    const bool by_row = last >= kLeastForScale && rows > 1, by_column = rows >= kLeastForScale && last > 1;
    rows_.assign(by_row ? static_cast<size_t>(rows) : 0, 0);
    columns_.assign(by_column ? static_cast<size_t>(last) : 0, 0);
    std::vector<int64_t> counts(columns_.size(), 0);
    double sum = 0;
    int64_t count = 0;
    const Element element = ElementOf(r);
    const std::optional<double> fill = FillOf(r);
    double x[kBlock];
    for (int64_t row = 0; row < rows; ++row) {
      double row_sum = 0;
      int64_t row_count = 0;
      for (int64_t column = 0; column < last; column += kBlock) {
        const int64_t n = std::min(kBlock, last - column);
        ReadValues(element, r.data, row * last + column, n, x);
        for (int64_t i = 0; i < n; ++i) {
          if (x[i] == fill) continue;
          const double square = std::isfinite(x[i]) ? x[i] * x[i] : 0;
          row_sum += square, ++row_count;
          if (by_column) columns_[static_cast<size_t>(column + i)] += square;
          if (by_column) ++counts[static_cast<size_t>(column + i)];
        }
      }
      sum += row_sum, count += row_count;
      if (by_row) rows_[static_cast<size_t>(row)] = RootMean(row_sum, row_count);
    }
    for (size_t c = 0; c < columns_.size(); ++c) columns_[c] = RootMean(columns_[c], counts[c]);
    whole_ = RootMean(sum, count);
  }
  double At(int64_t row, int64_t column) const {
    double scale = rows_.empty() ? whole_ : rows_[static_cast<size_t>(row)];
    if (!columns_.empty() && whole_ > 0) scale *= columns_[static_cast<size_t>(column)] / whole_;
    return scale;
  }

 private:
  static double RootMean(double squares, int64_t count) {
    return std::sqrt(squares / static_cast<double>(std::max<int64_t>(count, 1)));
  }

  // The number of the largest size, where it stands at several places and dwarfs all others; nullopt: there
  // is none.
  static std::optional<double> FillOf(const ConstTensorRef& r) {
    constexpr double kDwarfs = 4;  // times the root mean square of the others
    const Element element = ElementOf(r);
    double largest = 0, squares = 0;  // squares: of the others
    int64_t times = 0, finite = 0;
    double x[kBlock];
    for (int64_t at = 0; at < r.size(); at += kBlock) {
      const int64_t n = std::min(kBlock, r.size() - at);
      ReadValues(element, r.data, at, n, x);
      for (int64_t i = 0; i < n; ++i) {
        if (!std::isfinite(x[i])) continue;
        ++finite;
        if (x[i] == largest) {
          ++times;
        } else if (std::abs(x[i]) > std::abs(largest)) {
          squares += static_cast<double>(times) * largest * largest;
          largest = x[i], times = 1;
        } else {
          squares += x[i] * x[i];
        }
      }
    }
    const auto others = static_cast<double>(finite - times);
    const bool is = times > 1 && others > 0 && std::abs(largest) > kDwarfs * std::sqrt(squares / others);
    return is ? std::optional(largest) : std::nullopt;
  }

  int64_t last_;
  std::vector<double> rows_, columns_;
  double whole_ = 0;
};

// One unit in the last place at |x| of a type with `digits` and the given smallest normal.
double UlpAt(double x, const ElementInfo& info) {
  const double magnitude = std::max(std::abs(x), info.smallest_normal);
  return std::ldexp(1.0, std::ilogb(magnitude) - info.digits + 1);
}

// The pass over one tensor.
class ElementPass {
 public:
  ElementPass(const RuleSet& rules, const RuleClass& rule_class, const ConstTensorRef& r,
              const ConstTensorRef& d, const CapOptions& options)
      : rules_(rules),
        limit_(rule_class.limit(options.type)),
        numbers_(rules.type(options.type == NumberType::kInt ? NumberType::kF16 : options.type)),
        options_(options),
        r_(r),
        d_(d),
        info_(InfoOf(ElementOf(d))),
        truth_info_(InfoOf(ElementOf(r))) {
    last_ = r.dims.empty() ? 1 : std::max<int64_t>(r.dims.back(), 1);
    if (r.size() % last_ != 0 || r.size() == 0) last_ = std::max<int64_t>(r.size(), 1);
    const bool needs_terms = rule_class.growth != Growth::kNone || limit_.grown > 0;
    terms_ = options.terms > 0 ? options.terms : rules.assumed_terms;
    growth_ = GrowthOf(rule_class.growth, terms_, options.condition);
    relative_ =
        (limit_.fixed + limit_.grown * std::sqrt(terms_)) * RuleSet::Raised(rules.cap_raises, r.size(), 1);
    const bool wants_scale = limit_.kind == LimitKind::kRelativeL2 || rule_class.growth != Growth::kNone;
    estimates_ = wants_scale && !options.scale.given();
    assumes_ = needs_terms && options.terms <= 0;
    ulps_ = options.relaxed ? limit_.relaxed : limit_.most;
    // What one unit of S may cost.
    per_scale_ = rules.lambda * (numbers_.u_in + numbers_.u_acc * growth_);
    if (limit_.kind == LimitKind::kUlp) per_scale_ = std::max(per_scale_, rules.lambda * numbers_.u_acc);
    if (estimates_ && limit_.kind == LimitKind::kRelativeL2) {
      per_scale_ = rules.lambda * relative_ * rules.estimated_scale;
    }
  }

  CapResult Run() {
    if (estimates_) {
      const EstimatedScale scale(r_, last_);
      Pass([&](int64_t row, int64_t column, double r) {
        return std::max(scale.At(row, column), std::abs(r));
      });
    } else if (!options_.scale.elements.empty()) {
      Pass([&](int64_t row, int64_t column, double) {
        return options_.scale.elements[static_cast<size_t>(row * last_ + column)];
      });
    } else if (!options_.scale.rows.empty()) {
      const auto& rows = options_.scale.rows;
      const auto& columns = options_.scale.columns;
      Pass([&](int64_t row, int64_t column, double) {
        return rows[static_cast<size_t>(row)] *
               (columns.empty() ? 1.0 : columns[static_cast<size_t>(column)]);
      });
    } else {
      Pass([&](int64_t, int64_t, double) { return options_.scale.whole; });
    }
    Conclude();
    return result_;
  }

 private:
  double LimitOf(double r, double scale) const {
    double limit = numbers_.smallest + per_scale_ * scale;
    limit += limit_.kind == LimitKind::kUlp ? ulps_ * UlpAt(r, info_) : numbers_.u_out * std::abs(r);
    if (options_.truth_rounded) limit += 0.5 * UlpAt(r, truth_info_);
    return limit;
  }

  template <typename Scale>
  void Pass(Scale scale_of) {
    double row_d = 0, row_r = 0;
    ForBlocks(r_, d_, last_, [&](int64_t row, int64_t column, int64_t n, const double* r, const double* d) {
      if (column == 0) row_d = row_r = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double scale = scale_of(row, column + i, r[i]);
        Element1(row * last_ + column + i, r[i], d[i], LimitOf(r[i], std::isfinite(scale) ? scale : 0),
                 scale);
        row_d += d[i], row_r += r[i];
      }
      if (options_.row_sums && column + n == last_ && std::abs(row_d - row_r) > worst_row_sum_) {
        worst_row_sum_ = std::abs(row_d - row_r);
        worst_row_ = row;
      }
    });
  }

  void Element1(int64_t index, double r, double d, double limit, double scale) {
    if (std::abs(d) < info_.smallest_normal && d != 0) ++result_.subnormal;
    if (std::abs(r) < info_.smallest_normal && std::abs(r) > info_.smallest_normal * info_.unit) {
      ++result_.truth_subnormal;
    }
    const bool overflows = std::abs(r) + limit >= info_.largest * (1 + info_.unit);
    if (!std::isfinite(d) || !std::isfinite(r)) {
      const bool same = std::isnan(r) ? std::isnan(d) : std::isinf(r) ? d == r : false;
      if (same || (std::isinf(d) && overflows && std::signbit(d) == std::signbit(r))) return;
      ++result_.nonfinite, ++result_.outside;
      Note(index, r, d, limit, kInfinity);
      return;
    }
    const double error = std::abs(d - r);
    error2_ += error * error, truth2_ += r * r, scale2_ += scale * scale;
    if (error == 0) return;
    if (error > limit) ++result_.outside;
    Note(index, r, d, limit, error / limit);
  }

  void Note(int64_t index, double r, double d, double limit, double share) {
    if (share <= worst_share_ && result_.worst >= 0) return;
    worst_share_ = share, result_.worst = index;
    worst_r_ = r, worst_d_ = d, worst_limit_ = limit;
  }

  void Conclude();

  const RuleSet& rules_;
  const Limit& limit_;
  const TypeNumbers& numbers_;
  const CapOptions& options_;
  const ConstTensorRef &r_, &d_;
  const ElementInfo &info_, &truth_info_;
  int64_t last_ = 1;
  double terms_ = 0, growth_ = 0, relative_ = 0, ulps_ = 0, per_scale_ = 0;
  bool estimates_ = false, assumes_ = false;

  CapResult result_;
  double error2_ = 0, truth2_ = 0, scale2_ = 0;
  double worst_share_ = 0, worst_r_ = 0, worst_d_ = 0, worst_limit_ = 0;
  double worst_row_sum_ = 0;
  int64_t worst_row_ = -1;
};

// What a part of the rule measured. The part nearest to its limit speaks for the rule.
struct Part {
  double measured = 0, limit = 0;
  std::string text;
  double share() const { return measured <= 0 ? 0 : limit > 0 ? measured / limit : kInfinity; }
};

void ElementPass::Conclude() {
  std::vector<Part> parts;
  if (result_.worst >= 0) {
    parts.push_back({worst_share_, 1,
                     StrCat(limit_.kind == LimitKind::kUlp && !(worst_share_ > 1)
                                ? StrCat("within ", ShortNumber(ulps_), " units; ")
                                : "",
                            "element ", result_.worst, " is ", ShortNumber(worst_d_), " instead of ",
                            ShortNumber(worst_r_), ", ", ShortNumber(worst_share_), " of what is allowed (",
                            ShortNumber(worst_limit_), estimates_ ? ", its scale estimated)" : ")")});
  }
  if (limit_.kind == LimitKind::kRelativeL2) {
    double size = std::sqrt(truth2_);
    // A sum whose terms cancel is not small by its own doing: the given scale says how large it could be.
    if (!estimates_) size = std::max(size, std::sqrt(scale2_ / std::max(terms_, 1.0)));
    const auto n = static_cast<double>(r_.size());
    Part part{std::sqrt(error2_), relative_ * size + numbers_.smallest * std::sqrt(n), ""};
    if (options_.truth_rounded) part.limit += truth_info_.unit * size;
    part.text = StrCat("relative L2 ",
                       ShortNumber(size > 0           ? part.measured / size
                                   : part.share() > 0 ? kInfinity
                                                      : 0),
                       ", at most ", ShortNumber(relative_),
                       assumes_ ? StrCat(" (K assumed ", ShortNumber(terms_), ")") : "");
    if (size > 0) part.measured /= size, part.limit /= size;
    parts.push_back(std::move(part));
  }
  if (options_.row_sums && limit_.row_sum > 0) {
    parts.push_back({worst_row_sum_, limit_.row_sum,
                     StrCat("the sum of row ", worst_row_, " is off by ", ShortNumber(worst_row_sum_),
                            ", at most ", ShortNumber(limit_.row_sum))});
  }
  result_.decided = true;
  result_.estimated = estimates_ || assumes_;
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.share() > b.share(); });
  result_.detail =
      parts.empty() ? "equal to the truth" : Join(parts, "; ", [](const Part& p) { return p.text; });
  if (parts.empty()) return;
  result_.measured = parts[0].measured, result_.limit = parts[0].limit, result_.share = parts[0].share();
  // NaN among the sums is worse than any number.
  result_.broken = result_.outside > 0 ||
                   std::any_of(parts.begin(), parts.end(), [](const Part& p) { return !(p.share() <= 1); });
}

CapResult Undecided(std::string why) {
  CapResult result;
  result.detail = std::move(why);
  return result;
}

}  // namespace

double GrowthOf(Growth growth, double terms, double condition) {
  switch (growth) {
    case Growth::kNone:
      return 0;
    case Growth::kSqrt:
    case Growth::kContributions:
    case Growth::kRanks:
      return std::sqrt(terms);
    case Growth::kSoftmax:
      return std::sqrt(terms) + condition;
    case Growth::kNorm:
      return std::sqrt(terms) * (1 + condition);
  }
  return 0;
}

StatusOr<CapResult> CheckCap(const RuleSet& rules, const RuleClass& rule_class, const ConstTensorRef& r,
                             const ConstTensorRef& d, const CapOptions& options) {
  const Element re = ElementOf(r), de = ElementOf(d);
  if (r.size() != d.size()) {
    return absl::InvalidArgumentError(StrCat(d.name, ": ", d.size(), " elements against ", r.size(),
                                             " of the truth; the same number is expected"));
  }
  const Limit& limit = rule_class.limit(options.type);
  switch (limit.kind) {
    case LimitKind::kUndefined:
      return Undecided(StrCat("class ", rule_class.name, " has no limit for ", NumberTypeName(options.type)));
    case LimitKind::kBitwise:
      return CheckBitwise(r, d);
    case LimitKind::kLsb:
    case LimitKind::kCodes:
      return CheckSteps(limit, r, d);
    case LimitKind::kDistribution:
      return CheckDistribution(rules, r, d);
    case LimitKind::kUlp:
    case LimitKind::kRelativeL2:
      break;
  }
  const CapScale& scale = options.scale;
  const int64_t last = r.dims.empty() ? 1 : r.dims.back();
  const auto rows = static_cast<int64_t>(scale.rows.size()),
             columns = static_cast<int64_t>(scale.columns.size());
  if ((!scale.elements.empty() && static_cast<int64_t>(scale.elements.size()) != r.size()) ||
      (rows > 0 && rows * last != r.size()) || (columns > 0 && (rows == 0 || columns != last))) {
    return absl::InvalidArgumentError(StrCat(d.name, ": a scale of ", scale.elements.size(), " elements, ",
                                             rows, " rows and ", columns, " columns does not fit ",
                                             formats::ToString(r.dtype, r.dims)));
  }
  if (InfoOf(re).digits <= InfoOf(de).digits && !options.truth_rounded) {
    return Undecided(
        StrCat("a truth in ", InfoOf(re).name, " is no wider than the result in ", InfoOf(de).name));
  }
  return ElementPass(rules, rule_class, r, d, options).Run();
}

}  // namespace plinth::verify
