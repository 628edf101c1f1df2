// Names the fault behind an output that fails, by trying what people get wrong.
#pragma once

#include <string>

#include "plinth/verify/replay/judgement.h"

namespace plinth::verify::replay {

// The first known mistake that explains output `port` of a use: another eps, a missing bias, a transposed
// weight, the other GELU, a mask that is off by one, operands cut to tf32, sums in f16 ...; "" where none
// does. Looks at a part of the output.
std::string ExplainFault(const OpUse& use, size_t port, const Arithmetic& arithmetic, const Way& way,
                         Threads& threads);

}  // namespace plinth::verify::replay
