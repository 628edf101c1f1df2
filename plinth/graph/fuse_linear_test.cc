#include "plinth/graph/fuse_linear.h"

#include "gtest/gtest.h"
#include "plinth/ops/binary/op.h"
#include "plinth/ops/linear/op.h"
#include "plinth/ops/slice/op.h"
#include "plinth/ops/unary/op.h"

namespace plinth::graph {
namespace {

using ops::Value;

class FuseLinearTest : public ::testing::Test {
 protected:
  Value X() { return b_.Input("x", {DType::kF32, {Dim::Named("rows"), 8}}); }
  Value Up(Value x, int64_t to) { return ops::Linear(b_, x, b_.Constant("w", DType::kF32, {to, 8})); }
  std::string Fused() {
    const auto graph = b_.Finish();
    EXPECT_TRUE(graph.ok()) << graph.status();
    return FuseLinear(*graph).ToString();
  }
  GraphBuilder b_;
};

TEST_F(FuseLinearTest, Activation) {
  b_.Output("y", ops::Relu(b_, Up(X(), 4)));
  EXPECT_EQ(Fused(), "%3 = linear(x, w) activation=relu : f32[rows, 4]\noutput y = %3\n");
}

TEST_F(FuseLinearTest, ResidualAfterActivation) {
  const Value x = X();
  b_.Output("y", ops::Add(b_, x, ops::Silu(b_, Up(x, 8))));
  EXPECT_EQ(Fused(), "%4 = linear(x, w, -, x) activation=silu : f32[rows, 8]\noutput y = %4\n");
}

TEST_F(FuseLinearTest, Gate) {
  const Value up = Up(X(), 8);
  const Value gate = ops::Silu(b_, ops::Slice(b_, up, 1, 0, 4));
  b_.Output("y", ops::Mul(b_, ops::Slice(b_, up, 1, 4, 8), gate));
  EXPECT_EQ(Fused(), "%6 = linear(x, w) activation=swiglu : f32[rows, 4]\noutput y = %6\n");
}

TEST_F(FuseLinearTest, LeavesAGateOfTheWrongHalves) {
  const Value up = Up(X(), 8);
  const Value gate = ops::Silu(b_, ops::Slice(b_, up, 1, 4, 8));  // silu on the second half
  b_.Output("y", ops::Mul(b_, ops::Slice(b_, up, 1, 0, 4), gate));
  EXPECT_EQ(Fused().find("swiglu"), std::string::npos);
}

TEST_F(FuseLinearTest, LeavesWhatOthersRead) {
  const Value up = Up(X(), 8);
  b_.Output("y", ops::Relu(b_, up));
  b_.Output("before", up);
  EXPECT_EQ(Fused().find("activation"), std::string::npos);
}

TEST_F(FuseLinearTest, LeavesBroadcastSums) {
  const Value x = X();
  const Value row = b_.Literal("row", std::vector<float>(8, 1.0f), {8});
  b_.Output("y", ops::Add(b_, Up(x, 8), row));
  EXPECT_NE(Fused().find("binary"), std::string::npos);
}

TEST_F(FuseLinearTest, WaitsForALateResidual) {
  const Value x = X();
  const Value up = Up(x, 8);
  const Value late = ops::Exp(b_, x);  // computed after the product
  b_.Output("y", ops::Add(b_, up, late));
  EXPECT_EQ(Fused(),
            "%3 = unary(x) function=exp : f32[rows, 8]\n"
            "%4 = linear(x, w, -, %3) : f32[rows, 8]\noutput y = %4\n");
}

}  // namespace
}  // namespace plinth::graph
