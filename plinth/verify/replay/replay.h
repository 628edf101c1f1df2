// Recomputes captured operators and judges them three ways: candidate against truth, incumbent against truth,
// candidate against incumbent.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plinth/base/context.h"
#include "plinth/formats/capture.h"
#include "plinth/verify/replay/judgement.h"
#include "plinth/verify/rows.h"

namespace plinth::verify::replay {

struct ReplayOptions {
  std::vector<std::string> ops;  // only these operators; empty: all
  std::string name = "*";        // only names that match; * stands for anything, dots and slashes too
  ReplayBudget budget;
  // What the row's reproduce line begins with: program, capture and options.
  std::string command = "plinth replay CANDIDATE";
  std::function<bool()> interrupted;  // optional
};

// Whether a truth can have been computed from the captured inputs of each operator, as `plinth_capture
// reference` does. A recorded run of the whole model in double was not: what enters its operators differs.
bool ComputedFromInputs(const formats::Capture& truth);

// Reports a row for each output of each use of an operator in `candidate`, in order of execution:
//   passed    within its limits against the truth, and no worse than the incumbent beyond the rules' factor
//   warned    within its limits, worse than the incumbent; or no truth, and close to the incumbent
//   failed    outside its limits (detail says which element, or which arithmetic the error level betrays)
//   unproven  cannot be recomputed: the detail says what to capture, or that there is no reference
//   missing   the incumbent has the operator, the candidate, made by the same framework, has not
// `incumbent` and `truth` (f64 outputs of a user's own references, by name, port and step) may be null.
// Errors: InvalidArgument for captures of other inputs or another model, for a truth that is a run of its
// own, and as UsesOf; Cancelled.
StatusOr<Summary> Replay(const Context& context, const formats::Capture& candidate,
                         const formats::Capture* incumbent, const formats::Capture* truth,
                         const ReplayOptions& options, const RowSink& sink);

}  // namespace plinth::verify::replay
