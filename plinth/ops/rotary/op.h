// Declares rotary: turns pairs of columns by an angle that grows with the row's position.
#pragma once

#include <string>

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& RotarySpec();

struct RotaryConfig {
  int64_t heads = 1;         // the first `heads` heads are turned; later columns pass through
  int64_t head_dim = 0;      // columns of one head
  int64_t rotary_dims = 0;   // the first columns of a head that are turned, even; 0: all of them
  bool interleaved = false;  // pairs (2j, 2j+1); otherwise halves, (j, j + rotary_dims/2)
  double theta = 10000;      // at least 1
};

// Rotary position embedding. x: f32 [T, C]; positions: i32 or f32 [T], |position| <= 2^31.
// Pair j of a head at position p turns by p * theta^(-j / (rotary_dims/2)):
//   (a, b) -> (a cos - b sin, a sin + b cos).
// A fused [T, q|k|v] is turned in one call with heads = query heads + key heads. Angles are computed in
// double, so that positions up to 10^6 keep full accuracy. A position that is not finite or too large
// is a fault; its row's turned columns are NaN.
// Source: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021.
inline Value Rotary(Builder& b, Value x, Value positions, const RotaryConfig& c) {
  return b.Add1(RotarySpec(), {x, positions},
                {{"heads", c.heads},
                 {"head_dim", c.head_dim},
                 {"rotary_dims", c.rotary_dims},
                 {"style", std::string(c.interleaved ? "interleaved" : "halves")},
                 {"theta", c.theta}});
}

}  // namespace plinth::ops
