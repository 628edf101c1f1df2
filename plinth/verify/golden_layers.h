// Finds our rows of a layer in what the original recorded of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plinth/models/model.h"
#include "plinth/ops/checks.h"
#include "plinth/tensor/tensor.h"

namespace plinth::verify {

// Where the rows of a finished run stand in the original's padded batch.
struct LayerPlaces {
  std::vector<models::Origin> tokens;  // Codec::Origins(), with rows of the original's batch
  std::vector<int64_t> rows;           // of the run: rows of the original's batch
};

// One layer's rows, ours beside the original's.
struct LayerRows {
  Tensor ours;
  ops::RefTensor reference;
};

// The original records a layer as [batch, tokens, ...] or, where it works across the batch, [tokens, batch,
// ...], with dimensions of 1 before that; a layer may end before the last tokens. Ours [n, ...] are packed:
// all tokens, those of them that such a shorter layer has, a fixed number for each row of the batch, or one
// for all of them. Tokens of the original that we left out, and ours behind its last one, drop out. Where
// nothing fits, both come back as they are, which no comparison passes.
// A gap, which the original has as NaN and we as 0, is made 0 in the reference.
LayerRows MatchRows(const View& ours, ops::RefTensor reference, const LayerPlaces& places);

// Whether two layers [batch, ...] hold the same numbers, row by row, but for gaps at the beginning of a row.
bool SameNumbers(const ops::RefTensor& a, const ops::RefTensor& b);

}  // namespace plinth::verify
