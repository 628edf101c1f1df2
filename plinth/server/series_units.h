// Decides which items of a request's body the model sees together.
#pragma once

#include <vector>

#include "plinth/models/model.h"
#include "plinth/server/series_body.h"

namespace plinth::server {

// From "joint", "cross_learning", and the groups of `body`. Errors: InvalidArgument with the field where the
// model's family forecasts each series by itself and the request asks for more.
StatusOr<engine::Together> ReadTogether(const JsonField& root, const SeriesBody& body,
                                        const models::ModelInfo& info);

// Places of items that are forecast together, in the order of their first ones.
std::vector<std::vector<size_t>> UnitsOf(const SeriesBody& body, const engine::Together& together);

}  // namespace plinth::server
