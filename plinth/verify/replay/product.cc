#include "plinth/verify/replay/product.h"

namespace plinth::verify::replay {

double SumGrowth(int64_t terms) {
  const auto k = static_cast<double>(terms);
  return std::min(k, 6 * std::sqrt(k));
}

double ProductReference::piece_flops() const {
  return 2.0 * static_cast<double>(std::min(rows, kTileRows)) *
         static_cast<double>(std::min(columns, kTileColumns)) * static_cast<double>(depth);
}

void ProductReference::Compute(int64_t piece, TruthSink& sink) const {
  if (wide) return ComputeAs<long double>(piece, sink);
  ComputeAs<double>(piece, sink);
}

template <typename T>
void ProductReference::ComputeAs(int64_t piece, TruthSink& sink) const {
  const int64_t tiles = RowTiles() * ColumnTiles();
  const int64_t b = piece / tiles, tile = piece % tiles;
  const int64_t row0 = tile / ColumnTiles() * kTileRows, row1 = std::min(rows, row0 + kTileRows);
  const int64_t column0 = tile % ColumnTiles() * kTileColumns;
  const int64_t column1 = std::min(columns, column0 + kTileColumns);
  std::vector<double> left(static_cast<size_t>((row1 - row0) * depth));
  for (int64_t i = row0; i < row1; ++i) LoadRow(b, i, left.data() + (i - row0) * depth);
  std::vector<double> panel(static_cast<size_t>(depth * kPanelColumns));
  PanelSums<T> sums;
  for (int64_t j = column0; j < column1; j += kPanelColumns) {
    const int64_t count = std::min(kPanelColumns, column1 - j);
    LoadPanel(b, j, count, panel.data());
    for (int64_t i = row0; i < row1; ++i) {
      SumPanel<T>(left.data() + (i - row0) * depth, panel.data(), depth, sums);
      PutRow<T>(b, i, j, count, sums, sink);
    }
  }
}

// A single element: lambda sqrt(K) u S (Higham and Mary 2019). The level: K rounding errors of about 0.43 u
// of a partial sum each add up to 0.43 sqrt(K) u times the partial sums' size. That is taken from the sum in
// ascending order, from the size that random signs give, and at least S/16, since a kernel's lanes sum other
// subsets. Operands that are cut to a shorter format put two independent relative errors on each term. A bias
// may be added after the product was rounded to the output's type.
template <typename T>
void ProductReference::PutRow(int64_t b, int64_t i, int64_t first, int64_t count, const PanelSums<T>& s,
                              TruthSink& sink) const {
  const double root = std::sqrt(static_cast<double>(depth));
  const double growth = SumGrowth(depth);
  const double cut = std::sqrt(2.0) * arithmetic.operand / arithmetic.accumulate;
  const double out = out_roundoff / arithmetic.accumulate;
  const double split = arithmetic.partial / arithmetic.accumulate;
  for (int64_t j = 0; j < count; ++j) {
    const double norm = std::sqrt(s.square[j]);
    const double partial = std::max({s.top[j], norm, s.size[j] / 16});
    double slack = std::abs(alpha) * (growth * s.size[j] + std::min(6 * cut * norm, cut * s.size[j] * 1.5));
    double spread = std::abs(alpha) * (root * partial + cut * norm);
    // Parts of a split product are about norm / sqrt(parts) large each.
    slack += std::abs(alpha) * 6 * split * norm, spread += std::abs(alpha) * split * norm;
    T truth = static_cast<T>(alpha) * s.sum[j];
    if (has_addend) {
      const double size = std::abs(static_cast<double>(truth));
      const double addend = Addend(b, i, first + j);
      truth += static_cast<T>(addend);
      slack += (1 + out) * size + std::abs(addend);
      spread += (1 + out) * size + std::abs(addend);
    }
    if (alpha != 1)
      slack += std::abs(static_cast<double>(truth)), spread += std::abs(static_cast<double>(truth));
    sink.Put(OutIndex(b, i, first + j), static_cast<long double>(truth), slack, spread);
  }
}

}  // namespace plinth::verify::replay
