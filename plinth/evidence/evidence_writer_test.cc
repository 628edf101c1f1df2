// What a failing or dying writer leaves behind.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <thread>

#include "plinth/base/faults.h"
#include "plinth/base/random.h"
#include "plinth/evidence/unit_fixture.h"

namespace plinth::evidence {
namespace {

class EvidenceWriterTest : public EvidenceTest {
 protected:
  // The time of the newest unit, which must be whole.
  std::string Newest() {
    const auto evidence = OpenEvidence(JoinPath(Path("evidence"), *SampleUnit().identity.Digest()), keys_);
    EXPECT_TRUE(evidence.ok()) << evidence.status();
    return evidence.ok() ? evidence->unit.finished : "";
  }
  // Each unit of the history is whole; gives their number.
  size_t History() {
    const auto units = ListUnits(Path("evidence"));
    for (const std::string& folder : units->history) {
      const auto evidence = OpenEvidence(folder, keys_);
      EXPECT_TRUE(evidence.ok()) << evidence.status();
    }
    return units->history.size();
  }
};

TEST_F(EvidenceWriterTest, AnyCallMayFail) {
  WriteUnit();
  const std::string old_time = SampleUnit().finished;
  int64_t tried = 0;
  for (const Syscall call :
       {Syscall::kOpen, Syscall::kWrite, Syscall::kFsync, Syscall::kRename, Syscall::kRead}) {
    for (int nth = 1;; ++nth) {
      const Unit unit = SampleUnit(StrCat("2027-01-01T00:00:00.", 100'000'000 + ++tried, "Z"));
      const std::string before = Newest();
      bool fired = false;
      StatusOr<WrittenEvidence> written = absl::UnknownError("");
      {
        const ScopedFault fault(call, nth, ENOSPC);
        written = WriteEvidence(Path("evidence"), unit, SampleFiles(), key_);
        fired = fault.fired();
      }
      const std::string now = Newest();
      EXPECT_EQ(now, written.ok() ? unit.finished : now == unit.finished ? now : before);
      if (fired && !written.ok()) {
        EXPECT_EQ(ExitCode(written.status()), 3) << written.status();
      }
      History();
      // Each unit of the history is read by the next call; without them, every try makes the same calls.
      std::filesystem::remove_all(Path("evidence/history"));
      if (!fired) break;
    }
  }
  EXPECT_GT(tried, 60);
  WriteUnit(SampleUnit("2028-01-01T00:00:00Z"));
  EXPECT_EQ(Newest(), "2028-01-01T00:00:00Z");
  EXPECT_EQ(ListFolder(Path("evidence"))->size(), 2U);  // no prepared folder stays
}

TEST_F(EvidenceWriterTest, DyingAtAnyInstantLeavesOldOrNew) {
  WriteUnit(SampleUnit("2026-01-01T00:00:00Z"));
  Random random(3);
  std::string before = Newest();
  for (int round = 0; round < 40; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0;; ++i) {
        const Unit unit = SampleUnit(StrCat("2026-02-01T00:00:00.", 100'000'000 + round * 10'000 + i, "Z"));
        if (!WriteEvidence(Path("evidence"), unit, SampleFiles(), key_).ok()) _exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + random.Below(30'000)));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the writer failed";
    const std::string now = Newest();
    EXPECT_GE(now, before);
    before = now;
  }
  // The next call completes the history: the newest of the killed ones is in it.
  WriteUnit(SampleUnit("2026-03-01T00:00:00Z"));
  History();
  const auto units = ListUnits(Path("evidence"));
  bool found = false;
  for (const std::string& folder : units->history)
    found = found || OpenEvidence(folder, keys_)->unit.finished == before;
  EXPECT_TRUE(found) << before;
  EXPECT_EQ(ListFolder(Path("evidence"))->size(), 2U);
  EXPECT_EQ(ListFolder(Path("evidence/history"))->size(), units->history.size());
}

TEST_F(EvidenceWriterTest, WritersThatMeetWait) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int k = 0; k < 3; ++k) {
        const Unit unit = SampleUnit(StrCat("2026-02-0", i + 1, "T00:00:0", k, "Z"));
        if (!WriteEvidence(Path("evidence"), unit, SampleFiles(), key_).ok()) _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(History(), 12U);
}

TEST_F(EvidenceWriterTest, NoPlaceToWrite) {
  ASSERT_TRUE(WriteFile(Path("file"), "").ok());
  const auto written = WriteEvidence(Path("file/evidence"), SampleUnit(), SampleFiles(), key_);
  EXPECT_FALSE(written.ok());
  EXPECT_THAT(std::string(written.status().message()), testing::HasSubstr("cannot be made a folder"));
}

}  // namespace
}  // namespace plinth::evidence
