// Runs a test program at the instruction-set level that PLINTH_ISA names; ends with 77 (skipped) where the
// processor lacks it.
#include <cstdio>

#include "gtest/gtest.h"
#include "plinth/base/cpu.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto isa = plinth::IsaFromEnvironment();
  if (!isa.ok()) {
    std::printf("skipped: %s\n", std::string(isa.status().message()).c_str());
    return isa.status().code() == absl::StatusCode::kUnavailable ? 77 : 1;
  }
  return RUN_ALL_TESTS();
}
