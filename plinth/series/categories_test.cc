#include "plinth/series/categories.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace plinth::series {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();
constexpr int32_t kGap = kMissingCategory;

// sun rain snow rain - sun - fog, ahead: rain hail - sun fog snow. hail is new, fog and snow stand only where
// the target has a gap.
const std::vector<int32_t> kPast = {0, 1, 2, 1, kGap, 0, kGap, 3};
const std::vector<int32_t> kFuture = {1, 4, kGap, 0, 3, 2};
const std::vector<std::string> kLabels = {"sun", "rain", "snow", "fog", "hail"};

void ExpectSame(const std::vector<double>& got, const std::vector<double>& wanted, double relative) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(std::isnan(got[i]), std::isnan(wanted[i])) << i;
    if (std::isnan(wanted[i])) continue;
    EXPECT_NEAR(got[i], wanted[i], relative * std::abs(wanted[i])) << i;
  }
}

// Numbers by chronos.chronos2.preprocess.from_data_frame of chronos-forecasting 2.3.2, which rounds to f32.
TEST(TargetEncode, AsTheOriginal) {
  const std::vector<double> target = {1.5, 2.25, kNan, -4, 8, 16.5, 3, kNan};
  const EncodedCategories encoded = TargetEncode(kPast, target, kFuture);
  const double sun = 7.513888835906982, rain = 0.9305555820465088, gap = 5.18055534362793;
  const double mean = 4.541666507720947;
  ExpectSame(encoded.past, {sun, rain, mean, rain, gap, sun, gap, mean}, std::exp2(-24));
  ExpectSame(encoded.future, {rain, mean, gap, sun, mean, mean}, std::exp2(-24));
}

TEST(TargetEncode, ByHand) {
  // Mean 4; category 0: (4 + 1 + 3) / 3, category 1: (4 + 8) / 2. Infinities do not count.
  const std::vector<int32_t> past = {0, 0, 1, 1};
  const std::vector<double> target = {1, 3, 8, kInf};
  const EncodedCategories encoded = TargetEncode(past, target, std::vector<int32_t>{1, 7});
  ExpectSame(encoded.past, {8.0 / 3, 8.0 / 3, 6, 6}, 1e-15);
  ExpectSame(encoded.future, {6, 4}, 0);
  ExpectSame(TargetEncode(past, target, {}, 2).past, {3, 3, 16.0 / 3, 16.0 / 3}, 1e-15);
}

TEST(TargetEncode, NothingObserved) {
  const EncodedCategories encoded = TargetEncode(kPast, std::vector<double>(8, kNan), kFuture);
  EXPECT_EQ(encoded.past, std::vector<double>(8, 0));
  EXPECT_EQ(encoded.future, std::vector<double>(6, 0));
  EXPECT_EQ(TargetEncode({}, {}, kFuture).future, std::vector<double>(6, 0));
}

TEST(OrdinalEncode, AsTheOriginal) {
  const CategoryOrder order = CategoryOrder::Of(kLabels, {true, true, true, true, false});
  EXPECT_EQ(order.count, 4);
  ExpectSame(OrdinalEncode(kPast, order), {3, 1, 2, 1, 4, 3, 4, 0}, 0);
  ExpectSame(OrdinalEncode(kFuture, order), {1, kNan, 4, 3, 0, 2}, 0);
  ExpectSame(OrdinalEncode(std::vector<int32_t>{5, 99}, order), {kNan, kNan}, 0);
}

TEST(CategoryOrder, SortsNumbersAsNumbersAndTextByBytes) {
  const std::vector<bool> all(4, true);
  EXPECT_EQ(CategoryOrder::Of(std::vector<std::string>{"10", "9", "-2", "1.5"}, all).places,
            (std::vector<int32_t>{3, 2, 0, 1}));
  EXPECT_EQ(CategoryOrder::Of(std::vector<std::string>{"10", "9", "2", "x"}, all).places,
            (std::vector<int32_t>{0, 2, 1, 3}));
  EXPECT_EQ(CategoryOrder::Of(std::vector<std::string>{"é", "z", "Z", ""}, all).places,
            (std::vector<int32_t>{3, 2, 1, 0}));
  // A label that is not known does not decide.
  EXPECT_EQ(CategoryOrder::Of(std::vector<std::string>{"10", "9", "x"}, {true, true, false}).places,
            (std::vector<int32_t>{1, 0, -1}));
  EXPECT_EQ(CategoryOrder::Of({}, {}).count, 0);
}

}  // namespace
}  // namespace plinth::series
