// Declares the CPU kernels of attention and the sizes that its pieces and scratch memory follow.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

// Rows of one sequence that are worked on together; also the query rows of a piece.
inline constexpr int64_t kAttentionRows = 128;
// Visible keys that are packed at a time. Longer sequences go block by block from their start, the
// running maximum and sum being corrected after each (Milakov and Gimelshein 2018; Dao et al. 2022).
inline constexpr int64_t kAttentionKeys = 256;
// Largest number of rows in one register tile, and of lanes in a vector, of all levels.
inline constexpr int64_t kAttentionTile = 8;
inline constexpr int64_t kAttentionLanes = 16;

struct AttentionParams {
  int64_t heads, kv_heads;
  int64_t dim, value_dim;  // of one head
  float scale;
  bool causal, has_kv_offsets, has_mask, has_bias, bias_by_distance;
};

// Where the parts of the scratch memory begin, in floats; each starts a cache line.
struct AttentionScratch {
  static constexpr __attribute__((always_inline)) int64_t Line(int64_t floats) {
    return (floats + 15) / 16 * 16;
  }
  int64_t keys, values, mixed, tops, sums, index, total;
  __attribute__((always_inline)) constexpr AttentionScratch(int64_t dim, int64_t value_dim)
      : keys(kAttentionTile * kAttentionKeys),  // the scores come first
        values(keys + kAttentionKeys * Line(dim)),
        mixed(values + kAttentionKeys * Line(value_dim)),
        tops(mixed + kAttentionRows * Line(value_dim)),
        sums(tops + kAttentionRows),
        index(sums + kAttentionRows),
        total(index + kAttentionKeys) {}
};

// Pieces: for each head, one for each kAttentionRows query rows. A piece takes the row tiles that start
// among its rows, a sequence's tiles being counted from its own first row.
PLINTH_DECLARE_CPU(AttentionF32)

}  // namespace plinth::ops
