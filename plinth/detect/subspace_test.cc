#include "plinth/detect/subspace.h"

#include <cmath>

#include "gtest/gtest.h"
#include "plinth/base/random.h"
#include "plinth/detect/column_pca.h"
#include "plinth/detect/symmetric_eigen.h"

namespace plinth::detect {
namespace {

TEST(SymmetricEigen, RebuildsTheMatrix) {
  Random random(1);
  const size_t n = 12;
  std::vector<double> a(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) a[i * n + j] = a[j * n + i] = random.Normal();
  }
  const Eigen e = SymmetricEigen(a, n);
  for (size_t i = 0; i < n; ++i) {
    if (i > 0) {
      EXPECT_LE(e.values[i], e.values[i - 1]);
    }
    for (size_t j = 0; j < n; ++j) {
      double rebuilt = 0, product = 0;
      for (size_t k = 0; k < n; ++k) {
        rebuilt += e.vectors[k * n + i] * e.values[k] * e.vectors[k * n + j];
        product += e.vectors[i * n + k] * e.vectors[j * n + k];
      }
      EXPECT_NEAR(rebuilt, a[i * n + j], 1e-12);
      EXPECT_NEAR(product, i == j ? 1 : 0, 1e-12);
    }
  }
}

TEST(SymmetricEigen, OfKnownMatrices) {
  const Eigen e = SymmetricEigen({2, 1, 1, 2}, 2);
  EXPECT_DOUBLE_EQ(e.values[0], 3);
  EXPECT_DOUBLE_EQ(e.values[1], 1);
  EXPECT_NEAR(e.vectors[0], std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(e.vectors[1], std::sqrt(0.5), 1e-15);
  EXPECT_EQ(SymmetricEigen({0, 0, 0, 0}, 2).values[0], 0);
  EXPECT_EQ(SymmetricEigen({-4}, 1).values[0], -4);
}

// Points along (1, 1, 0, 0) with little noise elsewhere.
std::vector<double> Line(int count) {
  Random random(5);
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    const double along = random.Normal();
    for (const double part : {along, along, 0.0, 0.0}) samples.push_back(10 + part + 0.1 * random.Normal());
  }
  return samples;
}

TEST(Subspace, SeesWhatLeavesTheLineAndNamesTheColumn) {
  auto samples = Line(2000);
  for (size_t k = 0; k < 4 * 50; ++k) samples[k] = 500;  // a fortieth are wild
  const Subspace s = Subspace::Fit(samples, 4);
  EXPECT_EQ(s.directions(), 1);
  const std::vector<double> along{12, 12, 10, 10}, across{10, 10, 13, 10}, apart{12, 8, 10, 10};
  EXPECT_LT(s.Distance(along), 4);
  EXPECT_GT(s.Distance(across), 100);
  std::vector<double> parts(4);
  EXPECT_NEAR(s.Distance(across, parts), s.Distance(across), 1e-9 * s.Distance(across));
  EXPECT_GT(parts[2], 0.99 * (parts[0] + parts[1] + parts[2] + parts[3]));
  s.Distance(apart, parts);
  EXPECT_NEAR(parts[0], parts[1], 0.2 * parts[0]);
  EXPECT_GT(parts[0], 10 * parts[2]);
}

TEST(Subspace, OfNothingOrEqualSamplesIsFinite) {
  EXPECT_DOUBLE_EQ(Subspace::Fit({}, 2).Distance(std::vector<double>{3, 4}), 12.5);
  const Subspace s = Subspace::Fit(std::vector<double>(20, 1.0), 2);
  EXPECT_LT(s.Distance(std::vector<double>{1, 1}), 1e-9);  // rounding of the mean, over the least noise
  EXPECT_TRUE(std::isfinite(s.Distance(std::vector<double>{1, 2})));
}

TEST(ColumnPcaScore, SeesColumnsThatPartThoughEachStaysInItsRange) {
  Random random(6);
  std::vector<double> a, b, c;
  for (int t = 0; t < 1000; ++t) {
    const double common = 3 * std::sin(0.05 * t);
    a.push_back(common + 0.1 * random.Normal());
    // From row 800 on b goes against the others.
    b.push_back((t < 800 ? common : -common) + 0.1 * random.Normal());
    c.push_back(common + 0.1 * random.Normal());
  }
  const std::vector<Column> columns{MakeColumn(a, 700), MakeColumn(b, 700), MakeColumn(c, 700)};
  const PcaScores scores = ColumnPcaScore(columns, 700, 8);
  double before = 0, after = 0, of_b = 0, of_a = 0;
  for (size_t t = 710; t < 1000; ++t) {
    double& worst = t < 800 ? before : after;
    worst = std::max(worst, scores.score[t]);
    if (t < 810) continue;
    of_b += static_cast<double>(scores.parts[1][t]);
    of_a += static_cast<double>(scores.parts[0][t]);
  }
  EXPECT_GT(after, 5 * before);
  EXPECT_GT(of_b, 2 * of_a);
}

}  // namespace
}  // namespace plinth::detect
