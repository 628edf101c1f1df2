// Tests what a reference in double cannot hold: 64-bit integers beyond 2^53, and the bits of copies.
#include <cmath>

#include "plinth/ops/cast/op.h"
#include "plinth/ops/step_fixture.h"
#include "plinth/tensor/half.h"

namespace plinth::ops {
namespace {

template <typename To, typename From>
std::vector<To> Convert(DType from, const std::vector<From>& values, DType to, Isa isa) {
  const Tensor x = TensorOf<From>(from, {static_cast<int64_t>(values.size())}, values);
  StepRun run{.spec = &CastSpec(),
              .inputs = {x.view()},
              .attributes = {{"to", std::string(DTypeName(to))}},
              .isa = isa};
  run.Go();
  return run.Values<To>();
}

TEST(Cast, WideIntegersAreRoundedOrClampedOnce) {
  const int64_t big = (int64_t{1} << 62) + 1;
  const std::vector<int64_t> x = {INT64_MAX, INT64_MIN, big, -big, (int64_t{1} << 53) + 1, 2147483648};
  for (Isa isa : LevelsHere()) {
    EXPECT_EQ(Convert<int64_t>(DType::kI64, x, DType::kI64, isa), x);
    EXPECT_EQ(Convert<int32_t>(DType::kI64, x, DType::kI32, isa),
              (std::vector<int32_t>{INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MAX}));
    EXPECT_EQ(Convert<double>(DType::kI64, x, DType::kF64, isa),
              (std::vector<double>{0x1p63, -0x1p63, 0x1p62, -0x1p62, 0x1p53, 0x1p31}));
    // One above a tie of bfloat16: a detour over double or float loses the one.
    const int64_t tie = (int64_t{1} << 62) + (int64_t{1} << 54);
    EXPECT_EQ(Convert<uint16_t>(DType::kI64, std::vector<int64_t>{tie, tie + 1, tie - 1, -tie - 1},
                                DType::kBF16, isa),
              (std::vector<uint16_t>{0x5e80, 0x5e81, 0x5e80, 0xde81}));
    EXPECT_EQ(Convert<uint16_t>(DType::kI64, x, DType::kF16, isa),
              (std::vector<uint16_t>{0x7c00, 0xfc00, 0x7c00, 0xfc00, 0x7c00, 0x7c00}));
  }
}

TEST(Cast, FloatsBeyondTheRangeAreClampedAndNanIsZero) {
  const std::vector<double> x = {0x1p63, -0x1p63, 0x1.fffffffffffffp62, 1e300, -INFINITY, NAN, -0.9};
  for (Isa isa : LevelsHere()) {
    EXPECT_EQ(Convert<int64_t>(DType::kF64, x, DType::kI64, isa),
              (std::vector<int64_t>{INT64_MAX, INT64_MIN, 0x7ffffffffffffc00, INT64_MAX, INT64_MIN, 0, 0}));
    EXPECT_EQ(Convert<uint8_t>(DType::kF64, x, DType::kU8, isa),
              (std::vector<uint8_t>{255, 0, 255, 255, 0, 0, 0}));
    EXPECT_EQ(Convert<uint8_t>(DType::kF64, x, DType::kBool, isa),
              (std::vector<uint8_t>{1, 1, 1, 1, 1, 1, 1}));
  }
}

TEST(Cast, CopiesKeepBitsAndBoolIsZeroOrOne) {
  const std::vector<uint32_t> bits = {0x7fc00123, 0xff800001, 0x80000000, 1};
  const std::vector<uint8_t> bytes = {0, 1, 2, 255};
  for (Isa isa : LevelsHere()) {
    const Tensor x = TensorOf<uint32_t>(DType::kF32, {4}, bits);
    StepRun run{
        .spec = &CastSpec(), .inputs = {x.view()}, .attributes = {{"to", std::string("f32")}}, .isa = isa};
    run.Go();
    EXPECT_EQ(run.Values<uint32_t>(), bits);
    EXPECT_EQ(Convert<uint8_t>(DType::kBool, bytes, DType::kBool, isa), (std::vector<uint8_t>{0, 1, 1, 1}));
    EXPECT_EQ(Convert<float>(DType::kBool, bytes, DType::kF32, isa), (std::vector<float>{0, 1, 1, 1}));
  }
}

}  // namespace
}  // namespace plinth::ops
