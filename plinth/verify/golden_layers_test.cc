#include "plinth/verify/golden_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace plinth::verify {
namespace {

using ops::RefTensor;
using testing::ElementsAre;

// A batch of 3 rows padded to 4 tokens: the first has one token left out, the last three. The run has the
// rows in the order 0, 2, 1.
const LayerPlaces kPlaces = {.tokens = {{0, 1}, {0, 2}, {0, 3}, {2, 3}, {1, 0}, {1, 1}, {1, 2}, {1, 3}},
                             .rows = {0, 2, 1}};

// Numbers that say where they come from: 100 row + 10 position + column.
RefTensor Recorded(int64_t positions, bool by_position, int64_t width = 2) {
  RefTensor t{{3, positions, width}, {}};
  if (by_position) t.dims = {positions, 3, width};
  for (int64_t a = 0; a < t.dims[0]; ++a) {
    for (int64_t b = 0; b < t.dims[1]; ++b) {
      for (int64_t c = 0; c < width; ++c) {
        t.data.push_back(static_cast<double>(by_position ? 100 * b + 10 * a + c : 100 * a + 10 * b + c));
      }
    }
  }
  return t;
}

Tensor Ours(std::vector<int64_t> dims, float first = 0) {
  Tensor t(DType::kF32, std::move(dims));
  for (int64_t i = 0; i < t.size(); ++i) t.data<float>()[i] = first + static_cast<float>(i);
  return t;
}

// The first column of the reference's rows.
std::vector<double> Firsts(const LayerRows& rows) {
  std::vector<double> firsts;
  const int64_t width = rows.reference.size() / rows.reference.dims[0];
  for (int64_t i = 0; i < rows.reference.size(); i += width) {
    firsts.push_back(rows.reference.data[static_cast<size_t>(i)]);
  }
  return firsts;
}

TEST(MatchRowsTest, TokensAreFoundByRowAndPosition) {
  const Tensor ours = Ours({8, 2});
  const LayerRows rows = MatchRows(ours.view(), Recorded(4, false), kPlaces);
  EXPECT_THAT(Firsts(rows), ElementsAre(10, 20, 30, 230, 100, 110, 120, 130));
  EXPECT_THAT(rows.reference.dims, ElementsAre(8, 2));
  EXPECT_EQ(rows.ours.dims(), (std::vector<int64_t>{8, 2}));
  EXPECT_EQ(rows.ours.data<float>()[15], 15);
}

TEST(MatchRowsTest, LayersAcrossTheBatchHaveTokensFirst) {
  const Tensor ours = Ours({8, 2});
  EXPECT_THAT(Firsts(MatchRows(ours.view(), Recorded(4, true), kPlaces)),
              ElementsAre(10, 20, 30, 230, 100, 110, 120, 130));
}

TEST(MatchRowsTest, ALayerMayEndBeforeTheLastTokens) {
  const Tensor all = Ours({8, 2});
  const LayerRows some = MatchRows(all.view(), Recorded(3, false), kPlaces);
  EXPECT_THAT(Firsts(some), ElementsAre(10, 20, 100, 110, 120));
  // Rows 0, 1, 4, 5 and 6 of ours.
  EXPECT_EQ(some.ours.data<float>()[3], 3);
  EXPECT_EQ(some.ours.data<float>()[4], 8);
  // Ours ends there too.
  const Tensor five = Ours({5, 2});
  const LayerRows same = MatchRows(five.view(), Recorded(3, false), kPlaces);
  EXPECT_THAT(Firsts(same), ElementsAre(10, 20, 100, 110, 120));
  EXPECT_EQ(same.ours.data<float>()[9], 9);
}

TEST(MatchRowsTest, AFixedNumberForEachRowFollowsTheOrderOfTheBatch) {
  const Tensor ours = Ours({6, 2});
  EXPECT_THAT(Firsts(MatchRows(ours.view(), Recorded(2, false), kPlaces)),
              ElementsAre(0, 10, 200, 210, 100, 110));
  const Tensor one = Ours({3, 2});
  EXPECT_THAT(Firsts(MatchRows(one.view(), Recorded(1, false), kPlaces)), ElementsAre(0, 200, 100));
}

TEST(MatchRowsTest, OneRowStandsForAllOnlyWhereTheyAreAlike) {
  const LayerPlaces places{.tokens = {{0, 1}, {1, 1}, {2, 1}}, .rows = {0, 1, 2}};
  const Tensor ours = Ours({1, 2});
  const RefTensor alike{{3, 1, 2}, {5, 6, 5, 6, 5, 6}};
  EXPECT_THAT(MatchRows(ours.view(), alike, places).reference.data, ElementsAre(5, 6));
  const RefTensor other{{3, 1, 2}, {5, 6, 5, 6, 5, 7}};
  EXPECT_EQ(MatchRows(ours.view(), other, places).reference.data.size(), 6u);
}

TEST(MatchRowsTest, LeadingOnesDoNotCount) {
  const LayerPlaces alone{.tokens = {{0, 1}, {0, 2}}, .rows = {0}};
  const Tensor ours = Ours({2, 2});
  const RefTensor flat{{3, 2}, {0, 1, 10, 11, 20, 21}}, deep{{1, 1, 3, 2}, flat.data};
  EXPECT_THAT(Firsts(MatchRows(ours.view(), flat, alone)), ElementsAre(10, 20));
  EXPECT_THAT(Firsts(MatchRows(ours.view(), deep, alone)), ElementsAre(10, 20));
}

TEST(MatchRowsTest, WhatDoesNotFitStaysAsItIs) {
  const Tensor ours = Ours({8, 2}), seven = Ours({7, 2});
  EXPECT_THAT(MatchRows(ours.view(), Recorded(4, false, 3), kPlaces).reference.dims, ElementsAre(3, 4, 3));
  EXPECT_EQ(MatchRows(seven.view(), Recorded(4, false), kPlaces).reference.data.size(), 24u);
  EXPECT_EQ(MatchRows(ours.view(), {{5, 4, 2}, std::vector<double>(40)}, kPlaces).reference.data.size(), 40u);
  EXPECT_EQ(MatchRows(ours.view(), {{0, 2}, {}}, kPlaces).reference.data.size(), 0u);
}

TEST(MatchRowsTest, AGapIsZeroInOursAndNothingElse) {
  const LayerPlaces alone{.tokens = {{0, 0}, {0, 1}}, .rows = {0}};
  const Tensor ours = Ours({2, 2});  // 0 1 2 3
  const LayerRows rows = MatchRows(ours.view(), {{1, 2, 2}, {NAN, 1, NAN, 3}}, alone);
  EXPECT_EQ(rows.reference.data[0], 0);
  EXPECT_TRUE(std::isnan(rows.reference.data[2]));
}

TEST(SameNumbersTest, GapsAtTheBeginningOfARowDoNotCount) {
  const RefTensor row{{2, 3}, {NAN, 2, NAN, 4, 5, 6}};
  EXPECT_TRUE(SameNumbers(row, {{2, 2, 2}, {NAN, NAN, 2, NAN, NAN, 4, 5, 6}}));
  EXPECT_FALSE(SameNumbers(row, {{2, 2, 2}, {NAN, NAN, 2, 3, NAN, 4, 5, 6}}));
  EXPECT_FALSE(SameNumbers(row, {{2, 2, 2}, {NAN, NAN, 2, NAN, 3, 4, 5, 6}}));
  EXPECT_FALSE(SameNumbers(row, {{1, 3}, {2, 4, 5}}));
  EXPECT_FALSE(SameNumbers({{1, 2}, {NAN, NAN}}, {{1, 2}, {NAN, NAN}}));
  EXPECT_FALSE(SameNumbers({{0}, {}}, {{0}, {}}));
}

}  // namespace
}  // namespace plinth::verify
