#include "plinth/plan/plan.h"

#include <cmath>
#include <cstring>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/base/allocations.h"
#include "plinth/ops/gather/op.h"
#include "plinth/ops/linear/op.h"
#include "plinth/ops/reshape/op.h"
#include "plinth/ops/slice/op.h"
#include "plinth/ops/softmax/op.h"

namespace plinth::plan {
namespace {

using ::testing::HasSubstr;

Isa TestIsa() {
  const auto isa = IsaFromEnvironment();
  return isa.ok() ? *isa : Isa::kV2;
}

// Weights made from their names, so that equal names are equal weights.
class MadeWeights : public WeightSource {
 public:
  StatusOr<View> Load(const std::string& name, const ValueType& type) override {
    ++loads;
    if (name == "missing.weight") return absl::NotFoundError("tensor \"missing.weight\" is missing");
    auto dims = Resolve(type.shape, {});
    auto [it, fresh] = tensors_.try_emplace(name, type.dtype, *dims);
    if (fresh) {
      std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(name)));
      std::normal_distribution<float> normal(0, 0.3f);
      for (int64_t i = 0; i < it->second.size(); ++i) it->second.data<float>()[i] = normal(random);
    }
    return it->second.view();
  }
  void Release(const std::string& name) override { released.push_back(name); }
  int loads = 0;
  std::vector<std::string> released;

 private:
  std::map<std::string, Tensor> tensors_;
};

// softmax over halves of a projection, with a residual path: views, aliasing and reuse of memory.
graph::Graph SmallGraph() {
  graph::GraphBuilder b;
  const ops::Value x = b.Input("x", {DType::kF32, {Dim::Named("rows"), 24}});
  ops::Scope scope(b, "net");
  const ops::Value w = b.Constant("up.weight", DType::kF32, {32, 24});
  const ops::Value h = b.Name(ops::Linear(b, x, w), "up");
  const ops::Value left = ops::Softmax(b, ops::Slice(b, h, 1, 0, 16));
  const ops::Value grouped = ops::Reshape(b, left, {-1, 4});
  const ops::Value down = b.Constant("down.weight", DType::kF32, {8, 4});
  b.Output("y", b.Name(ops::Linear(b, ops::Softmax(b, grouped), down), "down"));
  b.Output("right", ops::Slice(b, h, 1, 16, 32));
  return *b.Finish();
}

std::shared_ptr<const Plan> MakePlan(int64_t rows, std::vector<std::string> observe = {}) {
  auto weights = std::make_shared<Weights>(std::make_shared<MadeWeights>());
  auto plan =
      Plan::Make(SmallGraph(), weights, {.capacity = {{"rows", rows}}, .isa = TestIsa(), .observe = observe});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *plan;
}

std::vector<float> Numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(count));
  for (float& v : x) v = normal(random);
  return x;
}

std::vector<float> RunPlan(Workspace& w, const std::vector<float>& x, Threads* threads = nullptr) {
  const int64_t rows = static_cast<int64_t>(x.size()) / 24;
  EXPECT_TRUE(w.SetExtents({rows}).ok());
  if (!x.empty()) std::memcpy(w.Input(0).data, x.data(), x.size() * sizeof(float));
  EXPECT_TRUE(w.Run(threads).ok());
  const View& y = w.Output(0);
  EXPECT_EQ(y.dims[0], rows * 4);
  EXPECT_TRUE(y.dense());
  return {y.as<float>(), y.as<float>() + y.size()};
}

TEST(Plan, RowsDoNotDependOnTheBatchOrTheThreads) {
  const auto plan = MakePlan(700);
  const auto x = Numbers(700 * 24, 1);
  auto one = *Workspace::Make(plan, 1);
  const auto all = RunPlan(*one, x);
  for (int count : {2, 3}) {
    Threads threads(count);
    auto w = *Workspace::Make(plan, count);
    EXPECT_EQ(RunPlan(*w, x, &threads), all);
  }
  for (int64_t row : {0, 1, 13, 699}) {
    const auto alone = RunPlan(*one, {x.begin() + row * 24, x.begin() + (row + 1) * 24});
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + row * 32)) << row;
  }
  EXPECT_TRUE(RunPlan(*one, {}).empty());
  EXPECT_EQ(RunPlan(*one, x), all);
}

TEST(Plan, AllocatesNothingInTheLoop) {
  const auto plan = MakePlan(64);
  auto w = *Workspace::Make(plan, 1);
  const auto x = Numbers(64 * 24, 2);
  RunPlan(*w, x);
  const AllocationCounter probe;
  ASSERT_TRUE(w->SetExtents({33}).ok());
  ASSERT_TRUE(w->Run(nullptr).ok());
  ASSERT_TRUE(w->SetExtents({64}).ok());
  ASSERT_TRUE(w->Run(nullptr).ok());
  EXPECT_LE(probe.count(), 0);  // -1 under a sanitizer
}

TEST(Plan, StopsBetweenStepsAndRunsAgain) {
  const auto plan = MakePlan(8);
  auto w = *Workspace::Make(plan, 1);
  const auto x = Numbers(8 * 24, 5);
  const auto whole = RunPlan(*w, x);
  static int asked;
  asked = 0;
  EXPECT_EQ(w->Run(nullptr, [] { return ++asked == 2; }).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(RunPlan(*w, x), whole);
}

TEST(Plan, ReusesMemoryAndStaysNearTheBound) {
  const auto plan = MakePlan(1000);
  // x [24], h [32], softmax copies [16]: more than one buffer at a time, fewer than all of them.
  EXPECT_LT(plan->arena_bytes(), (24 + 32 + 16 + 16 + 32) * 4000);
  EXPECT_THAT(plan->Explain(), HasSubstr("softmax"));
}

TEST(Plan, ObservesNamedValues) {
  const auto plan = MakePlan(8, {"net.up"});
  ASSERT_EQ(plan->observed().size(), 1u);
  auto w = *Workspace::Make(plan, 1);
  RunPlan(*w, Numbers(8 * 24, 3));
  const View up = w->Observed(0);
  EXPECT_EQ(up.dims[1], 32);
  // The right half is also an output, which was copied from it.
  EXPECT_EQ(up.as<float>()[16], w->Output(1).as<float>()[0]);
  EXPECT_EQ(MakePlan(8, {"*"})->observed().size(), 2u);
}

TEST(Plan, SharesPackedWeightsAndReleasesTheSource) {
  auto source = std::make_shared<MadeWeights>();
  auto weights = std::make_shared<Weights>(source);
  const PlanOptions small{.capacity = {{"rows", 4}}, .isa = TestIsa()};
  const PlanOptions large{.capacity = {{"rows", 400}}, .isa = TestIsa()};
  ASSERT_TRUE(Plan::Make(SmallGraph(), weights, small).ok());
  const int64_t bytes = weights->bytes();
  ASSERT_TRUE(Plan::Make(SmallGraph(), weights, large).ok());
  EXPECT_EQ(weights->bytes(), bytes);
  EXPECT_GE(bytes, (32 * 24 + 8 * 4) * 4);
  EXPECT_THAT(source->released, ::testing::Contains("net.up.weight"));
}

TEST(Plan, SaysWhatIsWrong) {
  auto weights = std::make_shared<Weights>(std::make_shared<MadeWeights>());
  EXPECT_EQ(Plan::Make(SmallGraph(), weights, {}).status().message(),
            "no extent is given for dimension \"rows\"");
  EXPECT_EQ(Plan::Make(SmallGraph(), weights, {.capacity = {{"rows", 1}}, .observe = {"net.across"}})
                .status()
                .message(),
            "the model has no value named \"net.across\" to observe");
  EXPECT_EQ(Plan::Make(SmallGraph(), weights, {.capacity = {{"rows", int64_t{1} << 50}}}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Plan::Make(SmallGraph(), weights,
                                     {.capacity = {{"rows", 1}}, .kernels = {{"softmax", "warp"}}})
                              .status()
                              .message()),
              HasSubstr("kernel \"warp\" was asked for"));
  const auto plan = MakePlan(4);
  auto w = *Workspace::Make(plan, 1);
  EXPECT_EQ(w->SetExtents({5}).message(), "dimension \"rows\" has extent 5; this plan holds 0 to 4");
}

TEST(Plan, ReportsAMissingWeight) {
  graph::GraphBuilder b;
  const ops::Value x = b.Input("x", {DType::kF32, {4, 4}});
  b.Output("y", ops::Linear(b, x, b.Constant("missing.weight", DType::kF32, {4, 4})));
  auto weights = std::make_shared<Weights>(std::make_shared<MadeWeights>());
  EXPECT_EQ(Plan::Make(*b.Finish(), weights, {}).status().message(), "tensor \"missing.weight\" is missing");
}

// picked = table[index]; projected = picked table^T, the table being packed for it.
std::shared_ptr<const Plan> PlanOfLiterals(std::shared_ptr<Weights> weights, float first) {
  graph::GraphBuilder b;
  const ops::Value table = b.Literal("table", {first, 2, 3, 4, 5, 6}, {3, 2});
  const ops::Value picked = ops::Gather(b, table, b.LiteralI32("index", {2, 0, 2, 1}, {4}));
  b.Output("picked", picked);
  b.Output("projected", ops::Linear(b, picked, table));
  auto plan = Plan::Make(*b.Finish(), std::move(weights), {.isa = TestIsa()});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *plan;
}

// The graph is gone when the plans run, and both plans share weights while their tables differ.
TEST(Plan, LiteralsOutliveTheGraphAndAreNotMixedUp) {
  auto weights = std::make_shared<Weights>(nullptr);
  const auto one = PlanOfLiterals(weights, 1), ten = PlanOfLiterals(weights, 10);
  for (const auto& [plan, first] : {std::pair{one, 1.0f}, {ten, 10.0f}}) {
    auto w = *Workspace::Make(plan, 1);
    ASSERT_TRUE(w->Run(nullptr).ok());
    const float* y = w->Output(0).as<float>();
    EXPECT_EQ(std::vector<float>(y, y + 8), (std::vector<float>{5, 6, first, 2, 5, 6, 3, 4}));
    EXPECT_EQ(w->Output(1).as<float>()[3], first * first + 4);
  }
}

// Step by step with constants kept: the same bits, and every input and output can be read at its time.
TEST(Plan, StepsCanBeRunOneByOne) {
  auto weights = std::make_shared<Weights>(std::make_shared<MadeWeights>());
  const auto plan = Plan::Make(SmallGraph(), weights,
                               {.capacity = {{"rows", 5}}, .isa = TestIsa(), .keep_constants = true});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto one = *Workspace::Make(*plan, 1), whole = *Workspace::Make(MakePlan(5), 1);
  const std::vector<float> x = Numbers(5 * 24, 3), expected = RunPlan(*whole, x);
  std::memcpy(one->Input(0).data, x.data(), x.size() * sizeof(float));
  int constants = 0;
  for (size_t s = 0; s < (*plan)->step_count(); ++s) {
    for (const int v : (*plan)->StepInputs(s)) {
      if (v < 0) continue;
      const View& view = one->ValueView(v);
      ASSERT_NE(view.data, nullptr) << s;
      constants += (*plan)->Root(v) == v && view.rank == 2 && view.dims[0] != 5 ? 1 : 0;
    }
    ASSERT_TRUE(one->RunSteps(s, s + 1, nullptr).ok());
    for (const int v : (*plan)->StepOutputs(s)) EXPECT_NE(one->ValueView(v).data, nullptr);
  }
  EXPECT_GE(constants, 2);  // the weights of both products
  EXPECT_EQ(std::memcmp(one->Output(0).data, expected.data(), expected.size() * sizeof(float)), 0);
}

// What an observer writes over a value is what later steps read.
TEST(Plan, AnObservedValueCanBeReplaced) {
  const auto plan = MakePlan(3, {"net.up"});
  const auto a = *Workspace::Make(plan, 1), b = *Workspace::Make(plan, 1);
  const std::vector<float> x = Numbers(3 * 24, 1), other = Numbers(3 * 24, 2);
  const std::vector<float> expected = RunPlan(*b, other);
  std::memcpy(a->Input(0).data, x.data(), x.size() * sizeof(float));
  for (size_t s = 0; s < plan->step_count(); ++s) {
    ASSERT_TRUE(a->RunSteps(s, s + 1, nullptr).ok());
    if (plan->StepName(s) != "net.up: linear") continue;
    std::memcpy(a->Observed(0).data, b->Observed(0).data, 3 * 32 * sizeof(float));
  }
  EXPECT_EQ(std::memcmp(a->Output(0).data, expected.data(), expected.size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace plinth::plan
