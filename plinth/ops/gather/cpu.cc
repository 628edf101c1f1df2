#include "plinth/ops/gather/cpu.h"

#include <cstring>

#ifndef PLINTH_KERNEL_LEVEL
#error "kernel sources are compiled per instruction-set level"
#endif

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

void GatherBytes(const CpuArgs& args, int64_t begin, int64_t end) {
  const View& data = args.in[0];
  const View& index = args.in[1];
  const int64_t bytes = SizeOf(data.dtype);
  // One picked row is `lines` stretches of `line` bytes, `step` bytes apart in data and dense in the output.
  int64_t lines = 1;
  for (int d = 1; d + 1 < data.rank; ++d) lines *= data.dims[d];
  int64_t line = (data.rank == 1 ? 1 : data.dims[data.rank - 1]) * bytes;
  const int64_t step = data.rank < 3 ? 0 : data.strides[data.rank - 2] * bytes;
  const int64_t row = lines * line;
  if (lines > 1 && step == line) {
    line = row;
    lines = 1;
  }
  int64_t count = 1;
  for (int d = 0; d < index.rank; ++d) count *= index.dims[d];
  const int64_t elements = row / bytes;
  const int64_t per = 16384 / (elements < 1 ? 1 : elements) < 1 ? 1 : 16384 / (elements < 1 ? 1 : elements);
  const int64_t last = end * per < count ? end * per : count;
  for (int64_t i = begin * per; i < last; ++i) {
    const int64_t at = index.dtype == DType::kI32 ? static_cast<const int32_t*>(index.data)[i]
                                                  : static_cast<const int64_t*>(index.data)[i];
    char* to = static_cast<char*>(args.out[0].data) + i * row;
    if (at < 0 || at >= data.dims[0]) {
      if (args.fault->what == nullptr) *args.fault = {"an index is outside the rows of data", at, i};
      if (row > 0) std::memset(to, 0, static_cast<size_t>(row));
      continue;
    }
    const char* from = static_cast<const char*>(data.data) + at * data.strides[0] * bytes;
    for (int64_t l = 0; l < lines && line > 0; ++l) {
      std::memcpy(to + l * line, from + l * step, static_cast<size_t>(line));
    }
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
