#include "plinth/plan/memory.h"

#include <random>

#include "gtest/gtest.h"

namespace plinth::plan {
namespace {

TEST(PlaceBuffers, ReusesMemoryOfTheDead) {
  std::vector<Lifetime> buffers = {{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}};
  EXPECT_EQ(PlaceBuffers(buffers), 2048);
  EXPECT_EQ(buffers[0].offset, buffers[2].offset);
}

TEST(PlaceBuffers, NeverOverlapsTheLiving) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> buffers;
    for (int i = 0; i < 40; ++i) {
      const int first = static_cast<int>(random() % 30);
      buffers.push_back(
          {static_cast<int64_t>(random() % 5000), first, first + static_cast<int>(random() % 6), 0});
    }
    const int64_t total = PlaceBuffers(buffers);
    EXPECT_GE(total, PeakBytes(buffers));
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(buffers[i].offset % 64, 0);
      EXPECT_LE(buffers[i].offset + buffers[i].bytes, total);
      for (size_t j = 0; j < i; ++j) {
        const bool together = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
        const bool apart = buffers[i].offset + buffers[i].bytes <= buffers[j].offset ||
                           buffers[j].offset + buffers[j].bytes <= buffers[i].offset;
        EXPECT_TRUE(!together || apart || buffers[i].bytes == 0 || buffers[j].bytes == 0);
      }
    }
  }
}

TEST(PlaceBuffers, TakesNothing) {
  std::vector<Lifetime> none;
  EXPECT_EQ(PlaceBuffers(none), 0);
}

}  // namespace
}  // namespace plinth::plan
