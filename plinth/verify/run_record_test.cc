// A run's own record: who fell back to the processor.
#include "plinth/verify/run_record.h"

#include <gtest/gtest.h>

namespace plinth::verify {
namespace {

std::string Problem(std::string_view json) { return QuietFallback(*formats::ParseJson(json, "p")); }

TEST(QuietFallback, IsSaidInOneSentence) {
  EXPECT_EQ(Problem(R"({"declared_device":"hip:0","device":"cpu"})"),
            "declared for hip:0, and its weights lay on cpu");
  EXPECT_EQ(Problem(R"({"declared_device":"hip:0","device":"cuda","device_time_share":0.07})"),
            "only 7 % of its time ran on hip:0; at least 50 % is expected");
  EXPECT_EQ(Problem(R"({"declared_device":"hip:0","device":"cuda","device_time_share":1})"), "");
  EXPECT_EQ(Problem(R"({"declared_device":"cpu","device":"cpu","device_time_share":0})"), "");
  EXPECT_EQ(Problem(R"({"device":"cpu"})"), "");
  EXPECT_EQ(Problem(R"({"declared_device":3,"device":[]})"), "");
  EXPECT_EQ(Problem("null"), "");
}

}  // namespace
}  // namespace plinth::verify
