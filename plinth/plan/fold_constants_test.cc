#include "plinth/plan/fold_constants.h"

#include <cstring>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/ops/binary/op.h"
#include "plinth/ops/gather/op.h"
#include "plinth/ops/linear/op.h"
#include "plinth/ops/matmul/op.h"
#include "plinth/ops/permute/op.h"
#include "plinth/ops/reshape/op.h"
#include "plinth/ops/slice/op.h"
#include "plinth/plan/plan.h"

namespace plinth::plan {
namespace {

using ops::Value;
using testing::HasSubstr;

Isa TestIsa() {
  const auto isa = IsaFromEnvironment();
  return isa.ok() ? *isa : Isa::kV2;
}

// Weights that count up from the length of their name.
class CountingWeights : public WeightSource {
 public:
  StatusOr<View> Load(const std::string& name, const ValueType& type) override {
    if (name == "missing") return absl::NotFoundError("tensor \"missing\" is missing");
    auto [it, fresh] = tensors_.try_emplace(name, type.dtype, *Resolve(type.shape, {}));
    if (fresh) {
      for (int64_t i = 0; i < it->second.size(); ++i) {
        it->second.data<float>()[i] = 0.1f * static_cast<float>((i * 7 + std::ssize(name)) % 23) - 1;
      }
    }
    return it->second.view();
  }
  void Release(const std::string&) override {}

 private:
  std::map<std::string, Tensor> tensors_;
};

// heads [2] of x times their part of a weight, plus a row that depends on weights alone.
graph::Graph Example() {
  graph::GraphBuilder b;
  const Value x = b.Input("x", {DType::kF32, {2, Dim::Named("rows"), 3}});
  const Value weight = b.Constant("weight", DType::kF32, {6, 4});
  const Value right = b.Name(ops::Reshape(b, weight, {2, 3, 4}), "right");
  const Value table = b.Constant("table", DType::kF32, {3, 4});
  const Value row = ops::Slice(b, table, 0, 1, 2);
  const Value shift = ops::Linear(b, ops::Add(b, row, row), b.Constant("square", DType::kF32, {4, 4}));
  const Value y = ops::Add(b, ops::Matmul(b, x, right), shift);
  b.Output("y", y);
  b.Output("picked", ops::Permute(b, ops::Gather(b, table, b.LiteralI32("index", {2, 0}, {2})), {1, 0}));
  return *b.Finish();
}

std::vector<float> Outputs(const graph::Graph& graph, std::shared_ptr<Weights> weights, int64_t rows) {
  const auto plan = Plan::Make(graph, std::move(weights), {.capacity = {{"rows", rows}}, .isa = TestIsa()});
  EXPECT_TRUE(plan.ok()) << plan.status();
  const auto workspace = *Workspace::Make(*plan, 1);
  float* x = workspace->Input(0).as<float>();
  for (int64_t i = 0; i < workspace->Input(0).size(); ++i) x[i] = 0.3f * static_cast<float>(i % 11) - 1;
  EXPECT_TRUE(workspace->Run(nullptr).ok());
  std::vector<float> results;
  for (size_t i = 0; i < (*plan)->outputs().size(); ++i) {
    const View& y = workspace->Output(i);
    results.insert(results.end(), y.as<float>(), y.as<float>() + y.size());
  }
  return results;
}

TEST(FoldConstants, LeavesWhatDependsOnInputsWithTheSameBits) {
  const auto weights = std::make_shared<Weights>(std::make_shared<CountingWeights>());
  const graph::Graph whole = Example();
  const auto folded = FoldConstants(whole, weights, TestIsa());
  ASSERT_TRUE(folded.ok()) << folded.status();
  ASSERT_EQ(folded->nodes.size(), 2u) << folded->ToString();
  EXPECT_EQ(folded->nodes[0].call.spec->name, std::string("matmul"));
  EXPECT_EQ(folded->nodes[1].call.spec->name, std::string("binary"));
  // What the weights were read for is not kept.
  EXPECT_EQ(weights->bytes(), 0);
  const std::vector<float> a = Outputs(whole, weights, 5), b = Outputs(*folded, weights, 5);
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

TEST(FoldConstants, KeepsNamesAndProducers) {
  const auto weights = std::make_shared<Weights>(std::make_shared<CountingWeights>());
  const auto folded = *FoldConstants(Example(), weights, TestIsa());
  const graph::GraphValue& right = folded.values[static_cast<size_t>(folded.FindValue("right"))];
  EXPECT_EQ(right.kind, graph::ValueKind::kConstant);
  ASSERT_NE(right.literal, nullptr);
  EXPECT_EQ(right.literal->dims(), (std::vector<int64_t>{2, 3, 4}));
  for (size_t n = 0; n < folded.nodes.size(); ++n) {
    for (const int v : folded.nodes[n].outputs) {
      EXPECT_EQ(folded.values[static_cast<size_t>(v)].producer, static_cast<int>(n));
    }
  }
}

TEST(FoldConstants, AGraphWithoutSuchNodesStaysAsItIs) {
  graph::GraphBuilder b;
  const Value x = b.Input("x", {DType::kF32, {Dim::Named("rows"), 4}});
  b.Output("y", ops::Linear(b, x, b.Constant("square", DType::kF32, {4, 4})));
  const graph::Graph graph = *b.Finish();
  const auto folded = FoldConstants(graph, nullptr, TestIsa());
  ASSERT_TRUE(folded.ok()) << folded.status();
  EXPECT_EQ(folded->ToString(), graph.ToString());
}

TEST(FoldConstants, ReportsAMissingWeight) {
  graph::GraphBuilder b;
  b.Output("y", ops::Permute(b, b.Constant("missing", DType::kF32, {4, 4}), {1, 0}));
  const auto weights = std::make_shared<Weights>(std::make_shared<CountingWeights>());
  EXPECT_THAT(FoldConstants(*b.Finish(), weights, TestIsa()).status().message(),
              HasSubstr("tensor \"missing\" is missing"));
}

}  // namespace
}  // namespace plinth::plan
