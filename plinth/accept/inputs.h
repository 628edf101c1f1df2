// Fixes what an acceptance computes on: windows of held-out series, and a digest of every number in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plinth/accept/recipe.h"
#include "plinth/engine/session.h"

namespace plinth::accept {

// Windows alternate over the series, the newest origins first.
struct Inputs {
  struct Window {
    std::string series;           // "FILE: demand_mw", or "made 3"
    std::vector<double> context;  // what the model sees, oldest first; NaN is a gap
    std::vector<double> truth;    // [horizon]
  };
  std::vector<Window> windows;
  int64_t horizon = 0, season = 1;
  std::string source;       // for people: the file, or that series were made
  std::string digest;       // sha256 over names, sizes and the numbers' bytes (little-endian doubles)
  std::string file_digest;  // of the data file; empty where there is none
};

// horizon: of each window; context: the most steps that the model sees. Errors: those of reading the file;
// InvalidArgument where no series is long enough.
StatusOr<Inputs> MakeInputs(const Recipe::Data& data, int64_t context, int64_t horizon);

}  // namespace plinth::accept
