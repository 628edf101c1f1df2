#include "plinth/engine/session.h"

#include <algorithm>

#include "plinth/graph/fuse_linear.h"
#include "plinth/graph/gather_early.h"
#include "plinth/series/quantiles.h"

namespace plinth::engine {
namespace {

// Few enough that the widest activations of small models stay in a core's second-level cache, enough that
// products run at their full rate.
constexpr int64_t kSeriesPerRun = 8;

constexpr int64_t kLargestHorizon = 1 << 20;

// Series whose quantiles one piece of work interpolates.
constexpr int64_t kSeriesPerPiece = 16;

using Window = std::span<const double>;

Window Tail(Window y, int64_t most) {
  const size_t keep = std::min(y.size(), static_cast<size_t>(most));
  return y.subspan(y.size() - keep);
}

// Whether the network's outputs (dense f32) are finite throughout.
bool AllFinite(absl::Span<const View> outputs) {
  float sum = 0;  // x - x is 0 for finite x and NaN else
  for (const View& v : outputs) {
    const float* x = v.as<float>();
    for (int64_t i = 0, n = v.size(); i < n; ++i) sum += x[i] - x[i];
  }
  return sum == 0;
}

}  // namespace

// What one thread works with.
struct Session::Worker {
  std::unique_ptr<plan::Workspace> workspace;
  std::unique_ptr<models::Codec> codec;
  std::vector<View> inputs;      // at full capacity
  std::vector<View> outputs;     // of the current run
  std::vector<int64_t> extents;  // in the model's order
  std::vector<int64_t> ordered;  // in the plan's order
};

Session::Session() = default;
Session::~Session() = default;

StatusOr<std::unique_ptr<Session>> Session::Load(const std::string& folder, const Context& context,
                                                 const SessionOptions& options) {
  auto session = std::unique_ptr<Session>(new Session);
  session->context_ = &context;
  session->options_ = options;
  if (session->options_.series_per_run == 0) session->options_.series_per_run = kSeriesPerRun;
  PLINTH_ASSIGN_OR_RETURN(session->weights_, ModelWeights::Open(folder));
  PLINTH_ASSIGN_OR_RETURN(session->model_, models::MakeModel(session->folder().config()));
  session->model_dimensions_ = session->model_->dimensions();
  graph::GraphBuilder builder;
  session->model_->Build(builder);
  PLINTH_ASSIGN_OR_RETURN(session->graph_, builder.Finish());
  PLINTH_RETURN_IF_ERROR(session->weights_->Check(session->graph_));
  session->packed_ = std::make_shared<plan::Weights>(session->weights_);
  PLINTH_ASSIGN_OR_RETURN(session->plan_, session->MakePlan(session->options_.series_per_run, {},
                                                            /*fuse=*/true, /*profile=*/false));
  return session;
}

StatusOr<std::shared_ptr<const plan::Plan>> Session::MakePlan(int64_t series,
                                                              const std::vector<std::string>& observe,
                                                              bool fuse, bool profile) const {
  plan::PlanOptions options{.capacity = model_->Capacity(series),
                            .isa = context_->isa,
                            .observe = observe,
                            .profile = profile,
                            .kernels = options_.kernels};
  if (!fuse) return plan::Plan::Make(graph_, packed_, options);
  return plan::Plan::Make(graph::GatherEarly(graph::FuseLinear(graph_), options.capacity), packed_, options);
}

Status Session::MakeWorkers() {
  const int count = context_->threads->count();
  while (workers_.size() < static_cast<size_t>(count)) {
    auto worker = std::make_unique<Worker>();
    // The first one also runs a lone series on all threads.
    PLINTH_ASSIGN_OR_RETURN(worker->workspace, plan::Workspace::Make(plan_, workers_.empty() ? count : 1));
    worker->codec = model_->MakeCodec(options_.series_per_run, context_->isa);
    for (size_t i = 0; i < plan_->inputs().size(); ++i) worker->inputs.push_back(worker->workspace->Input(i));
    worker->outputs.resize(plan_->outputs().size());
    worker->extents.resize(model_->dimensions().size());
    worker->ordered.resize(plan_->dimensions().size());
    workers_.push_back(std::move(worker));
  }
  return absl::OkStatus();
}

Status Session::RunChunk(Worker& worker, std::span<const Window> windows, std::span<double> quantiles,
                         Threads* threads) {
  worker.codec->Begin(worker.inputs);
  for (const Window& window : windows) worker.codec->Add(window);
  worker.codec->Extents(worker.extents);
  const auto& names = model_dimensions_;
  for (size_t i = 0; i < worker.ordered.size(); ++i) {
    const size_t at =
        static_cast<size_t>(std::find(names.begin(), names.end(), plan_->dimensions()[i]) - names.begin());
    worker.ordered[i] = worker.extents[at];
  }
  PLINTH_RETURN_IF_ERROR(worker.workspace->SetExtents(worker.ordered));
  PLINTH_RETURN_IF_ERROR(worker.workspace->Run(threads));
  for (size_t i = 0; i < worker.outputs.size(); ++i) worker.outputs[i] = worker.workspace->Output(i);
  if (!AllFinite(worker.outputs)) {
    return absl::DataLossError(StrCat(folder().path(),
                                      ": the network gave a value that is not finite, which it "
                                      "never does with sound weights; the file is damaged"));
  }
  const size_t each = quantiles.size() / windows.size();
  for (size_t i = 0; i < windows.size(); ++i) {
    worker.codec->Read(worker.outputs, static_cast<int64_t>(i), quantiles.subspan(i * each, each));
  }
  return absl::OkStatus();
}

Status Session::Pass(std::span<const Window> windows, std::span<double> quantiles, bool (*cancelled)()) {
  const int64_t count = static_cast<int64_t>(windows.size());
  const int64_t per_run = options_.series_per_run;
  Threads& threads = *context_->threads;
  std::lock_guard lock(mutex_);
  PLINTH_RETURN_IF_ERROR(MakeWorkers());
  // At least one run for each thread, and runs of nearly equal size.
  const int64_t chunks = std::max((count + per_run - 1) / per_run, std::min<int64_t>(count, threads.count()));
  const size_t each = count == 0 ? 0 : quantiles.size() / windows.size();
  std::mutex error_mutex;
  Status error;
  const auto run = [&](int64_t chunk, int worker, Threads* inside) {
    Status status;
    if (cancelled != nullptr && cancelled()) {
      status = absl::CancelledError("interrupted");
    } else {
      const size_t begin = static_cast<size_t>(count * chunk / chunks);
      const size_t end = static_cast<size_t>(count * (chunk + 1) / chunks);
      status = RunChunk(*workers_[static_cast<size_t>(worker)], windows.subspan(begin, end - begin),
                        quantiles.subspan(begin * each, (end - begin) * each), inside);
    }
    if (status.ok()) return;
    std::lock_guard error_lock(error_mutex);
    if (error.ok()) error = std::move(status);
  };
  if (chunks == 1) {
    run(0, 0, &threads);
  } else {
    threads.For(chunks, [&](int64_t chunk, int worker) { run(chunk, worker, nullptr); });
  }
  return error;
}

StatusOr<std::vector<Forecast>> Session::Run(std::span<const Window> series, const ForecastRequest& request,
                                             bool (*cancelled)()) {
  const models::ModelInfo& info = model_->info();
  if (request.horizon < 1 || request.horizon > kLargestHorizon) {
    return absl::InvalidArgumentError(
        StrCat("the horizon is ", request.horizon, "; it must be from 1 to ", kLargestHorizon));
  }
  if (request.context < 0 || request.context > info.context_length) {
    return absl::InvalidArgumentError(StrCat("the context is ", request.context, "; ", info.family,
                                             " takes up to ", info.context_length, " steps"));
  }
  PLINTH_ASSIGN_OR_RETURN(const std::vector<double> levels, series::NormaliseQuantiles(request.levels));
  const series::QuantileMap map(info.levels, levels);
  const size_t native = info.levels.size(), wanted = levels.size();
  const size_t step = static_cast<size_t>(info.horizon), horizon = static_cast<size_t>(request.horizon);
  const size_t rounds = (horizon + step - 1) / step;

  std::vector<Window> windows;
  for (const Window& y : series) {
    windows.push_back(Tail(y, request.context == 0 ? info.context_length : request.context));
  }
  std::vector<Forecast> forecasts(series.size());
  for (Forecast& f : forecasts) f = {request.horizon, std::vector<double>(horizon * wanted)};
  // A horizon beyond the model's own: the medians join the context, and the model runs again.
  std::vector<std::vector<double>> grown(rounds > 1 ? series.size() : 0);
  for (size_t i = 0; i < grown.size(); ++i) grown[i].assign(windows[i].begin(), windows[i].end());
  std::vector<double> quantiles(series.size() * step * native);
  // Turns what a pass gave for series i into the levels asked for, and into context where it goes on.
  const auto take = [&](size_t i, size_t round) {
    const std::span<const double> mine(quantiles.data() + i * step * native, step * native);
    for (size_t h = 0; h < step && round * step + h < horizon; ++h) {
      map.Apply(mine.subspan(h * native, native),
                std::span(forecasts[i].values).subspan((round * step + h) * wanted, wanted));
    }
    if (round + 1 == rounds) return;
    for (size_t h = 0; h < step; ++h) grown[i].push_back(mine[h * native + native / 2]);
    windows[i] = Tail(grown[i], info.context_length);
  };
  for (size_t round = 0; round < rounds; ++round) {
    PLINTH_RETURN_IF_ERROR(Pass(windows, quantiles, cancelled));
    const int64_t pieces = (static_cast<int64_t>(series.size()) + kSeriesPerPiece - 1) / kSeriesPerPiece;
    context_->threads->For(pieces, [&](int64_t piece, int) {
      const size_t begin = static_cast<size_t>(piece * kSeriesPerPiece);
      const size_t end = std::min(series.size(), begin + static_cast<size_t>(kSeriesPerPiece));
      for (size_t i = begin; i < end; ++i) take(i, round);
    });
  }
  return forecasts;
}

int64_t Session::arena_bytes() const {
  const int64_t each = plan_->arena_bytes() + plan_->scratch_bytes();
  const int64_t count = context_->threads->count();
  return each * count + plan_->scratch_bytes() * (count - 1);
}

}  // namespace plinth::engine
