#include "plinth/measure/timing.h"

#include <time.h>

#include <algorithm>
#include <cmath>

namespace plinth::measure {
namespace {

double Seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double Time(const std::function<void()>& f, int64_t repeats, Clock clock) {
  const auto now = clock == Clock::kWall ? WallSeconds : ThreadCpuSeconds;
  const double start = now();
  for (int64_t i = 0; i < repeats; ++i) f();
  return (now() - start) / static_cast<double>(repeats);
}

// Repeats for one round of about `seconds`.
int64_t RepeatsFor(const std::function<void()>& f, double seconds, Clock clock) {
  f();  // first touch of memory and code
  double once = Time(f, 1, clock);
  if (once < seconds / 10)
    once = Time(f, std::max<int64_t>(1, std::llround(0.1 * seconds / std::max(once, 1e-7))), clock);
  return std::max<int64_t>(1, std::llround(seconds / std::max(once, 1e-9)));
}

}  // namespace

double ThreadCpuSeconds() { return Seconds(CLOCK_THREAD_CPUTIME_ID); }
double WallSeconds() { return Seconds(CLOCK_MONOTONIC); }

Spread SpreadOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  const double median = n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
  const size_t p90 = std::min(n - 1, static_cast<size_t>(std::ceil(0.9 * static_cast<double>(n))) - 1);
  return {values.front(), median, values[p90], static_cast<int>(n)};
}

Race Alternate(absl::Span<const std::function<void()>> candidates, const TimingOptions& options) {
  const size_t n = candidates.size();
  std::vector<int64_t> repeats(n);
  for (size_t i = 0; i < n; ++i) repeats[i] = RepeatsFor(candidates[i], options.round_seconds, options.clock);
  std::vector<std::vector<double>> seconds(n), ratio(n);
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < n; ++i) seconds[i].push_back(Time(candidates[i], repeats[i], options.clock));
    for (size_t i = 0; i < n; ++i) ratio[i].push_back(seconds[0].back() / seconds[i].back());
  }
  Race race;
  for (size_t i = 0; i < n; ++i) {
    race.seconds.push_back(SpreadOf(std::move(seconds[i])));
    race.ratio.push_back(SpreadOf(std::move(ratio[i])));
  }
  return race;
}

}  // namespace plinth::measure
