#include "plinth/ops/pad/cpu.h"

#include "plinth/ops/row_pieces.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

// Which element of n the one at `i` (which may lie outside) takes; -1: the padding value.
int64_t Source(PadMode mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  if (mode == PadMode::kConstant) return -1;
  if (mode == PadMode::kEdge) return i < 0 ? 0 : n - 1;
  return i < 0 ? -i : 2 * (n - 1) - i;
}

// Finds the row of x that row `row` of y takes; false: it is all padding.
bool SourceRow(const PadParams& p, const View& x, const View& y, int64_t row, int64_t* offset) {
  *offset = 0;
  for (int d = x.rank - 2; d >= 0; --d) {
    const int64_t at = Source(p.mode, row % y.dims[d] - p.before[d], x.dims[d]);
    if (at < 0) return false;
    *offset += at * x.strides[d];
    row /= y.dims[d];
  }
  return true;
}

template <typename T>
void Fill(T* y, int64_t n, T value) {
  for (int64_t i = 0; i < n; ++i) y[i] = value;
}

// One row of x and where it goes.
template <typename T>
struct PaddedRow {
  PadMode mode;
  T value;
  const T* x;
  int64_t step, n, before;
  T* y;

  // Columns [first, last), which lie outside x.
  void FillEnd(int64_t first, int64_t last) const {
    if (mode == PadMode::kConstant) return Fill(y + first, last - first, value);
    for (int64_t i = first; i < last; ++i) y[i] = x[Source(mode, i - before, n) * step];
  }
  void CopyMiddle() const {
    if (step == 1 && n > 0) {
      __builtin_memcpy(y + before, x, static_cast<uint64_t>(n) * sizeof(T));
    } else {
      for (int64_t i = 0; i < n; ++i) y[before + i] = x[i * step];
    }
  }
};

template <typename T>
void Pad(const PadParams& p, const CpuArgs& args, int64_t begin, int64_t end) {
  const View &x = args.in[0], &y = args.out[0];
  const int last = x.rank - 1;
  const int64_t n = x.dims[last], width = y.dims[last];
  const T value = static_cast<T>(p.value);
  for (int64_t row : RowsOf(y, begin, end)) {
    T* to = Row<T>(y, row);
    int64_t offset = 0;
    if (!SourceRow(p, x, y, row, &offset)) {
      Fill(to, width, value);
      continue;
    }
    const T* from = static_cast<const T*>(x.data) + offset;
    const PaddedRow<T> padded{p.mode, value, from, x.strides[last], n, p.before[last], to};
    padded.FillEnd(0, p.before[last]);
    padded.CopyMiddle();
    padded.FillEnd(p.before[last] + n, width);
  }
}

}  // namespace

void PadAny(const CpuArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const PadParams*>(args.params);
  switch (SizeOf(args.out[0].dtype)) {
    case 1:
      return Pad<uint8_t>(p, args, begin, end);
    case 2:
      return Pad<uint16_t>(p, args, begin, end);
    case 4:
      return Pad<uint32_t>(p, args, begin, end);
    default:
      return Pad<uint64_t>(p, args, begin, end);
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
