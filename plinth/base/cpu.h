// Names the instruction-set levels of x86-64 and finds the one this process uses.
#pragma once

#include <string_view>

#include "plinth/base/status.h"

namespace plinth {

// Levels of the x86-64 psABI: v2 = SSE4.2, v3 = AVX2 and FMA, v4 = AVX-512 F, BW, CD, DQ, VL.
enum class Isa { kV2 = 0, kV3 = 1, kV4 = 2 };
inline constexpr int kIsaLevels = 3;

// "v2", "v3" or "v4".
std::string_view IsaName(Isa isa);

// The highest level that this processor and operating system support.
// Error: Unavailable where not even v2 is there.
StatusOr<Isa> HardwareIsa();

// The level kernels run at: `wanted` (the text of PLINTH_ISA, empty for "the best"), capped by the
// hardware. Errors: InvalidArgument for an unknown name, Unavailable for a level the CPU lacks.
StatusOr<Isa> ChooseIsa(std::string_view wanted);

// Reads PLINTH_ISA, chooses, and caps oneDNN at the same level (ONEDNN_MAX_CPU_ISA) before its first
// use. Call it once at the start of a program.
StatusOr<Isa> IsaFromEnvironment();

}  // namespace plinth
