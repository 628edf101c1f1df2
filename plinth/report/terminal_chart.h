// Draws one series' history and forecast as text for a terminal.
#pragma once

#include <string>

#include "plinth/report/languages.h"
#include "plinth/report/series_view.h"
#include "plinth/report/terminal.h"

namespace plinth {

struct ChartOptions {
  int width = 80;   // cells, at least 30; smaller ones count as 30
  int height = 18;  // lines of the plot itself, at least 4; title, legend and time labels come on top
  TerminalStyle style;
  Language language = Language::kEnglish;
  // How many past values are drawn; 0 chooses three horizons, or 120 when that is more.
  int past = 0;
};

// The options that suit a terminal of these facts: as wide as it is up to 160 cells, two fifths of its
// height.
ChartOptions ChartOptionsFor(const TerminalFacts& facts, Language language);

// Several lines, each ended by '\n' and none wider than the width. History, median and 80 % band (quantiles
// 0.1 to 0.9), a vertical line at "now" (the boundary between past and forecast), gaps as gaps, labels of
// both axes. A series without finite values says so in place of the plot. Times position the values.
// The series must be consistent (Inconsistency() is empty); what is not is drawn
// as far as all parts reach. Without colours and with kAscii glyphs the text is plain ASCII.
std::string DrawChart(const SeriesView& series, const ChartOptions& options);

}  // namespace plinth
