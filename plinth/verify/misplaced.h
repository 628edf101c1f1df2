// Looks for a tensor's right values in the wrong place: rows permuted, axes swapped, shifted by one, stale.
#pragma once

#include <optional>

#include "plinth/verify/diagnosis.h"

namespace plinth::verify {

// Each gives a finding when the candidate `b` agrees with the reference `a` that way ten times better than as
// it stands. Shapes are equal.
std::optional<Finding> FindPermutedRows(const formats::ConstTensorRef& a, const formats::ConstTensorRef& b);
std::optional<Finding> FindTransposed(const formats::ConstTensorRef& a, const formats::ConstTensorRef& b);
std::optional<Finding> FindShifted(const formats::ConstTensorRef& a, const formats::ConstTensorRef& b);
std::optional<Finding> FindStale(const formats::ConstTensorRef& b,
                                 const std::vector<formats::ConstTensorRef>& earlier);

}  // namespace plinth::verify
