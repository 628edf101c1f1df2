// Places buffers with known lifetimes in one arena.
#pragma once

#include <cstdint>
#include <vector>

namespace plinth::plan {

// A buffer that is alive from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
  int64_t offset = 0;  // the result: 64-byte aligned
};

// Sets the offsets so that buffers alive at the same time do not overlap; returns the arena's size.
// Method: largest first, each at the lowest gap that fits (greedy by size; Pisarchyk and Lee 2020,
// "Efficient memory management for deep neural net inference").
int64_t PlaceBuffers(std::vector<Lifetime>& buffers);

// The lower bound: the largest sum of bytes alive at one step.
int64_t PeakBytes(const std::vector<Lifetime>& buffers);

}  // namespace plinth::plan
