// Declares attention over ragged batches: each query row mixes the values of its own sequence.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& AttentionSpec();

// The optional inputs; kNone leaves one out.
struct AttentionOptions {
  Value kv_offsets = kNone;  // i32 [B+1], the rows of k and v; default: those of the queries
  Value key_mask = kNone;    // bool or u8 [Tk]; a key is visible where it is not 0
  Value bias = kNone;        // f32 [1 or heads, Lq, Lk] or [1 or heads, 2 L - 1], added to the scaled
                             // scores; see below
  int64_t kv_heads = 0;      // divides heads: that many queries share a key head; 0: heads
  double scale = 0;          // factor of the scores; 0: 1/sqrt(D). "No scale" is 1.
  bool causal = false;
};

// y = softmax(scale * q k^T + bias) v for each head and sequence.
// q: f32 [Tq, heads*D]; k: f32 [Tk, kv_heads*D]; v: f32 [Tk, kv_heads*Dv]; q_offsets: i32 [B+1].
// Returns f32 [Tq, heads*Dv]. Head h reads key head h / (heads / kv_heads).
//
// Sequence b owns query rows [q_offsets[b], q_offsets[b+1]) and the key rows that kv_offsets gives it.
// Offsets start at 0 and do not decrease; rows behind the last one belong to nobody, and queries among
// them become zeros. Anything else is a fault, and the output is zeros.
// causal: the queries are the last rows of their sequence, so query i of Lq sees keys 0 .. i + Lk - Lq.
// A bias of rank 3 has bias[h][i][j] for query i and key j, one of rank 2 goes by distance and has
// bias[h][j - i + L - 1] for them, i and j counted from the sequence's first query and key, causal or not.
// A sequence longer than the bias (L queries or keys where it goes by distance) is a fault, and its rows
// become zeros. The bias is a number, not a mask: a row whose visible scores are all -infinity, or hold a
// NaN or +infinity, is NaN, as in softmax.
// A hidden key (masked, or in the causal future) has no influence whatever it holds, NaN included. A row
// without a visible key is zeros (PyTorch gives NaN).
// A row's bits depend on its own sequence alone, not on the batch, on hidden keys or on threads.
inline Value Attention(Builder& b, Value q, Value k, Value v, Value q_offsets, int64_t heads,
                       const AttentionOptions& o = {}) {
  return b.Add1(AttentionSpec(), {q, k, v, q_offsets, o.kv_offsets, o.key_mask, o.bias},
                {{"heads", heads},
                 {"kv_heads", o.kv_heads == 0 ? heads : o.kv_heads},
                 {"scale", o.scale},
                 {"causal", o.causal}});
}

}  // namespace plinth::ops
