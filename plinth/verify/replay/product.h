// Sums of products with the sizes that bound their rounding errors: the heart of matmul, linear and
// convolution.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "plinth/verify/replay/reference.h"

namespace plinth::verify::replay {

// Columns that are summed side by side.
inline constexpr int64_t kPanelColumns = 16;

// Of one row against kPanelColumns columns: the sum of the terms, of their sizes, of their squares, and the
// largest partial sum in ascending order.
template <typename T>
struct PanelSums {
  T sum[kPanelColumns];
  double size[kPanelColumns], square[kPanelColumns], top[kPanelColumns];
};

// panel: [depth, kPanelColumns].
template <typename T>
void SumPanel(const double* row, const double* panel, int64_t depth, PanelSums<T>& s) {
  PanelSums<T> t{};
  for (int64_t k = 0; k < depth; ++k) {
    const double a = row[k];
    const double* b = panel + k * kPanelColumns;
    for (int64_t j = 0; j < kPanelColumns; ++j) {
      const T term = static_cast<T>(a) * static_cast<T>(b[j]);
      const auto rounded = static_cast<double>(term);
      t.sum[j] += term;
      t.size[j] += std::abs(rounded);
      t.square[j] += rounded * rounded;
      const double partial = std::abs(static_cast<double>(t.sum[j]));
      t.top[j] = t.top[j] < partial ? partial : t.top[j];
    }
  }
  s = t;
}

// A batch of products [rows, depth] x [depth, columns], cut into tiles.
class ProductReference : public Reference {
 public:
  int64_t pieces() const override { return batch * RowTiles() * ColumnTiles(); }
  double piece_flops() const override;
  void Compute(int64_t piece, TruthSink& sink) const override;

 protected:
  // Row i of the left side, depth numbers.
  virtual void LoadRow(int64_t b, int64_t i, double* out) const = 0;
  // Columns [first, first + count) of the right side, count <= kPanelColumns, to panel[k * kPanelColumns +
  // j].
  virtual void LoadPanel(int64_t b, int64_t first, int64_t count, double* panel) const = 0;
  virtual int64_t OutIndex(int64_t b, int64_t i, int64_t j) const = 0;
  // What is added to the product; `has_addend` says whether anything is.
  virtual double Addend(int64_t b, int64_t i, int64_t j) const = 0;

  int64_t batch = 1, rows = 0, columns = 0, depth = 0;
  bool wide = false;  // long double
  bool has_addend = false;
  double alpha = 1;
  double out_roundoff = 0;
  Arithmetic arithmetic;

 private:
  static constexpr int64_t kTileRows = 32, kTileColumns = 256;
  int64_t RowTiles() const { return (rows + kTileRows - 1) / kTileRows; }
  int64_t ColumnTiles() const { return (columns + kTileColumns - 1) / kTileColumns; }
  template <typename T>
  void ComputeAs(int64_t piece, TruthSink& sink) const;
  template <typename T>
  void PutRow(int64_t b, int64_t i, int64_t first, int64_t count, const PanelSums<T>& s,
              TruthSink& sink) const;
};

}  // namespace plinth::verify::replay
