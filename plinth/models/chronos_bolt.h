// Declares Chronos-Bolt: a T5 encoder over patches of a series, and a decoder of one token that gives all
// quantiles of all steps at once.
#pragma once

#include <memory>
#include <vector>

#include "plinth/models/model.h"

namespace plinth::models {

// Errors: InvalidArgument naming the key of config.json, what it is and what it can be.
StatusOr<std::unique_ptr<Model>> MakeChronosBolt(const formats::Config& config);

// Rows of T5's table of relative positions, for keys at distances -(length - 1) ... length - 1 from their
// query: exact up to a quarter of the buckets, then logarithmic up to `most`; keys behind the query take the
// upper half. Computed in float32 as PyTorch does, since a distance on the edge of a bucket falls on the side
// that its rounding says. buckets >= 4, most > buckets / 4.
std::vector<int32_t> RelativeBuckets(int64_t length, int64_t buckets, int64_t most);

}  // namespace plinth::models
