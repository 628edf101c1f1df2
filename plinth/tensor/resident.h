// Allocates memory that is filled as a whole and read again and again, such as packed weights.
#pragma once

#include "plinth/tensor/tensor.h"

namespace plinth {

// No allocator here asks for more: no machine has it, and sanitizers end a program that does.
inline constexpr int64_t kMostBytes = int64_t{1} << 39;

// As AllocateAligned. For 2 MiB and more the system is asked for huge pages, whose addresses are found
// faster: reading weights takes a tenth less time. A block of which little is ever touched would waste them.
AlignedBytes AllocateResident(int64_t bytes);

}  // namespace plinth
