// Fixes windows and their digest.
#include "plinth/accept/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace plinth::accept {
namespace {

using testing::HasSubstr;

std::string Example(const std::string& name) {
  const char* source = std::getenv("PLINTH_SOURCE_DIR");
  return (source == nullptr ? std::string(".") : std::string(source)) + "/examples/series/" + name;
}

TEST(Inputs, MadeSeriesAreTheSameEverywhere) {
  Recipe::Data data;
  data.windows = 8;
  const auto inputs = MakeInputs(data, 100, 24);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_EQ(inputs->windows.size(), 8u);
  EXPECT_EQ(inputs->season, 24);
  for (const auto& w : inputs->windows) {
    EXPECT_EQ(w.context.size(), 100u) << w.series;
    EXPECT_EQ(w.truth.size(), 24u);
  }
  // The second round of a series ends where its first one begins to be the truth.
  EXPECT_EQ(inputs->windows[6].series, inputs->windows[0].series);
  EXPECT_EQ(inputs->windows[6].truth.back(), inputs->windows[0].context.back());
  EXPECT_EQ(MakeInputs(data, 100, 24)->digest, inputs->digest);
  data.windows = 7;
  EXPECT_NE(MakeInputs(data, 100, 24)->digest, inputs->digest);
}

TEST(Inputs, ReadsAFileWithItsSeason) {
  Recipe::Data data;
  data.file = Example("air_passengers.csv");
  data.windows = 3;
  const auto inputs = MakeInputs(data, 60, 12);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_EQ(inputs->windows.size(), 3u);
  EXPECT_EQ(inputs->season, 12);
  EXPECT_EQ(inputs->windows[0].truth.back(), 432);  // December 1960
  EXPECT_EQ(inputs->file_digest.size(), 64u);
}

TEST(Inputs, SaysWhatIsTooShort) {
  Recipe::Data data;
  data.file = Example("air_passengers.csv");
  const auto inputs = MakeInputs(data, 512, 140);
  EXPECT_THAT(std::string(inputs.status().message()),
              HasSubstr("the longest series has 144 steps; at least 153 are needed"));
  data.file = "/nowhere.csv";
  EXPECT_EQ(MakeInputs(data, 512, 12).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace plinth::accept
