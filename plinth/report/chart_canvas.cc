#include "plinth/report/chart_canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "plinth/base/text.h"

namespace plinth {
namespace {

// U+2800 plus the bits of its eight dots (Unicode Standard, Braille Patterns).
std::string Braille(uint8_t dots) {
  return {static_cast<char>(0xE2), static_cast<char>(0xA0 | (dots >> 6)),
          static_cast<char>(0x80 | (dots & 0x3F))};
}

// The bit of the dot in column x (0, 1) and row y from below (0 to 3).
uint8_t DotBit(int64_t x, int64_t y) {
  static constexpr std::array<std::array<uint8_t, 4>, 2> kBits = {
      {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}}};
  return kBits[static_cast<size_t>(x)][static_cast<size_t>(y)];
}

constexpr std::array<std::string_view, 9> kLowerBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

size_t InkIndex(Ink ink) { return ink == Ink::kHistory ? 0 : ink == Ink::kMedian ? 1 : 2; }

}  // namespace

ChartCanvas::ChartCanvas(int columns, int rows, TerminalStyle style)
    : columns_(columns),
      rows_(rows),
      across_(style.glyphs == Glyphs::kUnicode ? 2 : 1),
      up_(style.glyphs == Glyphs::kUnicode ? 4 : 1),
      style_(style),
      cells_(static_cast<size_t>(columns) * static_cast<size_t>(rows)),
      band_(static_cast<size_t>(columns)),
      grid_rows_(static_cast<size_t>(rows), false) {}

const ChartCanvas::Cell& ChartCanvas::At(int column, int row) const {
  return cells_[static_cast<size_t>(row) * static_cast<size_t>(columns_) + static_cast<size_t>(column)];
}

void ChartCanvas::Dot(int64_t x, int64_t y, Ink ink) {
  if (x < 0 || y < 0 || x >= int64_t{columns_} * across_ || y >= int64_t{rows_} * up_) return;
  const size_t index =
      static_cast<size_t>(y / up_) * static_cast<size_t>(columns_) + static_cast<size_t>(x / across_);
  Cell& cell = cells_[index];
  cell.inked[InkIndex(ink)] = true;
  cell.dots |= up_ == 4 ? DotBit(x % 2, y % 4) : 1;
}

// Bresenham's line.
void ChartCanvas::Segment(int64_t x0, int64_t y0, int64_t x1, int64_t y1, Ink ink) {
  const int64_t dx = std::abs(x1 - x0), dy = -std::abs(y1 - y0);
  const int64_t sx = x0 < x1 ? 1 : -1, sy = y0 < y1 ? 1 : -1;
  int64_t error = dx + dy;
  while (true) {
    Dot(x0, y0, ink);
    if (x0 == x1 && y0 == y1) return;
    const int64_t twice = 2 * error;
    if (twice >= dy) {
      error += dy;
      x0 += sx;
    }
    if (twice <= dx) {
      error += dx;
      y0 += sy;
    }
  }
}

void ChartCanvas::Line(const std::vector<double>& x, const std::vector<double>& height, Ink ink) {
  const double top = static_cast<double>(rows_ * up_ - 1);
  bool drawing = false;
  int64_t last_x = 0, last_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(height[i])) {
      drawing = false;
      continue;
    }
    const int64_t dot_x = static_cast<int64_t>(std::floor(x[i] * across_));
    const int64_t dot_y = static_cast<int64_t>(std::clamp(std::floor(height[i] * up_), 0.0, top));
    if (drawing) {
      Segment(last_x, last_y, dot_x, dot_y, ink);
    } else {
      Dot(dot_x, dot_y, ink);
    }
    drawing = true;
    last_x = dot_x;
    last_y = dot_y;
  }
}

void ChartCanvas::Cover(int64_t column, double low, double high) {
  if (column < 0 || column >= columns_) return;
  Span& span = band_[static_cast<size_t>(column)];
  span.low = span.filled ? std::min(span.low, low) : low;
  span.high = span.filled ? std::max(span.high, high) : high;
  span.filled = true;
}

void ChartCanvas::Band(const std::vector<double>& x, const std::vector<double>& low,
                       const std::vector<double>& high) {
  for (size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(low[i]) || !std::isfinite(high[i])) continue;
    const int64_t column = static_cast<int64_t>(std::floor(x[i]));
    Cover(column, low[i], high[i]);
    if (i + 1 == x.size() || !std::isfinite(low[i + 1]) || !std::isfinite(high[i + 1])) continue;
    // Columns that lie wholly between two steps take the value at their middle.
    const int64_t next = static_cast<int64_t>(std::floor(x[i + 1]));
    for (int64_t c = column + 1; c < next; ++c) {
      const double weight = (static_cast<double>(c) + 0.5 - x[i]) / (x[i + 1] - x[i]);
      Cover(c, low[i] + weight * (low[i + 1] - low[i]), high[i] + weight * (high[i + 1] - high[i]));
    }
  }
}

// The covered part of a cell, and its edges in eighths from below.
double ChartCanvas::Coverage(int column, int row, int* from, int* to) const {
  *from = *to = 0;
  const Span& span = band_[static_cast<size_t>(column)];
  if (!span.filled) return 0;
  const double low = std::clamp(span.low - row, 0.0, 1.0), high = std::clamp(span.high - row, 0.0, 1.0);
  *from = static_cast<int>(std::lround(low * 8));
  *to = static_cast<int>(std::lround(high * 8));
  return high - low;
}

std::string ChartCanvas::Codes(Ink ink, bool on_band) const {
  if (style_.colors == Colors::kNone) return "";
  const bool many = style_.colors == Colors::kMany;
  switch (ink) {
    case Ink::kGrid:
      return many ? "38;5;240" : "90";
    case Ink::kNow:
      return many ? "38;5;245" : "90";
    case Ink::kBand:
      return many ? "38;5;25" : "34";
    case Ink::kHistory:
      return on_band ? (many ? "48;5;25" : "44") : "";
    case Ink::kMedian:
      if (on_band) return many ? "1;38;5;231;48;5;25" : "1;97;44";
      return many ? "1;38;5;39" : "1;94";
    case Ink::kActual:
      if (on_band) return many ? "38;5;215;48;5;25" : "93;44";
      return many ? "38;5;208" : "33";
  }
  return "";
}

ChartCanvas::Glyph ChartCanvas::LineGlyph(const Cell& cell, bool on_band) const {
  const Ink ink = cell.inked[1] ? Ink::kMedian : cell.inked[2] ? Ink::kActual : Ink::kHistory;
  const std::string codes = Codes(ink, on_band);
  if (up_ == 4) return {Braille(cell.dots), codes};
  const char letter = ink == Ink::kMedian ? 'o' : ink == Ink::kActual ? 'x' : '*';
  return {std::string(1, letter), codes};
}

ChartCanvas::Glyph ChartCanvas::BandGlyph(double coverage, int from, int to) const {
  const std::string codes = Codes(Ink::kBand, false);
  if (style_.glyphs == Glyphs::kAscii) return {coverage >= 0.5 ? ":" : "", codes};
  if (codes.empty()) return {coverage >= 0.5 ? "░" : "", ""};
  if (from == 0) return {std::string(kLowerBlocks[static_cast<size_t>(to)]), codes};
  // The upper part of a cell is the reverse of a lower block.
  if (to == 8) return {std::string(kLowerBlocks[static_cast<size_t>(from)]), StrCat("7;", codes)};
  return {to > from ? "━" : "", codes};
}

ChartCanvas::Glyph ChartCanvas::GlyphAt(int column, int row) const {
  int from, to;
  const double coverage = Coverage(column, row, &from, &to);
  if (const Cell& cell = At(column, row); cell.dots != 0) return LineGlyph(cell, coverage >= 0.3);
  if (to > from) {
    Glyph glyph = BandGlyph(coverage, from, to);
    if (!glyph.text.empty()) return glyph;
  }
  const bool unicode = style_.glyphs == Glyphs::kUnicode;
  if (column == now_column_) return {unicode ? "│" : "|", Codes(Ink::kNow, false)};
  if (grid_rows_[static_cast<size_t>(row)] && unicode && style_.colors != Colors::kNone) {
    return {"┈", Codes(Ink::kGrid, false)};
  }
  return {" ", ""};
}

std::string ChartCanvas::RowText(int row) const {
  std::string out, active;
  int blanks = 0;
  for (int column = 0; column < columns_; ++column) {
    const Glyph glyph = GlyphAt(column, row);
    if (glyph.text == " " && glyph.codes.empty()) {
      ++blanks;
      continue;
    }
    if (blanks > 0) {
      if (!active.empty()) out += "\x1b[0m";
      active.clear();
      out.append(static_cast<size_t>(blanks), ' ');
      blanks = 0;
    }
    if (glyph.codes != active) {
      StrAppend(&out, "\x1b[0", glyph.codes.empty() ? "" : ";", glyph.codes, "m");
      active = glyph.codes;
    }
    out += glyph.text;
  }
  if (!active.empty()) out += "\x1b[0m";
  return out;
}

std::string ChartCanvas::Sample(Ink ink) const {
  const bool unicode = style_.glyphs == Glyphs::kUnicode, plain = style_.colors == Colors::kNone;
  std::string text;
  if (ink == Ink::kBand) {
    text = !unicode ? "::" : plain ? "░░" : "██";
  } else {
    text = unicode ? "⠒⠒" : ink == Ink::kHistory ? "**" : ink == Ink::kMedian ? "oo" : "xx";
  }
  // The median mostly lies on the band; its sample looks as it does there.
  const bool on_band =
      ink == Ink::kMedian && std::any_of(band_.begin(), band_.end(), [](const Span& s) { return s.filled; });
  const std::string codes = Codes(ink, on_band);
  return codes.empty() ? text : StrCat("\x1b[", codes, "m", text, "\x1b[0m");
}

std::string ChartCanvas::Faint(std::string_view text) const {
  if (style_.colors == Colors::kNone) return std::string(text);
  return StrCat("\x1b[", Codes(Ink::kNow, false), "m", text, "\x1b[0m");
}

}  // namespace plinth
