// Operators that work on rows: `length` elements, `stride` apart, all rows alike and independent.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "plinth/verify/replay/factories.h"

namespace plinth::verify::replay {

// How the rows along one run of axes lie in a dense tensor.
struct RowLayout {
  int64_t outer = 0, length = 0, stride = 1;

  // Rows along `axis`.
  static RowLayout Along(const std::vector<int64_t>& dims, size_t axis) {
    if (dims.empty()) return {1, 1, 1};
    return {ProductOf(dims, 0, axis), dims[axis], ProductOf(dims, axis + 1, dims.size())};
  }
  // Rows of all axes from `axis` on.
  static RowLayout From(const std::vector<int64_t>& dims, size_t axis) {
    return {ProductOf(dims, 0, axis), ProductOf(dims, axis, dims.size()), 1};
  }
  int64_t rows() const { return outer * stride; }
  // The first element of row r.
  int64_t Begin(int64_t r) const { return r / stride * length * stride + r % stride; }
};

class RowReference : public Reference {
 public:
  int64_t pieces() const override { return (layout.rows() + RowsPerPiece() - 1) / RowsPerPiece(); }
  double piece_flops() const override {
    return work * static_cast<double>(std::min(RowsPerPiece(), layout.rows()) * layout.length);
  }
  void Compute(int64_t piece, TruthSink& sink) const override {
    const int64_t end = std::min(layout.rows(), (piece + 1) * RowsPerPiece());
    std::vector<double> x(static_cast<size_t>(layout.length));
    for (int64_t r = piece * RowsPerPiece(); r < end; ++r) {
      input->Load(layout.Begin(r), layout.length, layout.stride, x.data());
      Row(r, x, sink);
    }
  }

 protected:
  virtual void Row(int64_t r, const std::vector<double>& x, TruthSink& sink) const = 0;
  int64_t IndexOf(int64_t r, int64_t i) const { return layout.Begin(r) + i * layout.stride; }

  const Values* input = nullptr;
  RowLayout layout;
  double work = 10;  // operations per element
  Arithmetic arithmetic;

 private:
  int64_t RowsPerPiece() const { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, layout.length)); }
};

}  // namespace plinth::verify::replay
