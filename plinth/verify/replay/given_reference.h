// Takes the truth of an output from a capture in f64 that a user's own reference made.
#pragma once

#include "plinth/verify/replay/reference.h"

namespace plinth::verify::replay {

// `truth` has the shape of output `port`; both live as long as the result. Without knowledge of the operator
// there is no S to derive a limit from: the level is the relative L2 error that `plinth compare` takes for
// the type (f64 1e-13, f32 1e-5, f16 2e-3, bf16 1e-2, 8 bits one roundoff), a single element may be off by
// six times that of the truth's root mean square. Integers must be equal. Error: InvalidArgument where the
// shapes differ.
StatusOr<std::unique_ptr<Reference>> MakeGivenReference(const OpUse& use, size_t port, const Values& truth,
                                                        const Arithmetic& arithmetic);

// That level for a type.
double LevelOf(const NumberFormat& format);

}  // namespace plinth::verify::replay
