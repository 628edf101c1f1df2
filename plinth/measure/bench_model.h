// Measures how fast a model forecasts, beside what the machine could do in the same run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plinth/engine/session.h"
#include "plinth/measure/machine.h"

namespace plinth::measure {

struct ModelBenchOptions {
  int64_t batch = 1;
  int64_t context = 0;  // 0: the model's own
  int64_t shortest =
      0;  // series lie evenly between this and the context in length, in mixed order; 0: all alike
  int64_t horizon = 0;  // 0: the model's own
  double seconds = 2;   // measures at least this long, and at least five calls
};

struct ModelBench {
  int64_t batch = 0, context = 0, shortest = 0, horizon = 0, calls = 0;
  int threads = 0;
  // Wall time of one call with the whole batch, features and quantiles included, in milliseconds.
  double ms_min = 0, ms_p50 = 0, ms_p90 = 0;
  // CPU time of all threads for one call, in milliseconds.
  double cpu_ms_min = 0, cpu_ms_p50 = 0;
  double series_per_second = 0;  // at the median wall time
  double flops = 0;              // of matrix products and attention, as one call executes them
  double gflops = 0;             // at the median wall time
  Machine machine;
  double fraction_of_matmul_peak = 0;
  // The same by processor time, each call beside a measurement of the peak: for machines that are shared.
  double cpu_fraction_of_matmul_peak = 0;
  int64_t arena_bytes = 0, weight_bytes = 0, peak_rss_bytes = 0;
  int64_t allocations_in_loop = 0;  // -1: cannot be counted
  // Share of the time by operator, largest first; from a profiled run of its own.
  std::vector<std::pair<std::string, double>> profile;
};

// The lengths of the series that a benchmark forecasts, the longest being `context`.
std::vector<int64_t> BenchLengths(int64_t batch, int64_t shortest, int64_t context);

// Floating-point operations of the matrix products and attention that a forecast of series of these lengths
// executes, passes beyond the model's own horizon included. Errors: as Session::Run.
StatusOr<double> ProductFlops(engine::Session& session, const std::vector<int64_t>& lengths, int64_t horizon);

// Series are made from a fixed seed: two seasons, a trend and noise.
// Errors: InvalidArgument for sizes the model does not take, and what a forecast reports.
StatusOr<ModelBench> BenchModel(engine::Session& session, const ModelBenchOptions& options);

}  // namespace plinth::measure
