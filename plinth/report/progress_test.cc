#include "plinth/report/progress.h"

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace plinth {
namespace {

// A terminal and a clock that the test holds.
struct Scene {
  double now = 100;
  int width = 80;
  std::vector<std::string> writes;

  ProgressOptions Options(int64_t total) {
    ProgressOptions options;
    options.enabled = true;
    options.label = "forecast";
    options.total = total;
    options.unit = "series";
    options.seconds = [this] { return now; };
    options.width = [this] { return width; };
    options.write = [this](std::string_view bytes) { writes.emplace_back(bytes); };
    return options;
  }
};

TEST(Progress, ShowsNothingForShortWorkAndClearsNothing) {
  Scene scene;
  {
    Progress progress(scene.Options(10));
    scene.now += 0.49;
    progress.Add(10);
  }
  EXPECT_TRUE(scene.writes.empty());
}

TEST(Progress, ShowsBarCountRemainingAndRate) {
  Scene scene;
  Progress progress(scene.Options(1000));
  scene.now += 1;
  progress.Add(250);
  ASSERT_EQ(scene.writes.size(), 1u);
  // 250 in one second: 750 more take three.
  EXPECT_EQ(scene.writes[0],
            "\rforecast  ######...................  25 %  250 of 1,000  3 s left  250 series/s\x1b[K");
  scene.now += 0.05;
  progress.Add(1);
  EXPECT_EQ(scene.writes.size(), 1u) << "redrawn within a tenth of a second";
  scene.now += 0.06;
  progress.Add(1);
  EXPECT_EQ(scene.writes.size(), 2u);
  progress.Finish();
  EXPECT_EQ(scene.writes.back(), "\r\x1b[K");
  scene.now += 5;
  progress.Add(1);
  progress.Finish();
  EXPECT_EQ(scene.writes.size(), 3u) << "a finished line came back";
  EXPECT_EQ(progress.done(), 253);
}

TEST(Progress, ComesBackAfterClear) {
  Scene scene;
  Progress progress(scene.Options(10));
  scene.now += 1;
  progress.Add(1);
  progress.Clear();
  progress.Clear();
  EXPECT_EQ(scene.writes.size(), 2u);
  scene.now += 1;
  progress.Add(1);
  EXPECT_EQ(scene.writes.size(), 3u);
}

TEST(Progress, FitsAnyWidth) {
  for (const Glyphs glyphs : {Glyphs::kAscii, Glyphs::kUnicode}) {
    for (int width = 1; width <= 120; ++width) {
      Scene scene;
      scene.width = width;
      ProgressOptions options = scene.Options(1234567);
      options.style.glyphs = glyphs;
      options.language = Language::kChinese;
      options.label = "变电站\n";
      Progress progress(options);
      scene.now += 2;
      progress.Add(77777);
      ASSERT_EQ(scene.writes.size(), 1u);
      std::string line = scene.writes[0];
      line = line.substr(1, line.size() - 4);
      EXPECT_LT(DisplayWidth(line), std::max(2, width)) << line;
      EXPECT_EQ(line.find('\n'), std::string::npos);
    }
  }
}

TEST(Progress, CountsWithoutATotalAndOverrunsIt) {
  Scene scene;
  Progress open(scene.Options(0));
  scene.now += 2;
  open.Add(500);
  EXPECT_EQ(scene.writes.back(), "\rforecast  500  2 s  250 series/s\x1b[K");
  Progress full(scene.Options(10));
  scene.now += 1;
  full.Add(30);
  EXPECT_NE(scene.writes.back().find("100 %  30 of 10"), std::string::npos) << scene.writes.back();
}

TEST(Progress, IsSilentWhereThereIsNoTerminal) {
  ProgressOptions options;  // no seams at all: nothing may be called
  Progress progress(options);
  progress.Add(5);
  progress.Clear();
  EXPECT_EQ(progress.done(), 5);
}

TEST(Progress, TakesReportsFromManyThreads) {
  Scene scene;
  ProgressOptions options = scene.Options(4000);
  std::atomic<int> ticks{0};
  options.seconds = [&ticks] { return ticks.fetch_add(1) * 0.001; };
  {
    Progress progress(options);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&progress] {
        for (int i = 0; i < 1000; ++i) progress.Add(1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(progress.done(), 4000);
  }
  EXPECT_EQ(scene.writes.back(), "\r\x1b[K");
}

}  // namespace
}  // namespace plinth
