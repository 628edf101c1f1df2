#include "plinth/report/terminal_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "plinth/base/text.h"
#include "plinth/report/chart_canvas.h"
#include "plinth/report/chart_scale.h"
#include "plinth/report/numbers.h"

namespace plinth {
namespace {

constexpr int kLeastWidth = 30;
constexpr int kLeastHeight = 4;
constexpr size_t kLeastPast = 120;

// The part of a series that is drawn, with every vector cut to one length per side.
struct Shown {
  size_t first = 0;  // past values before this one are left out
  size_t past = 0;
  size_t steps = 0;
  std::vector<double> history, median, low, high, actual;
  std::vector<double> past_time, future_time;
  double Start() const { return past > 0 ? past_time.front() : future_time.front(); }
  double End() const { return steps > 0 ? future_time.back() : past_time.back(); }
};

std::vector<double> Finite(std::vector<double> values, size_t from, size_t count) {
  std::vector<double> out(count, std::numeric_limits<double>::quiet_NaN());
  for (size_t i = 0; i < count && from + i < values.size(); ++i) {
    if (std::isfinite(values[from + i])) out[i] = values[from + i];
  }
  return out;
}

std::vector<double> Times(const TimePoints& time, size_t from, size_t count) {
  std::vector<double> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<double>(time.ms[from + i]);
  return out;
}

Shown Select(const SeriesView& series, int past) {
  Shown shown;
  shown.steps = std::min(series.forecast_time.ms.size(), series.forecast_time.text.size());
  const size_t all =
      std::min({series.history.size(), series.history_time.ms.size(), series.history_time.text.size()});
  const size_t wanted = past > 0 ? static_cast<size_t>(past) : std::max(kLeastPast, 3 * shown.steps);
  shown.past = std::min(all, wanted);
  shown.first = all - shown.past;
  shown.history = Finite(series.history, shown.first, shown.past);
  std::vector<double> median = QuantileAt(series, 0.5);
  shown.median = Finite(median.empty() ? series.mean : median, 0, shown.steps);
  shown.low = Finite(QuantileAt(series, 0.1), 0, shown.steps);
  shown.high = Finite(QuantileAt(series, 0.9), 0, shown.steps);
  shown.actual = Finite(series.actual, 0, shown.steps);
  shown.past_time = Times(series.history_time, shown.first, shown.past);
  shown.future_time = Times(series.forecast_time, 0, shown.steps);
  return shown;
}

bool Extent(const Shown& shown, double* low, double* high) {
  *low = std::numeric_limits<double>::infinity();
  *high = -*low;
  for (const auto* values : {&shown.history, &shown.median, &shown.low, &shown.high, &shown.actual}) {
    for (const double value : *values) {
      if (!std::isfinite(value)) continue;
      *low = std::min(*low, value);
      *high = std::max(*high, value);
    }
  }
  return *low <= *high;
}

std::string Blanks(int count) { return std::string(static_cast<size_t>(std::max(0, count)), ' '); }

std::string Repeat(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

class Drawing {
 public:
  Drawing(const SeriesView& series, const ChartOptions& options)
      : series_(series),
        options_(options),
        unicode_(options.style.glyphs == Glyphs::kUnicode),
        // Chinese needs more than ASCII.
        language_(unicode_ ? options.language : Language::kEnglish),
        width_(std::max(options.width, kLeastWidth)),
        height_(std::max(options.height, kLeastHeight)),
        shown_(Select(series, options.past)) {}

  std::string Text() {
    double low, high;
    if (shown_.past + shown_.steps == 0 || !Extent(shown_, &low, &high)) {
      return StrCat(TitleLine(""), "  (", plinth::Text(language_, Message::kNoData), ")\n");
    }
    scale_ = ChooseScale(low, high, height_);
    std::vector<std::string> labels = Labels();
    for (const std::string& label : labels) label_width_ = std::max(label_width_, DisplayWidth(label));
    columns_ = width_ - label_width_ - 3;
    ChartCanvas canvas(columns_, height_, options_.style);
    Draw(&canvas);
    std::string out = StrCat(TitleLine(Hidden()), LegendLine(canvas));
    for (int row = height_ - 1; row >= 0; --row) {
      const std::string& label = labels[static_cast<size_t>(row)];
      const std::string_view axis = label.empty() ? (unicode_ ? "│" : "|") : (unicode_ ? "┤" : "+");
      const std::string left = StrCat(Blanks(1 + label_width_ - DisplayWidth(label)), label, " ", axis);
      StrAppend(&out, canvas.Faint(left), canvas.RowText(row), "\n");
    }
    return out + canvas.Faint(AxisLine()) + "\n" + TimeLines(canvas);
  }

 private:
  std::vector<std::string> Labels() const {
    std::vector<std::string> labels(static_cast<size_t>(height_));
    for (int row = 0; row < height_; ++row) {
      if (scale_.Labelled(row)) labels[static_cast<size_t>(row)] = ScaleLabel(scale_, row);
    }
    return labels;
  }

  // Cells from the left edge; everything at one instant lies in the middle.
  double Position(double time) const {
    const double span = shown_.End() - shown_.Start();
    if (!(span > 0)) return columns_ / 2.0;
    // Half a dot keeps the last instant inside the last cell.
    return (time - shown_.Start()) / span * (columns_ - 0.5);
  }

  std::vector<double> Positions(const std::vector<double>& times) const {
    std::vector<double> out(times.size());
    std::transform(times.begin(), times.end(), out.begin(), [this](double t) { return Position(t); });
    return out;
  }

  std::vector<double> Heights(std::vector<double> values) const {
    for (double& value : values) value = scale_.Height(value);
    return values;
  }

  int NowColumn() const {
    if (shown_.past == 0 || shown_.steps == 0) return -1;
    return static_cast<int>(Position(shown_.past_time.back()));
  }

  void Draw(ChartCanvas* canvas) const {
    for (int row = 0; row < height_; ++row) {
      if (scale_.Labelled(row)) canvas->GridRow(row);
    }
    canvas->NowColumn(NowColumn());
    const std::vector<double> past = Positions(shown_.past_time), future = Positions(shown_.future_time);
    canvas->Band(future, Heights(shown_.low), Heights(shown_.high));
    canvas->Line(past, Heights(shown_.history), Ink::kHistory);
    canvas->Line(future, Heights(shown_.actual), Ink::kActual);
    canvas->Line(future, Heights(shown_.median), Ink::kMedian);
  }

  std::string Hidden() const {
    const int64_t earlier = static_cast<int64_t>(shown_.first) + series_.earlier;
    if (earlier == 0) return "";
    return plinth::Text(
        language_, Message::kEarlierHidden,
        {Count(static_cast<int64_t>(shown_.past)), Count(earlier + static_cast<int64_t>(shown_.past))});
  }

  std::string TitleLine(const std::string& note) const {
    std::string title = SeriesTitle(series_);
    if (!unicode_) {
      // The separator of ours is not ASCII; the names may not be either.
      title = series_.item.empty() || series_.target.empty() ? title
                                                             : StrCat(series_.item, " / ", series_.target);
    }
    const int note_width = DisplayWidth(note);
    const bool fits = note_width > 0 && note_width + 12 < width_;
    const int room = width_ - 1 - (fits ? note_width + 2 : 0);
    title = CutToWidth(Printable(title, options_.style.glyphs), room, options_.style.glyphs);
    const bool colors = options_.style.colors != Colors::kNone;
    std::string out = StrCat(" ", colors ? "\x1b[1m" : "", title, colors ? "\x1b[0m" : "");
    if (fits) StrAppend(&out, Blanks(width_ - 1 - DisplayWidth(title) - note_width), note);
    return out + "\n";
  }

  std::string LegendLine(const ChartCanvas& canvas) const {
    struct Entry {
      const std::vector<double>* values;
      Ink ink;
      std::string name;
    };
    const bool has_median = !QuantileAt(series_, 0.5).empty();
    const std::vector<Entry> entries = {
        {&shown_.history, Ink::kHistory, std::string(plinth::Text(language_, Message::kHistory))},
        {&shown_.median, Ink::kMedian,
         std::string(plinth::Text(language_, has_median ? Message::kMedian : Message::kMean))},
        {&shown_.low, Ink::kBand, plinth::Text(language_, Message::kBand, {"80"})},
        {&shown_.actual, Ink::kActual, std::string(plinth::Text(language_, Message::kActual))}};
    const auto absent = [](const Entry& entry) {
      return std::none_of(entry.values->begin(), entry.values->end(),
                          [](double v) { return std::isfinite(v); });
    };
    constexpr int kSample = 3, kBetween = 3;
    int needed = -kBetween;
    for (const Entry& entry : entries) {
      if (!absent(entry)) needed += kSample + DisplayWidth(entry.name) + kBetween;
    }
    // Above the plot where it fits, else from the edge, else without the last entries.
    int used = label_width_ + 3 + needed <= width_ ? label_width_ + 3 : 1;
    std::string out = Blanks(used);
    for (const Entry& entry : entries) {
      const int cells = kSample + DisplayWidth(entry.name);
      if (absent(entry)) continue;
      if (used + cells > width_) break;
      StrAppend(&out, canvas.Sample(entry.ink), " ", entry.name, Blanks(kBetween));
      used += cells + kBetween;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + "\n";
  }

  std::string AxisLine() const {
    const int now = NowColumn();
    const std::string_view line = unicode_ ? "─" : "-";
    std::string out = StrCat(Blanks(label_width_ + 2), unicode_ ? "└" : "+");
    if (now < 0) return out + Repeat(line, columns_);
    return out + Repeat(line, now) + (unicode_ ? "┴" : "+") + Repeat(line, columns_ - now - 1);
  }

  // Start and end at the two ends, now under its line; now moves to a line of its own where it would touch.
  std::string TimeLines(const ChartCanvas& canvas) const {
    const Glyphs glyphs = options_.style.glyphs;
    const auto cut = [&](const std::string& text) {
      return CutToWidth(Printable(text, glyphs), columns_ / 2 - 1, glyphs);
    };
    const std::string start =
        cut(shown_.past > 0 ? series_.history_time.text[shown_.first] : series_.forecast_time.text.front());
    std::string end = cut(shown_.steps > 0 ? series_.forecast_time.text[shown_.steps - 1]
                                           : series_.history_time.text[shown_.first + shown_.past - 1]);
    if (shown_.past + shown_.steps == 1) end.clear();
    const int left = label_width_ + 3, end_width = DisplayWidth(end), start_width = DisplayWidth(start);
    const int end_at = columns_ - end_width;
    std::string ends = StrCat(Blanks(left), start, Blanks(end_at - start_width), end);
    ends.erase(ends.find_last_not_of(' ') + 1);
    if (NowColumn() < 0) return canvas.Faint(ends) + "\n";
    const std::string now = StrCat(plinth::Text(language_, Message::kNow), " ",
                                   cut(series_.history_time.text[shown_.first + shown_.past - 1]));
    const int now_width = DisplayWidth(now);
    const int now_at = std::clamp(NowColumn() - now_width / 2, 0, columns_ - now_width);
    if (now_at >= start_width + 2 && now_at + now_width + 2 <= end_at) {
      return StrCat(canvas.Faint(StrCat(Blanks(left), start, Blanks(now_at - start_width))), now,
                    canvas.Faint(StrCat(Blanks(end_at - now_at - now_width), end)), "\n");
    }
    return StrCat(canvas.Faint(ends), "\n", Blanks(left + now_at), now, "\n");
  }

  const SeriesView& series_;
  const ChartOptions& options_;
  const bool unicode_;
  const Language language_;
  const int width_, height_;
  const Shown shown_;
  ChartScale scale_;
  int label_width_ = 0, columns_ = 0;
};

}  // namespace

ChartOptions ChartOptionsFor(const TerminalFacts& facts, Language language) {
  ChartOptions options;
  options.style = StyleFor(facts);
  options.language = language;
  if (facts.columns > 0) options.width = std::clamp(facts.columns, kLeastWidth, 160);
  if (facts.rows > 0) options.height = std::clamp(facts.rows * 2 / 5, 8, 24);
  return options;
}

std::string DrawChart(const SeriesView& series, const ChartOptions& options) {
  return Drawing(series, options).Text();
}

}  // namespace plinth
