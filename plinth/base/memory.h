// Says how much memory this process could still take without pushing the machine or its container over.
#pragma once

#include <cstdint>
#include <string>

namespace plinth {

// Bytes: what the kernel thinks new programs can have (MemAvailable), or what the limit of a control group
// above this process leaves, whichever is less. The largest number where nothing can be read.
// root: where the system's files begin; "" is this machine (tests use a recorded tree).
int64_t AvailableMemory(const std::string& root = "");

// Memory of this process that is in RAM now; 0 where it cannot be read.
int64_t ResidentBytes();

}  // namespace plinth
