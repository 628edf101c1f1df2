#include "plinth/measure/bench_model.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "plinth/base/allocations.h"
#include "plinth/base/interrupt.h"
#include "plinth/base/random.h"
#include "plinth/measure/matrix_peak.h"
#include "plinth/measure/timing.h"

namespace plinth::measure {
namespace {

using Series = std::vector<std::vector<double>>;

Series MakeSeries(const std::vector<int64_t>& lengths) {
  Random random(20261130);
  Series series;
  for (const int64_t length : lengths) {
    std::vector<double> y;
    y.reserve(static_cast<size_t>(length));
    const double level = 100 * random.Normal(), amplitude = 1 + 5 * random.Uniform();
    for (int64_t t = 0; t < length; ++t) {
      const double x = static_cast<double>(t);
      y.push_back(level + 0.01 * x + amplitude * std::sin(x * (2 * M_PI / 24)) +
                  std::cos(x * (2 * M_PI / 168)) + 0.3 * random.Normal());
    }
    series.push_back(std::move(y));
  }
  return series;
}

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

// How many of the series one run of the session takes.
size_t SeriesPerRun(const engine::Session& session, const Series& series, int64_t steps) {
  const engine::RunSize most = session.run_size();
  size_t count = 0;
  for (int64_t tokens = 0; count < series.size() && static_cast<int64_t>(count) < most.rows; ++count) {
    tokens += session.model().Tokens(static_cast<int64_t>(series[count].size()), steps);
    if (count > 0 && tokens > most.tokens) break;
  }
  return count;
}

// Runs one plan over the first series, as a session does in one of its runs.
class Loop {
 public:
  static StatusOr<Loop> Make(engine::Session& session, const Series& series, int64_t steps, bool profile) {
    const models::Model& model = session.model();
    Loop loop;
    loop.steps_ = steps;
    const size_t count = SeriesPerRun(session, series, steps);
    int64_t tokens = 0;
    for (size_t i = 0; i < count; ++i) {
      loop.rows_.push_back({series[i], {}});
      tokens += model.Tokens(static_cast<int64_t>(series[i].size()), steps);
    }
    // A lone run has all threads to itself; of several, each has one.
    if (count == series.size()) loop.threads_ = session.context().threads;
    const engine::RunSize size{static_cast<int64_t>(count), tokens};
    PLINTH_ASSIGN_OR_RETURN(loop.plan_, session.MakePlan({.size = size, .profile = profile}));
    PLINTH_ASSIGN_OR_RETURN(loop.runner_,
                            engine::Runner::Make(model, loop.plan_, size, session.context().isa,
                                                 loop.threads_ == nullptr ? 1 : loop.threads_->count()));
    loop.values_.resize(static_cast<size_t>(steps) * model.info().levels.size());
    return loop;
  }
  Status Run() {
    PLINTH_RETURN_IF_ERROR(CheckInterrupted());
    runner_->Begin(steps_);
    for (const models::Row& row : rows_) runner_->Add({&row, 1});
    PLINTH_RETURN_IF_ERROR(runner_->Compute(threads_));
    for (size_t i = 0; i < rows_.size(); ++i) runner_->Read(static_cast<int64_t>(i), values_);
    return absl::OkStatus();
  }
  const plan::Plan& plan() const { return *plan_; }
  const engine::Runner& runner() const { return *runner_; }

 private:
  Loop() = default;
  int64_t steps_ = 0;
  Threads* threads_ = nullptr;
  std::vector<models::Row> rows_;
  std::shared_ptr<const plan::Plan> plan_;
  std::unique_ptr<engine::Runner> runner_;
  std::vector<double> values_;
};

// Large models take long enough for fewer rounds to do.
bool Enough(int rounds, int most, double since) {
  return rounds >= most || (rounds >= 3 && WallSeconds() - since > 1);
}

StatusOr<int64_t> CountAllocations(engine::Session& session, const Series& series, int64_t steps) {
  PLINTH_ASSIGN_OR_RETURN(Loop loop, Loop::Make(session, series, steps, /*profile=*/false));
  PLINTH_RETURN_IF_ERROR(loop.Run());  // the pool of threads starts
  const AllocationCounter counter;
  const double begin = WallSeconds();
  for (int round = 0; !Enough(round, 10, begin); ++round) PLINTH_RETURN_IF_ERROR(loop.Run());
  return counter.count();
}

StatusOr<std::vector<std::pair<std::string, double>>> Profile(engine::Session& session, const Series& series,
                                                              int64_t steps) {
  PLINTH_ASSIGN_OR_RETURN(Loop loop, Loop::Make(session, series, steps, /*profile=*/true));
  PLINTH_RETURN_IF_ERROR(loop.Run());  // first touch of memory
  std::map<std::string, double> seconds;
  const double begin = WallSeconds();
  for (int round = 0; !Enough(round, 20, begin); ++round) {
    const double start = WallSeconds();
    PLINTH_RETURN_IF_ERROR(loop.Run());
    seconds["features and scaling"] += WallSeconds() - start;
    for (size_t s = 0; s < loop.plan().step_count(); ++s) {
      const double step = loop.runner().workspace().step_seconds()[s];
      seconds[loop.plan().StepCall(s).spec->name] += step;
      seconds["features and scaling"] -= step;
    }
  }
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0,
                                       [](double sum, const auto& item) { return sum + item.second; });
  std::vector<std::pair<std::string, double>> shares;
  for (const auto& [name, s] : seconds) shares.emplace_back(name, s / total);
  std::sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return shares;
}

// Alternates calls with measurements of the peak.
StatusOr<double> ShareOfPeak(engine::Session& session, const Series& series,
                             const engine::ForecastRequest& request, double flops) {
  const std::vector<std::span<const double>> windows(series.begin(), series.end());
  PLINTH_ASSIGN_OR_RETURN(MatrixPeak peak,
                          MatrixPeak::Make(*session.context().threads, session.context().isa));
  peak.FlopsPerCpuSecond();  // first touch of memory
  std::vector<double> shares;
  const double begin = WallSeconds();
  for (int round = 0; !Enough(round, 9, begin); ++round) {
    const double limit = peak.FlopsPerCpuSecond(), start = ProcessCpuSeconds();
    PLINTH_RETURN_IF_ERROR(session.Run(windows, request, &Interrupted).status());
    shares.push_back(flops / (ProcessCpuSeconds() - start) / limit);
  }
  return SpreadOf(std::move(shares)).median;
}

Status CheckOptions(const models::ModelInfo& info, const ModelBenchOptions& options) {
  if (options.context > info.context_length) {
    return absl::InvalidArgumentError(StrCat("the context is ", options.context, "; ", info.family,
                                             " takes up to ", info.context_length, " steps"));
  }
  if (options.shortest > options.context) {
    return absl::InvalidArgumentError(StrCat("lengths from ", options.shortest, " to ", options.context,
                                             " were asked for; the shortest comes first"));
  }
  return absl::OkStatus();
}

// Calls the session again and again.
Status TimeCalls(engine::Session& session, const Series& series, const engine::ForecastRequest& request,
                 double seconds, ModelBench* result) {
  const std::vector<std::span<const double>> windows(series.begin(), series.end());
  std::vector<double> wall, cpu;
  const double begin = WallSeconds();
  PLINTH_RETURN_IF_ERROR(session.Run(windows, request, &Interrupted).status());  // not counted
  while (wall.size() < 5 || WallSeconds() - begin < seconds) {
    const double w = WallSeconds(), c = ProcessCpuSeconds();
    PLINTH_RETURN_IF_ERROR(session.Run(windows, request, &Interrupted).status());
    cpu.push_back(1e3 * (ProcessCpuSeconds() - c));
    wall.push_back(1e3 * (WallSeconds() - w));
  }
  result->calls = static_cast<int64_t>(wall.size());
  result->ms_min = Quantile(wall, 0);
  result->ms_p50 = Quantile(wall, 0.5);
  result->ms_p90 = Quantile(wall, 0.9);
  result->cpu_ms_min = Quantile(cpu, 0);
  result->cpu_ms_p50 = Quantile(cpu, 0.5);
  result->series_per_second = 1e3 * static_cast<double>(series.size()) / result->ms_p50;
  return absl::OkStatus();
}

}  // namespace

std::vector<int64_t> BenchLengths(int64_t batch, int64_t shortest, int64_t context) {
  std::vector<int64_t> lengths(static_cast<size_t>(batch), context);
  if (shortest == 0 || batch < 2) return lengths;
  for (int64_t i = 0; i < batch; ++i) {
    lengths[static_cast<size_t>(i)] = shortest + (context - shortest) * i / (batch - 1);
  }
  Random random(20261130);
  for (size_t i = lengths.size() - 1; i > 0; --i) std::swap(lengths[i], lengths[random.Below(i + 1)]);
  return lengths;
}

StatusOr<double> ProductFlops(engine::Session& session, const std::vector<int64_t>& lengths,
                              int64_t horizon) {
  const models::ModelInfo& info = session.model().info();
  const std::vector<double> values(static_cast<size_t>(info.context_length), 1.0);
  // By length, since attention's work is known for one sequence only; nothing else depends on the company.
  std::map<int64_t, int64_t> rows;
  double flops = 0;
  for (int64_t done = 0; done < horizon; done += info.horizon) {
    rows.clear();
    // A later pass sees every path of each series, with what was forecast before.
    const int64_t paths = done == 0 ? 1 : static_cast<int64_t>(info.continuation.paths.size());
    for (const int64_t length : lengths) rows[std::min(length + done, info.context_length)] += paths;
    const engine::ForecastRequest pass{std::min(info.horizon, horizon - done), 0, info.levels};
    for (const auto& [length, count] : rows) {
      const engine::Group group{{{std::span(values).first(static_cast<size_t>(length)), {}}}, 1};
      PLINTH_ASSIGN_OR_RETURN(const ops::Cost cost, session.PassCost({&group, 1}, pass));
      flops += cost.product_flops * static_cast<double>(count);
    }
  }
  return flops;
}

StatusOr<ModelBench> BenchModel(engine::Session& session, const ModelBenchOptions& options) {
  const models::ModelInfo& info = session.model().info();
  ModelBench result;
  result.batch = options.batch;
  result.context = options.context == 0 ? info.context_length : options.context;
  result.shortest = options.shortest;
  result.horizon = options.horizon == 0 ? info.horizon : options.horizon;
  result.threads = session.context().threads->count();
  PLINTH_RETURN_IF_ERROR(CheckOptions(info, {.context = result.context, .shortest = result.shortest}));
  const std::vector<int64_t> lengths = BenchLengths(result.batch, result.shortest, result.context);
  const Series series = MakeSeries(lengths);
  const engine::ForecastRequest request{result.horizon, result.context, info.levels};
  PLINTH_RETURN_IF_ERROR(TimeCalls(session, series, request, options.seconds, &result));
  // Taken before the machine's own measurement, which needs large buffers.
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  result.peak_rss_bytes = usage.ru_maxrss * 1024;
  result.arena_bytes = session.arena_bytes();
  result.weight_bytes = session.weight_bytes();
  PLINTH_ASSIGN_OR_RETURN(result.flops, ProductFlops(session, lengths, result.horizon));
  result.gflops = result.flops / result.ms_p50 * 1e-6;
  const int64_t steps =
      std::min(info.horizon, (result.horizon + info.stride - 1) / info.stride * info.stride);
  PLINTH_ASSIGN_OR_RETURN(result.allocations_in_loop, CountAllocations(session, series, steps));
  PLINTH_ASSIGN_OR_RETURN(result.profile, Profile(session, series, steps));
  PLINTH_ASSIGN_OR_RETURN(result.cpu_fraction_of_matmul_peak,
                          ShareOfPeak(session, series, request, result.flops));
  PLINTH_RETURN_IF_ERROR(CheckInterrupted());
  PLINTH_ASSIGN_OR_RETURN(result.machine, MeasureMachine(*session.context().threads, session.context().isa));
  result.fraction_of_matmul_peak = result.gflops / result.machine.matmul_gflops;
  return result;
}

}  // namespace plinth::measure
