#include "plinth/server/oip/parameters.h"

#include <cmath>
#include <set>
#include <string_view>

#include "plinth/base/text.h"
#include "plinth/series/quantiles.h"
#include "plinth/server/bounds.h"
#include "plinth/server/fields.h"

namespace plinth::server::oip {
namespace {

constexpr size_t kMostLevels = 1000, kMostText = 20000, kShown = 60;
constexpr int kUsualPriority = 50, kLastPriority = 100;
constexpr int64_t kDayMicroseconds = int64_t{86400} * 1'000'000;

std::string FieldNameOf(const Parameter& parameter) {
  return StrCat("parameters.", std::string_view(parameter.name).substr(0, kShown));
}

StatusOr<int64_t> ReadInt(const Parameter& parameter, int64_t least, int64_t most) {
  std::optional<int64_t> value;
  if (const auto* exact = std::get_if<int64_t>(&parameter.value)) value = *exact;
  // 24.0 is 24, as clients in languages without integers write it.
  const auto* real = std::get_if<double>(&parameter.value);
  if (real != nullptr && std::floor(*real) == *real && std::fabs(*real) < 1e15)
    value = static_cast<int64_t>(*real);
  if (value && *value >= least && *value <= most) return *value;
  return FieldError(FieldNameOf(parameter), StrCat(value ? StrCat("is ", *value, "; ") : std::string(),
                                                   "an integer in [", least, ", ", most, "] is expected"));
}

StatusOr<std::vector<double>> ReadLevels(const Parameter& parameter) {
  const auto levels = [&]() -> StatusOr<std::vector<double>> {
    if (const auto* text = std::get_if<std::string>(&parameter.value)) {
      if (text->size() > kMostText)
        return absl::InvalidArgumentError(StrCat("is longer than ", kMostText, " characters"));
      return series::ParseQuantiles(*text);
    }
    if (const auto* list = std::get_if<std::vector<double>>(&parameter.value))
      return series::NormaliseQuantiles(*list);
    if (const auto* one = std::get_if<double>(&parameter.value)) return series::NormaliseQuantiles({one, 1});
    return absl::InvalidArgumentError("levels as text, \"0.1,0.5,0.9\", or a list are expected");
  }();
  if (!levels.ok()) return FieldError(FieldNameOf(parameter), std::string(levels.status().message()));
  if (levels->size() > kMostLevels) {
    return FieldError(FieldNameOf(parameter),
                      StrCat("has ", levels->size(), " levels; at most ", kMostLevels, " are taken"));
  }
  return levels;
}

}  // namespace

StatusOr<InferParameters> ReadParameters(std::span<const Parameter> parameters) {
  InferParameters read;
  read.levels = series::Deciles();
  std::set<std::string_view> seen;
  for (const Parameter& parameter : parameters) {
    const std::string_view name = parameter.name;
    if (!seen.insert(name).second) return FieldError(FieldNameOf(parameter), "is given twice");
    if (name == "horizon") {
      PLINTH_ASSIGN_OR_RETURN(read.horizon, ReadInt(parameter, 1, kMostHorizon));
    } else if (name == "context_length") {
      PLINTH_ASSIGN_OR_RETURN(read.context_length, ReadInt(parameter, 1, int64_t{1} << 40));
    } else if (name == "quantiles") {
      PLINTH_ASSIGN_OR_RETURN(read.levels, ReadLevels(parameter));
    } else if (name == "priority") {
      PLINTH_ASSIGN_OR_RETURN(const int64_t priority, ReadInt(parameter, 0, kLastPriority));
      read.priority = priority == 0 ? 0 : kUsualPriority - static_cast<int>(priority);
    } else if (name == "timeout") {
      PLINTH_ASSIGN_OR_RETURN(const int64_t microseconds, ReadInt(parameter, 0, kDayMicroseconds));
      read.seconds = static_cast<double>(microseconds) / 1e6;
    } else if (name == "seed") {
      PLINTH_RETURN_IF_ERROR(ReadInt(parameter, 0, int64_t{1} << 53).status());
    } else {
      return FieldError(
          FieldNameOf(parameter),
          "is not known; known are horizon, quantiles, context_length, priority, timeout, seed");
    }
  }
  return read;
}

}  // namespace plinth::server::oip
