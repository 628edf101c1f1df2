#include "plinth/series/quantiles.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plinth::series {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(Quantiles, FloatAndDoubleAreTheSameLevel) {
  const double levels[] = {0.9, static_cast<double>(0.1f), 0.1, static_cast<double>(0.9f), 0.5};
  const auto got = NormaliseQuantiles(levels);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_THAT(*got, ElementsAre(0.1, 0.5, 0.9));  // exactly these doubles
}

TEST(Quantiles, ReadsLists) {
  EXPECT_THAT(*ParseQuantiles("0.5"), ElementsAre(0.5));
  EXPECT_THAT(*ParseQuantiles(" 0.9, .1 ,0.025,1e-6"), ElementsAre(0.000001, 0.025, 0.1, 0.9));
}

TEST(Quantiles, RefusesWithTheItem) {
  const std::string why =
      " is not a level: levels lie between 0 and 1 and are kept to six decimals, for example 0.1,0.5,0.9";
  for (const std::string item : {"0", "1", "-0.1", "1.5", "x", "0.1x", "nan", "inf", "1e-7", "0.9999999"}) {
    const auto got = ParseQuantiles("0.5," + item);
    EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument) << item;
    EXPECT_EQ(got.status().message(), "quantile \"" + item + "\"" + why);
  }
  EXPECT_EQ(ParseQuantiles("0.5,").status().message(), "quantile \"\"" + why);
  EXPECT_EQ(ParseQuantiles(" ").status().message(),
            "the list of quantiles is empty; give levels such as 0.1,0.5,0.9");
  const double two[] = {2.0};
  EXPECT_EQ(NormaliseQuantiles(two).status().message(), "quantile 2" + why);
}

TEST(Quantiles, Names) {
  EXPECT_EQ(QuantileName(0.1), "0.1");
  EXPECT_EQ(QuantileName(0.975), "0.975");
  EXPECT_EQ(QuantileName(0.000001), "0.000001");
  EXPECT_EQ(QuantileName(static_cast<double>(0.3f)), "0.3");
  for (int i = 1; i < 1000; ++i) {
    EXPECT_THAT(*ParseQuantiles(QuantileName(i / 1000.0)), ElementsAre(i / 1000.0));
  }
}

std::vector<double> Mapped(const std::vector<double>& levels, const std::vector<double>& wanted,
                           const std::vector<double>& values) {
  std::vector<double> out(wanted.size());
  QuantileMap(levels, wanted).Apply(values, out);
  return out;
}

TEST(QuantileMap, OwnLevelsPassThrough) {
  const std::vector<double> values{-1, 0.1, 0.3, 1 / 3.0, 2, 3, 5, 8, 13};
  EXPECT_EQ(Mapped(Deciles(), Deciles(), values), values);
  EXPECT_THAT(Mapped(Deciles(), {0.4, 0.8}, values), ElementsAre(1 / 3.0, 8));
}

TEST(QuantileMap, InterpolatesAndExtrapolatesLinearly) {
  const std::vector<double> values{1, 2, 3, 4, 5, 7, 9, 11, 15};
  EXPECT_THAT(Mapped(Deciles(), {0.05, 0.25, 0.55, 0.85, 0.975}, values),
              ElementsAre(DoubleEq(0.5), DoubleEq(2.5), DoubleEq(6), DoubleEq(13), DoubleNear(18, 1e-12)));
}

TEST(QuantileMap, OneLevelIsConstant) {
  EXPECT_THAT(Mapped({0.5}, {0.1, 0.5, 0.9}, {7}), ElementsAre(7, 7, 7));
}

TEST(QuantileMap, NeverCrosses) {
  // Values a rounding error apart: the weighted sums may turn round, the results may not.
  std::vector<double> wanted;
  for (int i = 1; i < 1000; ++i) wanted.push_back(i / 1000.0);
  std::vector<double> values(9, 1.0);
  for (int i = 0; i < 9; ++i) values[i] = 0.1 + i * 0x1p-56;
  const auto out = Mapped(Deciles(), *NormaliseQuantiles(wanted), values);
  EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
  // What a model says itself is passed on, crossed or not; what is made from it does not cross further.
  EXPECT_THAT(Mapped({0.1, 0.5, 0.9}, {0.1, 0.5, 0.9}, {5, 3, 1}), ElementsAre(5, 3, 1));
  EXPECT_THAT(Mapped({0.1, 0.5, 0.9}, {0.05, 0.1, 0.5, 0.9, 0.95}, {5, 3, 1}), ElementsAre(5, 5, 3, 1, 1));
}

TEST(QuantileMap, NanStaysNan) {
  const auto out = Mapped({0.1, 0.5, 0.9}, {0.1, 0.3, 0.5, 0.9}, {std::nan(""), 1, 2});
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
  EXPECT_EQ(out[2], 1);
  EXPECT_EQ(out[3], 2);
}

}  // namespace
}  // namespace plinth::series
