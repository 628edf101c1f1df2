#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/measure/bench_ops.h"

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

}  // namespace
}  // namespace plinth::measure
