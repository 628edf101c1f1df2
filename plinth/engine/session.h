// Runs a loaded model over batches of series: the entry to everything below.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plinth/base/context.h"
#include "plinth/base/interrupt.h"
#include "plinth/engine/model_weights.h"
#include "plinth/engine/runner.h"
#include "plinth/models/model.h"
#include "plinth/plan/plan.h"

namespace plinth::engine {

class Rollout;

struct SessionOptions {
  // Kernels to use instead of the default one: operator -> kernel.
  std::vector<std::pair<std::string, std::string>> kernels;
  // Run the network exactly as it was published, with everything in it that changes no result.
  bool published = false;
};

// Series that are forecast together, and what is known beside them.
struct Group {
  std::vector<models::Row> rows;  // targets first, then covariates; aligned at their last past step
  int64_t targets = 1;            // how many of the rows are forecast
};

// Quantile forecasts of one series.
struct Forecast {
  int64_t horizon = 0;
  std::vector<double> values;  // [horizon][levels of the request]
};

struct ForecastRequest {
  int64_t horizon = 0;         // steps; beyond the model's own it continues as the family does
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
  // The same from a configuration and weights that come from elsewhere. `name` stands for the model in
  // messages.
  static StatusOr<std::unique_ptr<Session>> Make(std::string name, const formats::Config& config,
                                                 std::shared_ptr<plan::WeightSource> weights,
                                                 const Context& context, const SessionOptions& options = {});

  ~Session();

  const std::string& name() const { return name_; }
  const models::Model& model() const { return *model_; }
  // Only of a session that was loaded from one.
  const formats::ModelFolder& folder() const { return files_->folder(); }
  // The plan of an ordinary run, where every series stands alone.
  const plan::Plan& plan() const { return *alone_->plan; }
  const Context& context() const { return *context_; }
  const SessionOptions& options() const { return options_; }

  // Forecasts the targets of each group, in the order given; NaN and infinities are gaps. The result of a
  // group has the same bits whatever else is in the batch and however many threads work. `cancelled`
  // (optional) is polled between steps.
  // Errors: InvalidArgument (horizon, levels, context; several rows in a group of a family without groups),
  // Cancelled, ResourceExhausted.
  StatusOr<std::vector<Forecast>> Run(std::span<const Group> groups, const ForecastRequest& request,
                                      StopCheck cancelled = {});
  // The same for series that stand alone.
  StatusOr<std::vector<Forecast>> Run(std::span<const std::span<const double>> series,
                                      const ForecastRequest& request, StopCheck cancelled = {});

  // The same with an observer: all groups in one run for each pass, step by step, by a plan of its own in
  // which every named value can be read. `fused`: of the graph as runs have it, in which some names have
  // disappeared into others; else of the network as published. Further errors: what the observer gives.
  StatusOr<std::vector<Forecast>> RunObserved(std::span<const Group> groups, const ForecastRequest& request,
                                              bool fused, RunObserver& observer, StopCheck cancelled = {});

  // Work of the first pass of such a request, as Run would do it.
  StatusOr<ops::Cost> PassCost(std::span<const Group> groups, const ForecastRequest& request);

  // Memory of all plans' arenas and scratch in use by this session.
  int64_t arena_bytes() const;
  int64_t weight_bytes() const { return packed_->bytes(); }
  // What all plans share; for those who compute the network otherwise.
  plan::Weights& weights() const { return *packed_; }

  // How the engine cuts a batch: the size of an ordinary run.
  RunSize run_size() const { return alone_->size; }

  struct PlanRequest {
    models::Variant variant;
    RunSize size;
    std::vector<std::string> observe;  // names of values, or "*"
    bool fuse = true;                  // rewrite the graph as runs do
    bool profile = false;
    bool keep_constants = false;  // for captures of operators
  };
  // A plan of its own over the same weights, for captures and explanations.
  StatusOr<std::shared_ptr<const plan::Plan>> MakePlan(const PlanRequest& request) const;

 private:
  // A plan and those who run it, by thread; the first one may use all threads.
  struct Pool {
    RunSize size;
    bool ordinary = true;  // else one run of it has all threads to itself
    std::shared_ptr<const plan::Plan> plan;
    std::vector<std::unique_ptr<Runner>> runners;
  };
  // A group in a pass: its rows, where they stand among all rows of the pass, and how it runs.
  struct Unit {
    enum class Kind : uint8_t { kAlone, kGrouped, kLarge };
    std::span<const models::Row> rows;
    int64_t first = 0, tokens = 0;
    Kind kind = Kind::kAlone;
  };
  // Units that run together.
  struct Chunk {
    Pool* pool;
    size_t begin, end;  // in the pass's order of units
  };
  // How a pass is cut: those of ordinary size first, which run side by side.
  struct Chunks {
    std::vector<Chunk> all;
    size_t ordinary = 0;
  };
  struct Pass;

  Session();
  RunSize SizeFor(int64_t tokens) const;
  Unit MakeUnit(std::span<const models::Row> rows, int64_t first, int64_t steps) const;
  StatusOr<std::unique_ptr<Pool>> MakePool(bool grouped, RunSize size) const;
  // The pool for groups of up to that size.
  StatusOr<Pool*> GroupedPool(RunSize size);
  Status AddRunners(Pool& pool);
  Status CheckMemory(const Pool& pool, const Unit& unit) const;
  // What the forecasts and the histories they grow on will take must be there too.
  Status CheckResults(std::span<const Group> groups, const ForecastRequest& request) const;
  Status CheckRequest(std::span<const Group> groups, const ForecastRequest& request) const;
  // Cuts units[begin, end), all of one kind, into chunks of `pool`.
  void Cut(const std::vector<Unit>& units, size_t begin, size_t end, Pool* pool,
           std::vector<Chunk>* chunks) const;
  StatusOr<Chunks> CutAll(const std::vector<Unit>& units);
  Status RunChunk(const Pass& pass, const Chunk& chunk, Runner& runner, Threads* threads);
  // One pass of the model over all units: quantiles [rows][steps][levels].
  Status RunPass(const Pass& pass);
  Rollout MakeRollout(std::span<const Group> groups, const ForecastRequest& request) const;
  void MakeUnits(std::span<const Group> groups, const Rollout& rollout, std::vector<Unit>* units) const;
  // One pass over all rows in one observed run; quantiles as RunPass has them.
  Status ObservePass(int64_t pass, const Rollout& rollout, const std::vector<Unit>& units, bool fused,
                     RunObserver& observer, StopCheck cancelled, std::span<double> quantiles);
  static std::vector<std::span<double>> PlacesOf(std::span<const Group> groups,
                                                 std::span<Forecast> forecasts);
  std::vector<Forecast> EmptyForecasts(std::span<const Group> groups, const ForecastRequest& request) const;
  Status Forecasts(std::span<const Group> groups, const ForecastRequest& request, StopCheck cancelled,
                   std::span<Forecast> forecasts);

  std::string name_, where_;  // `where_` begins messages
  const Context* context_ = nullptr;
  SessionOptions options_;
  std::unique_ptr<models::Model> model_;
  std::shared_ptr<ModelWeights> files_;  // null where weights come from elsewhere
  std::shared_ptr<plan::Weights> packed_;
  std::unique_ptr<Pool> alone_;
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<Pool>> grouped_;  // by tokens and rows of a run
  mutable std::mutex mutex_;                                              // one pass at a time uses the pools
};

}  // namespace plinth::engine
