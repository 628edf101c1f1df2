#include "plinth/base/threads.h"

#include <atomic>
#include <vector>

#include "gtest/gtest.h"

namespace plinth {
namespace {

TEST(Threads, RunsEachPieceOnce) {
  for (int count : {1, 2, 3}) {
    Threads threads(count);
    std::vector<std::atomic<int>> hits(1000);
    threads.For(1000, [&](int64_t p, int worker) {
      ASSERT_GE(worker, 0);
      ASSERT_LT(worker, count);
      hits[static_cast<size_t>(p)]++;
    });
    for (auto& h : hits) EXPECT_EQ(h, 1);
    threads.For(0, [&](int64_t, int) { FAIL(); });
  }
}

TEST(Threads, NeverGivesOneWorkerToTwoPieces) {
  Threads threads(3);
  std::atomic<int> inside[3] = {};
  for (int round = 0; round < 50; ++round) {
    threads.For(64, [&](int64_t, int worker) {
      EXPECT_EQ(inside[worker].fetch_add(1), 0);
      inside[worker].fetch_sub(1);
    });
  }
}

TEST(Threads, TwoPoolsLiveSideBySide) {
  Threads a(2), b(2);
  std::atomic<int> sum{0};
  a.For(8, [&](int64_t, int) { b.For(8, [&](int64_t, int) { sum++; }); });
  EXPECT_EQ(sum, 64);
}

}  // namespace
}  // namespace plinth
