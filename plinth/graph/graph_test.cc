#include "plinth/graph/graph.h"

#include "gtest/gtest.h"
#include "plinth/ops/softmax/op.h"

namespace plinth::graph {
namespace {

TEST(GraphBuilder, NamesFollowScopes) {
  GraphBuilder b;
  const ops::Value x = b.Input("x", {DType::kF32, {Dim::Named("rows"), 8}});
  {
    ops::Scope block(b, "blocks.0");
    ops::Scope inner(b, "attention");
    b.Output("y", b.Name(ops::Softmax(b, x), ""));
    b.Constant("o.weight", DType::kF32, {8, 8});
  }
  const auto graph = b.Finish();
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->ToString(),
            "blocks.0.attention = softmax(x) : f32[rows, 8]\noutput y = blocks.0.attention\n");
  ASSERT_EQ(graph->Weights().size(), 1u);
  EXPECT_EQ(graph->values[static_cast<size_t>(graph->Weights()[0])].name, "blocks.0.attention.o.weight");
}

TEST(GraphBuilder, AValueMayHaveSeveralNames) {
  GraphBuilder b;
  const ops::Value x = b.Input("x", {DType::kF32, {3}});
  {
    ops::Scope outer(b, "mlp");
    ops::Value y;
    {
      ops::Scope inner(b, "down");
      y = b.Name(ops::Softmax(b, x));
    }
    b.Name(y);
  }
  const auto graph = b.Finish();
  EXPECT_EQ(graph->FindValue("mlp.down"), graph->FindValue("mlp"));
  EXPECT_GE(graph->FindValue("mlp"), 0);
  EXPECT_EQ(graph->FindValue("mlp.up"), -1);
}

TEST(GraphBuilder, KeepsTheFirstError) {
  GraphBuilder b;
  const ops::Value x = b.Input("x", {DType::kF64, {3}});
  ops::Value y;
  {
    ops::Scope scope(b, "head");
    y = ops::Softmax(b, x);
    y = ops::Softmax(b, y);
  }
  EXPECT_FALSE(y.valid());
  const auto graph = b.Finish();
  EXPECT_EQ(graph.status().message(), "in \"head\": softmax: x is f64; f32 is supported");
}

TEST(GraphBuilder, RefusesANameTwice) {
  GraphBuilder b;
  b.Input("x", {DType::kF32, {3}});
  b.Input("x", {DType::kF32, {3}});
  EXPECT_FALSE(b.Finish().ok());
}

TEST(GraphBuilder, GivesTheSameConstantOnce) {
  GraphBuilder b;
  const ops::Value a = b.Constant("shared.weight", DType::kF32, {4});
  EXPECT_EQ(b.Constant("shared.weight", DType::kF32, {4}).id, a.id);
  b.Constant("shared.weight", DType::kF32, {5});
  EXPECT_FALSE(b.Finish().ok());
}

TEST(GraphBuilder, LiteralsKeepTypeShapeAndValues) {
  GraphBuilder b;
  ops::Value f, i, none;
  {
    ops::Scope scope(b, "tables");
    f = b.Literal("scales", {0.5f, -2.0f}, {2});
    i = b.LiteralI32("offsets", {0, -2147483647 - 1, 2147483647, 8, 16, 24}, {2, 3});
    none = b.LiteralI32("nothing", {}, {0});
  }
  EXPECT_EQ(ToString(b.type(f)), "f32[2]");
  EXPECT_EQ(ToString(b.type(i)), "i32[2, 3]");
  EXPECT_EQ(ToString(b.type(none)), "i32[0]");
  const auto graph = b.Finish();
  ASSERT_TRUE(graph.ok()) << graph.status();
  const GraphValue& offsets = graph->values[static_cast<size_t>(graph->FindValue("tables.offsets"))];
  ASSERT_NE(offsets.literal, nullptr);
  EXPECT_EQ(offsets.kind, ValueKind::kConstant);
  EXPECT_EQ(offsets.literal->data<int32_t>()[1], -2147483647 - 1);
  EXPECT_EQ(offsets.literal->data<int32_t>()[5], 24);
  EXPECT_TRUE(graph->Weights().empty());
}

}  // namespace
}  // namespace plinth::graph
