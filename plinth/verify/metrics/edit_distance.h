// Counts the insertions, deletions and substitutions that turn one sequence into another.
#pragma once

#include <cstdint>
#include <span>

namespace plinth::verify::metrics {

// The Levenshtein distance, in about |a| * |b| / 64 steps (Myers 1999 in the form of Hyyro 2003).
int64_t EditDistance(std::span<const uint32_t> a, std::span<const uint32_t> b);

}  // namespace plinth::verify::metrics
