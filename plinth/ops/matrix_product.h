// Multiplies a block of rows with a range of panels: packs, blocks for the caches, and finishes with
// bias, activation and residual while the sums are hot.
#pragma once

#include <cstdint>
#include <cstring>

#include "plinth/ops/linear/activation.h"
#include "plinth/ops/matrix_grid.h"
#include "plinth/ops/matrix_tile.h"
#include "plinth/ops/vector_math.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

// Element [m][k] of the left matrix lies at data[m * row_step + k * depth_step].
struct MatrixLeft {
  const float* data;
  int64_t row_step, depth_step;
};

// The right matrix: packed (`packed` points to block-major panels, see PackRight), or as it is, element
// [k][n] at data[k * depth_step + n * column_step].
struct MatrixRight {
  const float* packed;
  const float* data;
  int64_t depth_step, column_step;
  int64_t columns;  // outputs; for swiglu there are twice as many columns
  bool pairs;       // swiglu: a panel holds kLanes columns of each half

  int64_t panel_outputs() const { return pairs ? kLanes : kPanel; }
  int64_t panels() const { return MatrixCeil(columns, panel_outputs()); }
};

// What becomes of the sums: out[m][n] = activation(sum + bias[n]) + residual[m][n].
struct MatrixEnd {
  Activation activation = Activation::kNone;
  const float* bias = nullptr;
  const float* residual = nullptr;
  int64_t residual_stride = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
};

// Copies `count` columns from `first` on of rows [k0, k0 + depth) to to[k * kPanel + j], zeros up to
// `width`.
static inline void PackColumns(const MatrixRight& right, int64_t first, int64_t count, int64_t width,
                               int64_t k0, int64_t depth, float* to) {
  const float* from = right.data + k0 * right.depth_step + first * right.column_step;
  if (right.column_step == 1) {
    for (int64_t k = 0; k < depth; ++k) {
      std::memcpy(to + k * kPanel, from + k * right.depth_step, sizeof(float) * count);
    }
  } else {
    // In strips, so that the lines written stay in the first-level cache.
    for (int64_t start = 0; start < depth; start += 64) {
      const int64_t stop = MatrixMin(depth, start + 64);
      for (int64_t j = 0; j < count; ++j) {
        for (int64_t k = start; k < stop; ++k) {
          to[k * kPanel + j] = from[k * right.depth_step + j * right.column_step];
        }
      }
    }
  }
  for (int64_t k = 0; count < width && k < depth; ++k) {
    std::memset(to + k * kPanel + count, 0, sizeof(float) * (width - count));
  }
}

// Packs rows [k0, k0 + depth) of panel `panel`: depth x kPanel floats, missing columns zero.
static inline void PackPanel(const MatrixRight& right, int64_t panel, int64_t k0, int64_t depth, float* to) {
  const int64_t width = right.panel_outputs(), first = panel * width;
  const int64_t count = MatrixMin(width, right.columns - first);
  PackColumns(right, first, count, width, k0, depth, to);
  if (right.pairs) PackColumns(right, right.columns + first, count, width, k0, depth, to + kLanes);
}

// Packs all panels: for each block over K, panel after panel, so that a product reads them in order.
// `to` holds panels() * depth * kPanel floats.
static inline void PackRight(const MatrixRight& right, int64_t depth, float* to) {
  const MatrixBlocks blocks = MatrixBlocksOf(depth);
  for (int64_t k0 = 0; k0 < depth; k0 += blocks.step) {
    const int64_t length = MatrixMin(blocks.step, depth - k0);
    for (int64_t p = 0; p < right.panels(); ++p, to += length * kPanel) PackPanel(right, p, k0, length, to);
  }
}

// Copies rows [m0, m0 + rows) and columns [k0, k0 + depth) to to[r * kMatrixStride + k].
static inline void PackRows(const MatrixLeft& left, int64_t m0, int64_t rows, int64_t k0, int64_t depth,
                            float* to) {
  const float* from = left.data + m0 * left.row_step + k0 * left.depth_step;
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = from + r * left.row_step;
    if (left.depth_step == 1) {
      std::memcpy(to + r * kMatrixStride, row, sizeof(float) * depth);
    } else {
      for (int64_t k = 0; k < depth; ++k) to[r * kMatrixStride + k] = row[k * left.depth_step];
    }
  }
}

// The activation of one sum (of a pair for swiglu). relu keeps NaN, as max(x, 0) of the mathematics would.
template <Activation A>
PLINTH_TILE float Activate(float x, float pair) {
  if constexpr (A == Activation::kRelu) return x < 0.0f ? 0.0f : x;
  if constexpr (A == Activation::kGelu) return GeluExact(x);
  if constexpr (A == Activation::kGeluTanh) return GeluTanh(x);
  if constexpr (A == Activation::kSilu) return Silu(x);
  if constexpr (A == Activation::kSigmoid) return Sigmoid(x);
  if constexpr (A == Activation::kTanh) return Tanh(x);
  if constexpr (A == Activation::kSwiglu) return Silu(x) * pair;
  return x;
}

// Finishes `rows` rows of one panel's sums (rows sums_stride apart) from output row m0, column `first`
// on; `count` columns exist. Always computes whole vectors, so that every row takes the same path.
template <Activation A>
static __attribute__((noinline)) void FinishRows(const MatrixEnd& end, const float* sums, int64_t sums_stride,
                                                 int64_t m0, int64_t rows, int64_t first, int64_t count,
                                                 int64_t columns) {
  constexpr bool kPairs = A == Activation::kSwiglu;
  constexpr int kWidth = kPairs ? kLanes : kPanel;
  alignas(64) float bias[kPanel] = {}, added[kWidth] = {}, y[kWidth];
  if (end.bias != nullptr) {
    std::memcpy(bias, end.bias + first, sizeof(float) * count);
    if (kPairs) std::memcpy(bias + kLanes, end.bias + columns + first, sizeof(float) * count);
  }
  for (int64_t r = 0; r < rows; ++r) {
    const float* h = sums + r * sums_stride;
#pragma omp simd
    for (int j = 0; j < kWidth; ++j) {
      float pair = 0;
      if constexpr (kPairs) pair = h[j + kLanes] + bias[j + kLanes];
      y[j] = Activate<A>(h[j] + bias[j], pair);
    }
    float* out = end.out + (m0 + r) * end.out_stride + first;
    if (end.residual != nullptr) {
      std::memcpy(added, end.residual + (m0 + r) * end.residual_stride + first, sizeof(float) * count);
#pragma omp simd
      for (int j = 0; j < kWidth; ++j) y[j] += added[j];
    }
    std::memcpy(out, y, sizeof(float) * count);
  }
}

typedef void FinishFn(const MatrixEnd& end, const float* sums, int64_t sums_stride, int64_t m0, int64_t rows,
                      int64_t first, int64_t count, int64_t columns);
static inline FinishFn* ChooseFinish(Activation activation) {
  constexpr FinishFn* kFinish[kActivations] = {
      FinishRows<Activation::kNone>,     FinishRows<Activation::kRelu>,  FinishRows<Activation::kGelu>,
      FinishRows<Activation::kGeluTanh>, FinishRows<Activation::kSilu>,  FinishRows<Activation::kSigmoid>,
      FinishRows<Activation::kTanh>,     FinishRows<Activation::kSwiglu>};
  return kFinish[static_cast<int>(activation)];
}

// One pass: rows [m0, m0 + rows) (at most kMatrixRows) times panels [p0, p1) (at most kMatrixUnits
// units).
class MatrixPass {
 public:
  MatrixPass(const MatrixLeft& left, const MatrixRight& right, const MatrixEnd& end, int64_t depth,
             MatrixScratch* scratch)
      : left_(left),
        right_(right),
        end_(end),
        depth_(depth),
        scratch_(scratch),
        blocks_(MatrixBlocksOf(depth)),
        finish_(ChooseFinish(end.activation)) {}

  void Run(int64_t m0, int64_t rows, int64_t p0, int64_t p1) const {
    for (int64_t b = 0; b < blocks_.count; ++b) {
      const int64_t k0 = b * blocks_.step, length = MatrixMin(blocks_.step, depth_ - k0);
      const float* a = scratch_->rows;
      if (rows == 1 && left_.depth_step == 1) {
        a = left_.data + m0 * left_.row_step + k0;
      } else {
        PackRows(left_, m0, rows, k0, length, scratch_->rows);
      }
      RunBlock(a, m0, rows, p0, p1, k0, length);
    }
  }

 private:
  void RunBlock(const float* a, int64_t m0, int64_t rows, int64_t p0, int64_t p1, int64_t k0,
                int64_t length) const {
    const int64_t tiles = MatrixCeil(rows, kTileRows);
    const bool packed = right_.packed != nullptr;
    // Packed panels of this block: those of earlier blocks hold k0 rows each.
    const float* base = packed ? right_.packed + k0 * right_.panels() * kPanel : nullptr;
    for (int64_t p = p0; p < p1;) {
      const float* b = scratch_->panel;
      if (packed) {
        b = base + p * length * kPanel;
      } else {
        PackPanel(right_, p, k0, length, scratch_->panel);
      }
      int64_t took = 1;
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t r0 = rows * t / tiles, r1 = rows * (t + 1) / tiles;
        const TileChoice choice = ChooseTile(r1 - r0);
        if (packed && tiles == 1 && p + choice.panels <= p1) took = choice.panels;
        const Where at{m0, r0, r1 - r0, rows, p - p0, p, took, Ahead(b, k0, length, p, took, p0, p1, t)};
        RunTile(took == 1 ? choice.one : choice.many, a + r0 * kMatrixStride, b, k0, length, at);
      }
      p += took;
    }
  }

  // Where tile `t` begins to fetch: the panel that follows panels [p, p + took) in this pass is fetched in
  // equal parts by the first tiles. Without a next one, the panel at hand.
  const float* Ahead(const float* b, int64_t k0, int64_t length, int64_t p, int64_t took, int64_t p0,
                     int64_t p1, int64_t t) const {
    const float* next = b;
    const int64_t k1 = k0 + length;
    if (right_.packed != nullptr && p + took < p1) next = b + took * length * kPanel;
    if (right_.packed != nullptr && p + took == p1 && k1 < depth_) {
      next = right_.packed + (k1 * right_.panels() + p0 * MatrixMin(length, depth_ - k1)) * kPanel;
    }
    const int64_t part = length / 4 * kFetch * kLineFloats;
    return next + MatrixMin(t * part, MatrixMax(0, length * kPanel - part));
  }

  // Rows [r0, r0 + rows) of a block of block_rows rows that begins at output row m0; panels [panel,
  // panel + panels), the first being number `index` of the pass.
  struct Where {
    int64_t m0, r0, rows, block_rows, index, panel, panels;
    const float* ahead;  // what to fetch meanwhile
  };

  void RunTile(TileFn* tile, const float* a, const float* b, int64_t k0, int64_t length,
               const Where& at) const {
    const int64_t width = right_.panel_outputs(), first = at.panel * width;
    const int64_t sums_panel = at.block_rows * kPanel;
    float* sums = scratch_->sums + at.index * sums_panel + at.r0 * kPanel;
    const bool last = k0 + length == depth_;
    TileEnds ends;
    if (k0 > 0) ends.from = sums, ends.from_stride = kPanel, ends.from_panel = sums_panel;
    if (!last) {
      ends.to = sums, ends.to_stride = kPanel, ends.to_panel = sums_panel;
      tile(a, b, length * kPanel, length, at.ahead, ends);
      return;
    }
    const int64_t m = at.m0 + at.r0;
    if (end_.activation == Activation::kNone && first + at.panels * kPanel <= right_.columns) {
      ends.to = end_.out + m * end_.out_stride + first, ends.to_stride = end_.out_stride;
      ends.to_panel = kPanel;
      if (end_.bias != nullptr) ends.bias = end_.bias + first;
      if (end_.residual != nullptr) {
        ends.residual = end_.residual + m * end_.residual_stride + first;
        ends.residual_stride = end_.residual_stride;
      }
      tile(a, b, length * kPanel, length, at.ahead, ends);
      return;
    }
    ends.to = scratch_->tile, ends.to_stride = kPanel, ends.to_panel = at.rows * kPanel;
    tile(a, b, length * kPanel, length, at.ahead, ends);
    for (int64_t p = 0; p < at.panels; ++p) {
      const int64_t column = first + p * width, count = MatrixMin(width, right_.columns - column);
      finish_(end_, scratch_->tile + p * at.rows * kPanel, kPanel, m, at.rows, column, count, right_.columns);
    }
  }

  const MatrixLeft left_;
  const MatrixRight right_;
  const MatrixEnd end_;
  const int64_t depth_;
  MatrixScratch* const scratch_;
  const MatrixBlocks blocks_;
  FinishFn* const finish_;
};

// Runs pieces [begin, end) of `grid`; neighbouring pieces of a row block are taken in one pass.
static inline void RunPieces(const MatrixPass& pass, const MatrixGrid& grid, const MatrixRight& right,
                             int64_t begin, int64_t end) {
  constexpr int64_t kPanelsPerUnit = kMatrixUnit / kPanel;
  const int64_t most = MatrixMax(1, kMatrixUnits / grid.chunk_units);
  while (begin < end) {
    const int64_t block = begin / grid.chunks, chunk = begin % grid.chunks;
    const int64_t take = MatrixMin(MatrixMin(grid.chunks - chunk, end - begin), most);
    const int64_t m0 = grid.row_begin(block);
    const int64_t p0 = chunk * grid.chunk_units * kPanelsPerUnit;
    const int64_t p1 = MatrixMin((chunk + take) * grid.chunk_units * kPanelsPerUnit, right.panels());
    pass.Run(m0, grid.row_begin(block + 1) - m0, p0, p1);
    begin += take;
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
