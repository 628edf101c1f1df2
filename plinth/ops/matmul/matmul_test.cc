// Tests that a row of a product keeps its bits whatever stands beside it, and whatever the strides.
#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/ops/cpu_step.h"
#include "plinth/ops/matmul/checks.h"
#include "plinth/ops/matmul/op.h"
#include "plinth/tensor/tensor.h"

namespace plinth::ops {
namespace {

std::vector<float> Normal(int64_t size, uint32_t seed) {
  std::vector<float> v(size);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (float& f : v) f = normal(random);
  return v;
}

ValueType TypeOf(const View& v) {
  ValueType type;
  for (int i = 0; i < v.rank; ++i) type.shape.emplace_back(v.dims[i]);
  return type;
}

View Matrix(const std::vector<float>& data, int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  return DenseView(const_cast<float*>(data.data()), DType::kF32, dims, 2);
}
// The same elements read as the transposed matrix.
View Swapped(View v) {
  std::swap(v.dims[v.rank - 2], v.dims[v.rank - 1]);
  std::swap(v.strides[v.rank - 2], v.strides[v.rank - 1]);
  return v;
}

std::vector<float> Multiply(Isa isa, const View& a, const View& b, Attributes attributes = {},
                            bool by_piece = false, bool constant = false) {
  auto call = MakeCall(MatmulSpec(), {TypeOf(a), TypeOf(b)}, std::move(attributes));
  EXPECT_TRUE(call.ok()) << call.status();
  const View constants[] = {View{}, constant ? b : View{}};
  auto step = CpuStep::Make(*call, constants, isa);
  EXPECT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->replaces(), constant ? 2u : 0u);
  std::vector<int64_t> dims;
  for (const Dim& d : call->outputs[0].shape) dims.push_back(d.offset());
  Tensor y(DType::kF32, dims);
  View in[] = {a, b};
  if (constant) in[1].data = nullptr;
  const View out = y.view();
  AlignedBytes scratch = AllocateAligned(step->ScratchBytes(in, &out));
  KernelFault fault;
  const int64_t pieces = step->Pieces(in, &out);
  if (!by_piece) step->Run(in, &out, 0, pieces, scratch.get(), &fault);
  for (int64_t p = pieces - 1; by_piece && p >= 0; --p) step->Run(in, &out, p, p + 1, scratch.get(), &fault);
  return {y.data<float>(), y.data<float>() + y.size()};
}

class MatmulBits : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (*HardwareIsa() < GetParam()) {
      GTEST_SKIP() << "this processor lacks level " << IsaName(GetParam());
    }
  }
};

bool Same(const std::vector<float>& part, const float* whole) {
  return std::memcmp(part.data(), whole, part.size() * sizeof(float)) == 0;
}

TEST_P(MatmulBits, RowDoesNotDependOnBatchOrPieces) {
  constexpr int64_t kRows = 600;
  for (auto [n, k] : {std::pair<int64_t, int64_t>{33, 48}, {70, 700}, {600, 64}}) {
    const std::vector<float> a = Normal(kRows * k, 1), b = Normal(k * n, 2);
    const std::vector<float> whole = Multiply(GetParam(), Matrix(a, kRows, k), Matrix(b, k, n));
    EXPECT_TRUE(Same(Multiply(GetParam(), Matrix(a, kRows, k), Matrix(b, k, n), {}, true), whole.data()));
    for (int64_t m : {1, 2, 3, 5, 6, 13, 14, 15, 33, 127, 264}) {
      const std::vector<float> rows(a.begin() + 9 * k, a.begin() + (9 + m) * k);
      EXPECT_TRUE(Same(Multiply(GetParam(), Matrix(rows, m, k), Matrix(b, k, n)), whole.data() + 9 * n))
          << "M " << m << " N " << n << " K " << k;
    }
  }
}

TEST_P(MatmulBits, StridesAndTransposesDoNotMatter) {
  const int64_t m = 45, n = 71, k = 300;
  const std::vector<float> a = Normal(m * k, 1), b = Normal(k * n, 2);
  const View va = Matrix(a, m, k), vb = Matrix(b, k, n);
  const std::vector<float> plain = Multiply(GetParam(), va, vb);
  std::vector<float> at(a.size()), bt(b.size());
  for (int64_t i = 0; i < m * k; ++i) at[i % k * m + i / k] = a[i];
  for (int64_t i = 0; i < k * n; ++i) bt[i % n * k + i / n] = b[i];
  const Attributes both = {{"transpose_a", true}, {"transpose_b", true}};
  EXPECT_TRUE(Same(Multiply(GetParam(), Matrix(at, k, m), Matrix(bt, n, k), both), plain.data()));
  EXPECT_TRUE(Same(Multiply(GetParam(), Swapped(Matrix(at, k, m)), Swapped(Matrix(bt, n, k))), plain.data()));
  EXPECT_TRUE(Same(Multiply(GetParam(), Swapped(va), Swapped(vb), both), plain.data()));
}

TEST_P(MatmulBits, BroadcastBatchesEqualSingleProducts) {
  const std::vector<float> a = Normal(3 * 5 * 11, 1), b = Normal(4 * 11 * 13, 2);
  const int64_t ad[] = {3, 1, 5, 11}, bd[] = {4, 11, 13};
  const View va = DenseView(const_cast<float*>(a.data()), DType::kF32, ad, 4);
  const View vb = DenseView(const_cast<float*>(b.data()), DType::kF32, bd, 3);
  const std::vector<float> all = Multiply(GetParam(), va, vb);
  ASSERT_EQ(all.size(), 3u * 4 * 5 * 13);
  for (int64_t i = 0; i < 12; ++i) {
    const std::vector<float> left(a.begin() + i / 4 * 55, a.begin() + i / 4 * 55 + 55);
    const std::vector<float> right(b.begin() + i % 4 * 143, b.begin() + i % 4 * 143 + 143);
    EXPECT_TRUE(Same(Multiply(GetParam(), Matrix(left, 5, 11), Matrix(right, 11, 13)), all.data() + i * 65))
        << i;
  }
}

// The same bits whether the right side is packed once or at every run; and it is no longer read.
TEST_P(MatmulBits, AConstantRightSideChangesNothing) {
  for (bool transpose : {false, true}) {
    for (auto [m, k, n] : {std::array<int64_t, 3>{1, 64, 512}, {7, 512, 64}, {33, 300, 71}}) {
      const std::vector<float> a = Normal(8 * m * k, 1), b = Normal(4 * k * n, 2);
      const int64_t ad[] = {2, 4, m, k}, bd[] = {4, transpose ? n : k, transpose ? k : n};
      const View va = DenseView(const_cast<float*>(a.data()), DType::kF32, ad, 4);
      const View vb = DenseView(const_cast<float*>(b.data()), DType::kF32, bd, 3);
      const Attributes attributes = {{"transpose_b", transpose}};
      const std::vector<float> packed_often = Multiply(GetParam(), va, vb, attributes);
      EXPECT_TRUE(Same(Multiply(GetParam(), va, vb, attributes, false, true), packed_often.data()));
      EXPECT_TRUE(Same(Multiply(GetParam(), va, vb, attributes, true, true), packed_often.data()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, MatmulBits, testing::Values(Isa::kV2, Isa::kV3, Isa::kV4),
                         [](const auto& info) { return std::string(IsaName(info.param)); });

TEST(MatmulSpec, Refuses) {
  for (const Refusal& refusal : MatmulChecks().refusals()) {
    const auto call = MakeCall(MatmulSpec(), refusal.inputs, refusal.attributes);
    ASSERT_FALSE(call.ok()) << refusal.name;
    EXPECT_THAT(std::string(call.status().message()), testing::HasSubstr(refusal.says));
  }
}

}  // namespace
}  // namespace plinth::ops
