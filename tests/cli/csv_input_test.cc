// Series files as plants write them: what is read, and what is refused with its place and the next step.
#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

class CsvInputTest : public CliTest {
 protected:
  // One step of forecast, as JSON, of a file with this text.
  json Forecast(const std::string& text, const std::vector<std::string>& options = {}) {
    Write("d.csv", text);
    return RunJson(With(options));
  }
  void Refuse(const std::string& text, const std::string& message,
              const std::vector<std::string>& options = {}) {
    Write("d.csv", text);
    ExpectError(With(options), 2, message);
  }
  static std::vector<std::string> With(const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"forecast", "-d", "d.csv", "-H", "2", "-q", "0.5", "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
  }
  static std::vector<std::string> Targets(const json& result) {
    std::vector<std::string> names;
    for (const json& item : result["items"]) names.push_back(item["target"]);
    return names;
  }
};

constexpr const char* kTwo = "time,y\n2024-01-01,1\n2024-01-02,2\n";

TEST_F(CsvInputTest, TextThatIsNoTable) {
  const std::string number = "; a number or a gap (empty, NaN, null, NA) is expected";
  struct Case {
    std::string text, message;
  };
  const Case cases[] = {
      {"", "is empty; a header with column names is expected"},
      {"\n \n", "is empty; a header with column names is expected"},
      {"time,y\n", "has a header but no row of data"},
      {"2024-01-01,1\n2024-01-02,2\n",
       "line 1: begins with \"2024-01-01\" like data; a header with column names is expected"},
      {"time,y\n2024-01-01,1\n2024-01-02\n", "line 3: has 1 cell; the header has 2"},
      {"time,y\n2024-01-01,1,2\n", "line 2: has 3 cells; the header has 2"},
      {"time,y\n2024-01-01,1\n2024-01-02,oops\n2024-01-03,1\n", "line 3: column \"y\" is \"oops\"" + number},
      {"time,y\n2024-01-01,1\n2024-01-02,-inf\n2024-01-03,1\n",
       "line 3: column \"y\" is \"-inf\"; a finite number or a gap (empty, NaN, null, NA) is expected"},
      {"time,y\n2024-01-01,1\n2024-01-02,1e999\n2024-01-03,1\n",
       "line 3: column \"y\" is \"1e999\"; a number within the range of double is expected"},
      {"time,y\n2024-01-01,1\n2024-01-02,\"1\n2024-01-03,2\n", "line 3: a quote is opened and not closed"},
      {"time,y\n2024-01-01,\"1\"x\n", "line 2: column \"y\" goes on after its closing quote"},
      {std::string("time,y\n2024-01-01,1\n2024-01-02,\0\n", 32),
       "line 3: column \"y\" holds a zero byte; text is expected"},
      {"time,y\n2024-01-01,1\n2024-01-02,\xff\n", "line 3: column \"y\" holds bytes that are not UTF-8"},
      {std::string("\xff\xfet\0", 4), "is UTF-16; UTF-8 is expected"},
      {"time,y\r2024-01-01,1\r", "line 1: column 2 holds a carriage return; lines end with \\n or \\r\\n"},
      {"time,y,y\n2024-01-01,1,2\n", "line 1: columns 2 and 3 are both named \"y\""},
      {"time,,\n2024-01-01,1,2\n", "line 1: columns 2 and 3 have no name"},
      {"time,y;a\n1,2;3\n",
       "line 1: the header has 1 commas, 1 semicolons and 0 tabs outside quotes; one of them must be the "
       "most "
       "frequent"},
      {"time;y\n2024-01-01;1,5\n2024-01-02;2.5\n",
       "line 3: column \"y\" is \"2.5\", but line 2 writes decimals with a comma; one of the two is expected "
       "throughout"},
      {"time;y\n2024-01-01;1.234,5\n2024-01-02;2.000,5\n",
       "no column holds numbers (columns: \"time, y\"; first row: \"2024-01-01, 1.234,5\"); numbers are "
       "written "
       "as 1234.5, or as 1234,5 between semicolons or tabs"},
      {"time\n2024-01-01\n2024-01-02\n",
       "no column holds numbers (columns: \"time\"; first row: \"2024-01-01\"); numbers are written as "
       "1234.5, "
       "or as 1234,5 between semicolons or tabs"},
  };
  for (const Case& c : cases) Refuse(c.text, "d.csv: " + c.message);
}

TEST_F(CsvInputTest, StampsThatMakeNoGrid) {
  const std::string clock =
      "; this looks like the night of a clock change in local time: give the stamps in UTC or with their "
      "offset, such as +01:00";
  const std::string sort = "; sort the rows by time, or name the column that tells several series apart ";
  struct Case {
    std::string rows, message;
  };
  const Case cases[] = {
      {"2024-01-01,1\n2024-01-01,2\n",
       "lines 2 and 3 have the same time 2024-01-01; keep one of them, or name the column that tells several "
       "series apart (--item)"},
      {"2024-01-02,1\n2024-01-01,2\n2024-01-03,2\n",
       "line 3 (2024-01-01) lies before line 2 (2024-01-02)" + sort + "(--item)"},
      {"2024-01-01T00:00,1\n2024-01-01T01:00,2\n2024-01-01T02:00,2\n2024-01-01T03:00,2\n2024-01-01T03:30,2\n",
       "lines 5 and 6 (2024-01-01T03:00 and 2024-01-01T03:30) are 30min apart, which is no multiple of the "
       "usual "
       "step of h; resample to a regular step first"},
      {"2024-01-01T00:00,1\n2024-01-01T01:00,2\n2024-01-01T02:13,2\n2024-01-01T03:29,2\n2024-01-01T05:01,2\n",
       "the steps between rows follow no rule: the most common, h, makes up 1 of 4; give the frequency "
       "(--freq "
       "1h) if rows are only missing, else resample to a regular step first"},
      {"2024-01-01,1\n",
       "the frequency needs at least two rows to be seen, and there is one; give it, for example --freq 1h"},
      {"2024-01-01,1\n2024-13-01,2\n2024-01-03,3\n",
       "line 3: column \"time\": \"2024-13-01\" is not a time: month 13; expected 1 to 12"},
      {"2024-10-27T00:00,1\n2024-10-27T01:00,2\n2024-10-27T02:00,3\n2024-10-27T02:00,3\n2024-10-27T03:00,3\n",
       "lines 4 and 5 have the same time 2024-10-27T02:00" + clock},
  };
  for (const Case& c : cases) Refuse("time,y\n" + c.rows, "d.csv: " + c.message);
  Refuse("time,y\n2024-01-01T00:00,1\n2024-01-01T01:10,2\n",
         "d.csv: line 3 (2024-01-01T01:10) is off the grid of h that starts at 2024-01-01T00:00; the nearest "
         "grid "
         "time is 2024-01-01T01:00",
         {"--freq", "1h"});
  Refuse("time,site,y\n2024-01-01,a,1\n2024-01-02,a,2\n2024-01-01,b,1\n2024-01-02,b,2\n",
         "d.csv: line 4 (2024-01-01) lies before line 3 (2024-01-02)" + sort + "(perhaps --item \"site\")");
  Refuse(
      "time,site,y\n2024-01-01,a,1\n2024-01-02,a,2\n2024-01-01,b,1\n2024-01-01,b,2\n",
      "d.csv: item \"b\": lines 4 and 5 have the same time 2024-01-01; keep one of them, or name the column "
      "that tells several series apart (--item)",
      {"--item", "site"});
}

TEST_F(CsvInputTest, ColumnsThatAreNotThere) {
  const std::string has = "; it has \"time\", \"y\"";
  Refuse(kTwo, "d.csv: has no column \"z\"" + has, {"--target", "z"});
  Refuse(kTwo, "d.csv: has no column \"z\"" + has, {"--item", "z"});
  Refuse(kTwo, "d.csv: has no column \"z\"" + has, {"--time", "z"});
  Refuse(kTwo, "--target names column \"y\" twice", {"--target", "y,y"});
  const std::string only = "d.csv: column \"time\" is the only one that reads as time, and --";
  const std::string other = " takes it; name other columns, or number the rows with --time none";
  Refuse(kTwo, only + "target" + other, {"--target", "time"});
  Refuse(kTwo, only + "item" + other, {"--item", "time"});
  Refuse(kTwo, "d.csv: column \"time\" is the time column and cannot be a target too",
         {"--time", "time", "--target", "time"});
  Refuse("time,y,n\n2024-01-01,1,a\n2024-01-02,2,b\n",
         "d.csv: line 2: column \"n\" is \"a\"; a number or a gap (empty, NaN, null, NA) is expected",
         {"--target", "n"});
  Refuse("time,t2,y\n2024-01-01,2024-01-01,1\n2024-01-02,2024-01-02,1\n",
         "d.csv: columns time, t2 all read as time; choose one with --time");
  const std::string advice =
      "; name one with --time, give its pattern with --time-format, or number the rows with --time none";
  Refuse(
      "time,y\n01.02.2024 00:00,1\n01.02.2024 01:00,2\n",
      "d.csv: no column reads as time (columns: \"time, y\"; first row: \"01.02.2024 00:00, 1\")" + advice);
  Refuse("time,y\n01.02.2024 00:00,1\n01.02.2024,2\n",
         "d.csv: line 3: column \"time\": \"01.02.2024\" does not fit the time format \"%d.%m.%Y %H:%M\": at "
         "character 11 expected a space",
         {"--time-format", "%d.%m.%Y %H:%M"});
  Refuse("time,y\n01.02.2024 00:00,1\n",
         "d.csv: line 2: column \"time\": \"01.02.2024 00:00\" does not fit the time format \"%Y\": at "
         "character 1 "
         "expected %Y",
         {"--time-format", "%Y"});
}

TEST_F(CsvInputTest, FilesThatCannotBeRead) {
  ExpectError({"forecast", "-d", "nosuch.csv"}, 2, "nosuch.csv: cannot be opened: No such file or directory");
  ExpectError({"forecast", "-d", "."}, 2, ".: is a folder; a file is expected");
  ExpectError({"forecast", "-d", "-"}, 2, "standard input: is empty; a header with column names is expected");
  Write("empty", "");
  ExpectError({"backtest", "-d", "empty"}, 2, "empty: is empty; a header with column names is expected");
}

TEST_F(CsvInputTest, FormsOfTheSameTable) {
  const json plain = Forecast("time,y\n2024-01-01,1.5\n2024-01-02,2.5\n");
  EXPECT_EQ(plain["items"][0]["times"], json({"2024-01-03", "2024-01-04"}));
  EXPECT_EQ(plain["items"][0]["freq"], "D");
  for (const char* text :
       {"\xef\xbb\xbftime,y\r\n2024-01-01,1.5\r\n2024-01-02,2.5\r\n",
        "time;y\n2024-01-01;1,5\n2024-01-02;2,5\n", "time\ty\r\n2024-01-01\t1,5\r\n2024-01-02\t2,5",
        "\"time\", y \n2024-01-01, 1.5\n\n2024-01-02,\"2.5\"\n"}) {
    EXPECT_EQ(Forecast(text), plain) << text;
  }
  EXPECT_EQ(RunJson({"forecast", "-d", "-", "-H", "2", "-q", "0.5", "--json"},
                    {.input = "time,y\n2024-01-01,1.5\n2024-01-02,2.5\n"}),
            plain);
}

TEST_F(CsvInputTest, TwoRowsOneRow) {
  EXPECT_EQ(Forecast(kTwo)["items"][0]["start"], "2024-01-03");
  const json one = Forecast("time,y\n2024-01-31,1\n", {"--freq", "ME"});
  EXPECT_EQ(one["items"][0]["times"], json({"2024-02-29", "2024-03-31"}));
}

TEST_F(CsvInputTest, TimeInOtherForms) {
  EXPECT_EQ(Forecast(kTwo, {"--time", "none"})["items"][0]["times"], json({3, 4}));
  EXPECT_EQ(Forecast(kTwo, {"--time", "none"})["items"][0]["freq"], "1");
  EXPECT_EQ(Forecast("t,y\n01.02.2024 00:00,1\n01.02.2024 01:00,2\n",
                     {"--time-format", "%d.%m.%Y %H:%M"})["items"][0]["times"],
            json({"01.02.2024 02:00", "01.02.2024 03:00"}));
  EXPECT_EQ(Forecast("t,y\n1704067200,1\n1704070800,2\n")["items"][0]["times"],
            json({"1704074400", "1704078000"}));
  // Offsets that change stay in step with absolute time; new stamps carry the newest offset.
  EXPECT_EQ(Forecast("time,y\n2024-10-27T01:00+02:00,2\n2024-10-27T02:00+02:00,3\n2024-10-27T02:00+01:00,3\n")
                ["items"][0]["times"],
            json({"2024-10-27T03:00+01:00", "2024-10-27T04:00+01:00"}));
}

TEST_F(CsvInputTest, AMissingHourInSpringIsAGapAndANote) {
  Write("d.csv", "time,y\n2024-03-31T00:00,1\n2024-03-31T01:00,2\n2024-03-31T03:00,3\n2024-03-31T04:00,3\n");
  const RunResult run = Run(With({}));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(json::parse(run.out)["items"][0]["start"], "2024-03-31T05:00");
  EXPECT_EQ(
      run.err,
      "plinth: note: d.csv: column \"y\": the hour missing between lines 3 and 4 (2024-03-31T01:00 and "
      "2024-03-31T03:00) is taken as a gap; this looks like the night of a clock change in local time: give "
      "the stamps in UTC or with their offset, such as +01:00\n");
}

TEST_F(CsvInputTest, GapsConstantsAndNothing) {
  const json gaps =
      Forecast("time,y\n2024-01-01,1\n2024-01-02,\n2024-01-03,NaN\n2024-01-04,null\n2024-01-06,2\n");
  const json rows = Forecast(
      "time,y\n2024-01-01,1\n2024-01-02,NA\n2024-01-03,\n2024-01-04,\n2024-01-05,\n"
      "2024-01-06,2\n");
  EXPECT_EQ(gaps, rows);  // a missing row is a gap too
  const json constant = Forecast("time,y\n2024-01-01,5\n2024-01-02,5\n2024-01-03,5\n");
  EXPECT_NEAR(constant["items"][0]["mean"][0].get<double>(), 5, 0.5);
  Write("d.csv", "time,y\n2024-01-01,\n2024-01-02,\n");
  const RunResult run = Run(With({}));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "plinth: note: d.csv: column \"y\" holds no value; its forecast says nothing\n");
  EXPECT_TRUE(json::parse(run.out)["items"][0]["mean"][0].is_number());
}

// A sensor that was installed late has no value in the rows from which columns are told.
TEST_F(CsvInputTest, ColumnsThatBeginLate) {
  const auto table = [](int rows, const std::string& late, const std::string& other) {
    std::string text = "time,late,y,x\n";
    for (int t = 0; t < rows; ++t) {
      text += HourlyRow(t, StrCat(t < 250 ? "" : late, ",", t % 24, ",",
                                  t == 260 ? other
                                  : t % 2  ? ""
                                           : "NA"));
    }
    return text;
  };
  // Both are targets, in the order of the file, and have the same numbers as when they are named.
  const json all = Forecast(table(300, "5", "7"));
  EXPECT_EQ(Targets(all), (std::vector<std::string>{"late", "y", "x"}));
  EXPECT_EQ(all, Forecast(table(300, "5", "7"), {"--target", "late,y,x"}));
  EXPECT_EQ(Targets(Forecast(table(300, "on", "7"))), (std::vector<std::string>{"y", "x"}));
  Refuse(table(300, "inf", "7"),
         "d.csv: line 252: column \"late\" is \"inf\"; a finite number or a gap (empty, NaN, null, NA) is "
         "expected");
  // Whatever the number of columns, and with items.
  std::string items = "i,time,late\n";
  for (int t = 0; t < 400; ++t) {
    StrAppend(&items, t < 210 ? "a," : "b,", HourlyRow(t, t == 205 || t == 399 ? "3" : ""));
  }
  EXPECT_EQ(Forecast(items, {"--item", "i"})["items"].size(), 2u);
}

TEST_F(CsvInputTest, ColumnsOfGapsAlone) {
  const std::string text = "time,a,y,b\n2024-01-01,,1,NaN\n2024-01-02,NA,2,\n";
  Write("d.csv", text);
  RunResult run = Run(With({}));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(Targets(json::parse(run.out)), std::vector<std::string>{"y"});
  EXPECT_EQ(
      run.err,
      "plinth: note: d.csv: columns \"a\", \"b\" hold no value and are left out; name them with --target "
      "to keep them\n");
  run = Run(With({"--target", "a"}));
  EXPECT_EQ(Targets(json::parse(run.out)), std::vector<std::string>{"a"});
  EXPECT_EQ(run.err, "plinth: note: d.csv: column \"a\" holds no value; its forecast says nothing\n");
  // Where there is nothing else they stay, each with its note.
  Write("d.csv", "time,a,b\n2024-01-01,,\n2024-01-02,,\n");
  run = Run(With({}));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(Targets(json::parse(run.out)), (std::vector<std::string>{"a", "b"}));
}

TEST_F(CsvInputTest, TheYear9999IsTheLast) {
  EXPECT_EQ(Forecast("time,y\n9999-12-28,1\n9999-12-29,2\n")["items"][0]["times"],
            json({"9999-12-30", "9999-12-31"}));
  Refuse("time,y\n9999-12-29,1\n9999-12-30,2\n",
         "d.csv: column \"y\": a horizon of 2 steps of D after 9999-12-30 ends past 9999-12-31, the last day "
         "that can be written; 1 fit: shorten --horizon, or correct the stamps");
  Refuse(
      "time,y\n8990-01-01,1\n",
      "d.csv: column \"y\": a horizon of 2 steps of 1000YS after 8990-01-01 ends past 9999-12-31, the last "
      "day that can be written; 1 fit: shorten --horizon, or correct the stamps",
      {"--freq", "1000YS"});
}

TEST_F(CsvInputTest, ItemsTogetherOrMixed) {
  std::string together = "site,time,y,z\n", mixed = together;
  const auto row = [](int site, int hour) {
    return StrCat("s", site, ",", HourlyRow(hour, StrCat((hour * 7 + site * 3) % 24, ",", hour % 5)));
  };
  for (int site = 0; site < 3; ++site) {
    for (int hour = 0; hour < 60; ++hour) together += row(site, hour);
  }
  for (int hour = 0; hour < 60; ++hour) {
    for (int site = 0; site < 3; ++site) mixed += row(site, hour);
  }
  const json a = Forecast(together, {"--item", "site"});
  ASSERT_EQ(a["items"].size(), 6u);
  EXPECT_EQ(a["items"][3]["item"], "s1");
  EXPECT_EQ(a["items"][3]["target"], "z");
  EXPECT_EQ(Forecast(mixed, {"--item", "site"}), a);
  EXPECT_EQ(
      RunJson({"forecast", "-d", "-", "-H", "2", "-q", "0.5", "--json", "--item", "site"}, {.input = mixed}),
      a);
  // Each item alone has the same numbers.
  std::string alone = "site,time,y,z\n";
  for (int hour = 0; hour < 60; ++hour) alone += row(1, hour);
  const json b = Forecast(alone, {"--item", "site"});
  EXPECT_EQ(b["items"][0], a["items"][2]);
  EXPECT_EQ(b["items"][1], a["items"][3]);
}

TEST_F(CsvInputTest, ItemsOfOneRowTakeTheStepOfTheOthers) {
  const json first = Forecast("i,time,y\nb,2024-01-01,1\na,2024-01-01,1\na,2024-01-02,1\n", {"--item", "i"});
  const json last = Forecast("i,time,y\na,2024-01-01,1\na,2024-01-02,1\nb,2024-01-01,1\n", {"--item", "i"});
  const json mixed = Forecast(
      "i,time,y\nb,2024-01-01,1\na,2024-01-01,1\na,2024-01-02,1\nc,2024-02-01,1\n"
      "a,2024-01-03,1\n",
      {"--item", "i"});
  EXPECT_EQ(first["items"][0], last["items"][1]);
  EXPECT_EQ(mixed["items"][0], first["items"][0]);
  EXPECT_EQ(mixed["items"][2]["start"], "2024-02-02");
  Refuse(
      "i,time,y\na,2024-01-01,1\nb,2024-01-01,1\n",
      "d.csv: item \"a\": the frequency needs at least two rows to be seen, and there is one; give it, for "
      "example --freq 1h",
      {"--item", "i"});
}

TEST_F(CsvInputTest, AwkwardNamesOfColumns) {
  const std::string name = "Druck, \"P1\"\nin b\xc3\xa4r";
  const std::string text = "time,\"Druck, \"\"P1\"\"\nin b\xc3\xa4r\",b\n2024-01-01,1,3\n2024-01-02,2,4\n";
  EXPECT_EQ(Targets(Forecast(text)), (std::vector<std::string>{name, "b"}));
  EXPECT_EQ(Targets(Forecast(text, {"--target", name})), std::vector<std::string>{name});
  EXPECT_EQ(Targets(Forecast(text, {"--target", "b", "--target", name})),
            (std::vector<std::string>{"b", name}));
  EXPECT_EQ(Targets(Forecast("time,a,b\n2024-01-01,1,3\n2024-01-02,2,4\n", {"--target", "b,a"})),
            (std::vector<std::string>{"b", "a"}));
  // The CSV output quotes them, and our own reader takes it back.
  Write("d.csv", text);
  const RunResult csv = Run({"forecast", "-d", "d.csv", "-H", "30"});
  EXPECT_EQ(csv.exit_code, 0);
  Write("again.csv", csv.out);
  const json again =
      RunJson({"forecast", "-d", "again.csv", "--item", "target", "--target", "mean", "--json"});
  EXPECT_EQ(again["items"][0]["item"], name);
  EXPECT_EQ(again["items"][0]["start"], "2024-02-02");
}

}  // namespace
}  // namespace plinth::cli
