// Memory of plinth compare does not grow with its files: anonymous pages stay below 200 MB. The files are
// sparse.
#include <cstdio>

#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

constexpr int64_t kMost = 200 << 20;

// Pages of a process that no file backs, in bytes; 0 where it is gone.
int64_t AnonymousBytes(int process) {
  std::ifstream status(StrCat("/proc/", process, "/status"));
  for (std::string line; std::getline(status, line);) {
    long long kilobytes = 0;
    if (std::sscanf(line.c_str(), "RssAnon: %lld kB", &kilobytes) == 1) return kilobytes * 1024;
  }
  return 0;
}

class CompareMemoryTest : public CliTest {
 protected:
  // A file with one tensor "x" of zeros, `last` in its last bytes; most of it is never written.
  void Sparse(const std::string& name, const std::string& dtype, int64_t bytes, const std::string& shape,
              std::string_view last = "") const {
    std::string header =
        StrCat(R"({"x":{"dtype":")", dtype, R"(","shape":)", shape, R"(,"data_offsets":[0,)", bytes, "]}}");
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::string text(8, '\0');
    for (int i = 0; i < 8; ++i)
      text[static_cast<size_t>(i)] = static_cast<char>(header.size() >> (8 * i) & 255);
    Write(name, text + header);
    const auto size = text.size() + header.size() + static_cast<size_t>(bytes);
    std::filesystem::resize_file(Path(name), size);
    std::fstream file(Path(name), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size - last.size()));
    file.write(last.data(), static_cast<std::streamsize>(last.size()));
  }

  void ExpectSmall(std::vector<std::string> arguments, int exit_code) const {
    arguments.insert(arguments.begin(), "compare");
    int64_t peak = 0;
    RunOptions options;
    options.meanwhile = [&](int process) { peak = std::max(peak, AnonymousBytes(process)); };
    const RunResult run = Run(arguments, options);
    const std::string what = Join(arguments, " ");
    EXPECT_EQ(run.exit_code, exit_code) << what << "\n" << run.err << run.out;
    EXPECT_GT(peak, 0) << what;
    EXPECT_LT(peak, kMost) << what;
  }
};

TEST_F(CompareMemoryTest, StaysBelow200Megabytes) {
  constexpr int64_t kGigabyte = int64_t{1} << 30;
  Sparse("large", "F32", 2 * kGigabyte, "[16384,32768]");
  ExpectSmall({"large", "large"}, 0);
  std::filesystem::remove(Path("large"));

  Sparse("turned", "F32", kGigabyte / 8, "[1024,32768]");
  ExpectSmall({"turned", "turned", "--digest"}, 0);
  Write("turn.toml",
        "[[layout]]\npattern = 'x'\npermute = [1, 0]\n[[layout]]\npattern = 'x'\nside = "
        "'reference'\npermute = [1, 0]\n");
  // The rules need dense tensors: copies of what is turned go to files.
  ExpectSmall({"turned", "turned", "--map", "turn.toml", "--rules", "builtin"}, 0);
  std::filesystem::remove(Path("turned"));

  // A failure is looked at again, and rules look twice.
  Sparse("right", "F32", kGigabyte / 16, "[2097152,8]");
  Sparse("wrong", "F32", kGigabyte / 16, "[2097152,8]", std::string_view("\0\0\x80\x3f", 4));
  ExpectSmall({"right", "wrong"}, 1);
  Sparse("truth", "F64", kGigabyte / 8, "[2097152,8]");
  ExpectSmall({"right", "right", "--truth", "truth"}, 0);
}

}  // namespace
}  // namespace plinth::cli
