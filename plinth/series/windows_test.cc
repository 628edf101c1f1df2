#include "plinth/series/windows.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace plinth::series {
namespace {

TEST(LastWindow, CutsAndPadsOnTheLeft) {
  const std::vector<double> y{1, 2, 3};
  std::vector<double> two(2), five(5), none;
  LastWindow(y, two);
  EXPECT_EQ(two, (std::vector<double>{2, 3}));
  LastWindow(y, five);
  EXPECT_TRUE(std::isnan(five[0]) && std::isnan(five[1]));
  EXPECT_EQ((std::vector<double>(five.begin() + 2, five.end())), y);
  LastWindow(y, none);
  LastWindow({}, two);
  EXPECT_TRUE(std::isnan(two[0]) && std::isnan(two[1]));
}

}  // namespace
}  // namespace plinth::series
