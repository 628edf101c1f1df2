#include "plinth/verify/placed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "plinth/verify/fill.h"

namespace plinth::verify {
namespace {

using ops::Fill;
using ops::InputCase;
using ops::Place;
using ops::RefTensor;

RefTensor Counting(std::vector<int64_t> dims) {
  RefTensor t{std::move(dims), {}};
  int64_t n = 1;
  for (int64_t d : t.dims) n *= d;
  for (int64_t i = 0; i < n; ++i) t.data.push_back(static_cast<double>(i));
  return t;
}

std::vector<double> Read(const Placed& p) {
  std::vector<double> data;
  ForEachElement(p.view(), [&](int64_t, int64_t offset) {
    data.push_back(LoadElement(p.view().dtype, p.element(offset)));
  });
  return data;
}

TEST(PlacedTest, EveryLayoutHoldsTheElements) {
  const RefTensor source = Counting({2, 3, 5});
  for (DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64, DType::kI32,
                      DType::kI16, DType::kI8, DType::kU8}) {
    for (Place place : {Place::kDense, Place::kMisaligned, Place::kRowStrided, Place::kTransposed}) {
      const Placed p(dtype, source, place, 0xff);
      EXPECT_EQ(Read(p), source.data) << DTypeName(dtype) << " " << static_cast<int>(place);
      EXPECT_EQ(p.Damage(), "");
      EXPECT_EQ(p.Change(), "");
    }
  }
}

TEST(PlacedTest, LayoutsAreWhatTheirNamesSay) {
  const RefTensor source = Counting({4, 3, 5});
  const Placed dense(DType::kF32, source, Place::kDense, 0);
  EXPECT_TRUE(dense.view().dense());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(dense.view().data) % 64, 0u);
  const Placed misaligned(DType::kF32, source, Place::kMisaligned, 0);
  EXPECT_TRUE(misaligned.view().dense());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(misaligned.view().data) % 64, 4u);
  const Placed rows(DType::kF32, source, Place::kRowStrided, 0);
  EXPECT_FALSE(rows.view().dense());
  EXPECT_TRUE(rows.view().row_strided());
  const Placed transposed(DType::kF32, source, Place::kTransposed, 0);
  EXPECT_FALSE(transposed.view().row_strided());
  EXPECT_EQ(transposed.view().strides[0], 1);
}

TEST(PlacedTest, WritesOutsideAreFoundAndLocated) {
  Placed p(DType::kF32, {2, 3}, Place::kDense, 0xff, 0xa5);
  EXPECT_EQ(p.Damage(), "");
  static_cast<float*>(p.view().data)[6] = 1;
  EXPECT_EQ(p.Damage(), "wrote outside: byte 0 after the tensor");
  Placed q(DType::kF32, {2, 3}, Place::kDense, 0xff, 0xa5);
  static_cast<float*>(q.view().data)[-1] = 1;
  EXPECT_EQ(q.Damage(), "wrote outside: byte 4 before the tensor");
  Placed r(DType::kF32, {2, 3}, Place::kRowStrided, 0xff, 0xa5);
  static_cast<float*>(r.view().data)[3] = 1;
  EXPECT_EQ(r.Damage(), "wrote outside: byte 12 in a gap between rows");
}

TEST(PlacedTest, ChangedInputsAreFound) {
  Placed p(DType::kF32, Counting({2, 3}), Place::kRowStrided, 0xff);
  static_cast<float*>(p.view().data)[1] = 7;
  EXPECT_EQ(p.Change(), "changed an input at byte 6");
  Placed q(DType::kF32, Counting({2, 3}), Place::kRowStrided, 0xff);
  static_cast<float*>(q.view().data)[4] = 7;
  EXPECT_THAT(q.Change(), testing::HasSubstr("in a gap between rows"));
}

TEST(PlacedTest, EmptyTensorsHaveMemory) {
  const Placed p(DType::kF32, {0, 7}, Place::kRowStrided, 0xff, 0xa5);
  EXPECT_NE(p.view().data, nullptr);
  EXPECT_EQ(p.Damage(), "");
}

RefTensor Filled(InputCase input, uint64_t seed = 1) {
  auto filled = FillInput(input, seed);
  EXPECT_TRUE(filled.ok()) << filled.status();
  return filled.ok() ? *filled : RefTensor{};
}

TEST(FillTest, DependsOnTheSeedAlone) {
  const InputCase input{.dims = {100}};
  EXPECT_EQ(Filled(input, 5).data, Filled(input, 5).data);
  EXPECT_NE(Filled(input, 5).data, Filled(input, 6).data);
  EXPECT_NE(InputSeed(0, "ab", "c", 0), InputSeed(0, "a", "bc", 0));
  EXPECT_NE(InputSeed(0, "a", "b", 0), InputSeed(0, "a", "b", 1));
  EXPECT_NE(InputSeed(0, "a", "b", 0), InputSeed(1, "a", "b", 0));
}

TEST(FillTest, ValuesAreThoseOfTheType) {
  for (double x : Filled({.dtype = DType::kF16, .dims = {500}}).data) {
    EXPECT_EQ(x, ops::RoundTo(DType::kF16, x));
  }
  for (double x : Filled({.dtype = DType::kU8, .dims = {500}}).data) {
    EXPECT_TRUE(x == std::floor(x) && x >= 0 && x <= 255) << x;
  }
}

TEST(FillTest, SpecialHoldsEverySpecialValue) {
  const auto data = Filled({.dims = {33}, .fill = Fill::kSpecial}).data;
  int nan = 0, plus = 0, minus = 0, zero = 0, minus_zero = 0;
  for (double x : data) {
    nan += std::isnan(x);
    plus += x == INFINITY;
    minus += x == -INFINITY;
    zero += x == 0 && !std::signbit(x);
    minus_zero += x == 0 && std::signbit(x);
  }
  EXPECT_TRUE(nan > 0 && plus > 0 && minus > 0 && zero > 0 && minus_zero > 0);
}

TEST(FillTest, OffsetsAreSortedWithEmptySegments) {
  const auto data = Filled({.dtype = DType::kI32, .dims = {9}, .fill = Fill::kOffsets, .limit = 50}).data;
  EXPECT_EQ(data.front(), 0);
  EXPECT_EQ(data.back(), 50);
  EXPECT_TRUE(std::is_sorted(data.begin(), data.end()));
  EXPECT_NE(std::adjacent_find(data.begin(), data.end()), data.end());
  EXPECT_EQ(Filled({.dtype = DType::kI32, .dims = {1}, .fill = Fill::kOffsets}).data, std::vector<double>{0});
}

TEST(FillTest, IndicesStayBelowTheirLimit) {
  for (double x : Filled({.dtype = DType::kI64, .dims = {200}, .fill = Fill::kIndex, .limit = 7}).data) {
    EXPECT_TRUE(x >= 0 && x < 7);
  }
}

TEST(FillTest, ContradictionsAreErrors) {
  using testing::HasSubstr;
  const auto message = [](InputCase input) { return std::string(FillInput(input, 1).status().message()); };
  EXPECT_THAT(message({.dims = {3}, .fill = Fill::kValues, .values = {1}}),
              HasSubstr("1 values for 3 elements"));
  EXPECT_THAT(message({.dims = {3}, .fill = Fill::kIndex}), HasSubstr("gives no limit"));
  EXPECT_THAT(message({.dims = {3, 2}, .fill = Fill::kOffsets, .limit = 3}), HasSubstr("rank 1"));
}

TEST(FillTest, AnAbsentInputIsNotPresent) {
  EXPECT_FALSE(Filled({.dims = {3}, .absent = true}).present());
  EXPECT_TRUE(Filled({.dims = {0, 3}}).present());
  EXPECT_TRUE(Filled({.dims = {}}).present());
}

}  // namespace
}  // namespace plinth::verify
