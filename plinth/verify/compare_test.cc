#include "plinth/verify/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plinth/tensor/tensor.h"
#include "plinth/verify/placed.h"

namespace plinth::verify {
namespace {

using ops::RefTensor;
using testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr double kMaxFloat = std::numeric_limits<float>::max();

RefTensor Ref(std::vector<double> data) { return {{static_cast<int64_t>(data.size())}, std::move(data)}; }

Comparison CompareFloats(std::vector<float> result, std::vector<double> reference, double limit,
                         bool signed_zero = false) {
  const int64_t n = static_cast<int64_t>(result.size());
  const std::vector<double> limits(reference.size(), limit);
  CompareRules rules{.limits = &limits, .signed_zero = signed_zero};
  return Compare(DenseView(result.data(), DType::kF32, &n, 1), Ref(std::move(reference)), rules);
}

Comparison CompareExactly(std::vector<float> result, std::vector<double> reference) {
  const int64_t n = static_cast<int64_t>(result.size());
  return Compare(DenseView(result.data(), DType::kF32, &n, 1), Ref(std::move(reference)), {});
}

TEST(CompareTest, GivesTheStatisticsOfAKnownError) {
  // Errors 0, 0.5, -0.25 against 1, 2, 4; the unit in the last place of a float at 2 is 2^-22.
  const Comparison c = CompareFloats({1, 2.5f, 3.75f}, {1, 2, 4}, 1);
  EXPECT_TRUE(c.ok()) << c.problem;
  EXPECT_EQ(c.count, 3);
  EXPECT_DOUBLE_EQ(c.max_abs, 0.5);
  EXPECT_EQ(c.worst, 1);
  EXPECT_DOUBLE_EQ(c.worst_share, 0.5);
  EXPECT_DOUBLE_EQ(c.max_ulp, 0.5 * 0x1p22);
  EXPECT_DOUBLE_EQ(c.rel_l2, std::sqrt((0.25 + 0.0625) / 21));
  EXPECT_DOUBLE_EQ(c.rmse, std::sqrt((0.25 + 0.0625) / 3));
  EXPECT_DOUBLE_EQ(c.mean_error, 0.25 / 3);
  EXPECT_DOUBLE_EQ(c.cosine, (1 + 5 + 15) / std::sqrt(21.0 * (1 + 6.25 + 3.75 * 3.75)));
}

TEST(CompareTest, NamesTheElementFarthestOutsideItsLimit) {
  const Comparison c = CompareFloats({1, 2.5f, 7}, {1, 2, 4}, 0.25);
  EXPECT_EQ(c.outside, 2);
  EXPECT_EQ(c.worst, 2);
  EXPECT_THAT(c.problem, HasSubstr("2 of 3 elements are outside; element 2 is off by 3 with limit 0.25"));
}

TEST(CompareTest, AnErrorAtTheLimitPassesAndOneBeyondFails) {
  EXPECT_TRUE(CompareFloats({1.5f}, {1}, 0.5).ok());
  EXPECT_FALSE(CompareFloats({1.5f}, {1}, 0.49999).ok());
}

TEST(CompareTest, NanMustStandWhereTheReferenceHasIt) {
  EXPECT_TRUE(CompareFloats({NAN, 1}, {NAN, 1}, 1).ok());
  EXPECT_THAT(CompareFloats({NAN, 1}, {2, 1}, 1e9).problem, HasSubstr("element 0 is nan, expected 2"));
  EXPECT_THAT(CompareFloats({2, 1}, {2, NAN}, 1e9).problem, HasSubstr("element 1 is 1, expected nan"));
}

TEST(CompareTest, InfinityMustHaveItsSign) {
  EXPECT_TRUE(CompareFloats({kInf, -kInf}, {INFINITY, -INFINITY}, 1).ok());
  EXPECT_FALSE(CompareFloats({kInf}, {-INFINITY}, 1).ok());
  EXPECT_FALSE(CompareFloats({kInf}, {3}, 1e30).ok());
  EXPECT_FALSE(CompareFloats({3}, {INFINITY}, 1e30).ok());
  EXPECT_FALSE(CompareFloats({NAN}, {INFINITY}, 1e30).ok());
}

TEST(CompareTest, OverflowPassesOnlyWhereTheLimitReachesIt) {
  EXPECT_TRUE(CompareFloats({kInf}, {2 * kMaxFloat}, 0).ok());
  EXPECT_TRUE(CompareFloats({kInf}, {kMaxFloat}, kMaxFloat * 1e-6).ok());
  EXPECT_FALSE(CompareFloats({kInf}, {kMaxFloat / 2}, kMaxFloat * 1e-6).ok());
  EXPECT_FALSE(CompareFloats({-kInf}, {2 * kMaxFloat}, 0).ok());
  // A finite result far from a reference beyond the range is an error like any other.
  EXPECT_FALSE(CompareFloats({1}, {2 * kMaxFloat}, 1).ok());
}

TEST(CompareTest, SignsOfZeroCountWhereAskedAndWhenExact) {
  EXPECT_TRUE(CompareFloats({-0.0f}, {0.0}, 0).ok());
  EXPECT_THAT(CompareFloats({-0.0f}, {0.0}, 0, true).problem, HasSubstr("is -0, expected the other zero"));
  EXPECT_THAT(CompareExactly({0.0f}, {-0.0}).problem, HasSubstr("is +0, expected the other zero"));
}

TEST(CompareTest, ExactMeansTheReferenceRoundedOnce) {
  EXPECT_TRUE(CompareExactly({0.1f}, {0.1}).ok());
  EXPECT_FALSE(CompareExactly({std::nextafterf(0.1f, 1.0f)}, {0.1}).ok());
  EXPECT_TRUE(CompareExactly({kInf}, {1e300}).ok());
  EXPECT_FALSE(CompareExactly({static_cast<float>(kMaxFloat)}, {1e300}).ok());
}

TEST(CompareTest, AllZeroAndConstantSidesDivideByNothing) {
  const Comparison zeros = CompareFloats({0, 0}, {0, 0}, 0);
  EXPECT_EQ(zeros.rel_l2, 0);
  EXPECT_EQ(zeros.cosine, 1);
  const Comparison against_zero = CompareFloats({1, 1}, {0, 0}, 0.5);
  EXPECT_TRUE(std::isinf(against_zero.rel_l2));
  EXPECT_EQ(against_zero.cosine, 0);
}

TEST(CompareTest, TinyOutputsAreNotHiddenByASmallAbsoluteLine) {
  // 1e-9 against 2e-9 is wrong although the difference is small: limits scale with the reference.
  const RefTensor reference = Ref({2e-9});
  const std::vector<double> limits = ops::UlpLimit(reference, 4);
  float result = 1e-9f;
  const int64_t n = 1;
  EXPECT_FALSE(Compare(DenseView(&result, DType::kF32, &n, 1), reference, {.limits = &limits}).ok());
}

TEST(CompareTest, SumsDoNotDriftOverManyElements) {
  // Float partial sums of a million equal products give a cosine that differs from 1 in the fifth digit.
  const std::vector<float> result(1 << 20, 0.1f);
  const Comparison c = CompareFloats(result, std::vector<double>(1 << 20, static_cast<double>(0.1f)), 0);
  EXPECT_NEAR(c.cosine, 1, 1e-12);
  EXPECT_LE(c.cosine, 1);
}

TEST(CompareTest, ShapesMustAgree) {
  float result[6] = {};
  const int64_t dims[] = {3, 2};
  const Comparison c = Compare(DenseView(result, DType::kF32, dims, 2), {{2, 3}, std::vector<double>(6)}, {});
  EXPECT_EQ(c.problem, "shape is [3,2], expected [2,3]");
}

TEST(CompareTest, UselessLimitsAreNotedApart) {
  EXPECT_THAT(CompareFloats({1}, {1}, NAN).bad_limits, HasSubstr("the limit of element 0 is nan"));
  EXPECT_THAT(CompareFloats({1}, {1}, INFINITY).bad_limits, HasSubstr("inf"));
  EXPECT_THAT(CompareFloats({1}, {1}, -1).bad_limits, HasSubstr("-1"));
  const std::vector<double> one(1, 1.0);
  float result[2] = {};
  const int64_t n = 2;
  EXPECT_THAT(Compare(DenseView(result, DType::kF32, &n, 1), Ref({0, 0}), {.limits = &one}).bad_limits,
              HasSubstr("1 limits for 2 elements"));
}

TEST(CompareTest, ElementsThatStillHoldThePrefillWereNotWritten) {
  const Placed result(DType::kF32, {4}, ops::Place::kDense, 0xff, 0xa5);
  const std::vector<double> limits(4, 1e9);
  // The reference asks for NaN, and the pre-fill is one: still unwritten.
  const Comparison c =
      Compare(result.view(), Ref({NAN, NAN, NAN, NAN}), {.limits = &limits, .prefill = uint8_t{0xff}});
  EXPECT_THAT(c.problem, HasSubstr("element 0 was not written, expected nan"));
}

TEST(CompareTest, CountsSpecialAndSubnormalValues) {
  const Comparison c = CompareFloats({NAN, kInf, 0, 0, 1e-40f}, {NAN, INFINITY, 0, 1e-39, 1e-40}, 1e-38);
  EXPECT_EQ(c.nan, 1);
  EXPECT_EQ(c.inf, 1);
  EXPECT_EQ(c.zero, 2);
  EXPECT_EQ(c.subnormal, 1);
  EXPECT_EQ(c.reference_subnormal, 2);
}

TEST(CompareTest, IntegersCompareAsNumbers) {
  int64_t result[] = {-5, 1 << 30};
  const int64_t n = 2;
  const View view = DenseView(result, DType::kI64, &n, 1);
  EXPECT_TRUE(Compare(view, Ref({-5, 1 << 30}), {}).ok());
  EXPECT_THAT(Compare(view, Ref({-5, (1 << 30) + 1}), {}).problem, HasSubstr("1 of 2 elements differ"));
}

TEST(CompareTest, FollowsStrides) {
  float memory[] = {1, 9, 9, 2, 9, 9};
  View view = DenseView(memory, DType::kF32, nullptr, 0);
  view.rank = 2;
  view.dims[0] = 2, view.dims[1] = 1;
  view.strides[0] = 3, view.strides[1] = 7;
  EXPECT_TRUE(Compare(view, {{2, 1}, {1, 2}}, {}).ok());
}

TEST(FirstBitDifferenceTest, SeesSignsOfZeroButNotKindsOfNan) {
  float a[] = {1, 0.0f, std::numeric_limits<float>::quiet_NaN()};
  float b[] = {1, 0.0f, -std::numeric_limits<float>::quiet_NaN()};
  const int64_t n = 3;
  const View va = DenseView(a, DType::kF32, &n, 1), vb = DenseView(b, DType::kF32, &n, 1);
  EXPECT_EQ(FirstBitDifference(va, vb), -1);
  b[1] = -0.0f;
  EXPECT_EQ(FirstBitDifference(va, vb), 1);
}

TEST(NumberFormatTest, UlpIsTheDistanceToTheNeighbour) {
  EXPECT_EQ(ops::Ulp(DType::kF32, 1.0), 0x1p-23);
  EXPECT_EQ(ops::Ulp(DType::kF32, -1.5), 0x1p-23);
  EXPECT_EQ(ops::Ulp(DType::kF32, std::nextafter(1.0, 0.0)), 0x1p-24);
  EXPECT_EQ(ops::Ulp(DType::kF32, 0), 0x1p-149);
  EXPECT_EQ(ops::Ulp(DType::kF32, 1e-42), 0x1p-149);
  EXPECT_EQ(ops::Ulp(DType::kF16, 1.0), 0x1p-10);
  EXPECT_EQ(ops::Ulp(DType::kBF16, 1.0), 0x1p-7);
  EXPECT_EQ(ops::Ulp(DType::kF64, 1.0), 0x1p-52);
  EXPECT_EQ(ops::Ulp(DType::kF64, 0.0), 0x1p-1074);
  EXPECT_EQ(ops::Ulp(DType::kI32, 1000), 1);
  EXPECT_EQ(ops::Ulp(DType::kF32, INFINITY), 0);
}

TEST(NumberFormatTest, RoundToRoundsOnceToNearestEven) {
  // Rounded to float first, 1 + 2^-11 + 2^-30 would lose the last bit and then tie to even, 1.
  EXPECT_EQ(ops::RoundTo(DType::kF16, 1 + 0x1p-11 + 0x1p-30), 1 + 0x1p-10);
  EXPECT_EQ(ops::RoundTo(DType::kF16, 1 + 0x1p-11), 1.0);
  EXPECT_EQ(ops::RoundTo(DType::kF16, 65519.0), 65504.0);
  EXPECT_EQ(ops::RoundTo(DType::kF16, 65520.0), INFINITY);
  EXPECT_EQ(ops::RoundTo(DType::kBF16, 1 + 0x1p-8), 1.0);
  EXPECT_EQ(ops::RoundTo(DType::kBF16, 1 + 3 * 0x1p-8), 1 + 0x1p-6);
  EXPECT_EQ(ops::RoundTo(DType::kF32, -1e-50), -0.0);
  EXPECT_TRUE(std::signbit(ops::RoundTo(DType::kF32, -1e-50)));
  EXPECT_EQ(ops::RoundTo(DType::kI8, 200), 127);
  EXPECT_EQ(ops::RoundTo(DType::kI32, 2.5), 2);
  EXPECT_EQ(ops::RoundTo(DType::kU8, NAN), 0);
  EXPECT_EQ(ops::RoundTo(DType::kBool, -3), 1);
  for (float f : {0.1f, 3.4e38f, 1e-45f, -7.25f}) {
    EXPECT_EQ(ops::RoundTo(DType::kF32, static_cast<double>(f)), static_cast<double>(f));
  }
}

}  // namespace
}  // namespace plinth::verify
