#include "plinth/tensor/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gtest/gtest.h"
#include "plinth/tensor/half.h"
#include "plinth/tensor/resident.h"
#include "plinth/tensor/shape.h"

namespace plinth {
namespace {

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i < kDTypes; ++i) {
    const DType t = static_cast<DType>(i);
    EXPECT_EQ(DTypeFromName(DTypeName(t)), t);
  }
  EXPECT_EQ(DTypeFromName("BF16"), DType::kBF16);
  EXPECT_FALSE(DTypeFromName("f8").has_value());
}

TEST(Half, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const Half h{static_cast<uint16_t>(bits)};
    const float f = ToFloat(h);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(ToFloat(ToHalf(f))));
    } else {
      ASSERT_EQ(ToHalf(f).bits, h.bits) << bits;
    }
    const BFloat16 b{static_cast<uint16_t>(bits)};
    if (!std::isnan(ToFloat(b))) {
      ASSERT_EQ(ToBFloat16(ToFloat(b)).bits, b.bits);
    }
  }
}

TEST(Half, RoundsToNearestTiesToEven) {
  EXPECT_EQ(ToHalf(1.0f + 0x1p-11f).bits, 0x3c00);             // tie, to even
  EXPECT_EQ(ToHalf(1.0f + 0x1p-11f + 0x1p-20f).bits, 0x3c01);  // above the tie
  EXPECT_EQ(ToHalf(1.0f + 3 * 0x1p-11f).bits, 0x3c02);         // tie, to even, upwards
  EXPECT_EQ(ToHalf(65519.0f).bits, 0x7bff);
  EXPECT_EQ(ToHalf(65520.0f).bits, 0x7c00);
  EXPECT_EQ(ToHalf(0x1p-25f).bits, 0);  // half of the smallest subnormal, to even
  EXPECT_EQ(ToHalf(0x1.8p-24f).bits, 2);
  EXPECT_EQ(ToHalf(-0.0f).bits, 0x8000);
  EXPECT_EQ(ToBFloat16(std::bit_cast<float>(0x3f808000u)).bits, 0x3f80);  // tie, to even
  EXPECT_EQ(ToBFloat16(std::bit_cast<float>(0x3f818000u)).bits, 0x3f82);
}

TEST(Shape, NamedDimensions) {
  const Dim d = Dim::Named("tokens", 16, 1);
  EXPECT_EQ(d.At(3), 49);
  EXPECT_EQ(d.ToString(), "16*tokens+1");
  EXPECT_EQ(ToString(Shape{Dim::Named("tokens"), 128}), "[tokens, 128]");
  EXPECT_EQ(*Product({Dim::Named("tokens"), 4, 8}), Dim::Named("tokens", 32));
  EXPECT_FALSE(Product({Dim::Named("a"), Dim::Named("b")}).ok());
  EXPECT_FALSE(Product({int64_t{1} << 40, int64_t{1} << 40}).ok());
  EXPECT_EQ(*Resolve({Dim::Named("a", 2), 3}, {{"a", 5}}), (std::vector<int64_t>{10, 3}));
  EXPECT_FALSE(Resolve(Dim::Named("b"), {{"a", 5}}).ok());
}

TEST(Tensor, IsAlignedAndZero) {
  Tensor t(DType::kF32, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.raw()) % kAlignment, 0u);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(t.data<float>()[i], 0.0f);
  EXPECT_TRUE(t.view().dense());
  View row = t.view();
  row.dims[1] = 4;
  EXPECT_FALSE(row.dense());
  EXPECT_TRUE(row.row_strided());
}

TEST(Resident, GivesAlignedWritableMemoryOfAnySize) {
  for (int64_t bytes :
       {int64_t{0}, int64_t{1}, (int64_t{2} << 20) - 1, int64_t{2} << 20, (int64_t{5} << 20) + 3}) {
    const AlignedBytes block = AllocateResident(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % kAlignment, 0u) << bytes;
    std::fill(block.get(), block.get() + bytes, std::byte{7});
  }
  EXPECT_EQ(AllocateResident(int64_t{1} << 60), nullptr);
}

}  // namespace
}  // namespace plinth
