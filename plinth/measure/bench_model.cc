#include "plinth/measure/bench_model.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "plinth/base/allocations.h"
#include "plinth/base/interrupt.h"
#include "plinth/base/random.h"

namespace plinth::measure {
namespace {

using Series = std::vector<std::vector<double>>;

double Seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Series MakeSeries(int64_t count, int64_t length) {
  Random random(20261130);
  Series series(static_cast<size_t>(count));
  for (auto& y : series) {
    const double level = 100 * random.Normal(), amplitude = 1 + 5 * random.Uniform();
    for (int64_t t = 0; t < length; ++t) {
      const double x = static_cast<double>(t);
      y.push_back(level + 0.01 * x + amplitude * std::sin(x * (2 * M_PI / 24)) +
                  std::cos(x * (2 * M_PI / 168)) + 0.3 * random.Normal());
    }
  }
  return series;
}

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

// Runs one plan over some series, as a session does.
class Loop {
 public:
  static StatusOr<Loop> Make(engine::Session& session, const Series& series, size_t count, bool profile) {
    const models::Model& model = session.model();
    Loop loop;
    loop.steps_ = model.info().horizon;
    for (size_t i = 0; i < count; ++i) loop.rows_.push_back({series[i], {}});
    int64_t tokens = 0;
    for (const models::Row& row : loop.rows_) {
      tokens += model.Tokens(static_cast<int64_t>(row.past.size()), loop.steps_);
    }
    const engine::RunSize size{static_cast<int64_t>(count), tokens};
    PLINTH_ASSIGN_OR_RETURN(loop.plan_, session.MakePlan({.size = size, .profile = profile}));
    PLINTH_ASSIGN_OR_RETURN(loop.runner_, engine::Runner::Make(model, loop.plan_, size, session.context().isa,
                                                               /*threads=*/1));
    loop.values_.resize(static_cast<size_t>(loop.steps_) * model.info().levels.size());
    return loop;
  }
  Status Run() {
    runner_->Begin(steps_);
    for (const models::Row& row : rows_) runner_->Add({&row, 1});
    PLINTH_RETURN_IF_ERROR(runner_->Compute(nullptr));
    for (size_t i = 0; i < rows_.size(); ++i) runner_->Read(static_cast<int64_t>(i), values_);
    return absl::OkStatus();
  }
  const plan::Plan& plan() const { return *plan_; }
  const engine::Runner& runner() const { return *runner_; }

 private:
  Loop() = default;
  int64_t steps_ = 0;
  std::vector<models::Row> rows_;
  std::shared_ptr<const plan::Plan> plan_;
  std::unique_ptr<engine::Runner> runner_;
  std::vector<double> values_;
};

StatusOr<int64_t> CountAllocations(Loop& loop) {
  PLINTH_RETURN_IF_ERROR(loop.Run());  // lazily grown scratch of the codec
  const AllocationCounter counter;
  for (int i = 0; i < 10; ++i) PLINTH_RETURN_IF_ERROR(loop.Run());
  return counter.count();
}

StatusOr<std::vector<std::pair<std::string, double>>> Profile(engine::Session& session, const Series& series,
                                                              size_t count) {
  PLINTH_ASSIGN_OR_RETURN(Loop loop, Loop::Make(session, series, count, /*profile=*/true));
  std::map<std::string, double> seconds;
  for (int round = 0; round < 20; ++round) {
    const double start = Seconds(CLOCK_MONOTONIC);
    PLINTH_RETURN_IF_ERROR(loop.Run());
    const double all = Seconds(CLOCK_MONOTONIC) - start;
    if (round == 0) continue;
    double steps = 0;
    for (size_t s = 0; s < loop.plan().step_count(); ++s) {
      const double step = loop.runner().workspace().step_seconds()[s];
      seconds[loop.plan().StepCall(s).spec->name] += step;
      steps += step;
    }
    seconds["features and scaling"] += all - steps;
  }
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0,
                                       [](double sum, const auto& item) { return sum + item.second; });
  std::vector<std::pair<std::string, double>> shares;
  for (const auto& [name, s] : seconds) shares.emplace_back(name, s / total);
  std::sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return shares;
}

}  // namespace

StatusOr<ModelBench> BenchModel(engine::Session& session, const ModelBenchOptions& options) {
  const models::ModelInfo& info = session.model().info();
  ModelBench result;
  result.batch = options.batch;
  result.context = options.context == 0 ? info.context_length : options.context;
  result.horizon = options.horizon == 0 ? info.horizon : options.horizon;
  result.threads = session.context().threads->count();
  const Series series = MakeSeries(options.batch, result.context);
  const std::vector<std::span<const double>> windows(series.begin(), series.end());
  const engine::ForecastRequest request{result.horizon, result.context, info.levels};

  std::vector<double> wall, cpu;
  const double begin = Seconds(CLOCK_MONOTONIC);
  PLINTH_RETURN_IF_ERROR(session.Run(windows, request, &Interrupted).status());  // not counted
  while (wall.size() < 5 || Seconds(CLOCK_MONOTONIC) - begin < options.seconds) {
    const double w = Seconds(CLOCK_MONOTONIC), c = Seconds(CLOCK_PROCESS_CPUTIME_ID);
    PLINTH_RETURN_IF_ERROR(session.Run(windows, request, &Interrupted).status());
    cpu.push_back(1e3 * (Seconds(CLOCK_PROCESS_CPUTIME_ID) - c));
    wall.push_back(1e3 * (Seconds(CLOCK_MONOTONIC) - w));
  }
  result.calls = static_cast<int64_t>(wall.size());
  result.ms_min = Quantile(wall, 0);
  result.ms_p50 = Quantile(wall, 0.5);
  result.ms_p90 = Quantile(wall, 0.9);
  result.cpu_ms_min = Quantile(cpu, 0);
  result.cpu_ms_p50 = Quantile(cpu, 0.5);
  result.series_per_second = 1e3 * static_cast<double>(options.batch) / result.ms_p50;
  // Taken before the machine's own measurement, which needs large buffers.
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  result.peak_rss_bytes = usage.ru_maxrss * 1024;
  result.arena_bytes = session.arena_bytes();
  result.weight_bytes = session.weight_bytes();

  const size_t per_run = static_cast<size_t>(std::min<int64_t>(options.batch, 8));
  PLINTH_ASSIGN_OR_RETURN(Loop loop, Loop::Make(session, series, per_run, /*profile=*/false));
  PLINTH_ASSIGN_OR_RETURN(result.allocations_in_loop, CountAllocations(loop));
  const double passes = std::ceil(static_cast<double>(result.horizon) / static_cast<double>(info.horizon));
  result.flops = loop.plan().CostAt(loop.runner().extents()).product_flops *
                 static_cast<double>(options.batch) / static_cast<double>(per_run) * passes;
  result.gflops = result.flops / result.ms_p50 * 1e-6;
  PLINTH_ASSIGN_OR_RETURN(result.profile, Profile(session, series, per_run));
  PLINTH_RETURN_IF_ERROR(CheckInterrupted());
  PLINTH_ASSIGN_OR_RETURN(result.machine, MeasureMachine(*session.context().threads, session.context().isa));
  result.fraction_of_matmul_peak = result.gflops / result.machine.matmul_gflops;
  return result;
}

}  // namespace plinth::measure
