#include "plinth/ops/pad/checks.h"
#include "plinth/tensor/half.h"

namespace plinth::ops {
namespace {

// `value` as an element of the type holds it.
double Held(double value, DType dtype) {
  const float f = static_cast<float>(value);
  if (dtype == DType::kF32) return static_cast<double>(f);
  if (dtype == DType::kF16) return static_cast<double>(ToFloat(ToHalf(f)));
  if (dtype == DType::kBF16) return static_cast<double>(ToFloat(ToBFloat16(f)));
  return value;
}

}  // namespace

void PadReference(const OpCall& call, RefIo& io) {
  const RefTensor& x = io.in[0];
  RefTensor& y = io.out[0];
  const std::vector<int64_t> before = call.attributes.Ints("before");
  const std::string mode = call.attributes.Text("mode", "constant");
  const double value = Held(call.attributes.Real("value"), call.in(0).dtype);
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t rest = i, at = 0, stride = 1;
    bool outside = false;
    for (size_t d = y.dims.size(); d-- > 0;) {
      int64_t index = rest % y.dims[d] - before[d];
      rest /= y.dims[d];
      const int64_t n = x.dims[d];
      if (mode == "constant") {
        outside = outside || index < 0 || index >= n;
      } else {
        // Walks back in, one element at a time.
        int64_t position = 0, direction = index < 0 ? -1 : 1;
        for (int64_t steps = index < 0 ? -index : index; steps > 0; --steps) {
          const bool leaves = position + direction < 0 || position + direction >= n;
          if (leaves && mode == "edge") break;
          if (leaves) direction = -direction;
          position += direction;
        }
        index = position;
      }
      at += index * stride;
      stride *= n;
    }
    y.data[i] = outside ? value : x.data[at];
  }
}

}  // namespace plinth::ops
