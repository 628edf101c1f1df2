// Turns the fills of operator cases into data: a function of (seed, operator, case, input) alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "plinth/base/status.h"
#include "plinth/ops/checks.h"

namespace plinth::verify {

// The seed of one input of one case. `seed` is the run's own (0 unless the user gives another).
uint64_t InputSeed(uint64_t seed, std::string_view op, std::string_view case_name, size_t input);

// Data of `input`, each element rounded to its dtype. An absent input gives an absent tensor.
// Errors: InvalidArgument where the case contradicts itself (values that do not match the shape,
// kIndex without a limit, offsets of rank other than 1).
StatusOr<ops::RefTensor> FillInput(const ops::InputCase& input, uint64_t seed);

}  // namespace plinth::verify
