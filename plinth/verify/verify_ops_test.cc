// Runs every operator's cases at the level PLINTH_ISA names, up to the tier PLINTH_TIER names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "plinth/verify/op_check.h"

namespace plinth::verify {
namespace {

Isa g_isa = Isa::kV2;
ops::Tier g_tier = ops::Tier::kSmoke;

class VerifyOpsTest : public testing::TestWithParam<const ops::OpChecks*> {
 protected:
  // Runs one mode over this operator; each bad row is a failure with its reproduce line.
  void Run(OpMode mode) {
    Threads threads(1);
    const Context context{&threads, g_isa};
    OpOptions options;
    options.op = GetParam()->spec->name;
    options.tier = g_tier;
    options.mode = mode;
    const auto summary = VerifyOps(context, options, [](const CheckRow& row) {
      const bool good = row.status == CheckStatus::kPassed || row.status == CheckStatus::kRefused;
      if (!good) ADD_FAILURE() << ToText(row);
    });
    ASSERT_TRUE(summary.ok()) << summary.status();
    EXPECT_EQ(summary->verdict(), "pass") << ToText(*summary);
  }
};

TEST_P(VerifyOpsTest, Correct) { Run(OpMode::kCorrect); }
TEST_P(VerifyOpsTest, Bitwise) { Run(OpMode::kBitwise); }

INSTANTIATE_TEST_SUITE_P(AllOps, VerifyOpsTest, testing::ValuesIn(ops::AllChecks()),
                         [](const auto& info) { return std::string(info.param->spec->name); });

}  // namespace

int Main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const StatusOr<Isa> isa = IsaFromEnvironment();
  if (!isa.ok()) {
    std::fprintf(stderr, "skipped: %s\n", std::string(isa.status().message()).c_str());
    return 77;
  }
  g_isa = *isa;
  if (const char* tier = std::getenv("PLINTH_TIER"); tier != nullptr) {
    const auto parsed = ParseTier(tier);
    if (!parsed.ok()) {
      std::fprintf(stderr, "%s\n", std::string(parsed.status().message()).c_str());
      return 2;
    }
    g_tier = *parsed;
  }
  return RUN_ALL_TESTS();
}

}  // namespace plinth::verify

int main(int argc, char** argv) { return plinth::verify::Main(argc, argv); }
