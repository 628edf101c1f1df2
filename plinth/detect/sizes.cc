#include "plinth/detect/sizes.h"

#include <algorithm>
#include <vector>

namespace plinth::detect {
namespace {

constexpr int64_t kLeastStep = 4, kMostForecasts = 32768;
constexpr int64_t kLeastWindow = 64, kMostWindow = 256, kUsualWindow = 96;
constexpr int64_t kMostPeriod = 2048;               // longer cycles are not looked for
constexpr int64_t kProfileWork = int64_t{1} << 34;  // pairs of windows
constexpr double kMostEvents = 0.01;                // allowed false alarms per row are never more

// The period that most columns have; of equally frequent ones the shortest.
int64_t PeriodOfMost(std::span<const Column> columns, int64_t calibration, Threads& threads) {
  std::vector<int64_t> periods(columns.size());
  threads.For(static_cast<int64_t>(columns.size()), [&](int64_t c, int) {
    periods[static_cast<size_t>(c)] = PeriodOf(columns[static_cast<size_t>(c)], calibration, kMostPeriod);
  });
  std::sort(periods.begin(), periods.end());
  int64_t most = 0, period = 0;
  for (const int64_t p : periods) {
    const int64_t count = std::count(periods.begin(), periods.end(), p);
    if (p > 0 && count > most) most = count, period = p;
  }
  return period;
}

}  // namespace

Sizes ChooseSizes(std::span<const Column> columns, int64_t calibration, int64_t rows, double rows_per_day,
                  const Options& options, engine::Forecaster& forecaster) {
  Sizes s;
  s.period = PeriodOfMost(columns, calibration, forecaster.threads());
  s.window = options.window;
  if (s.window == 0) {
    // Whole periods, so that every window holds the same part of the cycle.
    const int64_t periods = s.period > 0 ? (kLeastWindow + s.period - 1) / s.period * s.period : kUsualWindow;
    s.window = std::max<int64_t>(2, std::min(std::min(periods, kMostWindow), calibration / 4));
  }
  const int64_t values = rows * static_cast<int64_t>(columns.size());
  s.step =
      options.step > 0 ? options.step : std::max(kLeastStep, (values + kMostForecasts - 1) / kMostForecasts);
  s.step = std::min({s.step, forecaster.most_horizon(), rows});
  const double day = rows_per_day > 0 ? rows_per_day : kRowsPerUnknownDay;
  s.rate = std::min(options.false_alarms_per_day / day, kMostEvents);
  return s;
}

int64_t FirstForecast(int64_t calibration) { return std::clamp<int64_t>(calibration / 4, 1, 64); }

int64_t ProfileReach(int64_t window, int64_t rows, size_t columns) {
  return std::max<int64_t>(4 * window, kProfileWork / (rows * static_cast<int64_t>(columns)));
}

}  // namespace plinth::detect
