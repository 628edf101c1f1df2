// Turns golden cases into requests of the engine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plinth/engine/session.h"
#include "plinth/verify/golden.h"

namespace plinth::verify {

// What a case asks for.
struct GoldenQuery {
  int64_t horizon = 0;
  std::vector<engine::Group> groups;
  std::vector<int64_t> batch_rows;          // of all rows, group by group: the row in the original's batch
  std::vector<std::vector<double>> values;  // what the groups point into

  // Forecasts of the groups' targets, in the engine's order, as the original gives them: for each series or
  // row of the case in its order, [levels][steps].
  std::vector<double> Arrange(std::span<const engine::Forecast> forecasts) const;
};

// Reads the inputs of `c`, which are one of
//   context [steps], or context0, context1, ... [steps]: series that stand alone, or, with the option
//     cross_learning, one group
//   target [steps] or [targets, steps], with past_covariates.NAME [steps] and future_covariates.NAME
//   [horizon]:
//     one group. Whole numbers are codes of the categories that the option "categories" lists; they are
//     encoded as plinth forecast encodes a column of text.
//   with the option api "forward": context [rows, steps], group_ids [rows] and future_covariates [rows,
//   ahead]:
//     rows of one id are a group wherever they stand, and all are forecast for num_output_patches patches.
// Errors: Unimplemented for other inputs, InvalidArgument for shapes that contradict each other, NotFound.
StatusOr<GoldenQuery> MakeQuery(const GoldenFolder& folder, const GoldenCase& c,
                                const models::ModelInfo& info);

}  // namespace plinth::verify
