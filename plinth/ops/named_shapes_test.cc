// Type inference with named dimensions, which the cases of `verify ops` (all of constant sizes) cannot
// reach, and what it means for kernels once the names have extents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plinth/ops/cpu_step.h"
#include "plinth/ops/op_spec.h"
#include "plinth/ops/registry.h"
#include "plinth/tensor/tensor.h"

namespace plinth::ops {
namespace {

using Ints = std::vector<int64_t>;

Dim Tokens(int64_t scale = 1, int64_t offset = 0) { return Dim::Named("tokens", scale, offset); }
const Dim kBatch = Dim::Named("batch");

// The shapes that `op` infers, as text, or the error.
std::string Shapes(const char* op, const std::vector<Shape>& inputs, Attributes attributes) {
  std::vector<std::optional<ValueType>> types;
  for (const Shape& s : inputs) types.push_back(ValueType{DType::kF32, s});
  const auto call = MakeCall(*FindOp(op), types, std::move(attributes));
  if (!call.ok()) return std::string(call.status().message());
  return Join(call->outputs, " ", [](const ValueType& t) { return ToString(t.shape); });
}

Attributes Along(int64_t axis) { return {{"axis", axis}}; }
Attributes Range(int64_t axis, int64_t begin, int64_t end) {
  return {{"axis", axis}, {"begin", begin}, {"end", end}};
}

TEST(NamedShapesTest, Slice) {
  const Shape x = {Tokens(1, 2), 9};
  EXPECT_EQ(Shapes("slice", {x}, Along(0)), "[tokens+2, 9]");
  EXPECT_EQ(Shapes("slice", {x}, {{"begin", int64_t{1}}}), "[tokens+1, 9]");
  EXPECT_EQ(Shapes("slice", {x}, Range(0, 0, -2)), "[tokens, 9]");
  EXPECT_EQ(Shapes("slice", {x}, Range(0, 1, -1)), "[tokens, 9]");
  EXPECT_EQ(Shapes("slice", {x}, Range(0, 0, 2)), "[2, 9]");
  EXPECT_EQ(Shapes("slice", {x}, Range(0, -2, -1)), "[1, 9]");
  EXPECT_EQ(Shapes("slice", {x}, {{"begin", int64_t{-2}}}), "[2, 9]");
  EXPECT_EQ(Shapes("slice", {x}, {{"begin", int64_t{-2}}, {"step", int64_t{2}}}), "[1, 9]");
  EXPECT_EQ(Shapes("slice", {x}, Range(1, -4, 100)), "[tokens+2, 4]");
}

TEST(NamedShapesTest, SliceRefusesExtremesOnNames) {
  EXPECT_THAT(Shapes("slice", {{Tokens()}}, Range(0, INT64_MIN, INT64_MIN)),
              testing::HasSubstr("not the same range"));
  EXPECT_THAT(Shapes("slice", {{Tokens()}}, Range(0, 0, INT64_MIN)),
              testing::HasSubstr("not the same range"));
  EXPECT_THAT(Shapes("slice", {{Tokens()}}, Range(0, INT64_MAX, INT64_MAX)),
              testing::HasSubstr("not the same range"));
}

TEST(NamedShapesTest, Reshape) {
  const auto to = [](Ints dims) { return Attributes{{"dims", std::move(dims)}}; };
  EXPECT_EQ(Shapes("reshape", {{kBatch, Tokens(), 512}}, to({0, 0, 8, 64})), "[batch, tokens, 8, 64]");
  EXPECT_EQ(Shapes("reshape", {{kBatch, Tokens(), 8, 64}}, to({0, 0, -1})), "[batch, tokens, 512]");
  EXPECT_EQ(Shapes("reshape", {{Tokens(), 16}}, to({-1})), "[16*tokens]");
  EXPECT_EQ(Shapes("reshape", {{Tokens(16)}}, to({-1, 16})), "[tokens, 16]");
  EXPECT_EQ(Shapes("reshape", {{Tokens(16)}}, to({-1, 8})), "[2*tokens, 8]");
  EXPECT_EQ(Shapes("reshape", {{Tokens(1, 1), 4}}, to({-1, 2})), "[2*tokens+2, 2]");
  EXPECT_EQ(Shapes("reshape", {{Tokens(4, 8)}}, to({4, -1})), "[4, tokens+2]");
  EXPECT_EQ(Shapes("reshape", {{Tokens(), 0}}, to({0, -1})), "[tokens, 0]");
  EXPECT_EQ(Shapes("reshape", {{Tokens(), 0}}, to({3, -1})), "[3, 0]");
}

TEST(NamedShapesTest, Concat) {
  EXPECT_EQ(Shapes("concat", {{Tokens(), 9}, {1, 9}}, Along(0)), "[tokens+1, 9]");
  EXPECT_EQ(Shapes("concat", {{2, 9}, {Tokens(1, 1), 9}, {Tokens(3), 9}}, Along(0)), "[4*tokens+3, 9]");
  EXPECT_EQ(Shapes("concat", {{Tokens(), 9}, {Tokens(), 3}}, Along(1)), "[tokens, 12]");
}

TEST(NamedShapesTest, Others) {
  const auto add = Attributes{{"function", std::string("add")}};
  EXPECT_EQ(Shapes("binary", {{kBatch, Tokens(), 9}, {Tokens(), 1}}, add), "[batch, tokens, 9]");
  EXPECT_EQ(Shapes("binary", {{1, 9}, {Tokens(), 1}}, add), "[tokens, 9]");
  const Attributes swap = {{"axes", Ints{1, 0}}};
  EXPECT_EQ(Shapes("permute", {{Tokens(), 9}}, swap), "[9, tokens]");
  const Attributes pad = {{"before", Ints{1, 0}}, {"after", Ints{2, 0}}};
  EXPECT_EQ(Shapes("pad", {{Tokens(2, 1), 9}}, pad), "[2*tokens+4, 9]");
  const Attributes sum = {{"function", std::string("sum")}, {"axes", Ints{1}}};
  EXPECT_EQ(Shapes("reduce", {{kBatch, Tokens(), 9}}, sum), "[batch, 9]");
  EXPECT_EQ(Shapes("cumsum", {{kBatch, Tokens()}}, Along(1)), "[batch, tokens]");
  EXPECT_EQ(Shapes("top_k", {{kBatch, Tokens(1, 3)}}, {{"k", int64_t{3}}}), "[batch, 3] [batch, 3]");
  EXPECT_EQ(Shapes("sort", {{kBatch, Tokens()}}, {}), "[batch, tokens] [batch, tokens]");
}

// A slice that counts from the end of a named dimension starts elsewhere at every extent.
TEST(NamedShapesTest, SliceFromTheEndFollowsTheExtent) {
  const auto call =
      MakeCall(*FindOp("slice"), {ValueType{DType::kF32, {Tokens(1, 2)}}}, {{"begin", int64_t{-2}}});
  ASSERT_TRUE(call.ok()) << call.status();
  const auto step = CpuStep::Make(*call, {}, Isa::kV2);
  ASSERT_TRUE(step.ok()) << step.status();
  for (int64_t tokens : {0, 1, 5}) {
    const Tensor x(DType::kF32, {tokens + 2}), y(DType::kF32, {2});
    for (int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i);
    const View in = x.view(), out = y.view();
    KernelFault fault;
    step->Run(&in, &out, 0, step->Pieces(&in, &out), nullptr, &fault);
    EXPECT_EQ(y.data<float>()[0], static_cast<float>(tokens));
    EXPECT_EQ(y.data<float>()[1], static_cast<float>(tokens + 1));
    View view = out;
    ASSERT_TRUE(call->spec->view(*call, in, &view));
    EXPECT_EQ(view.as<float>(), x.data<float>() + tokens);
  }
}

// A result's bits do not depend on what else is reduced in the same call.
TEST(NamedShapesTest, ReducedRowsKeepTheirBits) {
  const Attributes sum = {{"function", std::string("sum")}, {"axes", Ints{1}}};
  const auto call = MakeCall(*FindOp("reduce"), {ValueType{DType::kF32, {kBatch, 77, 150}}}, sum);
  ASSERT_TRUE(call.ok()) << call.status();
  const auto step = CpuStep::Make(*call, {}, Isa::kV2);
  ASSERT_TRUE(step.ok()) << step.status();
  const Tensor x(DType::kF32, {5, 77, 150}), y(DType::kF32, {5, 150});
  for (int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i * 7919 % 10007) * 1e-3f;
  View in = x.view(), out = y.view();
  KernelFault fault;
  step->Run(&in, &out, 0, step->Pieces(&in, &out), nullptr, &fault);
  for (int64_t row = 0; row < 5; ++row) {
    const Tensor alone(DType::kF32, {1, 150});
    View one = in, result = alone.view();
    one.dims[0] = 1;
    one.data = x.data<float>() + row * 77 * 150;
    step->Run(&one, &result, 0, step->Pieces(&one, &result), nullptr, &fault);
    for (int64_t i = 0; i < 150; ++i) EXPECT_EQ(alone.data<float>()[i], y.data<float>()[row * 150 + i]);
  }
}

}  // namespace
}  // namespace plinth::ops
