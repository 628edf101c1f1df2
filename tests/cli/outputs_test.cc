// Where results go: files, pipes, terminals, and what becomes of them when something fails.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

class OutputsTest : public CliTest {
 protected:
  void SetUp() override { Write("d.csv", HourlyCsv(100)); }
  const std::vector<std::string> forecast_ = {"forecast", "-d", "d.csv"};
  std::vector<std::string> To(const std::string& path) const {
    return {"forecast", "-d", "d.csv", "-o", path};
  }
};

TEST_F(OutputsTest, FilesByTheirEnding) {
  const RunResult plain = Run(forecast_);
  RunResult run = Run(To("f.csv"));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out + run.err, "");
  EXPECT_EQ(Read("f.csv"), plain.out);
  EXPECT_EQ(Run(To("f.json")).exit_code, 0);
  EXPECT_EQ(json::parse(Read("f.json")), RunJson({"forecast", "-d", "d.csv", "--json"}));
  EXPECT_EQ(Run(To("f.html")).exit_code, 0);
  ExpectError(To("f.txt"), 2, "--out f.txt: the name must end in .csv, .json or .html");
  ExpectError(To("nosuch/f.csv"), 2, "--out nosuch/f.csv: there is no folder nosuch; make it first");
  std::filesystem::create_directory(Path("g.csv"));
  ExpectError(To("g.csv"), 2, "g.csv: is a folder; a file is expected");
  EXPECT_EQ(Files(), (std::vector<std::string>{"d.csv", "f.csv", "f.html", "f.json", "g.csv"}));
}

TEST_F(OutputsTest, NeverReplacesWhatItIsMadeFrom) {
  const std::string before = Read("d.csv");
  ExpectError(To("d.csv"), 2, "--out d.csv is the file d.csv that the result is made from; name another one");
  std::filesystem::create_symlink("d.csv", Path("link.csv"));
  ExpectError(To("link.csv"), 2,
              "--out link.csv is the file d.csv that the result is made from; name another one");
  EXPECT_EQ(Read("d.csv"), before);
}

TEST_F(OutputsTest, BadInputLateInAFilePrintsNothing) {
  std::string rows = "item,time,v\n";
  for (int item = 0; item < 600; ++item) {
    for (int hour = 0; hour < 3; ++hour) {
      const std::string value = item == 599 && hour == 2 ? "abc" : "1";
      plinth::StrAppend(&rows, "s", item, ",2024-01-01T0", hour, ":00,", value, "\n");
    }
  }
  Write("late.csv", rows);
  ExpectError(
      {"forecast", "-d", "late.csv", "--item", "item", "-H", "1"}, 2,
      "late.csv: line 1801: column \"v\" is \"abc\"; a number or a gap (empty, NaN, null, NA) is expected");
}

TEST_F(OutputsTest, AFileAndStandardOutputTogether) {
  const RunResult run = Run({"forecast", "-d", "d.csv", "-o", "f.csv", "--json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(json::parse(run.out)["items"].size(), 1u);
  EXPECT_THAT(Read("f.csv"), StartsWith("target,time,mean,0.1"));
}

TEST_F(OutputsTest, TheCsvReadsBack) {
  EXPECT_EQ(Run(To("f.csv")).exit_code, 0);
  const json direct = RunJson({"forecast", "-d", "d.csv", "--json"});
  const json again = RunJson({"forecast", "-d", "f.csv", "--target", "mean", "--json"});
  EXPECT_EQ(direct["items"][0]["times"][95], "2024-01-09T03:00:00");
  EXPECT_EQ(again["items"][0]["start"], "2024-01-09T04:00:00");
}

TEST_F(OutputsTest, ThePageStandsAlone) {
  Write("d.csv", "time,\"</script><b>\"\n2024-01-01,41.5\n2024-01-02,\n2024-01-03,43.5\n");
  EXPECT_EQ(Run(To("f.html")).exit_code, 0);
  const std::string page = Read("f.html");
  EXPECT_THAT(page, testing::AllOf(HasSubstr("41.5"), HasSubstr("43.5"), HasSubstr("2024-01-04"),
                                   HasSubstr("plinth-ts-0"), HasSubstr("d.csv")));
  // The series is data, not code, and valid JSON: its gap is null.
  const size_t tag = page.find("class=\"series\"");
  ASSERT_NE(tag, page.npos);
  const size_t begin = page.find('>', tag) + 1;
  const json series = json::parse(page.substr(begin, page.find("</script>", begin) - begin), nullptr, false);
  EXPECT_FALSE(series.is_discarded());
  EXPECT_THAT(series.dump(), HasSubstr("null"));
  // Nothing is fetched: no source, style sheet or link to elsewhere.
  for (const char* outside :
       {"src=\"http", "href=\"http", "src=\"//", "@import", "url(http", "<link rel=\"styles"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(page, Not(HasSubstr("</script><b>")));
}

TEST_F(OutputsTest, AnOldFileStaysWhenTheRunFails) {
  Write("f.csv", "old\n");
  Write("bad.csv", HourlyCsv(300) + "2024-01-01T00:00:00,1\n");
  const RunResult run = Run({"forecast", "-d", "bad.csv", "-o", "f.csv"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err,
              StartsWith("plinth: error: bad.csv: line 302 (2024-01-01T00:00:00) lies before line 301 "));
  EXPECT_EQ(Read("f.csv"), "old\n");
  // No room: the write fails in the middle.
  ExpectError(To("f.csv"), 3, "f.csv: cannot be written: File too large", {.file_bytes = 100});
  EXPECT_EQ(Read("f.csv"), "old\n");
  EXPECT_EQ(Files(), (std::vector<std::string>{"bad.csv", "d.csv", "f.csv"}));
  EXPECT_EQ(Run(To("f.csv")).exit_code, 0);
  EXPECT_THAT(Read("f.csv"), StartsWith("target,"));
}

#ifndef __SANITIZE_ADDRESS__  // which needs terabytes of addresses
TEST_F(OutputsTest, MemoryRunsOut) {
  Write("f.csv", "old\n");
  std::vector<std::string> arguments = To("f.csv");
  arguments.insert(arguments.end(), {"--threads", "1"});
  const RunOptions little{.memory_bytes = 150 << 20};
  EXPECT_EQ(Run(arguments, little).exit_code, 0);
  Write("f.csv", "old\n");
  arguments.insert(arguments.end(), {"--horizon", "1048576"});
  ExpectError(
      arguments, 3,
      "memory ran out; fewer or shorter series at once, a shorter --horizon or smaller groups need less",
      little);
  EXPECT_EQ(Read("f.csv"), "old\n");
  EXPECT_EQ(Files(), (std::vector<std::string>{"d.csv", "f.csv"}));
}
#endif

TEST_F(OutputsTest, AFullDisk) {
  const std::string full = "standard output: cannot be written: No space left on device";
  ExpectError(forecast_, 3, full, {.output_file = "/dev/full"});
  ExpectError({"models", "show"}, 3, full, {.output_file = "/dev/full"});
  ExpectError({"--help"}, 3, full, {.output_file = "/dev/full"});
  ExpectError({"--version"}, 3, full, {.output_file = "/dev/full"});
  ASSERT_EQ(symlink("/dev/full", Path("full.csv").c_str()), 0);
  ExpectError(To("full.csv"), 3, "full.csv: cannot be written: No space left on device");
}

TEST_F(OutputsTest, NoPermission) {
  std::filesystem::create_directory(Path("locked"));
  chmod(Path("locked").c_str(), 0555);
  if (access(Path("locked").c_str(), W_OK) == 0) GTEST_SKIP() << "this user may write everywhere (root)";
  ExpectError(To("locked/f.csv"), 3, "locked/f.csv: cannot be written: Permission denied");
  Write("secret.csv", "x");
  chmod(Path("secret.csv").c_str(), 0);
  ExpectError({"forecast", "-d", "secret.csv"}, 3, "secret.csv: cannot be opened: Permission denied");
}

TEST_F(OutputsTest, AReaderThatHasEnough) {
  // As every program in a pipe: no noise, and the shell sees SIGPIPE. Files of the run are not left half.
  for (const std::vector<std::string>& arguments : {forecast_, {"models", "show"}, {"--help"}}) {
    const RunResult run = Run(arguments, {.close_output = true});
    EXPECT_EQ(run.err, "");
    EXPECT_EQ(run.exit_code, 128 + SIGPIPE);
  }
  const RunResult run =
      Run({"forecast", "-d", "d.csv", "-o", "f.csv", "--json", "-H", "5000"}, {.close_output = true});
  EXPECT_EQ(run.exit_code, 128 + SIGPIPE);
  EXPECT_EQ(Files(), std::vector<std::string>{"d.csv"});
}

TEST_F(OutputsTest, DescriptorsThatAreNotOpen) {
  ExpectError(forecast_, 3, "standard output: cannot be written: Bad file descriptor",
              {.without_output = true});
  // The file must not take the place of a stream that is not there.
  RunResult run = Run(To("f.csv"), {.without_output = true});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(Read("f.csv"), StartsWith("target,time,mean"));
  run = Run({"forecast", "-d", "d.csv", "-o", "g.csv", "--json"},
            {.without_output = true, .without_error = true});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(Files(), (std::vector<std::string>{"d.csv", "f.csv"}));
}

TEST_F(OutputsTest, AChartOnATerminalOnly) {
  const RunResult terminal = Run(forecast_, {.on_terminal = true});
  EXPECT_EQ(terminal.exit_code, 0);
  EXPECT_THAT(terminal.out, HasSubstr("\x1b["));
  EXPECT_THAT(terminal.out, Not(HasSubstr("target,time,mean")));
  const RunResult plain = Run(forecast_);
  EXPECT_THAT(plain.out, StartsWith("target,time,mean"));
  EXPECT_THAT(plain.out, Not(HasSubstr("\x1b")));
  const RunResult chart = Run({"forecast", "-d", "d.csv", "--chart"});
  EXPECT_EQ(chart.exit_code, 0);
  EXPECT_THAT(chart.out, Not(HasSubstr("target,time,mean")));
  EXPECT_THAT(chart.out, Not(HasSubstr("\x1b")));
  EXPECT_GT(std::count(chart.out.begin(), chart.out.end(), '\n'), 10);
  // JSON stays JSON, also there.
  const RunResult data = Run({"forecast", "-d", "d.csv", "--json"}, {.on_terminal = true});
  EXPECT_EQ(json::parse(data.out)["items"].size(), 1u);
}

TEST_F(OutputsTest, ErrorsStayOnOneLine) {
  Write("a\nb.csv", "time,y\n");
  const RunResult run = Run({"forecast", "-d", "a\nb.csv"});
  EXPECT_EQ(run.err, "plinth: error: a b.csv: has a header but no row of data\n");
}

}  // namespace
}  // namespace plinth::cli
