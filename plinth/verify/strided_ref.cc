#include <algorithm>
#include <cstring>

#include "plinth/verify/difference.h"

namespace plinth::verify {

StridedRef::StridedRef(const formats::ConstTensorRef& t) : tensor(t), dims(t.dims.begin(), t.dims.end()) {
  strides.resize(dims.size());
  int64_t stride = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    strides[k] = stride;
    stride *= dims[k];
  }
}

int64_t StridedRef::size() const {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

bool StridedRef::dense() const {
  int64_t stride = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    if (dims[k] != 1 && strides[k] != stride) return false;
    stride *= dims[k];
  }
  return true;
}

void CopyElements(const StridedRef& ref, int64_t begin, int64_t count, std::byte* out) {
  const int64_t bytes = SizeOf(ref.tensor.dtype);
  const auto rank = ref.dims.size();
  std::vector<int64_t> index(rank);
  int64_t rest = begin, at = ref.offset;
  for (size_t k = rank; k-- > 0;) {
    index[k] = rest % ref.dims[k];
    rest /= ref.dims[k];
    at += index[k] * ref.strides[k];
  }
  const size_t last = rank - 1;
  while (count > 0) {
    const int64_t run = std::min(count, ref.dims[last] - index[last]);
    const std::byte* from = ref.tensor.data + at * bytes;
    if (ref.strides[last] == 1) {
      std::memcpy(out, from, static_cast<size_t>(run * bytes));
    } else {
      for (int64_t i = 0; i < run; ++i) {
        std::memcpy(out + i * bytes, from + i * ref.strides[last] * bytes, static_cast<size_t>(bytes));
      }
    }
    out += run * bytes;
    count -= run;
    index[last] += run;
    at += run * ref.strides[last];
    for (size_t k = last; k > 0 && index[k] == ref.dims[k]; --k) {
      at += ref.strides[k - 1] - index[k] * ref.strides[k];
      index[k] = 0;
      ++index[k - 1];
    }
  }
}

}  // namespace plinth::verify
