// Runs every operator's cases at the level PLINTH_ISA names, up to the tier PLINTH_TIER names.
#include <gtest/gtest.h>

#include <cstdlib>

#include "plinth/verify/op_check.h"

namespace plinth::verify {
namespace {

class VerifyOpsTest : public testing::TestWithParam<const ops::OpChecks*> {
 protected:
  // Runs one mode over this operator; each bad row is a failure with its reproduce line.
  void Run(OpMode mode) {
    const auto isa = IsaFromEnvironment();
    ASSERT_TRUE(isa.ok()) << isa.status();
    const char* wanted = std::getenv("PLINTH_TIER");
    const auto tier = ParseTier(wanted == nullptr ? "smoke" : wanted);
    ASSERT_TRUE(tier.ok()) << tier.status();
    Threads threads(1);
    const Context context{&threads, *isa};
    OpOptions options;
    options.op = GetParam()->spec->name;
    options.tier = *tier;
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

}  // namespace plinth::verify
