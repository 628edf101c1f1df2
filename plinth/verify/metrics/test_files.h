// Gives each test of task metrics a folder of its own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "plinth/base/files.h"

namespace plinth::verify::metrics {

class TestFiles {
 public:
  TestFiles() {
    static std::atomic<int> next{0};
    folder_ = std::filesystem::temp_directory_path() / StrCat("plinth_metrics_", getpid(), "_", next++);
    std::filesystem::create_directories(folder_);
  }
  ~TestFiles() { std::filesystem::remove_all(folder_); }
  TestFiles(const TestFiles&) = delete;
  TestFiles& operator=(const TestFiles&) = delete;

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  // The path of a new file with this text.
  std::string Write(const std::string& name, std::string_view text) const {
    EXPECT_TRUE(WriteFile(Path(name), text).ok());
    return Path(name);
  }

 private:
  std::filesystem::path folder_;
};

inline std::string SourcePath(const std::string& path) {
  const char* folder = std::getenv("PLINTH_SOURCE_DIR");
  return (std::filesystem::path(folder == nullptr ? "." : folder) / path).string();
}

}  // namespace plinth::verify::metrics
