// Finds where in a tensor the errors sit: spikes, lanes, rows, columns. A second look, for what the first
// suspects.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plinth/verify/difference.h"

namespace plinth::verify {

// How far beyond the limit of a whole tensor an element, row, column or lane must be to stand out. Errors
// that are in proportion to the values and normally distributed are within 8 times their own RMS in all of
// 10^14 elements; the other factor of 2 is for rows of the inputs that are larger than the output shows.
inline constexpr double kStandsOut = 16;

struct ErrorPlaces {
  double limit = 0;  // relative L2 that the whole tensor may have
  // Elements with |b - a| > kStandsOut * limit * max(|a|, rms(a)).
  int64_t spikes = 0, first_spike = -1;
  // Rows (all dimensions but the last together) and columns (the last dimension) whose own relative L2 error
  // is above kStandsOut * limit; values below an eighth of the tensor's rms count as that.
  int64_t rows = 0, columns = 0;
  std::vector<int64_t> bad_rows, bad_columns;
  std::vector<int>
      bad_lanes;  // columns modulo 64: every column of the lane is bad, and no lane less than 2 in 64
};

// Whether a second look can find anything: no element is beyond what a spike needs at least.
bool MayHavePlaces(const Difference& d, double limit);
// Reads both tensors, of one shape. Elements that are not finite on either side are left out.
ErrorPlaces PlacesOf(const formats::ConstTensorRef& a, const formats::ConstTensorRef& b, const Difference& d,
                     double limit);

// "3", "3..7", "0, 4, 9 and 12 more": sorted numbers, as ranges where they are consecutive.
std::string RangesText(const std::vector<int64_t>& numbers);
// "[1, 0, 5]": the position of an element.
std::string PositionText(std::span<const int64_t> dims, int64_t index);

}  // namespace plinth::verify
