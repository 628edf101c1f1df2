// Forecasts and backtests with covariates: the original's numbers, and every refusal.
#include <cmath>

#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

// Tests run with a small Chronos-2 with random weights.
class CovariatesTest : public CliTest {
 protected:
  CovariatesTest() : model_(Source("tests/golden/chronos2_rand")) {}

  std::vector<std::string> With(const std::string& command, const std::vector<std::string>& options) const {
    std::vector<std::string> arguments = {command, "-m", model_, "-d", "d.csv", "-H", "3"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
  }
  void Refuse(const std::vector<std::string>& options, const std::string& message) const {
    ExpectError(With("forecast", options), 2, message);
  }
  // The forecast as CSV, and the notes beside it, each without "plinth: note: " and the line break.
  std::string Forecast(const std::vector<std::string>& options, const std::vector<std::string>& notes = {}) {
    const RunResult run = Run(With("forecast", options));
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, Join(notes, "", [](const auto& n) { return StrCat("plinth: note: ", n, "\n"); }));
    EXPECT_EQ(run.out.find(",,"), std::string::npos) << "a number is missing: " << run.out;
    return run.out;
  }

  std::string model_;
};

// Hours [begin, end): "TIME,y,x" by `row`, which gives all behind the time.
template <typename RowText>
std::string Rows(int64_t begin, int64_t end, RowText row) {
  std::string text;
  for (int64_t i = begin; i < end; ++i) text += HourlyRow(i, row(i));
  return text;
}

std::string Wave(int64_t i) { return std::to_string((i * 7) % 24 + 10); }

// Past of 60 hours, y and x; what is ahead in x goes on from there.
std::string Past(const std::string& header = "time,y,x\n") {
  return header + Rows(0, 60, [](int64_t i) { return Wave(i) + "," + Wave(i + 5); });
}
std::string Ahead(int64_t begin = 60, int64_t end = 63) {
  return "time,x\n" + Rows(begin, end, [](int64_t i) { return Wave(i + 5); });
}

// The original's forecasts, see tests/data/covariates/make.py. It computes in f32; between its own two
// precisions the model's golden cases list deviations of up to 1.2e-6 of the largest output, of which the
// contract allows ten.
TEST_F(CovariatesTest, AsTheOriginal) {
  const std::string folder = Source("tests/data/covariates/");
  const json wanted = json::parse(std::ifstream(folder + "forecasts.json"));
  const std::vector<std::string> ahead = {"--future-data", folder + "shops_ahead.csv"};
  const std::vector<std::string> categories = {"--past", "staff", "--future", "temperature,weather,holiday"};
  struct Case {
    std::string name;
    std::vector<std::vector<std::string>> options;
    std::string horizon = "10";
  };
  const Case cases[] = {
      {"numeric", {{"--target", "visits", "--past", "staff", "--future", "temperature"}, ahead}},
      {"categories", {{"--target", "visits"}, categories, ahead}},
      {"past_category", {{"--target", "sales", "--past", "weather"}}},
      {"joint", {{"--target", "visits,sales", "--joint"}}},
      {"joint_categories", {{"--target", "visits,sales", "--joint", "--as-published"}, categories, ahead}},
      {"cross_learning",
       {{"--target", "visits", "--cross-learning", "--past", "staff", "--future", "temperature,weather"},
        ahead}},
      {"long",
       {{"--target", "visits", "--past", "staff", "--future", "temperature,weather", "--future-data",
         folder + "shops_far_ahead.csv"}},
       "40"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> arguments = {"forecast",           "-m",     model_, "-d",
                                          folder + "shops.csv", "--item", "shop", "-q",
                                          "0.1,0.5,0.9",        "--json", "-H",   c.horizon};
    for (const auto& part : c.options) arguments.insert(arguments.end(), part.begin(), part.end());
    const RunResult run = Run(arguments);
    ASSERT_EQ(run.exit_code, 0) << c.name << run.err;
    const json result = json::parse(run.out);
    ASSERT_EQ(result["items"].size(), wanted[c.name].size()) << c.name;
    for (const json& item : result["items"]) {
      const json& levels =
          wanted[c.name][StrCat(item["item"].get<std::string>(), " ", item["target"].get<std::string>())];
      double largest = 0;
      for (const json& level : levels) {
        for (const json& v : level) largest = std::max(largest, std::abs(v.get<double>()));
      }
      for (const auto& [level, values] : levels.items()) {
        const json& got = item["quantiles"][level];
        ASSERT_EQ(got.size(), values.size()) << c.name;
        for (size_t h = 0; h < values.size(); ++h) {
          EXPECT_NEAR(got[h].get<double>(), values[h].get<double>(), 1e-5 * largest) << c.name << " " << h;
        }
      }
    }
  }
}

TEST_F(CovariatesTest, FutureRowsMayStandInEitherFile) {
  Write("d.csv", Past());
  Write("f.csv", Ahead());
  const std::string apart = Forecast({"--future", "x", "--future-data", "f.csv"});
  EXPECT_NE(apart, Forecast({"--past", "x"}));
  EXPECT_NE(apart, Forecast({"--target", "y"}));
  // More rows than the horizon, more columns, in another order.
  std::string more = "z,x,time\n";
  for (int64_t i = 60; i < 90; ++i)
    StrAppend(&more, "a,", Wave(i + 5), ",", HourlyRow(i, "").substr(0, 19), "\n");
  Write("more.csv", more);
  EXPECT_EQ(apart, Forecast({"--future", "x", "--future-data", "more.csv"}));
  Write("d.csv", Past() + Rows(60, 64, [](int64_t i) { return StrCat(",", Wave(i + 5)); }));
  EXPECT_EQ(apart, Forecast({"--future", "x"}));
  Write("d.csv", Past());
  EXPECT_EQ(Run(With("forecast", {"--future", "x", "--future-data", "-"}), {.input = Ahead()}).out, apart);
}

TEST_F(CovariatesTest, NumberedRows) {
  Write("d.csv", "y,x\n1,2\n2,3\n3,5\n4,1\n2,2\n");
  Write("f.csv", "x\n3\n4\n5\n");
  const std::string apart = Forecast({"--time", "none", "--future", "x", "--future-data", "f.csv"});
  EXPECT_THAT(apart, HasSubstr("\ny,6,"));
  Write("f.csv", "x\n3\n4\n");
  Refuse({"--time", "none", "--future", "x", "--future-data", "f.csv"},
         "f.csv: has 2 future rows; a horizon of 3 needs 3 rows");
  Write("d.csv", "y,x\n1,2\n2,3\n3,5\n4,1\n2,2\n,3\n,4\n,5\n");
  EXPECT_EQ(apart, Forecast({"--time", "none", "--future", "x"}));
  Write("d.csv", "y,x\n1,2\n2,3\n,3\n,4\n");
  Refuse({"--time", "none", "--future", "x"},
         "d.csv: the targets end at 2, and there is no row of 5 with the values of --future; a horizon of 3 "
         "needs rows up to 5, here or in --future-data");
}

TEST_F(CovariatesTest, FutureRowsThatDoNotFollow) {
  Write("d.csv", Past());
  const std::vector<std::string> options = {"--future", "x", "--future-data", "f.csv"};
  const std::string first =
      "; the row of 2024-01-03T12:00:00 is expected there, since d.csv ends at 2024-01-03T11:00:00";
  const std::string next =
      "; the row of 2024-01-03T13:00:00 is expected there, since rows follow in steps of h";
  const auto row = [](const std::string& time) { return time + ",1\n"; };
  struct Case {
    std::string rows, message;
  };
  const Case cases[] = {
      {Ahead(59, 70).substr(7),
       "line 2 (2024-01-03T11:00:00) does not lie after the last row of d.csv (2024-01-03T11:00:00)" + first},
      {Ahead(62, 70).substr(7), "line 2 (2024-01-03T14:00:00) leaves out 2 steps of h" + first},
      {row("2024-01-03T12:30:00"),
       "line 2 (2024-01-03T12:30:00) is off the grid of h that the rows of d.csv lie on" + first},
      {row("2024-01-04"), "line 2 (2024-01-04) leaves out 12 steps of h" + first},
      {row("2024-01-03T12:00:00") + row("2024-01-03T14:00:00"),
       "line 3 (2024-01-03T14:00:00) leaves out 1 step of h" + next},
      {row("2024-01-03T12:00:00") + row("2024-01-03T12:00:00"),
       "line 3 (2024-01-03T12:00:00) does not lie after line 2 (2024-01-03T12:00:00)" + next},
      {Ahead(60, 62).substr(7),
       "has 2 future rows, up to 2024-01-03T13:00:00; a horizon of 3 needs rows up to 2024-01-03T14:00:00"},
      {Ahead(60, 61).substr(7),
       "has 1 future row, up to 2024-01-03T12:00:00; a horizon of 3 needs rows up to 2024-01-03T14:00:00"},
      {row("2024-01-03T12:00:00Z"),
       "line 2: the stamps of column \"time\" name an offset from UTC and those of d.csv do not; write them "
       "alike in both files"},
      {row("later"), "line 2: column \"time\": \"later\" is not a time"},
      {"2024-01-03T12:00:00,warm\n",
       "line 2: column \"x\" is \"warm\"; a number or a gap (empty, NaN, null, NA) is expected; the column "
       "counts as one of numbers: if they are names, list it in --categorical"},
      {"2024-01-03T12:00:00,inf\n",
       "line 2: column \"x\" is \"inf\"; a finite number or a gap (empty, NaN, null, NA) is expected"},
      {"", "has a header but no row of data"},
  };
  for (const Case& c : cases) {
    Write("f.csv", "time,x\n" + c.rows);
    const RunResult run = Run(With("forecast", options));
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, StartsWith("plinth: error: f.csv: " + c.message));
  }
  Write("f.csv", "time,z\n");
  Refuse(options, "f.csv: has no column \"x\"; it has \"time\", \"z\"");
  Write("f.csv", "t,x\n");
  Refuse(options, "f.csv: has no column \"time\"; it has \"t\", \"x\"");
  Refuse({"--future", "x", "--future-data", "no.csv"}, "no.csv: cannot be opened: No such file or directory");
}

TEST_F(CovariatesTest, RowsAheadInTheDataThatDoNotFollow) {
  const auto ahead = [](int64_t i) { return StrCat(",", Wave(i + 5)); };
  const auto refuse = [&](const std::string& rows, const std::string& message) {
    Write("d.csv", rows);
    Refuse({"--future", "x"}, "d.csv: " + message);
  };
  const std::string needs =
      " with the values of --future; a horizon of 3 needs rows up to 2024-01-03T14:00:00, here or in "
      "--future-data";
  const std::string end = "the targets end at 2024-01-03T11:00:00, and there is no row of ";
  refuse(Past(), end + "2024-01-03T12:00:00" + needs);
  refuse(Past() + Rows(60, 62, ahead), end + "2024-01-03T14:00:00" + needs);
  refuse(Past() + Rows(60, 61, ahead) + Rows(62, 64, ahead), end + "2024-01-03T13:00:00" + needs);
  refuse("time,y,x\n" + Rows(0, 20, [](int64_t) { return ",1"; }),
         "no row holds a value of a target, so there is no telling where the future begins; give the future "
         "rows with --future-data");
  // A gap of one target is no end while another one goes on.
  Write("d.csv",
        "time,y,z,x\n" + Rows(0, 60, [](int64_t i) { return StrCat(i < 50 ? "1," : ",", Wave(i), ",2"); }));
  Refuse({"--future", "x"}, "d.csv: " + end + "2024-01-03T12:00:00" + needs);
}

TEST_F(CovariatesTest, ColumnsThatDoNotFit) {
  Write("d.csv", "time,shop,y,x,c\n" +
                     Rows(0, 40, [](int64_t i) { return StrCat("a,", Wave(i), ",", Wave(i + 1), ",b"); }));
  Write("f.csv", Ahead());
  const std::string has = "; it has \"time\", \"shop\", \"y\", \"x\", \"c\"";
  Refuse({"--past", "nosuch"}, "d.csv: has no column \"nosuch\"" + has);
  Refuse({"--future", "nosuch"}, "d.csv: has no column \"nosuch\"" + has);
  Refuse({"--target", "y", "--past", "y"},
         "d.csv: column \"y\" is a covariate of --past and cannot be a target too");
  Refuse({"--target", "x", "--future", "x", "--future-data", "f.csv"},
         "d.csv: column \"x\" is a covariate of --future and cannot be a target too");
  Refuse({"--past", "x,c", "--future", "x"},
         "column \"x\" stands in --past and in --future; name it in --future alone if it is known ahead, "
         "else in "
         "--past alone");
  Refuse({"--past", "x,c,x"}, "--past names column \"x\" twice");
  Refuse({"--future", "x", "--future", "x"}, "--future names column \"x\" twice");
  Refuse({"--time", "time", "--past", "time"},
         "d.csv: column \"time\" is the time column and cannot be a covariate too");
  Refuse(
      {"--past", "time"},
      "d.csv: column \"time\" is the only one that reads as time, and --past takes it; name other columns, "
      "or number the rows with --time none");
  Refuse({"--item", "shop", "--past", "shop"},
         "d.csv: column \"shop\" is the item column and cannot be a covariate too");
  Refuse({"--item", "shop", "--group", "c", "--past", "c"},
         "d.csv: column \"c\" is the group column and cannot be a covariate too");
  Refuse(
      {"--past", "x,y"},
      "d.csv: no column holds numbers, covariates aside: name a target with --target (columns: \"time, shop, "
      "y, x, c\"; first row: \"2024-01-01T00:00:00, a, 10, 17, b\"); numbers are written as 1234.5, or as "
      "1234,5 between semicolons or tabs");
  Refuse({"--categorical", "x"},
         "--categorical names column \"x\", which is no covariate; name it with --past or --future too");
  Refuse({"--past", "x", "--categorical", "x,x"}, "--categorical names column \"x\" twice");
  Refuse({"--past", "x", "--categorical", "nosuch"}, "d.csv: has no column \"nosuch\"" + has);
  Refuse({"--future-data", "f.csv"},
         "--future-data holds the values of --future ahead; name their columns with --future");
  Refuse({"--past", "x", "--future-data", "f.csv"},
         "--future-data holds the values of --future ahead; name their columns with --future");
  ExpectError({"forecast", "-m", model_, "-d", "-", "--future", "x", "--future-data", "-"}, 2,
              "--data - and --future-data - both want standard input");
  Refuse({"--future", "x", "--future-data", "f.csv", "--out", "f.csv"},
         "--out f.csv is the file f.csv that the result is made from; name another one");
  EXPECT_EQ(Read("f.csv"), Ahead());
}

TEST_F(CovariatesTest, CellsThatAreNoNumbers) {
  const auto data = [](const std::string& cell) {
    return "time,y,x\n" +
           Rows(0, 60, [&](int64_t i) { return Wave(i) + "," + (i == 30 ? cell : Wave(i + 5)); });
  };
  Write("d.csv", data("inf"));
  Refuse(
      {"--past", "x"},
      "d.csv: line 32: column \"x\" is \"inf\"; a finite number or a gap (empty, NaN, null, NA) is expected");
  Write("d.csv", data("warm"));
  Refuse(
      {"--past", "x"},
      "d.csv: line 32: column \"x\" is \"warm\"; a number or a gap (empty, NaN, null, NA) is expected; the "
      "column counts as one of numbers: if they are names, list it in --categorical");
  Forecast({"--past", "x", "--categorical", "x"});
  Write("d.csv", data(""));  // gaps of a covariate need not be those of the target
  Forecast({"--past", "x"});
}

TEST_F(CovariatesTest, CovariatesWithLittleToSay) {
  const auto data = [](const std::string& x) {
    return "time,y,x\n" + Rows(0, 60, [&](int64_t i) { return Wave(i) + "," + x; });
  };
  const std::vector<std::string> options = {"--future", "x", "--future-data", "f.csv"};
  Write("f.csv", "time,x\n" + Rows(60, 63, [](int64_t) { return "7"; }));
  Write("d.csv", data("7"));
  Forecast(options);
  Forecast({"--past", "x"});
  Write("d.csv", data(""));
  const std::string nothing = "d.csv: column \"x\" holds no value in the past and says nothing there";
  Forecast(options, {nothing});
  Forecast({"--past", "x"}, {nothing});
  Write("f.csv", "time,x\n" + Rows(60, 63, [](int64_t i) { return i == 61 ? "7" : "NA"; }));
  Write("d.csv", data("7"));
  Forecast(options, {"f.csv: column \"x\": 2 of 3 future values are empty and count as unknown"});
  Write("d.csv", data("7") + Rows(60, 63, [](int64_t i) { return i == 61 ? ",7" : ","; }));
  Forecast({"--future", "x"}, {"d.csv: column \"x\": 2 of 3 future values are empty and count as unknown"});
}

TEST_F(CovariatesTest, ACovariateEqualToTheTarget) {
  Write("d.csv", "time,y,x\n" + Rows(0, 60, [](int64_t i) { return Wave(i) + "," + Wave(i); }));
  Write("f.csv", "time,x\n" + Rows(60, 63, [](int64_t i) { return Wave(i); }));
  Forecast({"--target", "y", "--future", "x", "--future-data", "f.csv"});
  Forecast({"--target", "y", "--past", "x"});
  // Long beyond the 32 steps of this model, too.
  Write("f.csv", "time,x\n" + Rows(60, 160, [](int64_t i) { return Wave(i); }));
  RunResult run =
      Run({"forecast", "-m", model_, "-d", "d.csv", "-H", "100", "--future", "x", "--future-data", "f.csv"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out.find(",,"), std::string::npos);
}

TEST_F(CovariatesTest, Categories) {
  const auto data = [](const std::string& header, const std::vector<std::string>& cells) {
    return header + Rows(0, 60, [&](int64_t i) { return Wave(i) + "," + cells[i % cells.size()]; });
  };
  const auto ahead = [](const std::vector<std::string>& cells) {
    return "time,x\n" + Rows(60, 63, [&](int64_t i) { return cells[i - 60]; });
  };
  const std::vector<std::string> options = {"--future", "x", "--future-data", "f.csv"};
  // How true is written does not matter, nor do spaces around a name.
  Write("d.csv", data("time,y,x\n", {"true", "false", ""}));
  Write("f.csv", ahead({"true", "", "false"}));
  const std::string flags = Forecast(options);
  Write("d.csv", data("time,y,x\n", {"True", "FALSE", "NA"}));
  Write("f.csv", ahead({"TRUE", "NaN", " False"}));
  EXPECT_EQ(Forecast(options), flags);
  Write("d.csv", data("time,y,x\n", {"b", "a", ""}));
  Write("f.csv", ahead({"b", "", "a"}));
  EXPECT_EQ(Forecast(options), flags);
  // A category that the past has not seen is the target's mean, each named once.
  const std::string unknown = " ahead occurs in no row of the past and counts as the target's mean";
  Write("f.csv", ahead({"c", "d", "c"}));
  Forecast(options, {"d.csv: column \"x\": the category \"c\"" + unknown,
                     "d.csv: column \"x\": the category \"d\"" + unknown});
  // A gap ahead is a category as well.
  Write("d.csv", data("time,y,x\n", {"b", "a", "b"}));
  Write("f.csv", ahead({"b", "", "a"}));
  Forecast(options, {"d.csv: column \"x\": a gap" + unknown});
  // Numbers are numbers unless told otherwise; then 1 and 1.0 are one name.
  Write("d.csv", data("time,y,x\n", {"1", "10", ""}));
  Write("f.csv", ahead({"1.0", "", "10"}));
  const std::string numbers =
      Forecast(options, {"f.csv: column \"x\": 1 of 3 future values are empty and count as unknown"});
  EXPECT_NE(numbers, flags);
  std::vector<std::string> declared = options;
  declared.insert(declared.end(), {"--categorical", "x"});
  const std::string names = Forecast(declared);
  EXPECT_EQ(names, flags);
}

TEST_F(CovariatesTest, ItemsInBothFiles) {
  const auto rows = [](const std::string& item, int64_t begin, int64_t end, bool past) {
    return Rows(begin, end, [&](int64_t i) {
      return StrCat(past ? Wave(i) + "," : "", Wave(i + static_cast<int64_t>(item[0])), ",", item);
    });
  };
  Write("d.csv", "time,y,x,shop\n" + rows("a", 0, 60, true) + rows("b", 10, 50, true));
  const std::vector<std::string> options = {"--item", "shop", "--future", "x", "--future-data", "f.csv"};
  const std::string header = "time,x,shop\n";
  Write("f.csv", header + rows("a", 60, 63, false) + rows("b", 50, 53, false));
  const std::string wanted = Forecast(options);
  EXPECT_THAT(wanted, HasSubstr("\nb,y,2024-01-03T02:00:00,"));
  // In another order, beside others, mixed.
  Write("f.csv", header + rows("c", 0, 9, false) + rows("b", 50, 70, false) + rows("a", 60, 63, false));
  EXPECT_EQ(Forecast(options), wanted);
  Write("f.csv", header + rows("b", 50, 51, false) + rows("a", 60, 63, false) + rows("b", 51, 53, false));
  EXPECT_EQ(Forecast(options), wanted);
  Write("f.csv", header + rows("a", 60, 63, false));
  Refuse(options,
         "f.csv: has no rows of item \"b\"; each item of d.csv needs its rows from 2024-01-03T02:00:00 to "
         "2024-01-03T04:00:00");
  Write("f.csv", header + rows("b", 50, 52, false) + rows("a", 60, 63, false));
  Refuse(options,
         "f.csv: item \"b\": has 2 future rows, up to 2024-01-03T03:00:00; a horizon of 3 needs rows up to "
         "2024-01-03T04:00:00");
  Write("f.csv", "time,x\n" + Ahead().substr(7));
  Refuse(options, "f.csv: has no column \"shop\"; it has \"time\", \"x\"");
  // The same in one file, with the rows of both items mixed.
  const auto blank = [](std::string text) {  // the y of rows ahead
    std::string out;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      const size_t comma = text.find(',', at);
      StrAppend(&out, text.substr(at, comma - at), ",", text.substr(comma, end - comma + 1));
      at = end + 1;
    }
    return out;
  };
  const std::string ahead_a = blank(rows("a", 60, 63, false)), ahead_b = blank(rows("b", 50, 53, false));
  Write("d.csv", "time,y,x,shop\n" + rows("a", 0, 60, true) + rows("b", 10, 50, true) + ahead_b + ahead_a);
  EXPECT_EQ(Forecast({"--item", "shop", "--future", "x"}), wanted);
}

TEST_F(CovariatesTest, StepsOfTheCalendar) {
  // Month ends, and business days over a weekend; offsets that change on the way.
  Write("d.csv", "time,y,x\n2023-12-31,1,2\n2024-01-31,2,3\n2024-02-29,4,5\n");
  Write("f.csv", "time,x\n2024-03-31,3\n2024-04-30,4\n2024-05-31,5\n");
  const std::vector<std::string> options = {"--future", "x", "--future-data", "f.csv"};
  EXPECT_THAT(Forecast(options), HasSubstr("\ny,2024-05-31,"));
  Write("f.csv", "time,x\n2024-03-31,3\n2024-05-31,5\n2024-06-30,5\n");
  Refuse(options,
         "f.csv: line 3 (2024-05-31) leaves out 1 step of ME; the row of 2024-04-30 is expected there, since "
         "rows "
         "follow in steps of ME");
  Write("d.csv",
        "time,y,x\n2024-03-27,1,2\n2024-03-28,2,3\n2024-03-29,4,5\n2024-04-01,1,1\n2024-04-05,3,3\n");
  Write("f.csv", "time,x\n2024-04-08,3\n2024-04-09,4\n2024-04-10,5\n");
  Forecast(options);
  Write("d.csv",
        "time,y,x\n2024-03-29T00:00+01:00,1,2\n2024-03-30T00:00+01:00,2,3\n2024-03-31T00:00+01:00,4,5\n");
  Write("f.csv", "time,x\n2024-04-01T00:00+02:00,3\n2024-04-02T00:00+02:00,4\n2024-04-03T00:00+02:00,5\n");
  Forecast(options);
}

TEST_F(CovariatesTest, TheEndOfTime) {
  const std::string past = "time,y,x\n9999-12-27,1,1\n9999-12-28,1,1\n9999-12-29,1,1\n";
  Write("f.csv", "time,x\n9999-12-30,1\n9999-12-31,1\n");
  const std::string message =
      "d.csv: column \"y\": a horizon of 3 steps of D after 9999-12-29 ends past 9999-12-31, the last day "
      "that "
      "can be written; 2 fit: shorten --horizon, or correct the stamps";
  Write("d.csv", past);
  Refuse({"--future", "x", "--future-data", "f.csv"}, message);
  Write("d.csv", past + "9999-12-30,,1\n9999-12-31,,1\n");
  Refuse({"--future", "x"}, message);
}

TEST_F(CovariatesTest, Backtests) {
  std::string data = "time,y,p,x,c\n";
  for (int64_t i = 0; i < 200; ++i) {
    data += HourlyRow(i, StrCat(Wave(i), ",", Wave(i + 2), ",", Wave(i + 5), ",", i % 3 == 0 ? "a" : "b"));
  }
  Write("d.csv", data);
  const auto backtest = [&](const std::vector<std::string>& options) {
    std::vector<std::string> all = With("backtest", options);
    all.insert(all.end(), {"--target", "y", "-w", "5", "--season", "7", "--json"});
    return RunJson(all);
  };
  const json plain = backtest({}), with = backtest({"--past", "p", "--future", "x,c"});
  EXPECT_EQ(plain["windows"], 5);
  EXPECT_EQ(with["windows"], 5);
  EXPECT_EQ(with["seasonal_naive"], plain["seasonal_naive"]);
  EXPECT_NE(with["mae"], plain["mae"]);
  EXPECT_NE(with["mae"], backtest({"--past", "p,x,c"})["mae"]);
  // One origin is a forecast from there: the past before it, the covariates behind it.
  const auto lines = [&](int64_t begin, int64_t end) {
    size_t from = data.find('\n') + 1;
    for (int64_t i = 0; i < begin; ++i) from = data.find('\n', from) + 1;
    size_t to = from;
    for (int64_t i = begin; i < end; ++i) to = data.find('\n', to) + 1;
    return data.substr(from, to - from);
  };
  Write("past.csv", "time,y,p,x,c\n" + lines(0, 197));
  Write("f.csv", "time,y,p,x,c\n" + lines(197, 200));
  const json forecast = RunJson({"forecast", "-m", model_, "-d", "past.csv", "--target", "y", "--past", "p",
                                 "--future", "x,c", "--future-data", "f.csv", "-H", "3", "--json"});
  double error = 0;
  for (int64_t h = 0; h < 3; ++h) {
    error += std::abs(forecast["items"][0]["mean"][h].get<double>() - std::stod(Wave(197 + h))) / 3;
  }
  const json last = RunJson(
      With("backtest", {"--target", "y", "--past", "p", "--future", "x,c", "--season", "7", "--json"}));
  EXPECT_NEAR(last["mae"].get<double>(), error, 1e-12 * error);
  // Rows ahead without targets are not for scores.
  Write("d.csv", data + Rows(200, 220, [](int64_t i) { return StrCat(",,", Wave(i + 5), ",a"); }));
  EXPECT_EQ(backtest({"--past", "p", "--future", "x,c"}), with);
  ExpectError(
      With("backtest", {"--future", "x", "--future-data", "f.csv"}), 2,
      "--future-data is for forecast: a backtest knows the rows after each origin from --data itself; leave "
      "it out");
}

}  // namespace
}  // namespace plinth::cli
