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

// Swaps the off-diagonal blocks of S x S elements of all blocks of 2S x 2S, then does the same for larger
// ones.
template <int S>
PLINTH_TILE void SwapBlocks(Vec (&rows)[kLanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & S) != 0) continue;
    const Vec a = rows[i], b = rows[i + S];
    rows[i] = EvenBlocks<S>(a, b);
    rows[i + S] = OddBlocks<S>(a, b);
  }
  if constexpr (2 * S < kLanes) SwapBlocks<2 * S>(rows);
}

// to[j * to_step + i] = from[i * from_step + j] for i, j < kLanes. Method: Eklundh's, which swaps the
// off-diagonal halves of ever larger blocks.
static inline void TransposeBlock(const float* from, int64_t from_step, float* to, int64_t to_step) {
  Vec rows[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) rows[i] = LoadVec(from + i * from_step);
  SwapBlocks<1>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) StoreVec(to + i * to_step, rows[i]);
}

// to[j * to_step + i] = from[i * from_step + j] for i < rows, j < columns.
static inline void Transpose(const float* from, int64_t from_step, int64_t rows, int64_t columns, float* to,
                             int64_t to_step) {
  for (int64_t i = 0; i < rows; i += kLanes) {
    for (int64_t j = 0; j < columns; j += kLanes) {
      if (i + kLanes <= rows && j + kLanes <= columns) {
        TransposeBlock(from + i * from_step + j, from_step, to + j * to_step + i, to_step);
        continue;
      }
      for (int64_t y = i; y < MatrixMin(i + kLanes, rows); ++y) {
        for (int64_t x = j; x < MatrixMin(j + kLanes, columns); ++x) {
          to[x * to_step + y] = from[y * from_step + x];
        }
      }
    }
  }
}

// Copies `count` columns from `first` on of rows [k0, k0 + depth) to to[k * kPanel + j], zeros up to
// `width`.
static inline void PackColumns(const MatrixRight& right, int64_t first, int64_t count, int64_t width,
                               int64_t k0, int64_t depth, float* to) {
  const float* from = right.data + k0 * right.depth_step + first * right.column_step;
  if (right.column_step == 1) {
    for (int64_t k = 0; k < depth; ++k) {
      std::memcpy(to + k * kPanel, from + k * right.depth_step, sizeof(float) * count);
    }
  } else if (right.depth_step == 1) {
    Transpose(from, right.column_step, count, depth, to, kPanel);
  } else {
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < count; ++j) {
        to[k * kPanel + j] = from[k * right.depth_step + j * right.column_step];
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
  if (left.row_step == 1 && left.depth_step != 1) {
    Transpose(from, left.depth_step, depth, rows, to, kMatrixStride);
    return;
  }
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

// What one pass computes: rows [m0, m0 + rows) (at most kMatrixRows) of panels [p0, p1) (at most
// kMatrixUnits units).
struct MatrixSpan {
  int64_t m0, rows, p0, p1;
};

// Computes spans of one product.
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

  // Computes `span`; `next` is the span that this thread computes afterwards, or nullptr.
  void Run(const MatrixSpan& span, const MatrixSpan* next) const {
    for (int64_t i = 0; i < blocks_.count; ++i) {
      Block block{span, i * blocks_.step, 0, nullptr, 0, nullptr};
      block.length = MatrixMin(blocks_.step, depth_ - block.k0);
      const int64_t k1 = block.k0 + block.length;
      if (k1 < depth_) {
        block.PlanNext(left_, right_, span, k1, MatrixMin(blocks_.step, depth_ - k1));
      } else if (next != nullptr) {
        block.PlanNext(left_, right_, *next, 0, MatrixMin(blocks_.step, depth_));
      }
      const bool narrow = (span.p1 - span.p0) * block.length * kPanel <= kMatrixNarrow;
      const bool few = span.rows > 2 && span.rows <= kMatrixFewRows;
      if (right_.packed != nullptr && narrow && !few) {
        RunByTiles(block);
      } else {
        RunByPanels(block);
      }
    }
  }

 private:
  // One run over K of a span, and where the next one will read.
  struct Block {
    MatrixSpan span;
    int64_t k0, length;
    const float* next_left;  // nullptr where fetching ahead does not apply
    int64_t next_rows;
    const float* next_right;

    void PlanNext(const MatrixLeft& from, const MatrixRight& right, const MatrixSpan& next, int64_t next_k0,
                  int64_t next_length) {
      if (from.depth_step == 1) next_left = from.data + next.m0 * from.row_step + next_k0;
      next_rows = next.rows;
      if (right.packed == nullptr) return;
      next_right = right.packed + (next_k0 * right.panels() + next.p0 * next_length) * kPanel;
    }
  };

  // A tile's place: rows [r0, r0 + rows) of the block, panels [panel, panel + panels) of the product.
  struct Place {
    int64_t r0, rows, panel, panels;
  };

  // Rows [r0, r0 + rows) of the block as a tile reads them: packed, or where they lie if it is one row.
  const float* LeftOf(const Block& block, int64_t r0, int64_t rows, float* to) const {
    const int64_t m = block.span.m0 + r0;
    if (rows == 1 && left_.depth_step == 1) return left_.data + m * left_.row_step + block.k0;
    PackRows(left_, m, rows, block.k0, block.length, to);
    return to;
  }
  // Packed panels of a block follow those of earlier blocks, which hold k0 rows each.
  const float* RightOf(const Block& block, int64_t p) const {
    return right_.packed + (block.k0 * right_.panels() + p * block.length) * kPanel;
  }

  // For many panels, and for few rows: each panel in turn meets all tiles, so that it stays in the
  // first-level cache while the next one is fetched.
  void RunByPanels(const Block& block) const {
    const MatrixSpan& span = block.span;
    const int64_t tiles = MatrixCeil(span.rows, kTileRows);
    const float* a = LeftOf(block, 0, span.rows, scratch_->rows);
    for (int64_t p = span.p0; p < span.p1; ++p) {
      const float* b = scratch_->panel;
      if (right_.packed != nullptr) {
        b = RightOf(block, p);
      } else {
        PackPanel(right_, p, block.k0, block.length, scratch_->panel);
      }
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t r0 = span.rows * t / tiles, r1 = span.rows * (t + 1) / tiles;
        RunTile(ChooseTile(r1 - r0).one, block, a + r0 * kMatrixStride, b,
                AheadByPanels(block, b, p, t, tiles), {r0, r1 - r0, p, 1});
      }
    }
  }

  // For few panels, which stay in the second-level cache together: each tile of rows meets all of them, so
  // that its packed copy stays in the first-level cache.
  void RunByTiles(const Block& block) const {
    const MatrixSpan& span = block.span;
    const int64_t tiles = MatrixCeil(span.rows, kTileRows);
    int64_t call = 0;
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t r0 = span.rows * t / tiles, r1 = span.rows * (t + 1) / tiles;
      const float* a = LeftOf(block, r0, r1 - r0, scratch_->rows);
      const TileChoice choice = ChooseTile(r1 - r0);
      for (int64_t p = span.p0, took; p < span.p1; p += took) {
        took = p + choice.panels <= span.p1 ? choice.panels : 1;
        const float* b = RightOf(block, p);
        RunTile(took == 1 ? choice.one : choice.many, block, a, b, AheadByTiles(block, b, call++),
                {r0, r1 - r0, p, took});
      }
    }
  }

  // What tile `t` of panel `p` fetches. The last tiles fetch the panel that comes next, in equal parts: the
  // first one already brings its own panel into the first-level cache. Where there are more tiles, the others
  // fetch the rows of the next block.
  TileAhead AheadByPanels(const Block& block, const float* b, int64_t p, int64_t t, int64_t tiles) const {
    // Floats of a panel for every four k, and the parts of it that leave each tile two lines or more.
    constexpr int64_t kStep = 4 * kPanel, kMostParts = kStep / kTileAhead;
    const bool single = TileFetches(block.span.rows) == 1;
    const int64_t parts = tiles >= kMostParts || single ? kMostParts : tiles >= 2 ? kMostParts / 2 : 1;
    const int64_t others = MatrixMax(0, tiles - parts);
    TileAhead rows;
    if (t < others && AheadRows(block, (p - block.span.p0) * others + t, &rows)) return rows;
    const float* next = p + 1 < block.span.p1 ? b + block.length * kPanel : block.next_right;
    if (t < others || next == nullptr || right_.packed == nullptr) return {b, 0};
    const int64_t step = kStep / parts;
    return {next + (t - others) * (block.length / 4) * step, step, step <= kTileAhead ? 0 : step / 4};
  }
  // What the call-th tile fetches: first the rows of the next block, then its panels.
  TileAhead AheadByTiles(const Block& block, const float* b, int64_t call) const {
    TileAhead rows;
    if (AheadRows(block, call, &rows)) return rows;
    const int64_t part = block.length / 4 * kTileAhead;
    if (block.next_right == nullptr || block.next_right == RightOf(block, block.span.p0)) return {b, 0};
    const int64_t start = MatrixMin(call * part, (block.span.p1 - block.span.p0 - 1) * block.length * kPanel);
    return {block.next_right + start, kTileAhead};
  }
  // The part-th share of the next block's rows: two lines of each of some rows.
  bool AheadRows(const Block& block, int64_t part, TileAhead* ahead) const {
    const int64_t quads = block.length / 4;
    if (block.next_left == nullptr || quads == 0) return false;
    const int64_t groups = MatrixCeil(block.next_rows, quads), column = part / groups * kTileAhead;
    if (column >= block.length) return false;
    *ahead = {block.next_left + part % groups * quads * left_.row_step + column, left_.row_step};
    return true;
  }

  void RunTile(TileFn* tile, const Block& block, const float* a, const float* b, const TileAhead& ahead,
               const Place& at) const {
    const int64_t sums_panel = block.span.rows * kPanel, step = block.length * kPanel;
    float* sums = scratch_->sums + (at.panel - block.span.p0) * sums_panel + at.r0 * kPanel;
    TileEnds ends;
    if (block.k0 > 0) ends.from = sums, ends.from_stride = kPanel, ends.from_panel = sums_panel;
    if (block.k0 + block.length < depth_) {
      ends.to = sums, ends.to_stride = kPanel, ends.to_panel = sums_panel;
      tile(a, b, step, block.length, ahead, ends);
      return;
    }
    const int64_t width = right_.panel_outputs(), first = at.panel * width, m = block.span.m0 + at.r0;
    if (end_.activation == Activation::kNone && first + at.panels * kPanel <= right_.columns) {
      FinishInPlace(m, first, &ends);
      tile(a, b, step, block.length, ahead, ends);
      return;
    }
    ends.to = scratch_->tile, ends.to_stride = kPanel, ends.to_panel = at.rows * kPanel;
    tile(a, b, step, block.length, ahead, ends);
    for (int64_t p = 0; p < at.panels; ++p) {
      const int64_t column = first + p * width, count = MatrixMin(width, right_.columns - column);
      finish_(end_, scratch_->tile + p * at.rows * kPanel, kPanel, m, at.rows, column, count, right_.columns);
    }
  }

  // Without an activation whole panels are finished in registers.
  void FinishInPlace(int64_t m, int64_t first, TileEnds* ends) const {
    ends->to = end_.out + m * end_.out_stride + first;
    ends->to_stride = end_.out_stride;
    ends->to_panel = kPanel;
    if (end_.bias != nullptr) ends->bias = end_.bias + first;
    if (end_.residual == nullptr) return;
    ends->residual = end_.residual + m * end_.residual_stride + first;
    ends->residual_stride = end_.residual_stride;
  }

  const MatrixLeft left_;
  const MatrixRight right_;
  const MatrixEnd end_;
  const int64_t depth_;
  MatrixScratch* const scratch_;
  const MatrixBlocks blocks_;
  FinishFn* const finish_;
};

// The span that begins at piece `begin`: neighbouring pieces of a row block, before `end`, are taken in one
// pass, because each pass packs its rows once. Returns the first piece after it.
static inline int64_t SpanOf(const MatrixGrid& grid, int64_t panels, int64_t begin, int64_t end,
                             MatrixSpan* span) {
  constexpr int64_t kPanelsPerUnit = kMatrixUnit / kPanel;
  const int64_t block = begin / grid.chunks, chunk = begin % grid.chunks;
  const int64_t most = MatrixMax(1, kMatrixUnits / grid.chunk_units);
  const int64_t take = MatrixMin(MatrixMin(grid.chunks - chunk, end - begin), most);
  const int64_t m0 = grid.row_begin(block);
  *span = {m0, grid.row_begin(block + 1) - m0, chunk * grid.chunk_units * kPanelsPerUnit,
           MatrixMin((chunk + take) * grid.chunk_units * kPanelsPerUnit, panels)};
  return begin + take;
}

// Runs pieces [begin, end) of `grid`.
static inline void RunPieces(const MatrixPass& pass, const MatrixGrid& grid, int64_t panels, int64_t begin,
                             int64_t end) {
  if (begin >= end) return;
  MatrixSpan span, next;
  for (begin = SpanOf(grid, panels, begin, end, &span); begin < end; span = next) {
    begin = SpanOf(grid, panels, begin, end, &next);
    pass.Run(span, &next);
  }
  pass.Run(span, nullptr);
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
