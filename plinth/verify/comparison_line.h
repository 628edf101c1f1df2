// Judges one difference by the line that holds without truth and bands: what `plinth compare` says by itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/verify/difference.h"
#include "plinth/verify/error_places.h"

namespace plinth::verify {

// Relative L2 that two correct computations in this type may differ by: 1e-13 (f64), 1e-5 (f32), 2e-3 (f16),
// 1e-2 (bf16), 8e-2 and 1.6e-1 (8-bit floats: three times one rounding's), 0 for integers.
double DefaultLimit(Element element);

struct ComparisonLine {
  std::string class_name;         // as given; empty: the default line
  std::optional<double> rel_l2;   // of the whole tensor; spikes, lanes, rows and bias are judged by it too
  std::optional<double> max_ulp;  // of every element
  std::optional<double> unequal;  // largest share of elements that differ at all
  // Empty, or why passing proves nothing (atomics need a noise band, random numbers their distribution).
  std::string unproven;
};

// The classes of operators: A exact, A' order, B basic arithmetic, C transcendental, D reduction, E softmax
// and attention, F normalisation, G product or convolution, G' Winograd or FFT convolution, H atomics, I
// quantised, I' 8-bit floats, J reducing collectives, K random; empty: the default line. `k` is the length of
// the reduction (D, G, G', H, J). Error: InvalidArgument for another name, listing these.
StatusOr<ComparisonLine> LineFor(std::string_view class_name, Element element, int64_t k);

// What breaks, most telling first; empty: the difference holds. `places` where MayHavePlaces asked for them.
struct LineVerdict {
  std::vector<std::string> broken;  // sentences, with the figure and the limit
  std::vector<std::string> warned;
  std::string unproven;  // empty, or why holding proves nothing
};
LineVerdict JudgeByLine(const Difference& d, const ErrorPlaces* places, const ComparisonLine& line);

}  // namespace plinth::verify
