#include "plinth/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/base/faults.h"
#include "plinth/base/files.h"

namespace plinth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TemporaryFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/plinth_temporary_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(TemporaryFolderTest, IsMovedToItsPlaceOrDisappears) {
  {
    auto made = TemporaryFolder::MakeFor(folder_ + "/a/");
    ASSERT_TRUE(made.ok()) << made.status();
    ASSERT_TRUE(WriteFile(made->path() + "/x", "1").ok());
    ASSERT_TRUE(MakeFolders(made->path() + "/b/c").ok());
    EXPECT_FALSE(FileExists(folder_ + "/a/x"));
  }
  EXPECT_THAT(*ListFolder(folder_), IsEmpty());
  auto made = TemporaryFolder::MakeFor(folder_ + "/a/");
  ASSERT_TRUE(WriteFile(made->path() + "/x", "1").ok());
  ASSERT_TRUE(made->Move().ok());
  *made = *TemporaryFolder::MakeFor(folder_ + "/b");
  EXPECT_TRUE(FileExists(folder_ + "/a/x"));
  made = TemporaryFolder::Make();
  EXPECT_THAT(*ListFolder(folder_), ElementsAre("a"));
  EXPECT_TRUE(IsFolder(made->path()));
}

TEST_F(TemporaryFolderTest, NeverTakesAnothersPlace) {
  EXPECT_EQ(TemporaryFolder::MakeFor(folder_).status().message(),
            folder_ + ": exists already and is not overwritten; name a new folder");
  EXPECT_FALSE(TemporaryFolder::MakeFor("").ok());
  EXPECT_EQ(TemporaryFolder::MakeFor(folder_ + "/no/a").status().code(), absl::StatusCode::kNotFound);
  auto made = TemporaryFolder::MakeFor(folder_ + "/a");
  ASSERT_TRUE(MakeFolders(folder_ + "/a").ok());  // an empty folder, which a rename would replace
  const Status status = made->Move();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(*ListFolder(folder_), ElementsAre("a"));
}

TEST_F(TemporaryFolderTest, ErrorsNameThePlace) {
  auto made = TemporaryFolder::MakeFor(folder_ + "/a");
  const Status inside = absl::ResourceExhaustedError(made->path() + "/x: cannot be written: No space left");
  EXPECT_EQ(made->Named(inside).message(), folder_ + "/a/x: cannot be written: No space left");
  EXPECT_EQ(made->Named(inside).code(), inside.code());
  {
    ScopedFault fault(Syscall::kRename, 1, ENOSPC);
    EXPECT_THAT(std::string(made->Move().message()), HasSubstr(folder_ + "/a: cannot be written"));
  }
  EXPECT_THAT(*ListFolder(folder_), IsEmpty());
  ScopedFault fault(Syscall::kOpen, 1, EACCES);
  EXPECT_EQ(ExitCode(TemporaryFolder::MakeFor(folder_ + "/a").status()), 3);
}

}  // namespace
}  // namespace plinth
