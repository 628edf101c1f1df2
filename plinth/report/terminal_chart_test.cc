#include "plinth/report/terminal_chart.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "plinth/base/text.h"
#include "plinth/report/chart_scale.h"

namespace plinth {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

SeriesView Series(std::vector<double> history, std::vector<double> low, std::vector<double> median,
                  std::vector<double> high) {
  SeriesView series;
  series.target = "flow";
  for (size_t i = 0; i < history.size() + median.size(); ++i) {
    TimePoints& time = i < history.size() ? series.history_time : series.forecast_time;
    time.ms.push_back(static_cast<int64_t>(i) * 1000);
    time.text.push_back(StrCat("t", i));
  }
  series.history = std::move(history);
  if (!median.empty()) series.quantiles = {{0.1, low}, {0.5, median}, {0.9, high}};
  return series;
}

ChartOptions Options(int width, int height, Glyphs glyphs = Glyphs::kAscii, Colors colors = Colors::kNone) {
  ChartOptions options;
  options.width = width;
  options.height = height;
  options.style = {glyphs, colors};
  return options;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t from = 0; from < text.size();) {
    const size_t end = text.find('\n', from);
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

std::string WithoutColors(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

TEST(ChartScale, CoversTheRangeWithRoundLabels) {
  struct Case {
    double low, high;
  };
  for (const Case c : {Case{0, 1},
                       {-1, 1},
                       {17000, 37500},
                       {1e6 - 1e-3, 1e6 + 1e-3},
                       {1e12, 3e12},
                       {1e-12, 4e-12},
                       {5, 5},
                       {0, 0},
                       {-1e-320, 0},
                       {1e6, 1e6 + 1e-10},
                       {-1.7e308, 1.7e308},
                       {-3e15, 2e15}}) {
    for (int rows = 4; rows <= 40; ++rows) {
      const ChartScale scale = ChooseScale(c.low, c.high, rows);
      // Values beyond an eighth of the largest double are drawn at the edge.
      const double most = std::numeric_limits<double>::max() / 8;
      EXPECT_GE(scale.Height(std::max(c.low, -most)), -1e-6) << c.low << " " << rows;
      EXPECT_LE(scale.Height(std::min(c.high, most)), rows + 1e-6) << c.high << " " << rows;
      std::set<std::string> labels;
      int labelled = 0;
      for (int row = 0; row < rows; ++row) {
        if (!scale.Labelled(row)) continue;
        ++labelled;
        labels.insert(ScaleLabel(scale, row));
      }
      EXPECT_GE(labelled, 1) << c.low << " " << c.high << " " << rows;
      EXPECT_EQ(labels.size(), static_cast<size_t>(labelled))
          << "equal labels for " << c.low << ".." << c.high;
    }
  }
}

TEST(ChartScale, LabelsKeepTheirDigits) {
  const ChartScale level = ChooseScale(1e6 - 1e-3, 1e6 + 1e-3, 8);
  std::string all;
  for (int row = 0; row < 8; ++row) {
    if (level.Labelled(row)) StrAppend(&all, ScaleLabel(level, row), " ");
  }
  EXPECT_EQ(all, "999,999.999 1,000,000.000 1,000,000.001 ");
}

TEST(TerminalChart, DrawsPlainText) {
  // Eight past values climb, one is missing; the forecast is flat inside its band. 36 columns hold eleven
  // steps: one is 35.5 / 11 columns, so that value 7 stands in column 22 and the forecast starts in 25.
  const SeriesView series = Series({0, 1, 2, 3, kNan, 5, 6, 7}, {3, 3, 3, 3}, {5, 5, 5, 5}, {7, 7, 7, 7});
  const std::string text = DrawChart(series, Options(40, 8));
  EXPECT_EQ(text, R"( flow
 ** History   oo Median   :: 80 % band
   |                     **  :::::::::::
 6 +                  *** |  :::::::::::
   |                **    |  ooooooooooo
 4 +                      |  :::::::::::
   |        **            |  :::::::::::
 2 +     ***              |
   |  ***                 |
 0 +**                    |
   +----------------------+-------------
    t0                 now t7        t11
)") << text;
}

TEST(TerminalChart, DrawsUnicodeAndColours) {
  const SeriesView series = Series({0, 2, 4, 6}, {4, 3}, {5, 5}, {6, 7});
  const std::string plain = DrawChart(series, Options(40, 4, Glyphs::kUnicode));
  EXPECT_NE(plain.find("⠒⠒ History   ⠒⠒ Median   ░░ 80 % band"), std::string::npos) << plain;
  EXPECT_NE(plain.find("┴"), std::string::npos);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  for (const Colors colors : {Colors::kSixteen, Colors::kMany}) {
    const std::string coloured = DrawChart(series, Options(30, 4, Glyphs::kUnicode, colors));
    EXPECT_NE(coloured.find('\x1b'), std::string::npos);
    for (const std::string& line : Lines(coloured)) {
      const size_t last = line.rfind('\x1b');
      if (last == std::string::npos) continue;
      EXPECT_EQ(line.substr(last, 4), "\x1b[0m") << "a line leaves its colour on";
    }
  }
}

TEST(TerminalChart, SpeaksChineseWhereUnicodeIs) {
  ChartOptions options = Options(60, 4, Glyphs::kUnicode);
  options.language = Language::kChinese;
  const SeriesView series = Series({1, 2}, {2}, {3}, {4});
  EXPECT_NE(DrawChart(series, options).find("历史"), std::string::npos);
  options.style.glyphs = Glyphs::kAscii;
  EXPECT_NE(DrawChart(series, options).find("History"), std::string::npos);
}

TEST(TerminalChart, SaysWhenThereIsNothingToDraw) {
  const std::string expected = " flow\n  (no values to draw)\n";
  EXPECT_EQ(DrawChart(Series({}, {}, {}, {}), Options(40, 8)), expected);
  EXPECT_EQ(DrawChart(Series({kNan, kInf}, {kNan}, {-kInf}, {kNan}), Options(40, 8)), expected);
}

TEST(TerminalChart, DisarmsNamesAndTimes) {
  SeriesView series = Series({1, 2}, {2}, {3}, {4});
  series.item = "\x1b]0;owned\x07\n";
  series.history_time.text[0] = "\x1b[2J";
  for (const Glyphs glyphs : {Glyphs::kAscii, Glyphs::kUnicode}) {
    const std::string text = DrawChart(series, Options(60, 6, glyphs));
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\x07'), std::string::npos);
    EXPECT_EQ(Lines(text).size(), 2 + 6 + 2u);
  }
}

// Any size, any style, any value: no line is wider than asked, and ASCII is ASCII.
TEST(TerminalChart, StaysInsideItsFrame) {
  const std::vector<SeriesView> all = {
      Series({1}, {}, {}, {}),
      Series({}, {1}, {2}, {3}),
      Series({5, 5, 5}, {5}, {5}, {5}),
      Series({1e12, -1e12}, {1e12}, {2e12}, {3e12}),
      Series({1e-12, kNan, 3e-12}, {kNan}, {2e-12}, {kInf}),
      Series({1e6 - 1e-3, 1e6 + 1e-3}, {1e6}, {1e6}, {1e6}),
      Series({-1.7e308, 1.7e308, 4.9e-324}, {0}, {0}, {0}),
      Series(std::vector<double>(5000, 1.5), {1, 1, 1}, {2, kNan, 2}, {3, 3, kNan})};
  for (SeriesView series : all) {
    series.item = "一个很长很长的名字一个很长很长的名字一个很长很长的名字";
    for (int width : {-5, 30, 31, 57, 80, 161}) {
      for (int height : {0, 4, 5, 13, 24}) {
        for (const Glyphs glyphs : {Glyphs::kAscii, Glyphs::kUnicode}) {
          for (const Colors colors : {Colors::kNone, Colors::kMany}) {
            const std::string text = DrawChart(series, Options(width, height, glyphs, colors));
            ASSERT_FALSE(text.empty());
            ASSERT_EQ(text.back(), '\n');
            for (const std::string& line : Lines(WithoutColors(text))) {
              EXPECT_LE(DisplayWidth(line), std::max(width, 30)) << line;
              if (glyphs == Glyphs::kUnicode) continue;
              for (const char c : line) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << line;
            }
          }
        }
      }
    }
  }
}

TEST(TerminalChart, ChoosesItsSizeByTheTerminal) {
  TerminalFacts facts;
  EXPECT_EQ(ChartOptionsFor(facts, Language::kEnglish).width, 80);
  facts.columns = 400;
  facts.rows = 50;
  EXPECT_EQ(ChartOptionsFor(facts, Language::kEnglish).width, 160);
  EXPECT_EQ(ChartOptionsFor(facts, Language::kEnglish).height, 20);
  facts.columns = 5;
  facts.rows = 3;
  EXPECT_EQ(ChartOptionsFor(facts, Language::kEnglish).width, 30);
  EXPECT_EQ(ChartOptionsFor(facts, Language::kEnglish).height, 8);
}

}  // namespace
}  // namespace plinth
