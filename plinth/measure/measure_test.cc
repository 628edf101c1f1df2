#include <algorithm>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/engine/random_weights.h"
#include "plinth/measure/bench_model.h"
#include "plinth/measure/bench_ops.h"
#include "plinth/models/shapes.h"

namespace plinth::measure {
namespace {

TEST(SpreadTest, OrdersValues) {
  const Spread s = SpreadOf({5, 1, 4, 2, 3, 10, 9, 8, 7, 6});
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.median, 5.5);
  EXPECT_EQ(s.p90, 9);
  EXPECT_EQ(s.count, 10);
  EXPECT_DOUBLE_EQ(s.relative(), 8 / 5.5);
  EXPECT_EQ(SpreadOf({3}).p90, 3);
  EXPECT_EQ(SpreadOf({}).count, 0);
}

TEST(AlternateTest, FindsTheSlowerOne) {
  volatile double sink = 0;
  const auto work = [&](int n) {
    for (int i = 0; i < n; ++i) sink = sink + 1;
  };
  const std::function<void()> candidates[] = {[&] { work(100000); }, [&] { work(10000); }};
  const Race race = Alternate(candidates, {Clock::kThreadCpu, 5, 0.001});
  ASSERT_EQ(race.seconds.size(), 2u);
  EXPECT_EQ(race.seconds[0].count, 5);
  EXPECT_GT(race.ratio[1].median, 2);
  EXPECT_EQ(race.ratio[0].median, 1);
}

TEST(BenchProductTest, AgreesWithTheReferee) {
  const Isa isa = *IsaFromEnvironment();
  int calls = 0;
  const auto rows =
      BenchProducts({{33, 64, 48}, {1, 128, 96}, {5, 7, 3}}, isa, {.rounds = 3, .round_seconds = 1e-4},
                    [&](const ProductBench&) { return ++calls < 2; });
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2u);  // stopped by the caller
  EXPECT_GT((*rows)[0].gflops, 0);
  EXPECT_GT((*rows)[0].onednn_gflops, 0);
  EXPECT_EQ((*rows)[0].ratio.count, 3);
}

TEST(ProductTest, ThreadsGiveTheSameResult) {
  const Isa isa = *IsaFromEnvironment();
  Threads threads(3);
  auto product = Product::Make({100, 70, 90}, isa, "", 3);
  ASSERT_TRUE(product.ok()) << product.status();
  product->RunOwn(threads);
  product->RunOneDnn(threads);
  EXPECT_LT(product->Difference(), 1e-5);
}

TEST(ProductTest, UnknownKernelIsRefused) {
  const auto product = Product::Make({4, 4, 4}, *IsaFromEnvironment(), "magic", 1);
  ASSERT_FALSE(product.ok());
  EXPECT_THAT(std::string(product.status().message()), testing::HasSubstr("kernel \"magic\" was asked for"));
}

TEST(MachineTest, MeasuresBothLimits) {
  Threads threads(1);
  const auto machine = MeasureMachine(threads, *IsaFromEnvironment());
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_GT(machine->matmul_gflops, 0.5);
  EXPECT_GT(machine->read_gb_per_second, 0.5);
  EXPECT_EQ(machine->threads, 1);
}

TEST(BenchLengthsTest, LieEvenlyInMixedOrder) {
  EXPECT_THAT(BenchLengths(3, 0, 50), testing::ElementsAre(50, 50, 50));
  EXPECT_THAT(BenchLengths(1, 10, 50), testing::ElementsAre(50));
  EXPECT_THAT(BenchLengths(5, 10, 50), testing::UnorderedElementsAre(10, 20, 30, 40, 50));
  const std::vector<int64_t> many = BenchLengths(100, 32, 2048);
  EXPECT_EQ(many, BenchLengths(100, 32, 2048));
  EXPECT_FALSE(std::is_sorted(many.begin(), many.end()));
  EXPECT_EQ(*std::min_element(many.begin(), many.end()), 32);
  EXPECT_EQ(*std::max_element(many.begin(), many.end()), 2048);
}

class BenchModelTest : public testing::Test {
 protected:
  void SetUp() override {
    context_.threads = &threads_;
    context_.isa = *IsaFromEnvironment();
    const auto config = models::ShapeConfig("plinth-ts-0");
    ASSERT_TRUE(config.ok()) << config.status();
    auto session =
        engine::Session::Make("plinth-ts-0", *config, std::make_shared<engine::RandomWeights>(), context_);
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }

  Threads threads_{2};
  Context context_;
  std::unique_ptr<engine::Session> session_;
};

TEST_F(BenchModelTest, MeasuresOneCall) {
  const auto bench = BenchModel(*session_, {.batch = 3, .seconds = 0});
  ASSERT_TRUE(bench.ok()) << bench.status();
  EXPECT_EQ(bench->context, 512);
  EXPECT_EQ(bench->horizon, 96);
  EXPECT_EQ(bench->calls, 5);
  EXPECT_EQ(bench->threads, 2);
  EXPECT_GT(bench->ms_min, 0);
  EXPECT_GE(bench->ms_p90, bench->ms_p50);
  EXPECT_NEAR(bench->gflops, bench->flops / bench->ms_p50 * 1e-6, 1e-6 * bench->gflops);
  EXPECT_GT(bench->cpu_fraction_of_matmul_peak, 0);
  EXPECT_LT(bench->cpu_fraction_of_matmul_peak, 1.5);  // by clocks of a busy machine
  double shares = 0;
  for (const auto& [name, share] : bench->profile) shares += share;
  EXPECT_NEAR(shares, 1, 1e-9);
  // 38 tokens of a series go through every weight of 4 layers, one multiplication and one addition each; in
  // the last one, only those that are forecast. Embedding, attention and head are less than a fifth of that.
  const double layer = 3 * 38 * 2.0 * (4 * 128 * 128 + 3 * 128 * 256);
  EXPECT_GT(bench->flops, 3 * layer);
  EXPECT_LT(bench->flops, 4.8 * layer);
}

TEST_F(BenchModelTest, CountsWhatRuns) {
  const auto flops = [&](const std::vector<int64_t>& lengths, int64_t horizon) {
    const auto found = ProductFlops(*session_, lengths, horizon);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(0);
  };
  const double full = flops({512}, 96), part = flops({100}, 96);
  EXPECT_LT(part, full);
  EXPECT_NEAR(flops({512, 100, 512}, 96), 2 * full + part, 1e-9 * full);
  // A second pass over a context that is still full, and over one that has grown.
  EXPECT_NEAR(flops({512}, 150), 2 * full, 1e-9 * full);
  EXPECT_NEAR(flops({100}, 97), part + flops({196}, 96), 1e-9 * full);
}

TEST_F(BenchModelTest, SizesTheModelDoesNotTakeAreRefused) {
  auto bench = BenchModel(*session_, {.context = 513, .seconds = 0});
  ASSERT_FALSE(bench.ok());
  EXPECT_EQ(std::string(bench.status().message()), "the context is 513; plinth_ts takes up to 512 steps");
  bench = BenchModel(*session_, {.context = 40, .shortest = 41, .seconds = 0});
  ASSERT_FALSE(bench.ok());
  EXPECT_EQ(std::string(bench.status().message()),
            "lengths from 41 to 40 were asked for; the shortest comes first");
}

}  // namespace
}  // namespace plinth::measure
