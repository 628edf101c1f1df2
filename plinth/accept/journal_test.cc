// Goes on after an interruption, at whatever byte it came.
#include "plinth/accept/journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "plinth/base/text.h"

namespace plinth::accept {
namespace {

class JournalTest : public testing::Test {
 protected:
  JournalTest() : path_(StrCat(testing::TempDir(), "/journal_", getpid(), ".jsonl")) {}
  ~JournalTest() override { unlink(path_.c_str()); }
  const std::string path_;
};

TEST_F(JournalTest, RemembersWhatWasFinished) {
  {
    auto journal = Journal::Open(path_, "key");
    ASSERT_TRUE(journal.ok()) << journal.status();
    EXPECT_EQ(journal->resumed(), 0u);
    ASSERT_TRUE(journal->Add("operator softmax", "{\"checks\":3}").ok());
    ASSERT_TRUE(journal->Add("repeat 1", "\"\n\xc3\xa4").ok());
  }
  auto journal = Journal::Open(path_, "key");
  ASSERT_TRUE(journal.ok());
  EXPECT_EQ(journal->resumed(), 2u);
  ASSERT_NE(journal->Find("repeat 1"), nullptr);
  EXPECT_EQ(*journal->Find("repeat 1"), "\"\n\xc3\xa4");
  EXPECT_EQ(journal->Find("repeat 2"), nullptr);
  journal->Remove();
  EXPECT_FALSE(FileExists(path_));
}

TEST_F(JournalTest, BeginsAnewForAnotherKey) {
  ASSERT_TRUE(Journal::Open(path_, "one")->Add("a", "1").ok());
  auto other = Journal::Open(path_, "two");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->resumed(), 0u);
  EXPECT_EQ(Journal::Open(path_, "one")->resumed(), 0u);
}

TEST_F(JournalTest, PassesOverATornEndAndGoesOn) {
  {
    auto journal = Journal::Open(path_, "key");
    ASSERT_TRUE(journal->Add("a", "1").ok());
    ASSERT_TRUE(journal->Add("b", "2").ok());
  }
  const std::string whole = *ReadFile(path_, 1 << 20);
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    ASSERT_TRUE(WriteFile(path_, std::string_view(whole).substr(0, cut)).ok());
    auto journal = Journal::Open(path_, "key");
    ASSERT_TRUE(journal.ok()) << cut;
    EXPECT_LE(journal->resumed(), 2u);
    ASSERT_TRUE(journal->Add("c", "3").ok());
    auto again = Journal::Open(path_, "key");
    ASSERT_NE(again->Find("c"), nullptr) << cut;
    EXPECT_EQ(again->resumed(), journal->resumed() + 1) << cut;
  }
}

}  // namespace
}  // namespace plinth::accept
