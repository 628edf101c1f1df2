// Pairs the tensors of the sides of `plinth compare`: by name, rank and repeat, after the map.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plinth/verify/compare_sources.h"
#include "plinth/verify/tensor_map.h"

namespace plinth::verify {

// What is compared, open.
struct CompareSides {
  std::unique_ptr<TensorSource> reference, candidate;
  std::unique_ptr<TensorSource> truth, incumbent;  // null where none was given
  TensorMap map;
  bool reference_is_truth = false;

  // More than one rank or repeat is compared.
  bool several() const { return candidate->parts().size() > 1 || reference->parts().size() > 1; }
};

// Two tensors to be compared, or one that has no counterpart.
struct Pair {
  const SourcePart* part_a = nullptr;
  const SourcePart* part_b = nullptr;
  const SourceTensor* a = nullptr;
  const SourceTensor* b = nullptr;
  const SourceTensor* truth = nullptr;
  const SourceTensor* incumbent = nullptr;  // where it is not the reference
  const SourceTensor* before = nullptr;     // the reference's entry of the same shape before this one
  int64_t concatenated = -1, offset = 0;  // the candidate is the part of the reference at `offset` along this

  int64_t bytes() const;  // of both
};

// A rank that captures announce and nobody recorded: a verdict about some of the ranks is none.
struct MissingRank {
  std::string path;
  int64_t rank = 0, world = 1;
};

// In the reference's order of execution, rank by rank. They borrow from `sides`. `only`: a regular expression
// of the reference's whole names; empty: all. Errors: InvalidArgument for an expression that is none, and as
// TensorMap::MapNames.
StatusOr<std::vector<Pair>> MakePairs(const CompareSides& sides, const std::string& only);
// Of the reference, then of the candidate.
std::vector<MissingRank> FindMissingRanks(const CompareSides& sides);

}  // namespace plinth::verify
