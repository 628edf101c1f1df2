// Keeps what a request asks of the engine inside what its model's evidence covers, for every protocol.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plinth/engine/session.h"
#include "plinth/server/model_host.h"

namespace plinth::server {

// A request for more steps than this is no request.
constexpr int64_t kMostHorizon = int64_t{1} << 20;

// Sets horizon and context of `wanted`; what is not asked for is the model's own, as far as it is covered.
// Errors: InvalidArgument with the field ("horizon", `context_field`) outside what the model can;
// FailedPrecondition beyond the model's bounds.
Status SetReach(const ServedModel& model, std::optional<int64_t> horizon, std::optional<int64_t> context,
                std::string_view horizon_field, std::string_view context_field,
                engine::ForecastRequest* wanted);

// `levels` (normalised) and the median, which is the point forecast.
std::vector<double> WithMedian(std::vector<double> levels);

// Refuses an answer of more values than a request may hold, before anything is made for it.
// Error: ResourceExhausted.
Status CheckAnswerSize(int64_t series, const engine::ForecastRequest& wanted, int64_t most_values);

}  // namespace plinth::server
