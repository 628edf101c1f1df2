// Holds results against the truth where no rounding is allowed for: bits, whole numbers, codes of 8-bit
// floats.
#pragma once

#include "plinth/verify/cap.h"

namespace plinth::verify {

// `r` rounded once to d's type must have d's bits, signs of zeros included; any NaN equals any NaN. Sizes
// agree.
CapResult CheckBitwise(const formats::ConstTensorRef& r, const formats::ConstTensorRef& d);

// Whole numbers or codes at most limit.most apart, at most limit.share of them off, and as many at the ends
// of the range (but for one, or that share of them). Sizes agree.
CapResult CheckSteps(const Limit& limit, const formats::ConstTensorRef& r, const formats::ConstTensorRef& d);

}  // namespace plinth::verify
