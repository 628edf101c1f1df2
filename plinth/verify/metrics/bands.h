// Reads tolerance bands, which are declared before a run.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plinth/verify/metrics/metrics.h"

namespace plinth::verify::metrics {

using Bands = std::map<std::string, Band, std::less<>>;

// "METRIC=0.005" is an absolute difference, "METRIC=2%" a share of the reference's value. Error:
// InvalidArgument.
StatusOr<std::pair<std::string, Band>> ParseBand(std::string_view text);

// A file with `schema = "plinth.bands/1"` and a table [bands] of METRIC = 0.005 or METRIC = "2%"; gives its
// SHA-256. Errors: FileError; InvalidArgument.
StatusOr<std::string> LoadBands(const std::string& path, Bands* bands);

}  // namespace plinth::verify::metrics
