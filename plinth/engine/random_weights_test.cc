#include "plinth/engine/random_weights.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plinth::engine {
namespace {

std::vector<float> Values(RandomWeights& weights, const std::string& name, const Shape& shape) {
  const auto view = weights.Load(name, {DType::kF32, shape});
  EXPECT_TRUE(view.ok()) << view.status();
  if (!view.ok()) return {};
  return {view->as<float>(), view->as<float>() + view->size()};
}

TEST(RandomWeightsTest, NameAloneDecidesTheValues) {
  RandomWeights a, b;
  const auto first = Values(a, "x.weight", {40, 30});
  Values(b, "y.weight", {40, 30});
  EXPECT_EQ(Values(b, "x.weight", {40, 30}), first);
  EXPECT_NE(Values(b, "y.weight", {40, 30}), first);
  a.Release("x.weight");
  EXPECT_EQ(Values(a, "x.weight", {40, 30}), first);
}

TEST(RandomWeightsTest, MatricesKeepActivationsNearOne) {
  RandomWeights weights;
  const auto x = Values(weights, "x.weight", {1000, 64});
  double sum = 0, squares = 0, largest = 0;
  for (const float v : x) {
    sum += v;
    squares += static_cast<double>(v) * v;
    largest = std::max(largest, std::abs(static_cast<double>(v)));
  }
  const double n = static_cast<double>(x.size());
  // Six standard errors of the mean and of the mean square of uniform numbers.
  EXPECT_NEAR(sum / n, 0, 6 / 8.0 / std::sqrt(n));
  EXPECT_NEAR(squares / n * 64, 1, 6 * std::sqrt(4 / 5.0 / n));
  EXPECT_LE(largest, std::sqrt(3.0) / 8);
}

TEST(RandomWeightsTest, VectorsAreGainsOrBiases) {
  RandomWeights weights;
  EXPECT_THAT(Values(weights, "norm.weight", {17}), testing::Each(1.0f));
  const auto bias = Values(weights, "head.bias", {17});
  EXPECT_NE(bias[0], bias[1]);
  EXPECT_THAT(bias, testing::Each(testing::AllOf(testing::Gt(-0.2f), testing::Lt(0.2f))));
}

TEST(RandomWeightsTest, OtherTypesAreRefused) {
  RandomWeights weights;
  const auto view = weights.Load("table", {DType::kI64, {3}});
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(std::string(view.status().message()),
            "random weight \"table\" would be i64; only f32 is made up");
}

}  // namespace
}  // namespace plinth::engine
