#include "plinth/base/cpu.h"

#include "gtest/gtest.h"

namespace plinth {
namespace {

TEST(Cpu, ChoosesTheBestWhenNothingIsWanted) {
  const auto best = HardwareIsa();
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(*ChooseIsa(""), *best);
}

TEST(Cpu, TakesALowerLevel) { EXPECT_EQ(*ChooseIsa("v2"), Isa::kV2); }

TEST(Cpu, RefusesUnknownNames) {
  const auto isa = ChooseIsa("avx9");
  EXPECT_EQ(isa.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(isa.status().message(), "PLINTH_ISA=avx9 is unknown; it can be v2, v3 or v4");
}

TEST(Status, MapsCodesToExitCodes) {
  EXPECT_EQ(ExitCode(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCode(absl::InvalidArgumentError("x")), 2);
  EXPECT_EQ(ExitCode(absl::DataLossError("x")), 2);
  EXPECT_EQ(ExitCode(absl::ResourceExhaustedError("x")), 3);
  EXPECT_EQ(ExitCode(absl::FailedPreconditionError("x")), 4);
  EXPECT_EQ(ExitCode(absl::CancelledError("x")), 130);
}

}  // namespace
}  // namespace plinth
