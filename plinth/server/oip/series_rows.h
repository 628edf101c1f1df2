// Turns the input tensors of a request into the series that the engine forecasts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plinth/server/oip/tensor.h"

namespace plinth::server::oip {

struct SeriesRows {
  std::vector<double> values;  // of all rows, one after another
  std::vector<std::span<const double>> rows;
};

// The last `context` steps of each row of the input "context": of its first lengths[r] steps where there is
// an input "lengths", with NaN where the input "mask" is false. Inputs come from MakeInput and have data.
// Errors: InvalidArgument for inputs that are missing, given twice or do not fit each other; their fields
// count the inputs as in `inputs`.
StatusOr<SeriesRows> ReadRows(std::span<const Tensor> inputs, int64_t context);

}  // namespace plinth::server::oip
