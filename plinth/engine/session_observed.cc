#include <algorithm>

#include "plinth/base/memory.h"
#include "plinth/engine/rollout.h"
#include "plinth/engine/session.h"
#include "plinth/series/quantiles.h"

namespace plinth::engine {

Status Session::ObservePass(int64_t pass, const Rollout& rollout, const std::vector<Unit>& units, bool fused,
                            RunObserver& observer, StopCheck cancelled, std::span<double> quantiles) {
  RunSize size{};
  bool grouped = false;
  for (const Unit& unit : units) {
    size.rows += static_cast<int64_t>(unit.rows.size());
    size.tokens += unit.tokens;
    grouped = grouped || unit.rows.size() > 1;
  }
  PLINTH_ASSIGN_OR_RETURN(
      const auto plan, MakePlan({.variant = {.grouped = grouped, .published = !fused || options_.published},
                                 .size = size,
                                 .observe = {"*"},
                                 .fuse = fused,
                                 .keep_constants = observer.reads_constants()}));
  if (plan->arena_bytes() > AvailableMemory()) {
    return absl::ResourceExhaustedError(
        StrCat(where_, ": a capture of ", size.rows, " rows takes ", plan->arena_bytes(),
               " bytes of memory, more than is free; fewer series or a shorter context are needed"));
  }
  PLINTH_ASSIGN_OR_RETURN(auto runner,
                          Runner::Make(*model_, plan, size, context_->isa, context_->threads->count()));
  runner->Begin(rollout.steps());
  for (const Unit& unit : units) runner->Add(unit.rows);
  PLINTH_RETURN_IF_ERROR(runner->ComputeObserved(pass, observer, context_->threads, cancelled));
  const size_t each = static_cast<size_t>(rollout.steps()) * model_->info().levels.size();
  int64_t row = 0;
  for (const Unit& unit : units) {
    for (size_t r = 0; r < unit.rows.size(); ++r, ++row) {
      runner->Read(row, quantiles.subspan((static_cast<size_t>(unit.first) + r) * each, each));
    }
  }
  return absl::OkStatus();
}

StatusOr<std::vector<Forecast>> Session::RunObserved(std::span<const Group> groups,
                                                     const ForecastRequest& request, bool fused,
                                                     RunObserver& observer, StopCheck cancelled) {
  PLINTH_RETURN_IF_ERROR(CheckRequest(groups, request));
  ForecastRequest normal = request;
  PLINTH_ASSIGN_OR_RETURN(normal.levels, series::NormaliseQuantiles(request.levels));
  PLINTH_RETURN_IF_ERROR(CheckResults(groups, normal));
  std::vector<Forecast> forecasts = EmptyForecasts(groups, normal);
  const std::vector<std::span<double>> results = PlacesOf(groups, forecasts);
  Rollout rollout = MakeRollout(groups, normal);
  std::vector<double> quantiles;
  std::vector<Unit> units;
  for (int64_t pass = 0; rollout.steps() > 0; ++pass) {
    MakeUnits(groups, rollout, &units);
    quantiles.resize(rollout.rows().size() * static_cast<size_t>(rollout.steps()) *
                     model_->info().levels.size());
    PLINTH_RETURN_IF_ERROR(ObservePass(pass, rollout, units, fused, observer, cancelled, quantiles));
    rollout.Take(quantiles, results, *context_->threads);
  }
  return forecasts;
}

}  // namespace plinth::engine
