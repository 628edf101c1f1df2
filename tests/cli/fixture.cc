#include "tests/cli/fixture.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <sstream>

namespace plinth::cli {

std::string HourlyRow(int64_t hour, const std::string& value) {
  const std::time_t seconds = 1704067200 + hour * 3600;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char stamp[32];
  const size_t length = std::strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &parts);
  return StrCat(std::string_view(stamp, length), ",", value, "\n");
}

std::string HourlyCsv(int64_t rows, double level, double amplitude) {
  std::string text = "time,y\n";
  for (int64_t i = 0; i < rows; ++i) {
    char value[64];
    std::snprintf(value, sizeof(value), "%.12g",
                  level + amplitude * std::sin(2 * M_PI * static_cast<double>(i) / 24));
    text += HourlyRow(i, value);
  }
  return text;
}

CliTest::CliTest() {
  std::string name = (std::filesystem::temp_directory_path() / "plinth-cli-XXXXXX").string();
  folder_ = std::filesystem::canonical(mkdtemp(name.data())).string();
}

CliTest::~CliTest() { std::filesystem::remove_all(folder_); }

void CliTest::Write(const std::string& name, std::string_view text) const {
  std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
  std::ofstream(Path(name), std::ios::binary) << text;
}

std::string CliTest::Read(const std::string& name) const {
  std::ifstream file(Path(name), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> CliTest::Files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

RunResult CliTest::Run(const std::vector<std::string>& arguments, RunOptions options) const {
  if (options.folder.empty()) options.folder = folder_;
  // No key of whoever runs the tests: evidence that lies beside the shipped model is then nobody's. Later
  // settings win.
  options.settings.insert(options.settings.begin(), {"XDG_CONFIG_HOME", Path("config")});
  return RunPlinth(arguments, options);
}

void CliTest::ExpectError(const std::vector<std::string>& arguments, int exit_code,
                          const std::string& message, const RunOptions& options) const {
  const RunResult run = Run(arguments, options);
  EXPECT_EQ(run.err, "plinth: error: " + message + "\n");
  EXPECT_EQ(run.exit_code, exit_code);
  EXPECT_EQ(run.out, "");
}

json CliTest::RunJson(const std::vector<std::string>& arguments, const RunOptions& options) const {
  const RunResult run = Run(arguments, options);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  const json result = json::parse(run.out, nullptr, false);
  EXPECT_FALSE(result.is_discarded()) << run.out.substr(0, 500);
  return result;
}

std::vector<json> CliTest::RunJsonLines(const std::vector<std::string>& arguments) const {
  const RunResult run = Run(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  std::vector<json> lines;
  std::istringstream text(run.out);
  for (std::string line; std::getline(text, line);) {
    lines.push_back(json::parse(line, nullptr, false));
    EXPECT_FALSE(lines.back().is_discarded()) << line;
  }
  return lines;
}

}  // namespace plinth::cli
