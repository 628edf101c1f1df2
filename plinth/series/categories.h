// Encodes categories as numbers for networks that take only numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plinth::series {

// Categories are passed as codes: any numbers from 0 on that stand for the different values of one column. A
// cell without a value is a category of its own.
constexpr int32_t kMissingCategory = -1;

struct EncodedCategories {
  std::vector<double> past, future;
};

// Replaces each category by the mean of the target where it occurs, drawn towards the mean of all:
//   (smoothing * mean + sum of the category's targets) / (smoothing + their number).
// past, target: [steps], future: [steps ahead] or empty; the target's NaN and infinities do not count. A
// category that the past does not hold, or holds only where the target has a gap, gets the mean; a target
// without any value gives 0 throughout. Method: Chronos-2's preprocessing, after Micci-Barreca (2001).
EncodedCategories TargetEncode(std::span<const int32_t> past, std::span<const double> target,
                               std::span<const int32_t> future, double smoothing = 1);

// Where the categories of a column stand when they are sorted. For encoding with several targets, of which
// none is the one to average.
struct CategoryOrder {
  std::vector<int32_t> places;  // by code; -1: not among those sorted
  int32_t count = 0;            // how many have a place

  // Sorts the labels [codes] of those codes that are `known` [codes]: by number where each of them is a
  // decimal number, else by bytes, which for UTF-8 is the order of its characters.
  static CategoryOrder Of(std::span<const std::string> labels, const std::vector<bool>& known);
};

// The places as numbers; a missing category gets the place after the last, one without a place NaN. Codes
// beyond `places` have none.
std::vector<double> OrdinalEncode(std::span<const int32_t> codes, const CategoryOrder& order);

}  // namespace plinth::series
