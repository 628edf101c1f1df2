// Times several ways of doing the same thing alternately, so that a noisy machine wrongs none of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"

namespace plinth::measure {

// Seconds of processor time of the calling thread, and of the wall clock.
double ThreadCpuSeconds();
double WallSeconds();

// What repeated measurements of one quantity gave. All zero where count is 0.
struct Spread {
  double min = 0;
  double median = 0;
  double p90 = 0;
  int count = 0;

  // (p90 - min) / median: how much to trust the figures.
  double relative() const { return median > 0 ? (p90 - min) / median : 0; }
};
Spread SpreadOf(std::vector<double> values);

enum class Clock { kThreadCpu, kWall };

struct TimingOptions {
  Clock clock = Clock::kThreadCpu;
  int rounds = 15;              // each round times every candidate once, in turn
  double round_seconds = 0.01;  // a candidate is repeated until one round takes about this long
};

// Timings of several candidates; seconds per call.
struct Race {
  std::vector<Spread> seconds;  // one per candidate
  // Over rounds, seconds of candidate 0 divided by those of candidate i: > 1 where i is faster. Ratios of
  // neighbours in time cancel what slows the whole machine.
  std::vector<Spread> ratio;
};

// Runs each candidate once to warm up, then in alternation.
Race Alternate(absl::Span<const std::function<void()>> candidates, const TimingOptions& options = {});

}  // namespace plinth::measure
