// The three modes of operator verification, one case and one kernel at a time.
#pragma once

#include <string>
#include <vector>

#include "plinth/base/context.h"
#include "plinth/verify/op_run.h"
#include "plinth/verify/rows.h"

namespace plinth::verify {

// The name that stands for a reinterpretation of the input's memory, beside the kernels' names.
inline constexpr char kViewKernel[] = "view";

// What a mode found about one output, or `skipped` where the kernel does not take the case.
struct ModeResult {
  bool skipped = false;
  std::vector<CheckRow> rows;  // case_name, op, mode and reproduce are still empty
};

// Against the reference, in every layout the ports take, in place where the operator allows it.
ModeResult CheckCorrect(const OpCase& c, const std::string& kernel, const Context& context);
// The same bits whatever the order, threads, alignment, neighbours. `pools` are 2 and 3 threads.
ModeResult CheckBitwise(const OpCase& c, const std::string& kernel, const Context& context,
                        const std::vector<Threads*>& pools);
// Correct first, then timed.
ModeResult CheckSpeed(const OpCase& c, const std::string& kernel, const Context& context);

}  // namespace plinth::verify
