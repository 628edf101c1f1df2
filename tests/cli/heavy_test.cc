// Large input, interrupts, progress, and measurements.
#include <signal.h>

#include <chrono>
#include <thread>

#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

class HeavyTest : public CliTest {
 protected:
  // Items of `rows` hours each, standing together.
  void WriteItems(const std::string& name, int items, int rows) {
    std::ofstream file(Path(name), std::ios::binary);
    std::vector<std::string> stamps;
    for (int t = 0; t < rows; ++t) stamps.push_back(HourlyRow(t, ""));
    file << "item,time,y\n";
    for (int i = 0; i < items; ++i) {
      for (int t = 0; t < rows; ++t) {
        file << "i" << i << ',' << stamps[static_cast<size_t>(t)].substr(0, 20) << (t * (i % 7 + 1)) % 24
             << '\n';
      }
    }
  }
  RunOptions StopAfter(double seconds, int signal) {
    const auto start = std::chrono::steady_clock::now();
    auto sent = std::make_shared<bool>(false);
    return {.meanwhile = [=](int pid) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      if (*sent || passed.count() < seconds) return;
      *sent = true;
      kill(pid, signal);
    }};
  }
};

TEST_F(HeavyTest, TenThousandSeriesInBoundedMemory) {
  WriteItems("few.csv", 2000, 64);
  WriteItems("many.csv", 10000, 64);
  const std::vector<std::string> rest = {"--item", "item", "-t", "2", "-H", "24", "-q", "0.1,0.5,0.9"};
  const auto run = [&](const std::string& data, const std::string& out) {
    std::vector<std::string> arguments = {"forecast", "-d", data, "-o", out};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    const RunResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result.peak_bytes;
  };
  for (const char* ending : {".csv", ".json", ".html"}) {
    const int64_t few = run("few.csv", std::string("out-few") + ending);
    const int64_t many = run("many.csv", std::string("out-many") + ending);
    RecordProperty(std::string("peak_mb_2000") + (ending + 1), static_cast<int>(few >> 20));
    RecordProperty(std::string("peak_mb_10000") + (ending + 1), static_cast<int>(many >> 20));
    std::printf("peak memory, %s: %lld MiB for 2,000 series, %lld MiB for 10,000\n", ending,
                static_cast<long long>(few >> 20), static_cast<long long>(many >> 20));
    EXPECT_LT(many, 150 << 20) << ending;
    EXPECT_LT(static_cast<double>(many), 1.1 * static_cast<double>(few)) << ending;
  }
  const std::string csv = Read("out-many.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 10000 * 24);
  EXPECT_EQ(json::parse(Read("out-many.json")).at("items").size(), 10000u);
}

TEST_F(HeavyTest, AMillionRows) {
  {
    std::ofstream file(Path("d.csv"), std::ios::binary);
    file << "time,y\n";
    for (int64_t t = 0; t < 1000000; ++t) file << 1500000000 + 60 * t << ',' << t % 1440 << '\n';
  }
  const json result = RunJson({"forecast", "-d", "d.csv", "-H", "2", "--json"});
  EXPECT_EQ(result["items"][0]["times"], json({"1560000000", "1560000060"}));
  EXPECT_EQ(result["items"][0]["freq"], "min");
}

TEST_F(HeavyTest, AnInterruptLeavesNothingBehind) {
  WriteItems("d.csv", 10000, 64);
  Write("f.csv", "old\n");
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const double seconds : {0.02, 0.7}) {
      const RunResult run = Run({"forecast", "-d", "d.csv", "--item", "item", "-o", "f.csv", "-H", "2000"},
                                StopAfter(seconds, signal));
      // Before the program listens the signal ends it as it would any other.
      if (run.exit_code != 128 + SIGTERM || seconds > 0.5) {
        EXPECT_EQ(run.exit_code, 130) << seconds;
      }
      EXPECT_TRUE(run.err == "plinth: error: interrupted\n" || (run.err.empty() && seconds < 0.5)) << run.err;
      EXPECT_EQ(Read("f.csv"), "old\n");
      EXPECT_EQ(Files(), (std::vector<std::string>{"d.csv", "f.csv"}));
    }
  }
  const RunResult run =
      Run({"backtest", "-d", "d.csv", "--item", "item", "-H", "24", "--json"}, StopAfter(0.7, SIGINT));
  EXPECT_EQ(run.exit_code, 130);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "plinth: error: interrupted\n");
}

TEST_F(HeavyTest, WaitingForAPipeCanBeInterrupted) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const RunResult run = Run({"forecast", "-d", "pipe"}, StopAfter(0.5, SIGINT));
  EXPECT_EQ(run.exit_code, 130);
  EXPECT_EQ(run.err, "plinth: error: interrupted\n");
}

TEST_F(HeavyTest, ANamedPipeIsRead) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(Path("pipe")) << HourlyCsv(100); });
  const RunResult piped = Run({"forecast", "-d", "pipe", "--json"});
  writer.join();
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  Write("d.csv", HourlyCsv(100));
  EXPECT_EQ(json::parse(piped.out), RunJson({"forecast", "-d", "d.csv", "--json"}));
  std::thread silent([&] { std::ofstream(Path("pipe")) << std::flush; });
  ExpectError({"forecast", "-d", "pipe"}, 2, "pipe: is empty; a header with column names is expected");
  silent.join();
}

TEST_F(HeavyTest, ProgressOnATerminalOnly) {
  WriteItems("d.csv", 3000, 64);
  const std::vector<std::string> arguments = {"forecast", "-d", "d.csv", "--item", "item", "-o",
                                              "f.json",   "-H", "192",   "-t",     "1"};
  EXPECT_EQ(Run(arguments).err, "");
  const RunResult terminal = Run(arguments, {.on_terminal = true});
  EXPECT_EQ(terminal.exit_code, 0);
  EXPECT_THAT(terminal.out,
              testing::AllOf(HasSubstr("\rforecast  "), HasSubstr(" of 3,000"), HasSubstr("series/s")));
  EXPECT_THAT(terminal.out, HasSubstr("\r\x1b[K"));  // and goes away
}

TEST_F(HeavyTest, BenchModelKeys) {
  const json bench = RunJson({"bench", "model", "--seconds", "0.05", "-b", "2", "-t", "1", "--json"});
  for (const char* key : {"model", "device", "precision", "threads", "batch", "context", "horizon", "ms",
                          "series_per_second", "flops", "gflops", "machine", "fraction_of_matmul_peak",
                          "arena_bytes", "weight_bytes", "peak_rss_bytes"}) {
    EXPECT_TRUE(bench.contains(key)) << key;
  }
  for (const char* key : {"min", "p50", "p90"}) EXPECT_GT(bench["ms"][key].get<double>(), 0) << key;
  for (const char* key : {"matmul_gflops", "read_gb_per_second"}) {
    EXPECT_GT(bench["machine"][key].get<double>(), 0) << key;
  }
  EXPECT_EQ(bench["batch"], 2);
  EXPECT_EQ(bench["threads"], 1);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_TRUE(bench["allocations_in_loop"].is_null()) << bench;  // a sanitizer brings its own allocator
#else
  EXPECT_EQ(bench["allocations_in_loop"], 0) << bench;
#endif
}

TEST_F(HeavyTest, BenchModelOfAShape) {
  const json bench = RunJson({"bench", "model", "--shape", "plinth-ts-0", "--lengths", "32,400", "--seconds",
                              "0.05", "-b", "3", "-t", "1", "--json"});
  EXPECT_EQ(bench["model"], "plinth-ts-0");
  EXPECT_EQ(bench["context"], 400);
  EXPECT_EQ(bench["lengths"], json({32, 400}));
  EXPECT_GT(bench["flops"].get<double>(), 0);
}

}  // namespace
}  // namespace plinth::cli
