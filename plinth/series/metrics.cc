#include "plinth/series/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plinth/base/check.h"
#include "plinth/series/scaling.h"

namespace plinth::series {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeast = 1e-12;  // of a denominator

std::vector<double> Observed(std::span<const double> context) {
  std::vector<double> c;
  c.reserve(context.size());
  std::copy_if(context.begin(), context.end(), std::back_inserter(c),
               [](double v) { return std::isfinite(v); });
  return c;
}

// What a score is divided by: NaN where it is 0 (the score has no meaning then), else at least kLeast.
double Denominator(double x) {
  if (x == 0) return kNan;
  return x < kLeast ? kLeast : x;
}

double SeasonalDifference(std::span<const double> context, int64_t season) {
  const std::vector<double> c = Observed(context);
  const size_t m = static_cast<size_t>(season);
  if (c.size() <= m) return kNan;
  double sum = 0;
  for (size_t t = m; t < c.size(); ++t) sum += std::abs(c[t] - c[t - m]);
  return sum / static_cast<double>(c.size() - m);
}

// The index of a normalised level, or -1.
int64_t IndexOf(std::span<const double> levels, double level) {
  const auto at = std::find(levels.begin(), levels.end(), level);
  return at == levels.end() ? -1 : at - levels.begin();
}

double Polynomial(std::span<const double> coefficients, double x) {
  double value = 0;
  for (auto c = coefficients.rbegin(); c != coefficients.rend(); ++c) value = value * x + *c;
  return value;
}

}  // namespace

Scores ScoreWindow(std::span<const double> truth, const QuantileForecast& forecast,
                   std::span<const double> context, int64_t season) {
  PLINTH_CHECK_LE(1, season);
  const size_t levels = forecast.levels.size();
  PLINTH_CHECK_EQ(forecast.values.size(), truth.size() * levels);
  const int64_t middle = IndexOf(forecast.levels, 0.5);
  PLINTH_CHECK_LE(0, middle);
  const int64_t low = IndexOf(forecast.levels, 0.1), high = IndexOf(forecast.levels, 0.9);
  double absolute = 0, squares = 0, pinball = 0, size = 0, inside = 0, n = 0;
  for (size_t h = 0; h < truth.size(); ++h) {
    const double y = truth[h];
    if (!std::isfinite(y)) continue;
    const double* q = forecast.values.data() + h * levels;
    const double error = y - q[middle];
    absolute += std::abs(error);
    squares += error * error;
    size += std::abs(y);
    n += 1;
    for (size_t i = 0; i < levels; ++i) {
      const double e = y - q[i], level = forecast.levels[i];
      pinball += e < 0 ? (level - 1) * e : level * e;
    }
    if (low < 0 || high < 0 || std::isnan(q[low]) || std::isnan(q[high])) {
      inside = kNan;
    } else {
      inside += y >= q[low] && y <= q[high] ? 1 : 0;
    }
  }
  if (n == 0) return {kNan, kNan, kNan, kNan, kNan};
  const double mae = absolute / n;
  return {mae / Denominator(SeasonalDifference(context, season)),
          2 * pinball / (n * static_cast<double>(levels)) / Denominator(size / n), mae,
          std::sqrt(squares / n), inside / n};
}

std::vector<double> SeasonalNaive(std::span<const double> context, int64_t horizon, int64_t season,
                                  std::span<const double> levels) {
  PLINTH_CHECK_LE(1, season);
  const std::vector<double> c = Observed(context);
  std::vector<double> out(static_cast<size_t>(horizon) * levels.size(), kNan);
  if (c.empty()) return out;
  const size_t m = static_cast<size_t>(season);
  const std::span<const double> last = std::span(c).last(std::min(m, c.size()));
  double spread = 0;
  if (c.size() > m) {
    std::vector<double> differences;
    for (size_t t = m; t < c.size(); ++t) differences.push_back(c[t] - c[t - m]);
    // The floor of MeanStd puts 1 in place of 0; a deviation of 0 is a true one here.
    const bool constant = std::equal(differences.begin() + 1, differences.end(), differences.begin());
    spread = constant ? 0 : MeanStd(differences, 0).scale;
  }
  for (int64_t h = 0; h < horizon; ++h) {
    const double point = last[static_cast<size_t>(h) % last.size()];
    const double width = spread * std::sqrt(static_cast<double>(h / season + 1));
    for (size_t i = 0; i < levels.size(); ++i) {
      out[static_cast<size_t>(h) * levels.size() + i] = point + width * NormalQuantile(levels[i]);
    }
  }
  return out;
}

double NormalQuantile(double p) {
  PLINTH_CHECK(p > 0 && p < 1);
  constexpr double kA[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                           1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                           3.3430575583588128105e4, 2.5090809287301226727e3};
  constexpr double kB[] = {1.0,
                           4.2313330701600911252e1,
                           6.8718700749205790830e2,
                           5.3941960214247511077e3,
                           2.1213794301586595867e4,
                           3.9307895800092710610e4,
                           2.8729085735721942674e4,
                           5.2264952788528545610e3};
  constexpr double kC[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                           3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                           2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double kD[] = {1.0,
                           2.05319162663775882187e0,
                           1.67638483018380384940e0,
                           6.89767334985100004550e-1,
                           1.48103976427480074590e-1,
                           1.51986665636164571966e-2,
                           5.47593808499534494600e-4,
                           1.05075007164441684324e-9};
  constexpr double kE[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                           2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                           2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double kF[] = {1.0,
                           5.99832206555887937690e-1,
                           1.36929880922735805310e-1,
                           1.48753612908506148525e-2,
                           7.86869131145613259100e-4,
                           1.84631831751005468180e-5,
                           1.42151175831644588870e-7,
                           2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * Polynomial(kA, r) / Polynomial(kB, r);
  }
  const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  const double tail = r <= 5 ? Polynomial(kC, r - 1.6) / Polynomial(kD, r - 1.6)
                             : Polynomial(kE, r - 5) / Polynomial(kF, r - 5);
  return q < 0 ? -tail : tail;
}

void MeanScores::Add(const Scores& window) {
  const double values[kScores] = {window.mase, window.wql, window.mae, window.rmse, window.coverage_80};
  for (int i = 0; i < kScores; ++i) {
    if (std::isnan(values[i])) continue;
    sum_[i] += values[i];
    ++count_[i];
  }
  ++windows_;
}

Scores MeanScores::mean() const {
  const auto mean = [this](int i) {
    return count_[i] == 0 ? kNan : sum_[i] / static_cast<double>(count_[i]);
  };
  return {mean(0), mean(1), mean(2), mean(3), mean(4)};
}

void BacktestScores::Add(std::span<const double> truth, const QuantileForecast& forecast,
                         std::span<const double> context) {
  const Scores scores = ScoreWindow(truth, forecast, context, season_);
  model_.Add(scores);
  const bool scored = !std::isnan(scores.mae);
  without_mase_ += scored && std::isnan(scores.mase);
  without_wql_ += scored && std::isnan(scores.wql);
  const std::vector<double> naive =
      SeasonalNaive(context, static_cast<int64_t>(truth.size()), season_, forecast.levels);
  naive_.Add(ScoreWindow(truth, {naive, forecast.levels}, context, season_));
}

}  // namespace plinth::series
