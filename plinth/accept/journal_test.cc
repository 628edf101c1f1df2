// Goes on after an interruption, at whatever byte it came.
#include "plinth/accept/journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "plinth/base/text.h"

namespace plinth::accept {
namespace {

class JournalTest : public testing::Test {
 protected:
  JournalTest() : path_(StrCat(testing::TempDir(), "/journal_", getpid(), ".jsonl")) {}
  ~JournalTest() override { unlink(path_.c_str()); }

  StatusOr<Journal> Begin(const std::string& key = "key", const std::string& secret = "secret") {
    return Journal::Open(path_, {key, secret});
  }
  // A journal of three pieces, closed; gives its lines, the header first.
  std::vector<std::string> Three() {
    unlink(path_.c_str());
    {
      auto journal = Begin();
      for (const char* piece : {"a", "b", "c"}) EXPECT_TRUE(journal->Add(piece, "good").ok());
    }
    std::vector<std::string> lines;
    std::istringstream text(*ReadFile(path_, 1 << 20));
    for (std::string line; std::getline(text, line);) lines.push_back(line + "\n");
    EXPECT_EQ(lines.size(), 4u);
    return lines;
  }
  // Opens what the lines say; gives how many pieces are believed.
  size_t Believed(const std::vector<std::string>& lines, bool broken) {
    std::string text;
    for (const std::string& line : lines) text += line;
    EXPECT_TRUE(WriteFile(path_, text).ok());
    auto journal = Begin();
    EXPECT_TRUE(journal.ok()) << journal.status();
    EXPECT_EQ(!journal->broken().empty(), broken) << journal->broken();
    EXPECT_TRUE(journal->Add("d", "new").ok());
    EXPECT_EQ(Begin()->resumed(), journal->resumed() + 1);
    return journal->resumed();
  }

  const std::string path_;
};

TEST_F(JournalTest, RemembersWhatWasFinished) {
  {
    auto journal = Begin();
    ASSERT_TRUE(journal.ok()) << journal.status();
    EXPECT_EQ(journal->resumed(), 0u);
    ASSERT_TRUE(journal->Add("operator softmax", "{\"checks\":3}").ok());
    ASSERT_TRUE(journal->Add("repeat 1", "\"\n\xc3\xa4").ok());
  }
  auto journal = Begin();
  ASSERT_TRUE(journal.ok());
  EXPECT_EQ(journal->resumed(), 2u);
  ASSERT_NE(journal->Find("repeat 1"), nullptr);
  EXPECT_EQ(*journal->Find("repeat 1"), "\"\n\xc3\xa4");
  EXPECT_EQ(journal->Find("repeat 2"), nullptr);
  journal->Remove();
  EXPECT_FALSE(FileExists(path_));
}

TEST_F(JournalTest, BeginsAnewForAnotherKey) {
  ASSERT_TRUE(Begin("one")->Add("a", "1").ok());
  auto other = Begin("two");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->resumed(), 0u);
  EXPECT_EQ(Begin("one")->resumed(), 0u);
}

TEST_F(JournalTest, PassesOverATornEndAndGoesOn) {
  {
    auto journal = Begin();
    ASSERT_TRUE(journal->Add("a", "1").ok());
    ASSERT_TRUE(journal->Add("b", "2").ok());
  }
  const std::string whole = *ReadFile(path_, 1 << 20);
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    ASSERT_TRUE(WriteFile(path_, std::string_view(whole).substr(0, cut)).ok());
    auto journal = Begin();
    ASSERT_TRUE(journal.ok()) << cut;
    EXPECT_LE(journal->resumed(), 2u);
    ASSERT_TRUE(journal->Add("c", "3").ok());
    auto again = Begin();
    ASSERT_NE(again->Find("c"), nullptr) << cut;
    EXPECT_EQ(again->resumed(), journal->resumed() + 1) << cut;
  }
}

TEST_F(JournalTest, BelievesNoLineThatTheKeyDidNotWrite) {
  std::vector<std::string> lines = Three();
  EXPECT_EQ(Believed(lines, false), 3u);
  // A result of one's own choice.
  std::vector<std::string> forged = lines;
  forged[2].replace(forged[2].find("good"), 4, "fine");
  EXPECT_EQ(Believed(forged, true), 0u);
  EXPECT_EQ(Believed({lines[0], lines[1], "{\"piece\":\"b\",\"result\":\"good\"}\n"}, true), 0u);
  // Left out, moved, said twice.
  EXPECT_EQ(Believed({lines[0], lines[2], lines[3]}, true), 0u);
  EXPECT_EQ(Believed({lines[0], lines[1], lines[3], lines[2]}, true), 0u);
  EXPECT_EQ(Believed({lines[0], lines[1], lines[1]}, true), 0u);
  EXPECT_EQ(Believed({lines[1], lines[2]}, false), 0u);  // without a header it is no journal
  // What is cut off at the end is done again.
  EXPECT_EQ(Believed({lines[0], lines[1]}, false), 1u);
  // Of another run of the same acceptance.
  const std::vector<std::string> other = Three();
  EXPECT_NE(other[0], lines[0]);
  EXPECT_EQ(Believed({lines[0], other[1], other[2]}, true), 0u);
  EXPECT_EQ(Believed({lines[0], lines[1], other[2]}, true), 0u);
}

TEST_F(JournalTest, SaysWhyItStartsOver) {
  std::vector<std::string> lines = Three();
  lines[2].replace(lines[2].find("good"), 4, "fine");
  ASSERT_TRUE(WriteFile(path_, lines[0] + lines[1] + lines[2]).ok());
  auto journal = Begin();
  EXPECT_EQ(journal->broken(), path_ +
                                   ": line 3 is not what this machine's key wrote there: the journal was "
                                   "changed; all of its pieces are done again");
  EXPECT_EQ(journal->Find("a"), nullptr);
  // By another key.
  Three();
  EXPECT_EQ(Begin("key", "another secret")->resumed(), 0u);
}

TEST_F(JournalTest, ARunThatIsOverBeginsAnew) {
  Three();
  auto journal = Begin();
  const std::string run = journal->run();
  EXPECT_EQ(run.size(), 32u);
  ASSERT_TRUE(journal->StartOver("finished").ok());
  EXPECT_EQ(journal->broken(), "finished");
  EXPECT_EQ(journal->resumed(), 0u);
  EXPECT_NE(journal->run(), run);
  ASSERT_TRUE(journal->Add("a", "anew").ok());
  EXPECT_EQ(Begin()->run(), journal->run());
  EXPECT_EQ(*Begin()->Find("a"), "anew");
}

TEST_F(JournalTest, FollowsNoLink) {
  const std::string target = path_ + ".target";
  ASSERT_TRUE(WriteFile(target, "precious").ok());
  ASSERT_EQ(symlink(target.c_str(), path_.c_str()), 0);
  EXPECT_FALSE(Begin().ok());
  EXPECT_EQ(*ReadFile(target, 100), "precious");
  unlink(target.c_str());
}

}  // namespace
}  // namespace plinth::accept
