#include "plinth/device/device.h"

#include "gtest/gtest.h"

namespace plinth {
namespace {

TEST(Device, ParsesAndPrints) {
  for (const char* name : {"cpu", "cuda:0", "hip:12"}) EXPECT_EQ(ParseDevice(name)->ToString(), name);
  for (const char* name : {"", "gpu", "cuda", "cuda:", "cuda:-1", "hip:1x", "CPU"}) {
    const auto device = ParseDevice(name);
    ASSERT_FALSE(device.ok()) << name;
    EXPECT_EQ(device.status().message(),
              StrCat("device \"", name, "\" is unknown; it can be cpu, cuda:N or hip:N"));
  }
}

TEST(Device, SaysWhatIsThere) {
  EXPECT_TRUE(FindDevice("cpu").ok());
  const auto device = FindDevice("cuda:0");
  EXPECT_EQ(device.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(device.status().message(), "no such device: cuda:0; this installation has cpu");
}

}  // namespace
}  // namespace plinth
