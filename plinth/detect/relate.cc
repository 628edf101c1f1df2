#include "plinth/detect/relate.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

#include "plinth/base/text.h"
#include "plinth/detect/detect.h"
#include "plinth/detect/fourier.h"
#include "plinth/detect/whiten.h"

namespace plinth::detect {
namespace {

constexpr int64_t kFarLags = 512;  // beyond those of interest, on each side

// Standard errors are widened a little, since cycle, coefficients and the spread itself are estimates.
// Without it about one in twenty sets of unrelated columns showed a relation at the level 0.05; the test
// allows ten of 200.
constexpr double kCaution = 1.03;

using Spectrum = std::vector<std::complex<double>>;

// Probability that a normal number is at least that far from 0.
double TwoSided(double z) { return std::erfc(std::fabs(z) / std::sqrt(2.0)); }

// 1 - (1 - p)^count without loss for small p.
double Sidak(double p, int64_t count) {
  return p >= 1 ? 1 : -std::expm1(static_cast<double>(count) * std::log1p(-p));
}

// Correlations of one pair at all lags, in standard errors.
class Pair {
 public:
  Pair(const White& a, const White& b, const Spectrum& of_a, const Spectrum& of_b, int64_t rows,
       int64_t most_lag)
      : rows_(rows), known_(a.known * b.known), work_(of_a.size()) {
    for (size_t k = 0; k < work_.size(); ++k) work_[k] = std::conj(of_a[k]) * of_b[k];
    Transform(work_, true);
    const int64_t far = std::min(kFarLags, rows / 2 - most_lag);
    double squares = 0;
    for (int64_t l = most_lag + 1; l <= most_lag + far; ++l) squares += Raw(l) * Raw(l) + Raw(-l) * Raw(-l);
    error_ = kCaution * std::max(1.0, std::sqrt(squares / static_cast<double>(2 * far)));
  }
  // sum of a[t] b[t + lag] in standard errors.
  double Z(int64_t lag) const { return Raw(lag) / error_; }
  double Correlation(int64_t lag) const { return Raw(lag) / std::sqrt(Count(lag)); }

 private:
  double Count(int64_t lag) const {
    return std::max(1.0, known_ * static_cast<double>(rows_ - std::abs(lag)));
  }
  double Raw(int64_t lag) const {
    const size_t n = work_.size();
    return work_[static_cast<size_t>(lag < 0 ? static_cast<int64_t>(n) + lag : lag)].real() /
           std::sqrt(Count(lag));
  }
  int64_t rows_;
  double known_;
  Spectrum work_;
  double error_ = 1;
};

// The best lag of a direction; `sign` -1 where the second column leads.
Relation Best(const Pair& pair, int64_t a, int64_t b, int64_t sign, int64_t most_lag) {
  int64_t best = 1;
  for (int64_t l = 2; l <= most_lag; ++l) {
    if (std::fabs(pair.Z(sign * l)) > std::fabs(pair.Z(sign * best))) best = l;
  }
  const double p = Sidak(TwoSided(pair.Z(sign * best)), most_lag);
  return {sign > 0 ? a : b, sign > 0 ? b : a, best, pair.Correlation(sign * best), p};
}

// Benjamini and Hochberg's step-up: p-values become the level at which each would just be found.
void Correct(std::vector<Relation>& all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Relation& x, const Relation& y) { return x.p_value < y.p_value; });
  double least = 1;
  for (size_t k = all.size(); k-- > 0;) {
    least = std::min(least, all[k].p_value * static_cast<double>(all.size()) / static_cast<double>(k + 1));
    all[k].p_value = least;
  }
}

}  // namespace

StatusOr<Relations> Relate(std::span<const Column> columns, const RelateOptions& options, Threads& threads,
                           StopCheck cancelled) {
  Relations out;
  const int64_t count = static_cast<int64_t>(columns.size());
  out.rows = columns.empty() ? 0 : std::min(columns[0].rows(), kMostRelatedRows);
  out.most_lag = std::max<int64_t>(1, std::min(options.most_lag, out.rows / 8));
  if (count < 2 || out.rows < kLeastRelatedRows) return out;
  std::vector<White> white(columns.size());
  std::vector<Spectrum> spectra(columns.size());
  const size_t size = PowerOfTwo(static_cast<size_t>(out.rows + out.most_lag + kFarLags + 1));
  threads.For(count, [&](int64_t c, int) {
    if (cancelled()) return;
    const size_t i = static_cast<size_t>(c);
    white[i] = Whiten(columns[i], out.rows);
    spectra[i].assign(size, 0.0);
    std::copy(white[i].scores.begin(), white[i].scores.end(), spectra[i].begin());
    Transform(spectra[i], false);
  });
  if (cancelled()) return absl::CancelledError("interrupted");
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t a = 0; a < count; ++a) {
    if (white[static_cast<size_t>(a)].silent) out.silent.push_back(a);
    for (int64_t b = a + 1; b < count; ++b) {
      if (!white[static_cast<size_t>(a)].silent && !white[static_cast<size_t>(b)].silent)
        pairs.emplace_back(a, b);
    }
  }
  std::vector<Relation> all(3 * pairs.size());
  threads.For(static_cast<int64_t>(pairs.size()), [&](int64_t p, int) {
    if (cancelled()) return;
    const auto [a, b] = pairs[static_cast<size_t>(p)];
    const size_t i = static_cast<size_t>(a), j = static_cast<size_t>(b);
    const Pair pair(white[i], white[j], spectra[i], spectra[j], out.rows, out.most_lag);
    Relation* tested = &all[3 * static_cast<size_t>(p)];
    tested[0] = {a, b, 0, pair.Correlation(0), TwoSided(pair.Z(0))};
    tested[1] = Best(pair, a, b, 1, out.most_lag);
    tested[2] = Best(pair, a, b, -1, out.most_lag);
  });
  if (cancelled()) return absl::CancelledError("interrupted");
  out.tested = static_cast<int64_t>(all.size());
  Correct(all);
  for (const Relation& relation : all) {
    if (relation.p_value <= options.level) out.found.push_back(relation);
  }
  return out;
}

StatusOr<Relations> Relate(std::span<const std::span<const double>> columns, const RelateOptions& options,
                           Threads& threads, StopCheck cancelled) {
  const auto refuse = [](std::string what) { return absl::InvalidArgumentError(what); };
  const int64_t count = static_cast<int64_t>(columns.size());
  if (count < 2) return refuse(StrCat("there is ", count, " column; relations need at least two"));
  if (count > kMostColumns) {
    return refuse(StrCat("there are ", count, " columns; relations are sought among up to ", kMostColumns,
                         ": name fewer targets"));
  }
  if (options.most_lag < 1)
    return refuse(StrCat("the largest lag is ", options.most_lag, "; it is at least 1"));
  if (!(options.level > 0 && options.level < 1)) {
    return refuse(StrCat("the level is ", options.level, "; it lies between 0 and 1, as 0.05"));
  }
  size_t rows = 0;
  for (const auto& column : columns) rows = std::max(rows, column.size());
  if (static_cast<int64_t>(rows) < kLeastRelatedRows) {
    return refuse(StrCat("there are ", rows, " rows; relations need at least ", kLeastRelatedRows));
  }
  // Aligned at the last row; only those that are looked at.
  rows = std::min(rows, static_cast<size_t>(kMostRelatedRows));
  std::vector<Column> made(columns.size());
  threads.For(count, [&](int64_t c, int) {
    const auto given = columns[static_cast<size_t>(c)];
    std::vector<double> values(rows, std::nan(""));
    const size_t known = std::min(rows, given.size());
    std::copy(given.end() - static_cast<std::ptrdiff_t>(known), given.end(),
              values.end() - static_cast<std::ptrdiff_t>(known));
    made[static_cast<size_t>(c)] = MakeColumn(values, static_cast<int64_t>(rows));
  });
  return Relate(std::span<const Column>(made), options, threads, cancelled);
}

}  // namespace plinth::detect
