// Tests what the generic operator checks cannot: that a row keeps its bits whatever the batch, the level's
// tile shapes and the order and grouping of pieces.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/ops/cpu_step.h"
#include "plinth/ops/linear/activation.h"
#include "plinth/ops/linear/checks.h"
#include "plinth/ops/linear/op.h"
#include "plinth/tensor/tensor.h"

namespace plinth::ops {
namespace {

Tensor Normal(std::vector<int64_t> dims, uint32_t seed) {
  Tensor t(DType::kF32, std::move(dims));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < t.size(); ++i) t.data<float>()[i] = normal(random);
  return t;
}

ValueType F32(std::vector<int64_t> dims) {
  ValueType type;
  for (int64_t d : dims) type.shape.emplace_back(d);
  return type;
}

enum class Order { kWhole, kReversed, kSplit };

// One linear layer with fixed weights, run over any number of leading rows of `x`.
struct Layer {
  Tensor x, weight, bias, residual;
  std::string activation = "none";
  bool constant = true;
  std::string kernel;

  Layer(int64_t rows, int64_t n, int64_t k)
      : x(Normal({rows, k}, 1)),
        weight(Normal({n, k}, 2)),
        bias(Normal({n}, 3)),
        residual(Normal({rows, n}, 4)) {}

  int64_t outputs() const { return bias.size() / (activation == "swiglu" ? 2 : 1); }

  // Rows [first, first + rows) of the layer's input. The output of each launch lands in a buffer whose
  // margins are checked.
  std::vector<float> Run(Isa isa, int64_t first, int64_t rows, Order order) const {
    const int64_t n = outputs(), k = x.dims()[1];
    auto call = MakeCall(LinearSpec(), {F32({rows, k}), F32(weight.dims()), F32(bias.dims()), F32({rows, n})},
                         {{"activation", activation}});
    EXPECT_TRUE(call.ok()) << call.status();
    const View constants[] = {View{}, constant ? weight.view() : View{}};
    auto step = CpuStep::Make(*call, constants, isa, kernel);
    EXPECT_TRUE(step.ok()) << step.status();
    constexpr float kGuard = -12345.0f;
    constexpr int64_t kMargin = 64;
    std::vector<float> y(rows * n + 2 * kMargin, kGuard);
    const int64_t xd[] = {rows, k}, yd[] = {rows, n};
    View in[] = {DenseView(x.data<float>() + first * k, DType::kF32, xd, 2), weight.view(), bias.view(),
                 DenseView(residual.data<float>() + first * n, DType::kF32, yd, 2)};
    if (step->replaces() & 2u) in[1].data = nullptr;
    const View out = DenseView(y.data() + kMargin, DType::kF32, yd, 2);
    AlignedBytes scratch = AllocateAligned(step->ScratchBytes(in, &out));
    KernelFault fault;
    const int64_t pieces = step->Pieces(in, &out);
    if (order == Order::kWhole) step->Run(in, &out, 0, pieces, scratch.get(), &fault);
    if (order == Order::kReversed) {
      for (int64_t p = pieces - 1; p >= 0; --p) step->Run(in, &out, p, p + 1, scratch.get(), &fault);
    }
    if (order == Order::kSplit) {
      for (int64_t p = 0; p < pieces; p += 3) {
        step->Run(in, &out, p, std::min(pieces, p + 3), scratch.get(), &fault);
      }
    }
    for (int64_t i = 0; i < kMargin; ++i) {
      EXPECT_EQ(y[i], kGuard);
      EXPECT_EQ(y[y.size() - 1 - i], kGuard);
    }
    return {y.begin() + kMargin, y.end() - kMargin};
  }
};

int64_t FirstDifference(const std::vector<float>& a, const float* b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], b + i, sizeof(float)) != 0) return static_cast<int64_t>(i);
  }
  return -1;
}

class LinearBits : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (*HardwareIsa() < GetParam()) {
      GTEST_SKIP() << "this processor lacks level " << IsaName(GetParam());
    }
  }
};

TEST_P(LinearBits, RowDoesNotDependOnBatchOrPieces) {
  for (auto [n, k, activation] : {std::tuple{33, 48, "none"},
                                  {128, 384, "gelu"},
                                  {512, 512, "none"},
                                  {130, 700, "swiglu"},
                                  {2048, 64, "silu"},
                                  {65, 1500, "gelu_tanh"}}) {
    Layer layer(1200, n, k);
    layer.activation = activation;
    const std::vector<float> whole = layer.Run(GetParam(), 0, 1200, Order::kWhole);
    for (int64_t m : {1, 2, 4, 5, 8, 13, 14, 15, 16, 17, 33, 64, 100, 264, 528}) {
      const int64_t first = (7 * m) % (1200 - m);
      for (Order order : {Order::kWhole, Order::kReversed, Order::kSplit}) {
        const std::vector<float> part = layer.Run(GetParam(), first, m, order);
        EXPECT_EQ(FirstDifference(part, whole.data() + first * layer.outputs()), -1)
            << "M " << m << " N " << n << " K " << k << " " << activation << " order " << int(order);
      }
    }
    layer.constant = false;
    const std::vector<float> unpacked = layer.Run(GetParam(), 0, 300, Order::kReversed);
    EXPECT_EQ(FirstDifference(unpacked, whole.data()), -1) << "run-time weight, N " << n << " K " << k;
  }
}

TEST(LinearOneDnn, RowDoesNotDependOnBatchOrPieces) {
  if (*HardwareIsa() < Isa::kV4) GTEST_SKIP() << "this processor lacks level v4";
  for (auto [n, k, activation] : {std::tuple{33, 48, "none"}, {128, 384, "gelu"}, {65, 1500, "silu"}}) {
    Layer layer(1200, n, k);
    layer.activation = activation;
    const std::vector<float> own = layer.Run(Isa::kV4, 0, 1200, Order::kWhole);
    layer.kernel = "onednn";
    const std::vector<float> whole = layer.Run(Isa::kV4, 0, 1200, Order::kWhole);
    for (size_t i = 0; i < own.size(); ++i) ASSERT_NEAR(own[i], whole[i], 1e-3) << i;
    for (int64_t m : {1, 2, 5, 15, 16, 33, 100, 264}) {
      const std::vector<float> part = layer.Run(Isa::kV4, 7, m, Order::kReversed);
      EXPECT_EQ(FirstDifference(part, whole.data() + 7 * n), -1) << "M " << m << " N " << n << " K " << k;
    }
  }
}

TEST(LinearOneDnn, Refuses) {
  const Tensor weight = Normal({8, 5}, 1);
  const auto refusal = [&](Isa isa, const View& constant, std::vector<int64_t> w, const char* activation) {
    auto call = MakeCall(LinearSpec(), {F32({3, w[1]}), F32(w)}, {{"activation", std::string(activation)}});
    const View constants[] = {View{}, constant};
    return std::string(CpuStep::Make(*call, constants, isa, "onednn").status().message());
  };
  EXPECT_THAT(refusal(Isa::kV3, weight.view(), {8, 5}, "none"), testing::HasSubstr("below AVX-512"));
  EXPECT_THAT(refusal(Isa::kV4, View{}, {8, 5}, "none"), testing::HasSubstr("only at run time"));
  EXPECT_THAT(refusal(Isa::kV4, weight.view(), {8, 5}, "swiglu"), testing::HasSubstr("paired panels"));
  EXPECT_THAT(refusal(Isa::kV4, weight.view(), {0, 5}, "none"), testing::HasSubstr("weight is empty"));
}

RefTensor Ref(const Tensor& t) {
  return {t.dims(), std::vector<double>(t.data<float>(), t.data<float>() + t.size())};
}

TEST_P(LinearBits, AgreesWithReference) {
  for (const char* activation : kActivationNames) {
    for (auto [m, n, k] : {std::tuple{1, 2, 0},
                           {0, 6, 7},
                           {7, 0, 5},
                           {1, 34, 3},
                           {2, 70, 257},
                           {3, 66, 130},
                           {15, 62, 520},
                           {127, 98, 33}}) {
      Layer layer(m, n, k);
      layer.activation = activation;
      layer.residual = Normal({m, layer.outputs()}, 5);
      RefIo io{{Ref(layer.x), Ref(layer.weight), Ref(layer.bias), Ref(layer.residual)},
               {{{m, layer.outputs()}, {}}}};
      io.out[0].data.resize(m * layer.outputs());
      auto call = MakeCall(LinearSpec(), {F32({m, k}), F32({n, k}), F32({n}), F32({m, layer.outputs()})},
                           {{"activation", std::string(activation)}});
      ASSERT_TRUE(call.ok()) << call.status();
      LinearReference(*call, io);
      const std::vector<double> limit = LinearChecks().tolerance.limit(*call, io, 0);
      const std::vector<float> y = layer.Run(GetParam(), 0, m, Order::kWhole);
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_LE(std::abs(y[i] - io.out[0].data[i]), limit[i])
            << activation << " M " << m << " N " << n << " K " << k << " element " << i;
      }
    }
  }
}

TEST_P(LinearBits, ResidualMayShareTheOutput) {
  Layer layer(40, 70, 600);
  const std::vector<float> apart = layer.Run(GetParam(), 0, 40, Order::kWhole);
  auto call = MakeCall(LinearSpec(), {F32({40, 600}), F32({70, 600}), F32({70}), F32({40, 70})}, {});
  const View constants[] = {View{}, layer.weight.view()};
  auto step = CpuStep::Make(*call, constants, GetParam());
  ASSERT_TRUE(step.ok()) << step.status();
  const View in[] = {layer.x.view(), layer.weight.view(), layer.bias.view(), layer.residual.view()};
  const View out = layer.residual.view();
  AlignedBytes scratch = AllocateAligned(step->ScratchBytes(in, &out));
  KernelFault fault;
  step->Run(in, &out, 0, step->Pieces(in, &out), scratch.get(), &fault);
  EXPECT_EQ(FirstDifference(apart, layer.residual.data<float>()), -1);
}

TEST_P(LinearBits, InfinityTimesZeroIsNotSkipped) {
  Layer layer(3, 5, 2);
  float* x = layer.x.data<float>();
  std::fill(layer.weight.data<float>(), layer.weight.data<float>() + 10, 0.0f);
  x[0] = INFINITY;
  x[2] = NAN;
  const std::vector<float> y = layer.Run(GetParam(), 0, 3, Order::kWhole);
  for (int n = 0; n < 5; ++n) {
    EXPECT_TRUE(std::isnan(y[n]));
    EXPECT_TRUE(std::isnan(y[5 + n]));
    EXPECT_TRUE(std::isfinite(y[10 + n]));
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, LinearBits, testing::Values(Isa::kV2, Isa::kV3, Isa::kV4),
                         [](const auto& info) { return std::string(IsaName(info.param)); });

TEST(LinearSpec, Refuses) {
  for (const Refusal& refusal : LinearChecks().refusals()) {
    const auto call = MakeCall(LinearSpec(), refusal.inputs, refusal.attributes);
    ASSERT_FALSE(call.ok()) << refusal.name;
    EXPECT_THAT(std::string(call.status().message()), testing::HasSubstr(refusal.says));
  }
}

TEST(LinearSpec, KeepsNamedDimensions) {
  const auto call =
      MakeCall(LinearSpec(), {ValueType{DType::kF32, {Dim::Named("tokens"), 5}}, F32({8, 5})}, {});
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(ToString(call->outputs[0]), "f32[tokens, 8]");
}

}  // namespace
}  // namespace plinth::ops
