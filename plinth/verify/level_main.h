// Gives test programs that run once per instruction-set level their main(): PLINTH_ISA names the level, and
// a level that the processor lacks is skipped with exit 77.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "plinth/base/cpu.h"

namespace plinth::verify {

// The level of this run.
inline Isa g_isa = Isa::kV2;

inline int LevelMain(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const StatusOr<Isa> isa = IsaFromEnvironment();
  if (!isa.ok()) {
    std::fprintf(stderr, "skipped: %s\n", std::string(isa.status().message()).c_str());
    return isa.status().code() == absl::StatusCode::kUnavailable ? 77 : 2;
  }
  g_isa = *isa;
  return RUN_ALL_TESTS();
}

}  // namespace plinth::verify
