#include "plinth/graph/gather_early.h"

#include "gtest/gtest.h"
#include "plinth/ops/gather/op.h"
#include "plinth/ops/linear/op.h"
#include "plinth/ops/rms_norm/op.h"

namespace plinth::graph {
namespace {

using ops::Value;

class GatherEarlyTest : public ::testing::Test {
 protected:
  Value Rows(const char* name) { return b_.Input(name, {DType::kF32, {Dim::Named("tokens"), 8}}); }
  Value Index() { return b_.Input("index", {DType::kI32, {Dim::Named("series")}}); }
  Value Project(Value x, Value residual = ops::kNone) {
    return ops::Linear(b_, x, b_.Constant("w", DType::kF32, {8, 8}), ops::kNone, {.residual = residual});
  }
  std::string Moved(int64_t tokens = 100) {
    const auto graph = b_.Finish();
    EXPECT_TRUE(graph.ok()) << graph.status();
    return GatherEarly(*graph, {{"tokens", tokens}, {"series", 10}}).ToString();
  }
  GraphBuilder b_;
};

TEST_F(GatherEarlyTest, GoesBackThroughRowwiseOperators) {
  const Value x = Rows("x");
  const Value y = Project(ops::RmsNorm(b_, x, ops::kNone, 1e-6), x);
  b_.Output("y", ops::Gather(b_, y, Index()));
  EXPECT_EQ(Moved(),
            "%6 = gather(x, index) : f32[series, 8]\n"
            "%7 = rms_norm(%6) eps=1e-06 : f32[series, 8]\n"
            "%5 = linear(%7, w, -, %6) : f32[series, 8]\noutput y = %5\n");
}

TEST_F(GatherEarlyTest, StopsAtWhatOthersNeedWhole) {
  const Value x = Rows("x");
  const Value shared = Project(x);
  b_.Output("whole", shared);
  const Value y = Project(shared);
  b_.Output("y", ops::Gather(b_, y, Index()));
  EXPECT_EQ(Moved(),
            "%2 = linear(x, w) : f32[tokens, 8]\n"
            "%6 = gather(%2, index) : f32[series, 8]\n"
            "%5 = linear(%6, w) : f32[series, 8]\noutput whole = %2\noutput y = %5\n");
}

TEST_F(GatherEarlyTest, LeavesGathersThatRepeatRows) {
  const Value y = Project(Rows("x"));
  b_.Output("y", ops::Gather(b_, y, Index()));
  EXPECT_EQ(Moved(/*tokens=*/5),
            "%2 = linear(x, w) : f32[tokens, 8]\n"
            "%4 = gather(%2, index) : f32[series, 8]\noutput y = %4\n");
}

}  // namespace
}  // namespace plinth::graph
