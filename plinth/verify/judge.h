// Decides whether the memory after a run is what the reference asks for.
#pragma once

#include <vector>

#include "plinth/verify/compare.h"
#include "plinth/verify/op_run.h"

namespace plinth::verify {

// Compares output `port` of a run with the reference of its case.
Comparison JudgeOutput(const OpCase& c, const OpRun& run, size_t port);

// The memory that a perfect kernel would leave: the reference, rounded once.
OpRun PerfectRun(const OpCase& c);

// Plants known faults (wrong last element, unwritten element, written sentinel, swapped rows, NaN or
// infinity for a number, lost sign of zero, changed input) into the perfect result of one of the
// operator's cases and sees that each is noticed. Returns "" when all were, else what was missed: the
// operator's comparisons are then mistrusted.
std::string SelfTest(const ops::OpChecks& checks, uint64_t seed);

}  // namespace plinth::verify
