// Lists the operators that exist; an explicit table.
#pragma once

#include <string_view>
#include <vector>

#include "plinth/ops/op_spec.h"

namespace plinth::ops {

// All operators, alphabetically.
const std::vector<const OpSpec*>& AllOps();
// nullptr when there is none of that name.
const OpSpec* FindOp(std::string_view name);

}  // namespace plinth::ops
