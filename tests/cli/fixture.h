// What the command-line tests share: a folder of their own, files in it, and the run of the program there.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"
#include "plinth/base/text.h"
#include "tests/cli/run_program.h"

namespace plinth::cli {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

inline std::string Source(const std::string& path) {
  const char* folder = std::getenv("PLINTH_SOURCE_DIR");
  return (std::filesystem::path(folder == nullptr ? PLINTH_SOURCE : folder) / path).string();
}

// Hourly rows "2024-01-01T00:00:00,VALUE" from the first of January on.
std::string HourlyRow(int64_t hour, const std::string& value);
std::string HourlyCsv(int64_t rows, double level = 10, double amplitude = 3);

class CliTest : public ::testing::Test {
 protected:
  CliTest();
  ~CliTest() override;

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, std::string_view text) const;
  std::string Read(const std::string& name) const;
  std::vector<std::string> Files() const;  // names in the folder, sorted

  RunResult Run(const std::vector<std::string>& arguments, RunOptions options = {}) const;
  // Exit code and one line "plinth: error: MESSAGE" and nothing on standard output.
  void ExpectError(const std::vector<std::string>& arguments, int exit_code, const std::string& message,
                   const RunOptions& options = {}) const;
  // The JSON of a run that must succeed silently.
  json RunJson(const std::vector<std::string>& arguments, const RunOptions& options = {}) const;
  // One line of JSON each.
  std::vector<json> RunJsonLines(const std::vector<std::string>& arguments) const;

  std::string folder_;
};

}  // namespace plinth::cli
