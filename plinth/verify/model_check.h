// Verifies a model against golden cases: what `plinth verify model` does.
#pragma once

#include <functional>
#include <string>

#include "plinth/base/context.h"
#include "plinth/verify/rows.h"

namespace plinth::verify {

struct ModelOptions {
  std::string folder;                 // the model
  std::string cases_file;             // cases.json of its golden folder
  std::string case_name;              // "" all of them
  std::string program = "plinth";     // how reproduce lines call it
  std::function<bool()> interrupted;  // asked between cases; empty: never
};

// Forecasts every case (golden_query.h says what they may ask for) and reports each output: in mode `correct`
// against the float64 run of the original, |ours - original| <= max(10 * the original's own float32
// deviation, 8 u max|output|); in mode `bitwise` the same bits in a batch of all cases of one horizon as
// alone; in mode `layers` every recorded module output of one case, from the network as published, relative
// L2 error at most 1e-5 (golden_layers.h says which rows of it are ours). Cases on which the original raises
// or gives NaN count as refused or passed by Plinth's documented behaviour and as not compared. Errors:
// InvalidArgument, NotFound, DataLoss for bad folders; InvalidArgument for an unknown case or where there is
// none; Cancelled when interrupted.
StatusOr<Summary> VerifyModel(const Context& context, const ModelOptions& options, const RowSink& sink);

}  // namespace plinth::verify
