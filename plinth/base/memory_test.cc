#include "plinth/base/memory.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include "gtest/gtest.h"

namespace plinth {
namespace {

class AvailableMemoryTest : public ::testing::Test {
 protected:
  AvailableMemoryTest() : root_(::testing::TempDir() + "/available_memory") {
    std::filesystem::remove_all(root_);
  }
  ~AvailableMemoryTest() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string root_;
};

TEST_F(AvailableMemoryTest, IsUnlimitedWhereNothingIsKnown) {
  EXPECT_EQ(AvailableMemory(root_), std::numeric_limits<int64_t>::max());
}

TEST_F(AvailableMemoryTest, ReadsTheMachine) {
  Write("/proc/meminfo", "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable:   4000 kB\n");
  EXPECT_EQ(AvailableMemory(root_), 4000 * 1024);
}

TEST_F(AvailableMemoryTest, ReadsTheTightestGroup) {
  Write("/proc/meminfo", "MemAvailable: 4000 kB\n");
  Write("/proc/self/cgroup", "0::/a/b\n");
  Write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  Write("/sys/fs/cgroup/a/b/memory.current", "5\n");
  EXPECT_EQ(AvailableMemory(root_), 4000 * 1024);
  Write("/sys/fs/cgroup/a/memory.max", "2000000\n");
  Write("/sys/fs/cgroup/a/memory.current", "1500000\n");
  EXPECT_EQ(AvailableMemory(root_), 500000);
  Write("/sys/fs/cgroup/a/memory.stat", "anon 7\ninactive_file 100000\n");
  EXPECT_EQ(AvailableMemory(root_), 600000);
  Write("/sys/fs/cgroup/a/b/memory.max", "1000\n");
  Write("/sys/fs/cgroup/a/b/memory.current", "2000\n");
  EXPECT_EQ(AvailableMemory(root_), 0);
}

TEST_F(AvailableMemoryTest, ReadsGroupsOfTheFirstVersion) {
  Write("/proc/self/cgroup", "5:cpu:/x\n4:memory:/docker/1\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "3000\n");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
  EXPECT_EQ(AvailableMemory(root_), 2000);
}

TEST(AvailableMemory, OfThisMachineIsSomething) { EXPECT_GT(AvailableMemory(), 0); }

}  // namespace
}  // namespace plinth
