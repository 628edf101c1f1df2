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

// Runs the plan itself, as a session's worker does: encode, run, decode.
class Loop {
 public:
  Loop(engine::Session& session, std::shared_ptr<const plan::Plan> plan, const Series& series, int64_t count)
      : session_(session), plan_(std::move(plan)), series_(series), count_(static_cast<size_t>(count)) {}

  Status Prepare() {
    PLINTH_ASSIGN_OR_RETURN(workspace_, plan::Workspace::Make(plan_, 1));
    const models::Model& model = session_.model();
    codec_ = model.MakeCodec(static_cast<int64_t>(count_), session_.context().isa);
    for (size_t i = 0; i < plan_->inputs().size(); ++i) inputs_.push_back(workspace_->Input(i));
    outputs_.resize(plan_->outputs().size());
    names_ = model.dimensions();
    extents_.resize(names_.size());
    ordered_.resize(names_.size());
    values_.resize(static_cast<size_t>(model.info().horizon) * model.info().levels.size());
    return absl::OkStatus();
  }
  Status Run() {
    codec_->Begin(inputs_);
    for (size_t i = 0; i < count_; ++i) codec_->Add(series_[i]);
    codec_->Extents(extents_);
    for (size_t i = 0; i < ordered_.size(); ++i) {
      const auto name = std::find(names_.begin(), names_.end(), plan_->dimensions()[i]);
      ordered_[i] = extents_[static_cast<size_t>(name - names_.begin())];
    }
    PLINTH_RETURN_IF_ERROR(workspace_->SetExtents(ordered_));
    PLINTH_RETURN_IF_ERROR(workspace_->Run(nullptr));
    for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i] = workspace_->Output(i);
    for (size_t i = 0; i < count_; ++i) codec_->Read(outputs_, static_cast<int64_t>(i), values_);
    return absl::OkStatus();
  }
  // In the order of the plan, after a run.
  const std::vector<int64_t>& extents() const { return ordered_; }
  const plan::Workspace& workspace() const { return *workspace_; }

 private:
  engine::Session& session_;
  std::shared_ptr<const plan::Plan> plan_;
  const Series& series_;
  size_t count_;
  std::unique_ptr<plan::Workspace> workspace_;
  std::unique_ptr<models::Codec> codec_;
  std::vector<View> inputs_, outputs_;
  std::vector<std::string> names_;
  std::vector<int64_t> extents_, ordered_;
  std::vector<double> values_;
};

StatusOr<int64_t> CountAllocations(Loop& loop) {
  PLINTH_RETURN_IF_ERROR(loop.Run());  // lazily grown scratch of the codec
  const AllocationCounter counter;
  for (int i = 0; i < 10; ++i) PLINTH_RETURN_IF_ERROR(loop.Run());
  return counter.count();
}

StatusOr<std::vector<std::pair<std::string, double>>> Profile(engine::Session& session, const Series& series,
                                                              int64_t count) {
  PLINTH_ASSIGN_OR_RETURN(const auto plan, session.MakePlan(count, {}, /*fuse=*/true, /*profile=*/true));
  Loop loop(session, plan, series, count);
  PLINTH_RETURN_IF_ERROR(loop.Prepare());
  std::map<std::string, double> seconds;
  for (int round = 0; round < 20; ++round) {
    const double start = Seconds(CLOCK_MONOTONIC);
    PLINTH_RETURN_IF_ERROR(loop.Run());
    const double all = Seconds(CLOCK_MONOTONIC) - start;
    if (round == 0) continue;
    double steps = 0;
    for (size_t s = 0; s < plan->step_count(); ++s) {
      seconds[plan->StepCall(s).spec->name] += loop.workspace().step_seconds()[s];
      steps += loop.workspace().step_seconds()[s];
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

  const int64_t per_run = std::min<int64_t>(options.batch, 8);
  PLINTH_ASSIGN_OR_RETURN(const auto plan, session.MakePlan(per_run, {}, /*fuse=*/true, /*profile=*/false));
  Loop loop(session, plan, series, per_run);
  PLINTH_RETURN_IF_ERROR(loop.Prepare());
  PLINTH_ASSIGN_OR_RETURN(result.allocations_in_loop, CountAllocations(loop));
  const double passes = std::ceil(static_cast<double>(result.horizon) / static_cast<double>(info.horizon));
  result.flops = plan->CostAt(loop.extents()).product_flops * static_cast<double>(options.batch) /
                 static_cast<double>(per_run) * passes;
  result.gflops = result.flops / result.ms_p50 * 1e-6;
  PLINTH_ASSIGN_OR_RETURN(result.profile, Profile(session, series, per_run));
  PLINTH_RETURN_IF_ERROR(CheckInterrupted());
  PLINTH_ASSIGN_OR_RETURN(result.machine, MeasureMachine(*session.context().threads, session.context().isa));
  result.fraction_of_matmul_peak = result.gflops / result.machine.matmul_gflops;
  return result;
}

}  // namespace plinth::measure
