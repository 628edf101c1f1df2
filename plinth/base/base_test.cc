#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>

#include "gtest/gtest.h"
#include "plinth/base/clock.h"
#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"
#include "plinth/base/log.h"
#include "plinth/base/random.h"
#include "plinth/base/utf8.h"

namespace plinth {
namespace {

// FIPS 180-4's examples.
TEST(Digest, MatchesTheStandard) {
  EXPECT_EQ(*Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(*Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 million;
  for (int i = 0; i < 1000; ++i) million.Update(std::string(1000, 'a'));
  EXPECT_EQ(*million.Hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_FALSE(million.Hex().ok());
}

TEST(Digest, ReadsFiles) {
  const std::string path = testing::TempDir() + "/plinth_digest";
  const std::string text(3 << 20, 'q');
  ASSERT_TRUE(WriteFile(path, text).ok());
  EXPECT_EQ(*Sha256OfFile(path), *Sha256Hex(text));
  unlink(path.c_str());
  EXPECT_EQ(Sha256OfFile(path).status().message(), path + ": cannot be opened: No such file or directory");
}

TEST(Utf8, FindsTheFirstBadByte) {
  for (const char* good : {"", "plain ascii text", "\xc3\xa9", "\xe4\xb8\xad\xe6\x96\x87", "\xf0\x9f\x98\x80",
                           "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad : {"\x80", "\xc3", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe4\xb8", "\xff"}) {
    EXPECT_EQ(Utf8Prefix(std::string("12345678901") + bad), 11u) << bad;
  }
}

TEST(Clock, AdvancesByHand) {
  ManualClock clock(1000);
  clock.Advance(5);
  EXPECT_EQ(clock.Monotonic(), 5);
  EXPECT_EQ(clock.Wall(), 1005);
  const int64_t before = Clock::System().Monotonic();
  EXPECT_LE(before, Clock::System().Monotonic());
  EXPECT_GT(Clock::System().Wall(), int64_t{1'600'000'000} * 1'000'000'000);
}

// First outputs of the authors' C code for splitmix64 with seed 1234567.
TEST(Random, SplitMixMatchesItsAuthors) {
  SplitMix64 mix(1234567);
  EXPECT_EQ(mix.Next(), 6457827717110365317u);
  EXPECT_EQ(mix.Next(), 3203168211198807973u);
  EXPECT_EQ(mix.Next(), 9817491932198370423u);
}

TEST(Random, HasTheRightMoments) {
  Random random(7);
  const int n = 1 << 18;
  double sum = 0, square = 0, fourth = 0, uniform = 0;
  int buckets[10] = {};
  for (int i = 0; i < n; ++i) {
    const double z = random.Normal();
    sum += z;
    square += z * z;
    fourth += z * z * z * z;
    const double u = random.Uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    uniform += u;
    ++buckets[random.Below(10)];
    const double v = random.Uniform(-2, 3);
    ASSERT_TRUE(v >= -2 && v < 3);
  }
  // Standard errors of the moments: 1/sqrt(n), sqrt(2/n), sqrt(96/n), sqrt(1/12n); bounds at five.
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(square / n, 1, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(fourth / n, 3, 5 * std::sqrt(96.0 / n));
  EXPECT_NEAR(uniform / n, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  for (int count : buckets) EXPECT_NEAR(count, n / 10.0, 5 * std::sqrt(n * 0.09));
}

TEST(Random, IsTheSameEverywhere) {
  Random a(42), b(42), c(43);
  EXPECT_EQ(a.Next(), b.Next());
  EXPECT_NE(a.Next(), c.Next());
  EXPECT_EQ(a.Below(1), 0u);
  // What the authors' xoshiro256++ gives when splitmix64 with seed 0 fills its state.
  Random zero(0);
  for (const uint64_t value :
       {5987356902031041503u, 7051070477665621255u, 6633766593972829180u, 211316841551650330u}) {
    EXPECT_EQ(zero.Next(), value);
  }
}

TEST(Log, FiltersByLevel) {
  const Log log(LogLevel::kWarn);
  testing::internal::CaptureStderr();
  log.Info("not shown");
  log.Warn("shown ", 1, "\nsame line {}");
  log.Error("bad");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "plinth: warning: shown 1 same line {}\nplinth: error: bad\n");
}

TEST(Log, ReadsItsLevelFromTheEnvironment) {
  const char* name = "PLINTH_LOG";
  unsetenv(name);
  EXPECT_TRUE(Log::FromEnvironment()->Enabled(LogLevel::kWarn));
  EXPECT_FALSE(Log::FromEnvironment()->Enabled(LogLevel::kInfo));
  setenv(name, "debug", 1);
  EXPECT_TRUE(Log::FromEnvironment()->Enabled(LogLevel::kDebug));
  setenv(name, "off", 1);
  EXPECT_FALSE(Log::FromEnvironment()->Enabled(LogLevel::kError));
  setenv(name, "loud", 1);
  EXPECT_EQ(Log::FromEnvironment().status().message(),
            "PLINTH_LOG=loud is unknown; it can be debug, info, warn, error or off");
  unsetenv(name);
}

TEST(Interrupt, SetsAFlagOnTheFirstSignal) {
  EXPECT_FALSE(Interrupted());
  {
    const InterruptGuard guard;
    EXPECT_TRUE(CheckInterrupted().ok());
    raise(SIGINT);
    EXPECT_TRUE(Interrupted());
    EXPECT_EQ(ExitCode(CheckInterrupted()), 130);
  }
  EXPECT_FALSE(Interrupted());
  struct sigaction now;
  sigaction(SIGINT, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST(Interrupt, EndsTheProcessOnTheSecond) {
  for (const int second : {SIGINT, SIGTERM}) {
    const pid_t child = fork();
    if (child == 0) {
      const InterruptGuard guard;
      raise(SIGINT);
      raise(second);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), second);
  }
}

TEST(Interrupt, EndsAReadThatWaits) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  auto file = InputFile::Open(StrCat("/proc/self/fd/", ends[0]));
  ASSERT_TRUE(file.ok()) << file.status();
  const InterruptGuard guard;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    // The end of the child, which holds the pipe open, ends the read in any case.
    usleep(200000);
    kill(parent, SIGINT);
    usleep(200000);
    _exit(0);
  }
  close(ends[1]);
  char byte;
  EXPECT_EQ(file->Read(&byte, 1).status().code(), absl::StatusCode::kCancelled);
  waitpid(child, nullptr, 0);
  close(ends[0]);
}

TEST(Interrupt, LeavesIgnoredSignalsIgnored) {
  signal(SIGINT, SIG_IGN);
  {
    const InterruptGuard guard;
    raise(SIGINT);
    EXPECT_FALSE(Interrupted());
  }
  signal(SIGINT, SIG_DFL);
}

}  // namespace
}  // namespace plinth
