// Cuts a matrix product into pieces and blocks from its sizes alone; shared by specs and kernels.
#pragma once

#include <cstdint>

// Everything is static, so that no definition compiled for a higher instruction-set level is ever linked
// into the rest of the program.
namespace plinth::ops {

// Columns of the packed matrix that pieces are counted in: the widest panel of any level.
constexpr int64_t kMatrixUnit = 32;
// Rows of one block at most: a multiple of the tile heights of all levels (14 and 6).
constexpr int64_t kMatrixRows = 126;
// Units that one pass over a row block takes at most (512 columns); bounds the scratch memory.
constexpr int64_t kMatrixUnits = 16;
// Longest run over K: a panel of 32 columns still fits the first-level cache.
constexpr int64_t kMatrixDepth = 256;
// Longest run where K needs several: leaves that cache room for the rows, and for a neighbour on the core.
constexpr int64_t kMatrixShort = 192;
// Floats of panels at most that are walked tile by tile (256 KiB): half of the smallest second-level cache
// of today's servers.
constexpr int64_t kMatrixNarrow = 65536;
// Rows at most that are few: they stay in the first-level cache themselves, so that fetching panels in time
// decides. One or two, whose tiles take several panels, are left to themselves.
constexpr int64_t kMatrixFewRows = 42;
// Rows of a packed block of the left matrix lie this many floats apart: a constant, so that one register
// addresses all rows of a tile, and no power of two, so that they fall into different cache sets.
constexpr int64_t kMatrixStride = kMatrixDepth + 16;

// What one worker needs beside the operands.
struct MatrixScratch {
  alignas(64) float rows[kMatrixRows * kMatrixStride];
  alignas(64) float sums[kMatrixRows * kMatrixUnits * kMatrixUnit];
  alignas(64) float panel[kMatrixDepth * kMatrixUnit];
  alignas(64) float tile[14 * kMatrixUnit];
};

static inline int64_t MatrixCeil(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t MatrixMin(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t MatrixMax(int64_t a, int64_t b) { return a > b ? a : b; }

// Width of a panel, in columns, at level 0, 1, 2 (v2, v3, v4).
static inline int64_t MatrixPanel(int level) { return int64_t{8} << level; }

// K in one block where it fits, else in nearly equal blocks of at most kMatrixShort, in multiples of 16.
struct MatrixBlocks {
  int64_t count;
  int64_t step;  // length of each block but the last, which may be shorter
};
static inline MatrixBlocks MatrixBlocksOf(int64_t depth) {
  if (depth <= kMatrixDepth) return {1, depth};
  const int64_t step = MatrixCeil(MatrixCeil(depth, MatrixCeil(depth, kMatrixShort)), 16) * 16;
  return {MatrixCeil(depth, step), step};
}

// The pieces of a product of `rows` rows and `units` column units: row blocks times column chunks,
// numbered row block first.
struct MatrixGrid {
  int64_t rows;
  int64_t units;
  int64_t row_blocks;
  int64_t chunk_units;
  int64_t chunks;

  int64_t pieces() const { return row_blocks * chunks; }
  int64_t row_begin(int64_t block) const { return rows * block / row_blocks; }
};

// A piece is worth about 4 million operations or 256 KiB of weights, whichever is less; wider where
// there are pieces enough, because each piece packs its rows once.
static inline MatrixGrid MatrixGridOf(int64_t rows, int64_t depth, int64_t units) {
  MatrixGrid g{rows, units, MatrixCeil(rows, kMatrixRows), 1, 0};
  const int64_t d = MatrixMax(depth, 1);
  const int64_t by_work = 4000000 / (2 * MatrixMin(MatrixMax(rows, 1), kMatrixRows) * d * kMatrixUnit);
  const int64_t by_bytes = 262144 / (4 * d * kMatrixUnit);
  const int64_t total = g.row_blocks * units;
  int64_t wide = MatrixMax(MatrixMin(by_work, by_bytes), MatrixMin(4, total / 16));
  wide = MatrixMax(MatrixMax(wide, total / 64), 1);
  g.chunk_units = MatrixMin(wide, kMatrixUnits);
  g.chunks = MatrixCeil(units, g.chunk_units);
  return g;
}

}  // namespace plinth::ops
