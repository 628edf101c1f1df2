#include "plinth/engine/session.h"

#include <algorithm>
#include <cmath>

#include "plinth/base/memory.h"
#include "plinth/engine/rollout.h"
#include "plinth/graph/fuse_linear.h"
#include "plinth/graph/gather_early.h"
#include "plinth/plan/fold_constants.h"
#include "plinth/series/quantiles.h"

namespace plinth::engine {
namespace {

// Tokens of one run; a larger batch is cut, and the results do not depend on it.
// Few enough that activations of small models stay in a core's second-level cache, enough that products run
// at their full rate.
constexpr int64_t kTokensPerRun = 640;
// Runs of so many tokens still use products at their full rate.
constexpr int64_t kLeastTokensPerRun = 256;
constexpr int64_t kRunsPerThread = 3;
// Short series are many to a run; what they need beside tokens must stay small too.
constexpr int64_t kRowsPerRun = 64;

constexpr int64_t kLargestHorizon = 1 << 20;

// Forecast values of the network that are in memory at once; a larger batch is done in parts.
constexpr int64_t kValuesAtOnce = 4 << 20;

// Bytes below which nobody asks how much memory is left.
constexpr double kWorthAsking = 64 << 20;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Refuses what takes more bytes than there are. what: "a group of 3 rows takes"; cure: the end of the
// sentence.
Status CheckThereIs(double bytes, std::string_view what, std::string_view cure) {
  if (bytes < kWorthAsking) return absl::OkStatus();
  const double free = static_cast<double>(AvailableMemory());
  if (bytes <= free) return absl::OkStatus();
  return absl::ResourceExhaustedError(StrCat(what, " about ", std::ceil(bytes * 1e-8) / 10,
                                             " GB of memory, and ", std::floor(free * 1e-8) / 10,
                                             " GB are free; ", cure));
}

}  // namespace

// Everything of one pass of the model.
struct Session::Pass {
  const std::vector<Unit>& units;
  int64_t steps;
  std::span<double> quantiles;  // [rows][steps][levels]
  StopCheck cancelled;
};

Session::Session() = default;
Session::~Session() = default;

StatusOr<std::unique_ptr<Session>> Session::Load(const std::string& folder, const Context& context,
                                                 const SessionOptions& options) {
  PLINTH_ASSIGN_OR_RETURN(auto files, ModelWeights::Open(folder));
  PLINTH_ASSIGN_OR_RETURN(const auto model, models::MakeModel(files->folder().config()));
  graph::GraphBuilder builder;
  model->Build(builder, {.grouped = true, .published = true});
  PLINTH_ASSIGN_OR_RETURN(const graph::Graph published, builder.Finish());
  PLINTH_RETURN_IF_ERROR(files->Check(published, model->IgnoredWeights()));
  PLINTH_ASSIGN_OR_RETURN(auto session,
                          Make(files->folder().name(), files->folder().config(), files, context, options));
  session->where_ = files->folder().path();
  session->files_ = std::move(files);
  return session;
}

StatusOr<std::unique_ptr<Session>> Session::Make(std::string name, const formats::Config& config,
                                                 std::shared_ptr<plan::WeightSource> weights,
                                                 const Context& context, const SessionOptions& options) {
  auto session = std::unique_ptr<Session>(new Session);
  session->name_ = session->where_ = std::move(name);
  session->context_ = &context;
  session->options_ = options;
  PLINTH_ASSIGN_OR_RETURN(session->model_, models::MakeModel(config));
  session->packed_ = std::make_shared<plan::Weights>(std::move(weights));
  const models::ModelInfo& info = session->model_->info();
  const RunSize size =
      session->SizeFor(std::max(kTokensPerRun, session->model_->Tokens(info.context_length, info.horizon)));
  PLINTH_ASSIGN_OR_RETURN(session->alone_, session->MakePool(/*grouped=*/false, size));
  return session;
}

// A run of `tokens` tokens takes as many rows as the shortest ones would make of them, within reason.
RunSize Session::SizeFor(int64_t tokens) const {
  const int64_t shortest = std::max<int64_t>(model_->Tokens(1, model_->info().stride), 1);
  return {std::min(kRowsPerRun, tokens / shortest), tokens};
}

Session::Unit Session::MakeUnit(std::span<const models::Row> rows, int64_t first, int64_t steps) const {
  Unit unit{.rows = rows, .first = first};
  for (const models::Row& row : rows) {
    unit.tokens += model_->Tokens(static_cast<int64_t>(row.past.size()), steps);
  }
  const RunSize& ordinary = alone_->size;
  const bool large = unit.tokens > ordinary.tokens || static_cast<int64_t>(rows.size()) > ordinary.rows;
  if (rows.size() > 1) unit.kind = large ? Unit::Kind::kLarge : Unit::Kind::kGrouped;
  return unit;
}

StatusOr<std::shared_ptr<const plan::Plan>> Session::MakePlan(const PlanRequest& request) const {
  graph::GraphBuilder builder;
  model_->Build(builder, request.variant);
  PLINTH_ASSIGN_OR_RETURN(graph::Graph graph, builder.Finish());
  const plan::PlanOptions options{.capacity = model_->Capacity(request.size.rows, request.size.tokens),
                                  .isa = context_->isa,
                                  .observe = request.observe,
                                  .keep_constants = request.keep_constants,
                                  .profile = request.profile,
                                  .kernels = options_.kernels};
  if (request.fuse) graph = graph::FuseLinear(graph);
  // The published network computes its last layers for all tokens.
  if (request.fuse && !options_.published) graph = graph::GatherEarly(graph, options.capacity);
  // Captures may ask for what would be folded.
  if (request.fuse && request.observe.empty()) {
    PLINTH_ASSIGN_OR_RETURN(graph, plan::FoldConstants(graph, packed_, context_->isa));
  }
  return plan::Plan::Make(graph, packed_, options);
}

StatusOr<std::unique_ptr<Session::Pool>> Session::MakePool(bool grouped, RunSize size) const {
  auto pool = std::make_unique<Pool>();
  pool->size = size;
  PLINTH_ASSIGN_OR_RETURN(
      pool->plan, MakePlan({.variant = {.grouped = grouped, .published = options_.published}, .size = size}));
  return pool;
}

// Beyond an ordinary run sizes double, so that there are few plans.
StatusOr<Session::Pool*> Session::GroupedPool(RunSize size) {
  RunSize fits = alone_->size;
  while (fits.tokens < size.tokens) fits.tokens *= 2;
  while (fits.rows < size.rows) fits.rows *= 2;
  const std::pair key(fits.tokens, fits.rows);
  auto at = grouped_.find(key);
  if (at == grouped_.end()) {
    PLINTH_ASSIGN_OR_RETURN(auto pool, MakePool(/*grouped=*/true, fits));
    pool->ordinary = fits.tokens == alone_->size.tokens && fits.rows == alone_->size.rows;
    at = grouped_.emplace(key, std::move(pool)).first;
  }
  return at->second.get();
}

// What a large group will touch of its arena must be there: the system promises memory that it does not have.
Status Session::CheckMemory(const Pool& pool, const Unit& unit) const {
  if (!pool.runners.empty()) return absl::OkStatus();
  const double share = static_cast<double>(unit.tokens) / static_cast<double>(pool.size.tokens);
  const double needed = share * static_cast<double>(pool.plan->arena_bytes());
  return CheckThereIs(needed, StrCat("a group of ", unit.rows.size(), " rows takes"),
                      "fewer rows in a group or a shorter context are needed");
}

Status Session::AddRunners(Pool& pool) {
  const int count = context_->threads->count();
  const size_t wanted = pool.ordinary ? static_cast<size_t>(count) : 1;
  while (pool.runners.size() < wanted) {
    // The first one also runs a lone group on all threads.
    PLINTH_ASSIGN_OR_RETURN(auto runner, Runner::Make(*model_, pool.plan, pool.size, context_->isa,
                                                      pool.runners.empty() ? count : 1));
    pool.runners.push_back(std::move(runner));
  }
  return absl::OkStatus();
}

void Session::Cut(const std::vector<Unit>& units, size_t begin, size_t end, Pool* pool,
                  std::vector<Chunk>* chunks) const {
  if (begin == end) return;
  const int64_t threads = context_->threads->count();
  int64_t tokens = 0;
  for (size_t i = begin; i < end; ++i) tokens += units[i].tokens;
  // At least one run for each thread, and as long as they do not get small several, so that a thread that is
  // held up leaves work to others; all threads equally often, and runs of nearly equal size.
  const int64_t spread = std::max(threads, std::min(kRunsPerThread * threads, tokens / kLeastTokensPerRun));
  int64_t parts = std::max(CeilDiv(tokens, pool->size.tokens), spread);
  parts = std::min(CeilDiv(parts, threads) * threads, static_cast<int64_t>(end - begin));
  int64_t sum = 0, part = 1, rows = 0, taken = 0;  // rows and tokens of the chunk; tokens of all so far
  size_t first = begin;
  for (size_t i = begin; i < end; ++i) {
    const int64_t more = units[i].tokens, more_rows = static_cast<int64_t>(units[i].rows.size());
    const bool full = sum + more > pool->size.tokens || rows + more_rows > pool->size.rows;
    if (i > first && (full || (taken + more / 2) * parts >= tokens * part)) {
      chunks->push_back({pool, first, i});
      first = i;
      sum = rows = 0;
      part = std::max(part + 1, taken * parts / tokens + 1);
    }
    sum += more, rows += more_rows, taken += more;
  }
  chunks->push_back({pool, first, end});
}

Status Session::RunChunk(const Pass& pass, const Chunk& chunk, Runner& runner, Threads* threads) {
  runner.Begin(pass.steps);
  for (size_t i = chunk.begin; i < chunk.end; ++i) runner.Add(pass.units[i].rows);
  const Status status = runner.Compute(threads, pass.cancelled);
  if (absl::IsCancelled(status)) return status;
  if (!status.ok()) return Prepend(status, where_);
  const size_t each = static_cast<size_t>(pass.steps) * model_->info().levels.size();
  int64_t row = 0;
  for (size_t i = chunk.begin; i < chunk.end; ++i) {
    const Unit& unit = pass.units[i];
    for (size_t r = 0; r < unit.rows.size(); ++r, ++row) {
      runner.Read(row, pass.quantiles.subspan((static_cast<size_t>(unit.first) + r) * each, each));
    }
  }
  return absl::OkStatus();
}

StatusOr<Session::Chunks> Session::CutAll(const std::vector<Unit>& units) {
  const auto end_of = [&](Unit::Kind kind) {  // units are sorted by kind
    const auto at =
        std::partition_point(units.begin(), units.end(), [&](const Unit& u) { return u.kind <= kind; });
    return static_cast<size_t>(at - units.begin());
  };
  const size_t alone = end_of(Unit::Kind::kAlone), grouped = end_of(Unit::Kind::kGrouped);
  Chunks chunks;
  Cut(units, 0, alone, alone_.get(), &chunks.all);
  if (grouped > alone) {
    PLINTH_ASSIGN_OR_RETURN(Pool * pool, GroupedPool(alone_->size));
    Cut(units, alone, grouped, pool, &chunks.all);
  }
  chunks.ordinary = chunks.all.size();
  for (size_t i = grouped; i < units.size(); ++i) {
    PLINTH_ASSIGN_OR_RETURN(Pool * pool,
                            GroupedPool({static_cast<int64_t>(units[i].rows.size()), units[i].tokens}));
    PLINTH_RETURN_IF_ERROR(CheckMemory(*pool, units[i]));
    chunks.all.push_back({pool, i, i + 1});
  }
  for (const Chunk& chunk : chunks.all) PLINTH_RETURN_IF_ERROR(AddRunners(*chunk.pool));
  return chunks;
}

Status Session::RunPass(const Pass& pass) {
  PLINTH_ASSIGN_OR_RETURN(const Chunks chunks, CutAll(pass.units));
  Threads& threads = *context_->threads;
  std::mutex error_mutex;
  Status error;
  const auto run = [&](size_t i, int worker, Threads* inside) {
    const Chunk& chunk = chunks.all[i];
    Status status = pass.cancelled()
                        ? absl::CancelledError("interrupted")
                        : RunChunk(pass, chunk, *chunk.pool->runners[static_cast<size_t>(worker)], inside);
    if (status.ok()) return;
    std::lock_guard lock(error_mutex);
    if (error.ok()) error = std::move(status);
  };
  const bool side_by_side = chunks.ordinary > 1;
  if (side_by_side) {
    threads.For(static_cast<int64_t>(chunks.ordinary),
                [&](int64_t i, int worker) { run(static_cast<size_t>(i), worker, nullptr); });
  }
  for (size_t i = side_by_side ? chunks.ordinary : 0; i < chunks.all.size() && error.ok(); ++i) {
    run(i, 0, &threads);
  }
  return error;
}

Status Session::CheckRequest(std::span<const Group> groups, const ForecastRequest& request) const {
  const models::ModelInfo& info = model_->info();
  if (request.horizon < 1 || request.horizon > kLargestHorizon) {
    return absl::InvalidArgumentError(
        StrCat("the horizon is ", request.horizon, "; it must be from 1 to ", kLargestHorizon));
  }
  if (request.context < 0 || request.context > info.context_length) {
    return absl::InvalidArgumentError(StrCat("the context is ", request.context, "; ", info.family,
                                             " takes up to ", info.context_length, " steps"));
  }
  for (const Group& group : groups) {
    PLINTH_CHECK(group.targets >= 1 && group.targets <= static_cast<int64_t>(group.rows.size()));
    if (group.rows.size() == 1 || info.groups) continue;
    return absl::InvalidArgumentError(StrCat("models of the family ", info.family,
                                             " forecast each series by itself; a group of ",
                                             group.rows.size(), " rows was given"));
  }
  return absl::OkStatus();
}

Rollout Session::MakeRollout(std::span<const Group> groups, const ForecastRequest& request) const {
  const size_t context =
      static_cast<size_t>(request.context == 0 ? model_->info().context_length : request.context);
  size_t count = 0;
  for (const Group& group : groups) count += group.rows.size();
  std::vector<models::Row> rows;
  std::vector<size_t> begins;
  rows.reserve(count);
  begins.reserve(groups.size() + 1);
  begins.push_back(0);
  for (const Group& group : groups) {
    for (const models::Row& row : group.rows) {
      rows.push_back({row.past.last(std::min(row.past.size(), context)), row.future});
    }
    begins.push_back(rows.size());
  }
  return Rollout(model_->info(), std::move(rows), std::move(begins), request.levels, request.horizon);
}

void Session::MakeUnits(std::span<const Group> groups, const Rollout& rollout,
                        std::vector<Unit>* units) const {
  units->clear();
  units->reserve(groups.size() * rollout.paths());
  size_t first = 0;
  for (const Group& group : groups) {
    for (size_t p = 0; p < rollout.paths(); ++p, first += group.rows.size()) {
      units->push_back(MakeUnit(rollout.rows().subspan(first, group.rows.size()), static_cast<int64_t>(first),
                                rollout.steps()));
    }
  }
  std::stable_sort(units->begin(), units->end(),
                   [](const Unit& a, const Unit& b) { return a.kind < b.kind; });
}

// Where the forecast of each row goes: those of targets one after another, nowhere for covariates.
std::vector<std::span<double>> Session::PlacesOf(std::span<const Group> groups,
                                                 std::span<Forecast> forecasts) {
  std::vector<std::span<double>> places;
  size_t next = 0;
  for (const Group& group : groups) {
    for (size_t r = 0; r < group.rows.size(); ++r) {
      const bool target = r < static_cast<size_t>(group.targets);
      places.push_back(target ? std::span(forecasts[next++].values) : std::span<double>());
    }
  }
  return places;
}

// Forecasts of some groups; those of their targets go to `forecasts`, one after another.
Status Session::Forecasts(std::span<const Group> groups, const ForecastRequest& request, StopCheck cancelled,
                          std::span<Forecast> forecasts) {
  Rollout rollout = MakeRollout(groups, request);
  const std::vector<std::span<double>> results = PlacesOf(groups, forecasts);
  std::vector<double> quantiles;
  std::vector<Unit> units;
  while (rollout.steps() > 0) {
    MakeUnits(groups, rollout, &units);
    quantiles.resize(rollout.rows().size() * static_cast<size_t>(rollout.steps()) *
                     model_->info().levels.size());
    {
      std::lock_guard lock(mutex_);
      PLINTH_RETURN_IF_ERROR(RunPass({units, rollout.steps(), quantiles, cancelled}));
    }
    rollout.Take(quantiles, results, *context_->threads);
  }
  return absl::OkStatus();
}

StatusOr<ops::Cost> Session::PassCost(std::span<const Group> groups, const ForecastRequest& request) {
  PLINTH_RETURN_IF_ERROR(CheckRequest(groups, request));
  const Rollout rollout = MakeRollout(groups, request);
  std::vector<Unit> units;
  MakeUnits(groups, rollout, &units);
  std::lock_guard lock(mutex_);
  PLINTH_ASSIGN_OR_RETURN(const Chunks chunks, CutAll(units));
  ops::Cost sum{};
  for (const Chunk& chunk : chunks.all) {
    Runner& runner = *chunk.pool->runners[0];
    runner.Begin(rollout.steps());
    for (size_t i = chunk.begin; i < chunk.end; ++i) runner.Add(units[i].rows);
    const ops::Cost cost = chunk.pool->plan->CostAt(runner.Measure());
    sum.flops += cost.flops;
    sum.product_flops += cost.product_flops;
    sum.bytes += cost.bytes;
  }
  return sum;
}

Status Session::CheckResults(std::span<const Group> groups, const ForecastRequest& request) const {
  const models::ModelInfo& info = model_->info();
  const bool more = request.horizon > info.horizon;
  double values = 0;
  int64_t targets = 0;
  for (const Group& group : groups) {
    targets += group.targets;
    values += static_cast<double>(group.targets) * static_cast<double>(request.horizon) *
              static_cast<double>(request.levels.size());
    if (!more) continue;
    for (const models::Row& row : group.rows) {
      const double grown = static_cast<double>(row.past.size()) + static_cast<double>(request.horizon);
      values += static_cast<double>(info.continuation.paths.size()) *
                std::min(grown, static_cast<double>(2 * info.context_length + info.horizon));
    }
  }
  const double needed = values * sizeof(double);
  return CheckThereIs(needed,
                      StrCat("forecasts of ", targets, " series over ", request.horizon, " steps take"),
                      "a shorter horizon or fewer series at once are needed");
}

std::vector<Forecast> Session::EmptyForecasts(std::span<const Group> groups,
                                              const ForecastRequest& request) const {
  std::vector<Forecast> forecasts;
  size_t targets = 0;
  for (const Group& group : groups) targets += static_cast<size_t>(group.targets);
  forecasts.reserve(targets);
  for (size_t t = 0; t < targets; ++t) {
    forecasts.push_back(
        {request.horizon, std::vector<double>(static_cast<size_t>(request.horizon) * request.levels.size())});
  }
  return forecasts;
}

StatusOr<std::vector<Forecast>> Session::Run(std::span<const Group> groups, const ForecastRequest& request,
                                             StopCheck cancelled) {
  PLINTH_RETURN_IF_ERROR(CheckRequest(groups, request));
  ForecastRequest normal = request;
  PLINTH_ASSIGN_OR_RETURN(normal.levels, series::NormaliseQuantiles(request.levels));
  PLINTH_RETURN_IF_ERROR(CheckResults(groups, normal));
  const models::ModelInfo& info = model_->info();
  const int64_t paths =
      request.horizon > info.horizon ? static_cast<int64_t>(info.continuation.paths.size()) : 1;
  const int64_t per_row = std::min(request.horizon + info.stride, info.horizon) *
                          static_cast<int64_t>(info.levels.size()) * paths;
  std::vector<Forecast> forecasts = EmptyForecasts(groups, normal);
  size_t begin = 0, target = 0;
  while (begin < groups.size()) {
    size_t end = begin, targets = 0;
    for (int64_t values = 0; end < groups.size(); ++end) {
      values += static_cast<int64_t>(groups[end].rows.size()) * per_row;
      if (end > begin && values > kValuesAtOnce) break;
      targets += static_cast<size_t>(groups[end].targets);
    }
    PLINTH_RETURN_IF_ERROR(Forecasts(groups.subspan(begin, end - begin), normal, cancelled,
                                     std::span(forecasts).subspan(target, targets)));
    begin = end;
    target += targets;
  }
  return forecasts;
}

StatusOr<std::vector<Forecast>> Session::Run(std::span<const std::span<const double>> series,
                                             const ForecastRequest& request, StopCheck cancelled) {
  std::vector<Group> groups(series.size());
  for (size_t i = 0; i < series.size(); ++i) groups[i].rows = {{series[i], {}}};
  return Run(groups, request, cancelled);
}

int64_t Session::arena_bytes() const {
  std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  const auto add = [&](const Pool& pool) {
    const int64_t arena = pool.plan->arena_bytes(), scratch = pool.plan->scratch_bytes();
    const int64_t runners = std::max<int64_t>(static_cast<int64_t>(pool.runners.size()), 1);
    bytes += runners * arena + (runners - 1 + context_->threads->count()) * scratch;
  };
  add(*alone_);
  for (const auto& [tokens, pool] : grouped_) add(*pool);
  return bytes;
}

}  // namespace plinth::engine
