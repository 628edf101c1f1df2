#include "plinth/ops/attention/cpu.h"

#include <cstring>

#include "plinth/ops/attention/lanes.h"
#include "plinth/ops/attention/tile.h"
#include "plinth/ops/row_pieces.h"
#include "plinth/ops/vector_math.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

// One head of one sequence, and the query rows of it that a piece works on.
struct Sequence {
  const float *q, *k, *v;  // the head's first element in the sequence's first row
  int64_t q_stride, k_stride, v_stride;
  const uint8_t* mask;  // of the sequence's keys, or nullptr
  const float* bias;    // that of the head's query 0 and key 0, or nullptr; keys lie side by side
  int64_t bias_stride;
  int64_t queries, keys;
  int64_t first, last;  // query rows
  float* out;           // like q
  int64_t out_stride;
};

// The parts of the scratch memory.
struct Work {
  float *scores, *keys, *values, *mixed, *tops, *sums;
  int32_t* index;
};

void Report(const CpuArgs& args, const char* what, int64_t value, int64_t position) {
  if (args.fault->what == nullptr) *args.fault = {what, value, position};
}

// True when the offsets are in order: every access they lead to is inside `rows` rows.
bool CheckOffsets(const CpuArgs& args, int input, int64_t rows) {
  const View& view = args.in[input];
  const int32_t* at = static_cast<const int32_t*>(view.data);
  const int64_t n = view.dims[0];
  if (n < 1 || at[0] != 0) {
    Report(args, "offsets do not start at 0", n < 1 ? 0 : at[0], 0);
    return false;
  }
  for (int64_t i = 1; i < n; ++i) {
    if (at[i] < at[i - 1]) {
      Report(args, "offsets decrease", at[i], i);
      return false;
    }
  }
  if (at[n - 1] > rows) {
    Report(args, "the last offset lies behind the last row", at[n - 1], n - 1);
    return false;
  }
  return true;
}

// Number of keys that query row `i` may see, hidden ones included.
inline int64_t ReachOf(const Sequence& s, bool causal, int64_t i) {
  if (!causal) return s.keys;
  const int64_t reach = i + 1 + s.keys - s.queries;
  return reach < 0 ? 0 : reach;
}

// Lists the next visible keys below `reach`, at most kAttentionKeys, from *cursor on.
inline int64_t CollectKeys(const uint8_t* mask, int64_t reach, int64_t* cursor, int32_t* index) {
  int64_t count = 0, j = *cursor;
  if (mask == nullptr) {
    count = reach - j < kAttentionKeys ? reach - j : kAttentionKeys;
    for (int64_t i = 0; i < count; ++i) index[i] = static_cast<int32_t>(j + i);
    j += count > 0 ? count : 0;
  } else {
    for (; j < reach && count < kAttentionKeys; ++j) {
      index[count] = static_cast<int32_t>(j);
      count += mask[j] != 0;
    }
  }
  *cursor = j;
  return count;
}

// How many of the listed keys lie below `reach`.
inline int64_t CountBelow(const int32_t* index, int64_t count, int64_t reach) {
  int64_t low = 0, high = count;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (index[middle] < reach) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Turns the first `n` scores of a row into weights against the running maximum, corrects the running
// sum, and returns the factor that earlier sums of the row need. Lanes up to a whole vector become 0.
PLINTH_TILE float WeighRow(float* scores, int64_t n, float* running_top, float* running_sum) {
  const int64_t whole = n / kLanes * kLanes;
  const Vec lowest = -kInf - Vec{};
  Vec tops = lowest;
  for (int64_t j = 0; j < whole; j += kLanes) tops = LargerOf(LoadVec(scores + j), tops);
  if (whole < n) {
    const Vec last = FirstLanes(LoadVec(scores + whole), n - whole, lowest);
    StoreVec(scores + whole, last);
    tops = LargerOf(last, tops);
  }
  const float before = *running_top;
  const float block_top = LargestLane(tops);
  const float top = block_top > before ? block_top : before;
  // While there is nothing but -infinity, subtract 0: the weights are then 0 instead of NaN.
  const float base = top == -kInf ? 0.0f : top;
  Vec sums{};
  for (int64_t j = 0; j < n; j += kLanes) {
    const Vec e = ExpVec(LoadVec(scores + j) - base);
    StoreVec(scores + j, e);
    sums += e;
  }
  const float factor = before == top ? 1.0f : Exp(before - base);
  *running_sum = *running_sum * factor + SumOfLanes(sums);
  *running_top = top;
  return factor;
}

// Weighs the first seen[r] scores of each row and corrects what is mixed so far (`width` floats a row).
// One copy for all tiles: a compiler that contracted two copies differently would give two sets of bits.
__attribute__((noinline)) void WeighRows(float* scores, const int64_t* seen, int rows, float* tops,
                                         float* sums, float* mixed, int64_t width) {
  for (int r = 0; r < rows; ++r) {
    if (seen[r] == 0) continue;
    const float factor = WeighRow(scores + r * kAttentionKeys, seen[r], tops + r, sums + r);
    if (factor == 1.0f) continue;
    for (int64_t e = 0; e < width; e += kLanes) {
      StoreVec(mixed + r * width + e, LoadVec(mixed + r * width + e) * factor);
    }
  }
}

void AddBias(const float* bias, const int32_t* index, int64_t n, float* scores) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) scores[j] += bias[index[j]];
}

// Works `count` packed keys into the rows [row, row + R) of the piece.
template <int R>
void WorkTile(const Sequence& s, const AttentionParams& params, const Work& work, int64_t row,
              int64_t count) {
  const int64_t width = LaneCeil(params.value_dim);
  int64_t seen[R], least = count, most = 0;
  for (int r = 0; r < R; ++r) {
    seen[r] = params.causal ? CountBelow(work.index, count, ReachOf(s, true, s.first + row + r)) : count;
    least = seen[r] < least ? seen[r] : least;
    most = seen[r] > most ? seen[r] : most;
  }
  if (most == 0) return;
  Score<R>(s.q + (s.first + row) * s.q_stride, s.q_stride, work.keys, most, count, params.dim, params.scale,
           work.scores);
  float* mixed = work.mixed + row * width;
  for (int r = 0; s.bias != nullptr && r < R; ++r) {
    AddBias(s.bias + (s.first + row + r) * s.bias_stride, work.index, seen[r],
            work.scores + r * kAttentionKeys);
  }
  WeighRows(work.scores, seen, R, work.tops + row, work.sums + row, mixed, width);
  Mix<R>(work.scores, work.values, width, 0, least, mixed);
  for (int r = 0; r < R; ++r) {
    if (seen[r] > least) {
      Mix<1>(work.scores + r * kAttentionKeys, work.values, width, least, seen[r], mixed + r * width);
    }
  }
}

void WorkSequence(const Sequence& s, const AttentionParams& params, const Work& work) {
  const int64_t rows = s.last - s.first, width = LaneCeil(params.value_dim);
  std::memset(work.mixed, 0, static_cast<size_t>(rows * width) * sizeof(float));
  for (int64_t r = 0; r < rows; ++r) {
    work.tops[r] = -kInf;
    work.sums[r] = 0;
  }
  const int64_t reach = ReachOf(s, params.causal, s.last - 1);
  int64_t cursor = 0;
  int64_t first_visible = s.keys;
  while (true) {
    const int64_t count = CollectKeys(s.mask, reach, &cursor, work.index);
    if (count <= 0) break;
    if (first_visible == s.keys) first_visible = work.index[0];
    PackKeys(s.k, s.k_stride, work.index, count, params.dim, work.keys);
    PackValues(s.v, s.v_stride, work.index, count, params.value_dim, work.values);
    ForTiles(rows,
             [&](int64_t row, auto tile) { WorkTile<decltype(tile)::rows>(s, params, work, row, count); });
  }
  for (int64_t r = 0; r < rows; ++r) {
    float* out = s.out + (s.first + r) * s.out_stride;
    const float* mixed = work.mixed + r * width;
    if (ReachOf(s, params.causal, s.first + r) <= first_visible) {
      std::memset(out, 0, static_cast<size_t>(params.value_dim) * sizeof(float));
      continue;
    }
    const float scale = 1.0f / work.sums[r];
#pragma omp simd
    for (int64_t e = 0; e < params.value_dim; ++e) out[e] = mixed[e] * scale;
  }
}

void ClearRows(const CpuArgs& args, const AttentionParams& params, int64_t head, int64_t first,
               int64_t last) {
  for (int64_t row = first; row < last; ++row) {
    std::memset(Row<float>(args.out[0], row) + head * params.value_dim, 0,
                static_cast<size_t>(params.value_dim) * sizeof(float));
  }
}

// Describes sequence `b` to the kernel; false, with a fault, where the bias is too small for it.
bool MakeSequence(const CpuArgs& args, const AttentionParams& params, int64_t head, int64_t b, Sequence* s) {
  const int32_t* q_at = static_cast<const int32_t*>(args.in[3].data);
  const int32_t* kv_at = params.has_kv_offsets ? static_cast<const int32_t*>(args.in[4].data) : q_at;
  const int64_t kv_head = head / (params.heads / params.kv_heads);
  s->queries = q_at[b + 1] - q_at[b];
  s->keys = kv_at[b + 1] - kv_at[b];
  s->q = Row<const float>(args.in[0], q_at[b]) + head * params.dim;
  s->k = Row<const float>(args.in[1], kv_at[b]) + kv_head * params.dim;
  s->v = Row<const float>(args.in[2], kv_at[b]) + kv_head * params.value_dim;
  s->q_stride = args.in[0].strides[0];
  s->k_stride = args.in[1].strides[0];
  s->v_stride = args.in[2].strides[0];
  s->out = Row<float>(args.out[0], q_at[b]) + head * params.value_dim;
  s->out_stride = args.out[0].strides[0];
  s->mask = params.has_mask ? static_cast<const uint8_t*>(args.in[5].data) + kv_at[b] : nullptr;
  s->bias = nullptr;
  s->bias_stride = 0;
  if (params.has_bias) {
    const View& bias = args.in[6];
    const int64_t longest = (bias.dims[1] + 1) / 2;
    const int64_t most_queries = params.bias_by_distance ? longest : bias.dims[1];
    const int64_t most_keys = params.bias_by_distance ? longest : bias.dims[2];
    if (s->queries > most_queries || s->keys > most_keys) {
      const bool query = s->queries > most_queries;
      Report(args,
             query ? "a sequence has more queries than the bias" : "a sequence has more keys than the bias",
             query ? s->queries : s->keys, b);
      return false;
    }
    s->bias = static_cast<const float*>(bias.data) + (bias.dims[0] == 1 ? 0 : head) * bias.strides[0];
    s->bias_stride = bias.strides[1];
    if (params.bias_by_distance) {
      s->bias += longest - 1;
      s->bias_stride = -1;
    }
  }
  return true;
}

// The row tiles of all sequences that start in query rows [first, last), and the rows of no sequence.
void WorkRows(const CpuArgs& args, const AttentionParams& params, const Work& work, int64_t head,
              int64_t first, int64_t last) {
  const int32_t* at = static_cast<const int32_t*>(args.in[3].data);
  const int64_t sequences = args.in[3].dims[0] - 1;
  int64_t low = 0, high = sequences;  // the first sequence that ends behind `first`
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (at[middle + 1] > first) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  for (int64_t b = low; b < sequences && at[b] < last; ++b) {
    const int64_t start = at[b], rows = at[b + 1] - start;
    const int64_t before = start < first ? first - start : 0;
    const int64_t tile = (before + kAttentionRows - 1) / kAttentionRows * kAttentionRows;
    if (tile >= rows || start + tile >= last) continue;
    Sequence s;
    s.first = tile;
    s.last = tile + kAttentionRows < rows ? tile + kAttentionRows : rows;
    if (MakeSequence(args, params, head, b, &s)) {
      WorkSequence(s, params, work);
    } else {
      ClearRows(args, params, head, start + s.first, start + s.last);
    }
  }
  const int64_t owned = at[sequences];
  ClearRows(args, params, head, owned > first ? owned : first, last);
}

}  // namespace

void AttentionF32(const CpuArgs& args, int64_t begin, int64_t end) {
  const AttentionParams& params = *static_cast<const AttentionParams*>(args.params);
  const AttentionScratch parts(params.dim, params.value_dim);
  float* scratch = reinterpret_cast<float*>(args.scratch);
  const Work work{scratch,
                  scratch + parts.keys,
                  scratch + parts.values,
                  scratch + parts.mixed,
                  scratch + parts.tops,
                  scratch + parts.sums,
                  reinterpret_cast<int32_t*>(scratch + parts.index)};
  const int64_t rows = args.in[0].dims[0];
  const bool good =
      CheckOffsets(args, 3, rows) && (!params.has_kv_offsets || CheckOffsets(args, 4, args.in[1].dims[0]));
  // Heads vary fastest: pieces that run together share the rows they read.
  for (int64_t piece = begin; piece < end; ++piece) {
    const int64_t head = piece % params.heads;
    const int64_t first = piece / params.heads * kAttentionRows;
    const int64_t last = first + kAttentionRows < rows ? first + kAttentionRows : rows;
    if (good) {
      WorkRows(args, params, work, head, first, last);
    } else {
      ClearRows(args, params, head, first, last);
    }
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
