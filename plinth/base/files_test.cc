#include "plinth/base/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "gtest/gtest.h"
#include "plinth/base/faults.h"

namespace plinth {
namespace {

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/plinth_files_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/file";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Content() { return *ReadFile(path_, 1 << 20); }
  // Nothing but the file itself is left in the folder.
  void ExpectClean() { EXPECT_EQ(*ListFolder(folder_), std::vector<std::string>{"file"}); }

  std::string folder_, path_;
};

TEST_F(FilesTest, ReplacesAFile) {
  ASSERT_TRUE(WriteFile(path_, "old").ok());
  EXPECT_EQ(Content(), "old");
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  const std::string large(1 << 19, 'x');
  ASSERT_TRUE(WriteFile(path_, large).ok());
  EXPECT_EQ(Content(), large);
  ExpectClean();
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(FilesTest, ADroppedWriterLeavesTheOldFile) {
  ASSERT_TRUE(WriteFile(path_, "old").ok());
  {
    auto writer = AtomicWriter::Create(path_);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(writer->Write(std::string(1 << 20, 'x')).ok());
    EXPECT_EQ(ListFolder(folder_)->size(), 2u);
  }
  EXPECT_EQ(Content(), "old");
  ExpectClean();
}

// Whichever call fails, at whatever count, the old file stays whole and nothing is left beside it.
TEST_F(FilesTest, AnyFailureLeavesTheOldFile) {
  struct Case {
    Syscall call;
    int error;
    std::string message;
    absl::StatusCode code;
  };
  const Case cases[] = {
      {Syscall::kOpen, EACCES, "cannot be written: Permission denied", absl::StatusCode::kPermissionDenied},
      {Syscall::kWrite, ENOSPC, "cannot be written: No space left on device",
       absl::StatusCode::kResourceExhausted},
      {Syscall::kFsync, EIO, "cannot be flushed to the disk: Input/output error",
       absl::StatusCode::kUnavailable},
      {Syscall::kRename, EROFS, "cannot be replaced: Read-only file system",
       absl::StatusCode::kPermissionDenied}};
  ASSERT_TRUE(WriteFile(path_, "old").ok());
  const std::string large(1 << 20, 'x');
  for (const Case& c : cases) {
    int failures = 0;
    for (int nth = 1; nth < 20; ++nth) {
      Status status;
      {
        ScopedFault fault(c.call, nth, c.error);
        auto writer = AtomicWriter::Create(path_);
        status = writer.status();
        for (int i = 0; i < 3 && status.ok(); ++i) status = writer->Write(large);
        if (status.ok()) status = writer->Write("tail");
        if (writer.ok()) status = writer->Commit();
        // The second open and fsync are the folder's, after the new file is in place.
        const bool folder = (c.call == Syscall::kFsync || c.call == Syscall::kOpen) && nth == 2;
        if (!fault.fired() || folder) break;
      }
      ++failures;
      EXPECT_EQ(status.message(), path_ + ": " + c.message);
      EXPECT_EQ(status.code(), c.code);
      EXPECT_EQ(Content(), "old");
      ExpectClean();
    }
    EXPECT_EQ(failures, c.call == Syscall::kWrite ? 4 : 1);
    ASSERT_TRUE(WriteFile(path_, "old").ok());
  }
}

TEST_F(FilesTest, SaysWhenTheFolderCannotBeFlushed) {
  ScopedFault fault(Syscall::kFsync, 2, EIO);
  EXPECT_EQ(WriteFile(path_, "new").message(),
            path_ + ": cannot be made durable, though it was written: Input/output error");
  EXPECT_EQ(Content(), "new");
}

TEST_F(FilesTest, RepeatsTheErrorAtCommit) {
  auto writer = AtomicWriter::Create(path_);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ScopedFault fault(Syscall::kWrite, 1, EDQUOT);
  const Status first = writer->Write(std::string(1 << 20, 'x'));
  EXPECT_EQ(first.message(), path_ + ": cannot be written: Disk quota exceeded");
  EXPECT_EQ(writer->Write("more"), first);
  EXPECT_EQ(writer->Commit(), first);
  EXPECT_TRUE(ListFolder(folder_)->empty());
}

TEST_F(FilesTest, AFullDiskIsAnErrorOfTheEnvironment) {
  // /dev/full takes no byte.
  const Status status = WriteFile("/dev/full", "x");
  EXPECT_EQ(status.message(), "/dev/full: cannot be written: No space left on device");
  EXPECT_EQ(ExitCode(status), 3);
}

TEST_F(FilesTest, RefusesBadTargets) {
  EXPECT_EQ(WriteFile(folder_, "x").message(), folder_ + ": is a folder; a file is expected");
  EXPECT_EQ(WriteFile(folder_ + "/no/file", "x").message(),
            folder_ + "/no/file: cannot be written: No such file or directory");
  EXPECT_EQ(WriteFile(folder_ + "/no/file", "x").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(WriteFile(folder_ + "/" + std::string(300, 'n'), "x").code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(FilesTest, KeepsLinksAndLongNames) {
  ASSERT_TRUE(WriteFile(path_, "old").ok());
  const std::string link = folder_ + "/link";
  ASSERT_EQ(symlink("file", link.c_str()), 0);
  ASSERT_TRUE(WriteFile(link, "new").ok());
  EXPECT_EQ(Content(), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(WriteFile(folder_ + "/" + std::string(255, 'n'), "x").ok());
}

TEST_F(FilesTest, WritesThroughAPipe) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = *ReadFile(path_, 1 << 20); });
  EXPECT_TRUE(WriteFile(path_, std::string(300000, 'p')).ok());
  reader.join();
  EXPECT_EQ(got, std::string(300000, 'p'));
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_TRUE(S_ISFIFO(info.st_mode));
  EXPECT_EQ(MappedFile::Open(path_).status().message(), path_ + ": is not a regular file");
}

TEST_F(FilesTest, ReadsWithALimit) {
  ASSERT_TRUE(WriteFile(path_, "12345").ok());
  EXPECT_EQ(*ReadFile(path_, 5), "12345");
  const auto over = ReadFile(path_, 4);
  EXPECT_EQ(over.status().message(), path_ + ": holds 5 bytes; at most 4 are allowed");
  EXPECT_EQ(over.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadFile("/dev/zero", 100000).status().message(),
            "/dev/zero: holds more than the 100000 bytes allowed");
  EXPECT_EQ(ReadFile(folder_, 5).status().message(), folder_ + ": is a folder; a file is expected");
  EXPECT_EQ(ReadFile(folder_ + "/no", 5).status().message(),
            folder_ + "/no: cannot be opened: No such file or directory");
  ASSERT_TRUE(WriteFile(path_, "").ok());
  EXPECT_EQ(*ReadFile(path_, 0), "");
}

TEST_F(FilesTest, ReadFailuresNameTheFile) {
  ASSERT_TRUE(WriteFile(path_, "12345").ok());
  {
    ScopedFault fault(Syscall::kRead, 1, EIO);
    EXPECT_EQ(ReadFile(path_, 5).status().message(), path_ + ": cannot be read: Input/output error");
  }
  {
    ScopedFault fault(Syscall::kRead, 1, EINTR);  // tried again
    EXPECT_EQ(*ReadFile(path_, 5), "12345");
  }
  {
    ScopedFault fault(Syscall::kOpen, 1, EMFILE);
    EXPECT_EQ(ReadFile(path_, 5).status().code(), absl::StatusCode::kResourceExhausted);
  }
  ScopedFault fault(Syscall::kMmap, 1, ENOMEM);
  EXPECT_EQ(MappedFile::Open(path_).status().message(), path_ + ": cannot be mapped: Cannot allocate memory");
}

TEST_F(FilesTest, MapsAndReleases) {
  const std::string text(100000, 'm');
  ASSERT_TRUE(WriteFile(path_, text).ok());
  auto opened = MappedFile::Open(path_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  MappedFile file;
  file = std::move(*opened);
  for (const auto& [offset, length] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 100000}, {1, 99999}, {99999, 1}, {100000, 0}, {5000, 1 << 30}, {-5, 10}, {200000, 1}}) {
    file.Release(offset, length);
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()),
              text);
  }
  ASSERT_TRUE(WriteFile(path_, "other").ok());  // the mapping keeps the file it opened
  EXPECT_EQ(file.bytes()[99999], std::byte{'m'});
  ASSERT_TRUE(WriteFile(path_, "").ok());
  EXPECT_EQ(MappedFile::Open(path_)->size(), 0);
  EXPECT_EQ(MappedFile::Open(folder_).status().message(), folder_ + ": is a folder; a file is expected");
}

TEST_F(FilesTest, HandlesFolders) {
  const std::string deep = folder_ + "/a/b//c/";
  ASSERT_TRUE(MakeFolders(deep).ok());
  ASSERT_TRUE(MakeFolders(deep).ok());
  EXPECT_TRUE(IsFolder(deep));
  EXPECT_FALSE(FileExists(deep));
  ASSERT_TRUE(WriteFile(path_, "x").ok());
  EXPECT_TRUE(FileExists(path_));
  EXPECT_EQ(MakeFolders(path_ + "/d").message(), path_ + ": cannot be made a folder: File exists");
  EXPECT_EQ(*ListFolder(folder_), (std::vector<std::string>{"a", "file"}));
  EXPECT_EQ(ListFolder(folder_ + "/no").status().message(),
            folder_ + "/no: cannot be listed: No such file or directory");
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(BaseName("a/b/"), "b");
  EXPECT_EQ(BaseName("b"), "b");
  EXPECT_EQ(BaseName("/"), "/");
}

}  // namespace
}  // namespace plinth
