// Runs every operator's cases at the level PLINTH_ISA names, up to the tier PLINTH_TIER names.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "plinth/verify/level_main.h"
#include "plinth/verify/op_check.h"

namespace plinth::verify {
namespace {

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

}  // namespace plinth::verify

int main(int argc, char** argv) {
  if (const char* tier = std::getenv("PLINTH_TIER"); tier != nullptr) {
    const auto parsed = plinth::verify::ParseTier(tier);
    if (!parsed.ok()) {
      std::fprintf(stderr, "PLINTH_TIER: %s\n", std::string(parsed.status().message()).c_str());
      return 2;
    }
    plinth::verify::g_tier = *parsed;
  }
  return plinth::verify::LevelMain(argc, argv);
}
