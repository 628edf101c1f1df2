#include <cmath>

#include "plinth/ops/cumsum/checks.h"

namespace plinth::ops {
namespace {

// `v` reduced to `bits` bits of two's complement.
double Wrap(__int128 v, int bits) {
  const __int128 span = static_cast<__int128>(1) << bits;
  v %= span;
  if (v < 0) v += span;
  return static_cast<double>(v >= span / 2 ? v - span : v);
}

}  // namespace

void CumsumReference(const OpCall& call, RefIo& io) {
  const RefTensor& x = io.in[0];
  const DType dtype = call.in(0).dtype;
  const int64_t rank = static_cast<int64_t>(x.dims.size());
  const int64_t axis = (call.attributes.Int("axis") + rank) % rank;
  const bool reverse = call.attributes.Flag("reverse"), exclusive = call.attributes.Flag("exclusive");
  int64_t inner = 1;
  for (int64_t d = axis + 1; d < rank; ++d) inner *= x.dims[d];
  const int64_t n = x.dims[axis];
  for (int64_t i = 0; i < x.size(); ++i) {
    // Each element sums anew, with nothing carried over from its neighbours.
    const int64_t at = i / inner % n, first = i - at * inner;
    const int64_t from = reverse ? at + exclusive : 0, to = reverse ? n : at + !exclusive;
    long double sum = 0;
    __int128 whole = 0;
    for (int64_t k = from; k < to; ++k) {
      sum += x.data[first + k * inner];
      if (dtype != DType::kF32) whole += static_cast<__int128>(x.data[first + k * inner]);
    }
    const float narrow = static_cast<float>(sum);
    io.out[0].data[i] = dtype == DType::kF32   ? (std::isinf(narrow) ? narrow : static_cast<double>(sum))
                        : dtype == DType::kI32 ? Wrap(whole, 32)
                                               : Wrap(whole, 64);
  }
}

}  // namespace plinth::ops
