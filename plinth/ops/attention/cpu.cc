#include "plinth/ops/attention/cpu.h"

#include <cstring>

#include "plinth/ops/attention/dot.h"
#include "plinth/ops/attention/pack.h"
#include "plinth/ops/attention/softmax_rows.h"
#include "plinth/ops/attention/tile.h"
#include "plinth/ops/row_pieces.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

// One head of one sequence, and the query rows of it that a piece works on.
struct Sequence {
  const float *q, *k, *v;  // the head's first element in the sequence's first row
  int64_t q_stride, k_stride, v_stride;
  int64_t kv_head;
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

// What the scratch memory holds of the keys of one sequence, for the query rows at hand.
struct Listed {
  int64_t count = 0;     // visible keys in Work::index
  bool all = false;      // they are all that any of the rows sees
  int64_t kv_head = -1;  // the key head that is packed; -1: none
};

// Longest heads whose keys are packed, fewest keys that are.
constexpr int64_t kPackedDim = 128, kPackedKeys = 17;
// Most query rows that read values where they lie.
constexpr int64_t kRowsInPlace = 16;

// How many of `count` listed keys are packed; the others go by dot products. The two ways round
// differently, so the choice may depend on nothing but the head's length and the visible keys. Rows of a
// causal sequence see different numbers of keys, and how many are listed depends on the rows at hand, so
// all of theirs are packed.
int64_t PackedOf(const AttentionParams& params, int64_t count) {
  if (params.dim > kPackedDim) return 0;
  if (params.causal) return count;
  if (count < kPackedKeys) return 0;
  const int64_t rest = count % kLanes;
  return kLanes > kDotKeys && rest <= kDotKeys ? count - rest : count;
}

// The listed keys and their values as tiles read them.
struct Block {
  int64_t count, packed;
  const float* values;
  int64_t value_stride;
};

Block MakeBlock(const Sequence& s, const AttentionParams& params, const Work& work, Listed* listed) {
  Block block{listed->count, PackedOf(params, listed->count), work.values, LaneCeil(params.value_dim)};
  const bool fresh = listed->kv_head != s.kv_head;
  listed->kv_head = s.kv_head;
  if (fresh && block.packed > 0) {
    PackKeys(s.k, s.k_stride, work.index, block.packed, params.dim, work.keys);
  }
  if (s.mask == nullptr && params.value_dim % kLanes == 0 && s.last - s.first <= kRowsInPlace) {
    block.values = s.v + work.index[0] * s.v_stride;
    block.value_stride = s.v_stride;
  } else if (fresh) {
    PackValues(s.v, s.v_stride, work.index, block.count, params.value_dim, work.values);
  }
  return block;
}

// The scores of R rows from `row` of the piece on with the first `wanted` keys of the block.
template <int R>
void ScoreBlock(const Sequence& s, const AttentionParams& params, const Work& work, const Block& block,
                int64_t row, int64_t wanted) {
  const float* q = s.q + (s.first + row) * s.q_stride;
  if (block.packed > 0) {
    Score<R>(q, s.q_stride, work.keys, wanted < block.packed ? wanted : block.packed, block.packed,
             params.dim, params.scale, work.scores);
  }
  if (wanted > block.packed) {
    Dot(q, s.q_stride, R, s.k, s.k_stride, work.index, block.packed, wanted, params.dim, params.scale,
        work.scores);
  }
}

void BiasRows(const Sequence& s, const Work& work, int64_t row, const int64_t* seen, int64_t rows) {
  for (int64_t r = 0; s.bias != nullptr && r < rows; ++r) {
    AddBias(s.bias + (s.first + row + r) * s.bias_stride, work.index, s.mask == nullptr, seen[r],
            work.scores + r * kAttentionKeys);
  }
}

// Works a block into the rows [row, row + R) of the piece.
template <int R>
void WorkTile(const Sequence& s, const AttentionParams& params, const Work& work, const Block& block,
              int64_t row) {
  const int64_t width = LaneCeil(params.value_dim);
  int64_t seen[R], least = block.count, most = 0;
  for (int r = 0; r < R; ++r) {
    seen[r] = params.causal ? CountBelow(work.index, block.count, ReachOf(s, true, s.first + row + r))
                            : block.count;
    least = seen[r] < least ? seen[r] : least;
    most = seen[r] > most ? seen[r] : most;
  }
  if (most == 0) return;
  ScoreBlock<R>(s, params, work, block, row, most);
  BiasRows(s, work, row, seen, R);
  float* mixed = work.mixed + row * width;
  WeighRows(work.scores, seen, R, work.tops + row, work.sums + row, mixed, width);
  Mix<R>(work.scores, block.values, block.value_stride, 0, least, width,
         {mixed, width, mixed, width, nullptr});
  for (int r = 0; r < R; ++r) {
    if (seen[r] == least) continue;
    float* own = mixed + r * width;
    Mix<1>(work.scores + r * kAttentionKeys, block.values, block.value_stride, least, seen[r], width,
           {own, width, own, width, nullptr});
  }
}

// The same for a block that holds all keys and rows that see all of them: writes the result.
template <int R>
void FinishTile(const Sequence& s, const AttentionParams& params, const Work& work, const Block& block,
                int64_t row) {
  ScoreBlock<R>(s, params, work, block, row, block.count);
  int64_t seen[R];
  float tops[R], sums[R];
  for (int r = 0; r < R; ++r) {
    seen[r] = block.count;
    tops[r] = -kInf;
    sums[r] = 0;
  }
  BiasRows(s, work, row, seen, R);
  WeighRows(work.scores, seen, R, tops, sums, nullptr, 0);
  for (int r = 0; r < R; ++r) sums[r] = 1.0f / sums[r];
  Mix<R>(work.scores, block.values, block.value_stride, 0, block.count, params.value_dim,
         {nullptr, 0, s.out + (s.first + row) * s.out_stride, s.out_stride, sums});
}

// Rows whose keys take several blocks, or that see different keys, or whose values are no whole vectors.
void WorkByBlocks(const Sequence& s, const AttentionParams& params, const Work& work, int64_t reach,
                  int64_t cursor, Listed* listed) {
  const int64_t rows = s.last - s.first, width = LaneCeil(params.value_dim);
  std::memset(work.mixed, 0, static_cast<size_t>(rows * width) * sizeof(float));
  for (int64_t r = 0; r < rows; ++r) {
    work.tops[r] = -kInf;
    work.sums[r] = 0;
  }
  const int64_t first_visible = listed->count > 0 ? work.index[0] : s.keys;
  while (listed->count > 0) {
    const Block block = MakeBlock(s, params, work, listed);
    ForTiles(rows,
             [&](int64_t row, auto tile) { WorkTile<decltype(tile)::rows>(s, params, work, block, row); });
    if (listed->all) break;
    *listed = {CollectKeys(s.mask, reach, &cursor, work.index)};
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

void WorkSequence(const Sequence& s, const AttentionParams& params, const Work& work, Listed* listed) {
  const int64_t reach = ReachOf(s, params.causal, s.last - 1);
  int64_t cursor = 0;
  if (!listed->all) {
    *listed = {CollectKeys(s.mask, reach, &cursor, work.index)};
    listed->all = cursor >= reach;
  }
  if (!listed->all || listed->count <= 0 || params.causal || params.value_dim % kLanes != 0) {
    WorkByBlocks(s, params, work, reach, cursor, listed);
    return;
  }
  const Block block = MakeBlock(s, params, work, listed);
  ForTiles(s.last - s.first,
           [&](int64_t row, auto tile) { FinishTile<decltype(tile)::rows>(s, params, work, block, row); });
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
  s->kv_head = kv_head;
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

// Heads [h0, h1) of the row tiles of all sequences that start in query rows [first, last), and of the rows
// of no sequence. Heads come innermost: they share the list of keys, some the keys themselves.
void WorkRows(const CpuArgs& args, const AttentionParams& params, const Work& work, int64_t h0, int64_t h1,
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
    Listed listed;
    for (int64_t head = h0; head < h1; ++head) {
      if (MakeSequence(args, params, head, b, &s)) {
        WorkSequence(s, params, work, &listed);
      } else {
        ClearRows(args, params, head, start + s.first, start + s.last);
      }
    }
  }
  const int64_t owned = at[sequences];
  for (int64_t head = h0; head < h1; ++head) {
    ClearRows(args, params, head, owned > first ? owned : first, last);
  }
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
  for (int64_t piece = begin; piece < end;) {
    const int64_t h0 = piece % params.heads;
    const int64_t h1 = h0 + end - piece < params.heads ? h0 + end - piece : params.heads;
    const int64_t first = piece / params.heads * kAttentionRows;
    const int64_t last = first + kAttentionRows < rows ? first + kAttentionRows : rows;
    if (good) {
      WorkRows(args, params, work, h0, h1, first, last);
    } else {
      for (int64_t head = h0; head < h1; ++head) ClearRows(args, params, head, first, last);
    }
    piece += h1 - h0;
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
