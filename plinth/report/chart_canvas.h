// A grid of terminal cells onto which lines (in Braille dots) and a band (in eighths of a cell) are drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plinth/report/terminal.h"

namespace plinth {

enum class Ink : uint8_t { kGrid, kNow, kBand, kHistory, kMedian, kActual };

// Positions: x in cells from the left edge, height in rows from the lower edge, both continuous.
class ChartCanvas {
 public:
  ChartCanvas(int columns, int rows, TerminalStyle style);

  // Lines of one ink; a value that is not finite interrupts the line, a lone value is one dot. Both vectors
  // have the same length, x never decreases.
  void Line(const std::vector<double>& x, const std::vector<double>& height, Ink ink);

  // Fills between two lines over the same x; where either is not finite nothing is filled.
  void Band(const std::vector<double>& x, const std::vector<double>& low, const std::vector<double>& high);

  void GridRow(int row) { grid_rows_[static_cast<size_t>(row)] = true; }
  void NowColumn(int column) { now_column_ = column; }

  // Row 0 is the lowest; with colours the text carries ANSI sequences and ends reset.
  std::string RowText(int row) const;

  // The glyphs of a legend entry, two cells wide, coloured alike.
  std::string Sample(Ink ink) const;

  // Wraps text in the faint colour of labels when colours are on.
  std::string Faint(std::string_view text) const;

 private:
  struct Span {
    double low = 0, high = 0;
    bool filled = false;
  };
  struct Cell {
    uint8_t dots = 0;
    bool inked[3] = {false, false, false};  // history, median, actual
  };
  struct Glyph {
    std::string text;
    std::string codes;  // SGR parameters, empty for none
  };

  void Dot(int64_t x, int64_t y, Ink ink);
  void Segment(int64_t x0, int64_t y0, int64_t x1, int64_t y1, Ink ink);
  void Cover(int64_t column, double low, double high);
  double Coverage(int column, int row, int* from, int* to) const;
  Glyph LineGlyph(const Cell& cell, bool on_band) const;
  Glyph BandGlyph(double coverage, int from, int to) const;
  Glyph GlyphAt(int column, int row) const;
  std::string Codes(Ink ink, bool on_band) const;
  const Cell& At(int column, int row) const;

  int columns_, rows_;
  int across_, up_;  // dots per cell
  TerminalStyle style_;
  std::vector<Cell> cells_;
  std::vector<Span> band_;  // one per column
  std::vector<bool> grid_rows_;
  int now_column_ = -1;
};

}  // namespace plinth
