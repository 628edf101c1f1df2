#include "plinth/server/bounds.h"

#include <algorithm>
#include <cmath>

#include "plinth/base/memory.h"
#include "plinth/base/text.h"
#include "plinth/server/fields.h"

namespace plinth::server {
namespace {

// What the evidence does not cover is refused, with what would cover it.
Status CheckBound(const ServedModel& model, std::string_view field, int64_t asked, int64_t possible,
                  int64_t covered) {
  if (asked < 1 || asked > possible)
    return FieldError(field, StrCat("is ", asked, "; an integer in [1, ", possible, "] is expected"));
  if (asked <= covered) return absl::OkStatus();
  return absl::FailedPreconditionError(
      StrCat(field, ": ", asked, " is more than ", covered, ", the most that ",
             model.proven() ? StrCat("the evidence of ", model.name(),
                                     " covers; to cover more, run plinth accept with "
                                     "a larger [envelope]")
                            : "this service allows (limits)"));
}

}  // namespace

Status SetReach(const ServedModel& model, std::optional<int64_t> horizon, std::optional<int64_t> context,
                std::string_view horizon_field, std::string_view context_field,
                engine::ForecastRequest* wanted) {
  const models::ModelInfo& info = model.info();
  const evidence::Envelope& bounds = model.bounds;
  wanted->horizon = horizon.value_or(std::min(info.horizon, bounds.horizon));
  wanted->context = context.value_or(std::min(info.context_length, bounds.context));
  PLINTH_RETURN_IF_ERROR(CheckBound(model, horizon_field, wanted->horizon, kMostHorizon, bounds.horizon));
  return CheckBound(model, context_field, wanted->context, info.context_length, bounds.context);
}

std::vector<double> WithMedian(std::vector<double> levels) {
  const auto at = std::lower_bound(levels.begin(), levels.end(), 0.5);
  if (at == levels.end() || *at != 0.5) levels.insert(at, 0.5);
  return levels;
}

Status CheckAnswerSize(int64_t series, const engine::ForecastRequest& wanted, int64_t most_values) {
  const auto levels = static_cast<int64_t>(wanted.levels.size());
  // In doubles, which cannot overflow.
  const double values =
      static_cast<double>(series) * static_cast<double>(wanted.horizon) * static_cast<double>(levels);
  if (values <= static_cast<double>(most_values)) {
    // Results are kept until the last one is there.
    const double bytes = values * sizeof(double);
    constexpr double kWorthAsking = 64 << 20;
    const double free = bytes < kWorthAsking ? bytes : static_cast<double>(AvailableMemory());
    if (bytes <= free) return absl::OkStatus();
    return absl::ResourceExhaustedError(StrCat(series, " series of ", wanted.horizon, " steps at ", levels,
                                               " levels take ", std::ceil(bytes * 1e-8) / 10,
                                               " GB of memory, and ", std::floor(free * 1e-8) / 10,
                                               " GB are free; ask for fewer at once"));
  }
  return absl::ResourceExhaustedError(StrCat(
      series, " series of ", wanted.horizon, " steps at ", levels, " levels are more than ", most_values,
      " values, the most that one answer may hold (limits.values); ask for fewer at once"));
}

}  // namespace plinth::server
