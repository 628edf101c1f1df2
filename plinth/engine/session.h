// Runs a loaded model over batches of series: the entry to everything below.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "plinth/base/context.h"
#include "plinth/engine/model_weights.h"
#include "plinth/models/model.h"
#include "plinth/plan/plan.h"

namespace plinth::engine {

struct SessionOptions {
  // Series of one plan run. A larger batch is cut into runs of this many, so that activations stay in the
  // cache; the results do not depend on it. 0: the engine's choice.
  int64_t series_per_run = 0;
  // Kernels to use instead of the default one: operator -> kernel.
  std::vector<std::pair<std::string, std::string>> kernels;
};

// Quantile forecasts of one series.
struct Forecast {
  int64_t horizon = 0;
  std::vector<double> values;  // [horizon][levels of the request]
};

struct ForecastRequest {
  int64_t horizon = 0;         // steps; beyond the model's own it continues on its medians
  int64_t context = 0;         // use at most this many last steps; 0: all the model can take
  std::vector<double> levels;  // normalised (series::NormaliseQuantiles)
};

// Thread-safe: several threads may forecast with one session, one run after another in each workspace.
class Session {
 public:
  // Loads `folder` and makes its plan. `context` must outlive the session.
  // Errors: InvalidArgument, NotFound, DataLoss for a bad folder (names file and what would be right);
  // ResourceExhausted without memory.
  static StatusOr<std::unique_ptr<Session>> Load(const std::string& folder, const Context& context,
                                                 const SessionOptions& options = {});

  ~Session();

  const models::Model& model() const { return *model_; }
  const formats::ModelFolder& folder() const { return weights_->folder(); }
  const graph::Graph& graph() const { return graph_; }
  const plan::Plan& plan() const { return *plan_; }
  const Context& context() const { return *context_; }

  // Forecasts each series; NaN and infinities are gaps. The result of a series has the same bits whatever
  // else is in the batch and however many threads work. `cancelled` (optional) is polled between runs.
  // Errors: InvalidArgument (horizon, levels, context), Cancelled, ResourceExhausted.
  StatusOr<std::vector<Forecast>> Run(std::span<const std::span<const double>> series,
                                      const ForecastRequest& request, bool (*cancelled)() = nullptr);

  // Memory of all plans' arenas and scratch in use by this session.
  int64_t arena_bytes() const;
  int64_t weight_bytes() const { return plan_->weight_bytes(); }

  // A plan of its own over the same weights, for captures and explanations.
  StatusOr<std::shared_ptr<const plan::Plan>> MakePlan(int64_t series,
                                                       const std::vector<std::string>& observe, bool fuse,
                                                       bool profile) const;

 private:
  struct Worker;
  Session();
  Status MakeWorkers();
  // One pass of the model: windows -> native quantiles [series][horizon][levels].
  Status Pass(std::span<const std::span<const double>> windows, std::span<double> quantiles,
              bool (*cancelled)());
  Status RunChunk(Worker& worker, std::span<const std::span<const double>> windows,
                  std::span<double> quantiles, Threads* threads);

  const Context* context_ = nullptr;
  SessionOptions options_;
  std::unique_ptr<models::Model> model_;
  std::shared_ptr<ModelWeights> weights_;
  std::shared_ptr<plan::Weights> packed_;
  graph::Graph graph_;
  std::vector<std::string> model_dimensions_;
  std::shared_ptr<const plan::Plan> plan_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::mutex mutex_;  // one pass at a time uses the workers
};

}  // namespace plinth::engine
