#include "plinth/formats/csv.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "plinth/base/faults.h"
#include "plinth/base/random.h"

namespace plinth::formats {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// All rows as text, the header first; or the message in a single cell.
Rows Read(std::string_view text, const CsvLimits& limits = {}) {
  auto reader = CsvReader::FromText(text, "F", limits);
  if (!reader.ok()) return {{std::string(reader.status().message())}};
  Rows rows = {reader->header()};
  while (true) {
    const auto more = reader->Next();
    if (!more.ok()) return {{std::string(more.status().message())}};
    if (!*more) return rows;
    rows.emplace_back(reader->row().begin(), reader->row().end());
  }
}

std::string Message(std::string_view text, const CsvLimits& limits = {}) { return Read(text, limits)[0][0]; }

// The numbers of column 0, or the message.
std::string Numbers(std::string_view text) {
  auto reader = CsvReader::FromText(text, "F");
  if (!reader.ok()) return std::string(reader.status().message());
  std::string out;
  while (true) {
    const auto more = reader->Next();
    if (!more.ok()) return std::string(more.status().message());
    if (!*more) return out;
    const auto number = reader->Number(0);
    if (!number.ok()) return std::string(number.status().message());
    StrAppend(&out, out.empty() ? "" : " ", *number);
  }
}

TEST(Csv, ReadsPlainTables) {
  const Rows expected = {{"a", "b"}, {"1", "2"}, {"", "x y"}};
  EXPECT_EQ(Read("a,b\n1,2\n,x y\n"), expected);
  EXPECT_EQ(Read("a,b\r\n1,2\r\n,x y\r\n"), expected);
  EXPECT_EQ(Read("a,b\n1,2\n,x y"), expected);
  EXPECT_EQ(Read("a;b\n1;2\n;x y\n"), expected);
  EXPECT_EQ(Read("a\tb\n1\t2\n\tx y\n"), expected);
  EXPECT_EQ(Read("\xef\xbb\xbf"
                 "a,b\n1,2\n,x y\n"),
            expected);
  EXPECT_EQ(Read("\n \n a , b \n\n1,2\n   \r\n,x y\n\n\n"), expected);
}

TEST(Csv, ReadsQuotes) {
  EXPECT_EQ(Read("\"a, b\",\"c \"\"d\"\"\"\n\"1\n2\r\n3\",\"\"\n"),
            (Rows{{"a, b", "c \"d\""}, {"1\n2\r\n3", ""}}));
  EXPECT_EQ(Read("a,b\n \"x\" , \"y,z\"\n"), (Rows{{"a", "b"}, {"x", "y,z"}}));
  EXPECT_EQ(Read("a,b\n\"\"\"\",\"\"\"\"\"\"\n"), (Rows{{"a", "b"}, {"\"", "\"\""}}));
  EXPECT_EQ(Read("a,b\n\"x\",2"), (Rows{{"a", "b"}, {"x", "2"}}));
  EXPECT_EQ(Read("a,b\n1,\"x\""), (Rows{{"a", "b"}, {"1", "x"}}));
  // Delimiters inside quotes do not count for the choice.
  EXPECT_EQ(Read("\"a,b,c\";d\n1;2\n"), (Rows{{"a,b,c", "d"}, {"1", "2"}}));
}

TEST(Csv, KnowsItsLines) {
  auto reader = CsvReader::FromText("a,b\n\n\"x\ny\",1\n2,3\n", "F");
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE(*reader->Next());
  EXPECT_EQ(reader->line(), 3);
  ASSERT_TRUE(*reader->Next());
  EXPECT_EQ(reader->line(), 5);
  EXPECT_FALSE(*reader->Next());
  EXPECT_FALSE(*reader->Next());
  EXPECT_EQ(reader->bytes_read(), reader->file_bytes());
}

TEST(Csv, BlankLinesOfOneColumnAreGaps) {
  EXPECT_EQ(Numbers("v\n1\n\n \n4\n\n\n"), "1 nan nan 4");
  EXPECT_EQ(Numbers("v\n\n2\n\"\"\n"), "nan 2 nan");
  auto reader = CsvReader::FromText("v\n1\n\n\n4\n", "F");
  for (const int64_t line : {2, 3, 4, 5}) {
    ASSERT_TRUE(*reader->Next());
    EXPECT_EQ(reader->line(), line);
  }
  EXPECT_FALSE(*reader->Next());
}

TEST(Csv, RefusesBadHeaders) {
  EXPECT_EQ(Message(""), "F: is empty; a header with column names is expected");
  EXPECT_EQ(Message("\n\n"), "F: is empty; a header with column names is expected");
  EXPECT_EQ(Message("a,b\n"), "F: has a header but no row of data");
  EXPECT_EQ(Message("a,b\n\n \n"), "F: has a header but no row of data");
  EXPECT_EQ(Message("a,b,a\n1,2,3\n"), "F: line 1: columns 1 and 3 are both named \"a\"");
  EXPECT_EQ(Message("a,,b,\n1,2,3,4\n"), "F: line 1: columns 2 and 4 have no name");
  EXPECT_EQ(Message("2020-01-01,5.5\n1,2\n"),
            "F: line 1: begins with \"2020-01-01\" like data; a header with column names is expected");
  EXPECT_EQ(Message("7\n8\n"),
            "F: line 1: begins with \"7\" like data; a header with column names is expected");
  EXPECT_EQ(
      Message("a,b;c\n1,2\n"),
      "F: line 1: the header has 1 commas, 1 semicolons and 0 tabs outside quotes; one of them must be the "
      "most frequent");
  EXPECT_EQ(Message("\xff\xfe"
                    "a"),
            "F: is UTF-16; UTF-8 is expected");
  // pandas' nameless index and numbered columns.
  EXPECT_EQ(Read(",x\n0,1\n"), (Rows{{"", "x"}, {"0", "1"}}));
  EXPECT_EQ(Read("0,1\n5,6\n"), (Rows{{"0", "1"}, {"5", "6"}}));
}

TEST(Csv, RefusesBadRows) {
  EXPECT_EQ(Message("a,b\n1,2\n3\n"), "F: line 3: has 1 cell; the header has 2");
  EXPECT_EQ(Message("a,b\n1,2,3\n"), "F: line 2: has 3 cells; the header has 2");
  EXPECT_EQ(Message("a,b\n1,x\"y\"\n"),
            "F: line 2: column \"b\" has a quote inside; quote the whole cell and double the quote");
  EXPECT_EQ(Message("a,b\n\"x\"y,1\n"), "F: line 2: column \"a\" goes on after its closing quote");
  EXPECT_EQ(Message("a,b\n1,\"x\n3,4\n"), "F: line 2: a quote is opened and not closed");
  EXPECT_EQ(Message("a,b\n1,x\ry\n"),
            "F: line 2: column \"b\" holds a carriage return; lines end with \\n or \\r\\n");
  EXPECT_EQ(Message("a,b\n\"1\",x\ry\n"),
            "F: line 2: column \"b\" holds a carriage return; lines end with \\n or \\r\\n");
  EXPECT_EQ(Message(std::string_view("a,b\n1,x\0\n", 9)),
            "F: line 2: column \"b\" holds a zero byte; text is expected");
  EXPECT_EQ(Message("a,b\n\xc3\xa9,\xe9\n"), "F: line 2: column \"b\" holds bytes that are not UTF-8");
  EXPECT_EQ(Message("a,\xe9\n"), "F: line 1: column 2 holds bytes that are not UTF-8");
  EXPECT_EQ(Message("a,b\n\"1,2\",\xe9\n"), "F: line 2: column \"b\" holds bytes that are not UTF-8");
}

TEST(Csv, KeepsItsLimits) {
  const CsvLimits limits = {.record_bytes = 20, .columns = 3};
  EXPECT_EQ(Message("a,b\n" + std::string(21, 'x') + "\n", limits), "F: line 2: is longer than 20 bytes");
  EXPECT_EQ(Message("a,b\n" + std::string(21, 'x'), limits), "F: line 2: is longer than 20 bytes");
  EXPECT_EQ(Message("a,b\n1,\"" + std::string(15, '\n') + "5678901\n", limits),
            "F: line 2: is longer than 20 bytes; a quote is opened and not closed");
  EXPECT_EQ(Message("a,b,c,d\n", limits),
            "F: line 1: has more than 3 cells; a table of at most 3 columns is expected");
  EXPECT_EQ(Message("a,b\n\"1\",2,3,4\n", limits),
            "F: line 2: has more than 3 cells; a table of at most 3 columns is expected");
}

TEST(Csv, FindsColumns) {
  const auto reader = CsvReader::FromText("time,load\n1,2\n", "F");
  EXPECT_EQ(*reader->Column("load"), 1);
  EXPECT_EQ(reader->Column("x").status().message(), "F: has no column \"x\"; it has \"time\", \"load\"");
  EXPECT_EQ(reader->Column("x").status().code(), absl::StatusCode::kNotFound);
  std::string wide = "c0";
  for (int i = 1; i < 23; ++i) StrAppend(&wide, ",c", i);
  EXPECT_TRUE(absl::StrContains(CsvReader::FromText(wide, "F")->Column("x").status().message(),
                                "\"c19\" and 3 more"));
}

TEST(Csv, ReadsNumbersAndGaps) {
  EXPECT_EQ(
      Numbers("v,w\n1,\n-2.5,\n+3e2,\n 4 ,\n.5,\n5.,\n,\nNaN,\nnan,\n-nan,\nnull,\nNULL,\nNA,\nna,\n  ,\n"),
      "1 -2.5 300 4 0.5 5 nan nan nan nan nan nan nan nan nan");
  const std::string wanted = "; a number or a gap (empty, NaN, null, NA) is expected";
  for (const std::string bad : {"abc", "1.5x", "0x10", "1_000", "--1", "+-1", "-", "+", ".", "1e", "nan(1)",
                                "true", "1 2", "-null", "1.2.3"}) {
    EXPECT_EQ(Numbers("v,w\n" + bad + ",\n"), "F: line 2: column \"v\" is \"" + bad + "\"" + wanted);
  }
  EXPECT_EQ(Numbers("v,w\n\"1,5\",\n"), "F: line 2: column \"v\" is \"1,5\"" + wanted);
  for (const std::string bad : {"inf", "-Infinity", "INF"}) {
    EXPECT_EQ(Numbers("v,w\n" + bad + ",\n"),
              "F: line 2: column \"v\" is \"" + bad +
                  "\"; a finite number or a gap (empty, NaN, null, NA) is expected");
  }
  EXPECT_EQ(Numbers("v,w\n-1e999,\n"),
            "F: line 2: column \"v\" is \"-1e999\"; a number within the range of double is expected");
}

TEST(Csv, KeepsFullPrecision) {
  double value;
  const auto read = [&](std::string_view text) {
    EXPECT_EQ(ParseNumber(text, false, &value), CellKind::kNumber) << text;
    return value;
  };
  EXPECT_EQ(read("0.1"), 0.1);
  EXPECT_EQ(read("1000000.001"), 1000000.001);
  EXPECT_EQ(read("9007199254740993"), 9007199254740992.0);  // the tie goes to even
  EXPECT_EQ(read("1.7976931348623157e308"), std::numeric_limits<double>::max());
  EXPECT_EQ(read("5e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(read("1e-400"), 0);
  EXPECT_TRUE(std::signbit(read("-1e-400")));
  EXPECT_EQ(read("0." + std::string(400, '0') + "1"), 0);
  EXPECT_EQ(read("1" + std::string(400, '0') + "e-400"), 1);
  EXPECT_TRUE(std::signbit(read("-0")));
}

TEST(Csv, TakesOneDecimalSign) {
  EXPECT_EQ(Numbers("v;w\n1,5;x\n-,25;x\n+2e1;x\n"), "1.5 -0.25 20");
  EXPECT_EQ(Numbers("v\tw\n1,5\tx\n"), "1.5");
  EXPECT_EQ(Numbers("v;w\n1.5;x\n2;x\n"), "1.5 2");
  EXPECT_EQ(Numbers("v;w\n1.234,5;x\n"),
            "F: line 2: column \"v\" is \"1.234,5\"; a number or a gap (empty, NaN, null, NA) is expected");
  EXPECT_EQ(Numbers("v;w\n1,5;x\n2;x\n1.234;x\n"),
            "F: line 4: column \"v\" is \"1.234\", but line 2 writes decimals with a comma; one of the two "
            "is expected "
            "throughout");
  EXPECT_EQ(Numbers("v;w\n1.5;x\n1,234;x\n"),
            "F: line 3: column \"v\" is \"1,234\", but line 2 writes decimals with a point; one of the two "
            "is expected "
            "throughout");
}

class CsvFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/plinth_csv_XXXXXX";
    const int fd = mkstemp(pattern.data());
    ASSERT_GE(fd, 0);
    close(fd);
    path_ = pattern;
  }
  void TearDown() override { unlink(path_.c_str()); }
  std::string path_;
};

// Whatever the pieces in which a file is read, rows come out as from memory.
TEST_F(CsvFileTest, StreamsWhatItWrote) {
  Random random(3);
  std::string text;
  CsvWriter csv(&text);
  for (const char* name : {"item", "value", "note"}) csv.Cell(name);
  csv.EndRow();
  std::vector<double> values;
  std::vector<std::string> notes;
  for (int i = 0; i < 20000; ++i) {
    values.push_back(i % 7 == 0 ? std::nan("") : random.Normal() * 1e3);
    std::string note;
    for (uint64_t n = random.Below(i % 1000 == 0 ? 100000 : 30); n > 0; --n)
      note += "ab \",;\n\r"[random.Below(8)];
    notes.push_back(note);
    csv.Cell(StrCat("item ", i));
    csv.Number(values.back());
    csv.Cell(note);
    csv.EndRow();
  }
  ASSERT_TRUE(WriteFile(path_, text).ok());
  auto reader = CsvReader::Open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->file_bytes(), static_cast<int64_t>(text.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto more = reader->Next();
    ASSERT_TRUE(more.ok() && *more) << more.status();
    const double value = *reader->Number(1);
    ASSERT_TRUE(value == values[i] || (std::isnan(value) && std::isnan(values[i])));
    ASSERT_EQ(reader->row()[2], notes[i]);
  }
  EXPECT_FALSE(*reader->Next());
  EXPECT_EQ(reader->bytes_read(), reader->file_bytes());
}

TEST_F(CsvFileTest, ReportsReadErrors) {
  EXPECT_EQ(CsvReader::Open(path_ + "x").status().message(),
            path_ + "x: cannot be opened: No such file or directory");
  std::string text = "a,b\n";
  for (int i = 0; i < 100000; ++i) text += "1,2\n";
  ASSERT_TRUE(WriteFile(path_, text).ok());
  ScopedFault fault(Syscall::kRead, 2, EIO);
  auto reader = CsvReader::Open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  StatusOr<bool> more = true;
  while (more.ok() && *more) more = reader->Next();
  EXPECT_EQ(more.status().message(), path_ + ": cannot be read: Input/output error");
}

TEST(CsvWriter, QuotesWhatNeedsIt) {
  std::string out;
  CsvWriter csv(&out, ';');
  for (const char* cell : {"plain", "", "a;b", "say \"x\"", "two\nlines", " x", "a,b"}) csv.Cell(cell);
  csv.Number(0.1);
  csv.Number(0.1f);
  csv.Number(std::nan(""));
  csv.Number(std::nanf(""));
  csv.Int(-3);
  csv.EndRow();
  csv.Cell("");
  csv.EndRow();
  EXPECT_EQ(out, "plain;;\"a;b\";\"say \"\"x\"\"\";\"two\nlines\";\" x\";a,b;0.1;0.1;;;-3\n\"\"\n");
}

}  // namespace
}  // namespace plinth::formats
