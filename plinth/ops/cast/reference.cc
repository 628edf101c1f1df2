#include <cmath>

#include "plinth/ops/cast/checks.h"

namespace plinth::ops {

namespace {
// The ends of an integer type's range; 2^63 - 1 is 2^63 in double.
void Range(DType type, double* low, double* high) {
  const bool has_sign = type != DType::kU8;
  const double bits = 8 * static_cast<double>(SizeOf(type)) - (has_sign ? 1 : 0);
  *low = has_sign ? -std::exp2(bits) : 0;
  *high = std::exp2(bits) - 1;
}
}  // namespace

// The one rounding to a floating type is the comparison's.
void CastReference(const OpCall& call, RefIo& io) {
  const DType to = call.outputs[0].dtype;
  for (size_t i = 0; i < io.out[0].data.size(); ++i) {
    const double x = io.in[0].data[i];
    double y = IsFloat(call.in(0).dtype) ? x : x + 0.0;  // integers have no negative zero
    if (to == DType::kBool) {
      y = x != 0 ? 1 : 0;
    } else if (!IsFloat(to)) {
      double low = 0, high = 0;
      Range(to, &low, &high);
      y = std::isnan(x) ? 0 : std::fmin(std::fmax(std::trunc(x), low), high) + 0.0;
    }
    io.out[0].data[i] = y;
  }
}

}  // namespace plinth::ops
