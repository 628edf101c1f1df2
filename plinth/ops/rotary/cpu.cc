#include "plinth/ops/rotary/cpu.h"

#include <cstring>

#include "plinth/ops/row_pieces.h"
#include "plinth/ops/vector_math.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

inline double PositionOf(const View& positions, int64_t row) {
  return positions.dtype == DType::kI32
             ? static_cast<double>(static_cast<const int32_t*>(positions.data)[row])
             : static_cast<double>(static_cast<const float*>(positions.data)[row]);
}

// Turns one head. x and y are equal or do not overlap.
inline void TurnHalves(const float* x, const float* cos, const float* sin, float* y, int64_t pairs) {
#pragma omp simd
  for (int64_t j = 0; j < pairs; ++j) {
    const float a = x[j], b = x[j + pairs];
    y[j] = a * cos[j] - b * sin[j];
    y[j + pairs] = a * sin[j] + b * cos[j];
  }
}

inline void TurnInterleaved(const float* x, const float* cos, const float* sin, float* y, int64_t pairs) {
#pragma omp simd
  for (int64_t j = 0; j < pairs; ++j) {
    const float a = x[2 * j], b = x[2 * j + 1];
    y[2 * j] = a * cos[j] - b * sin[j];
    y[2 * j + 1] = a * sin[j] + b * cos[j];
  }
}

// Fills the tables of one row, shared by its heads. False where the position cannot be used.
inline bool FillTables(double position, const double* frequency, int64_t pairs, float* cos, float* sin) {
  const bool usable = position >= -0x1p31 && position <= 0x1p31;  // false for NaN
  if (!usable) position = __builtin_nan("");
#pragma omp simd
  for (int64_t j = 0; j < pairs; ++j) {
    const SinCosPair p = SinCos(position * frequency[j]);
    cos[j] = p.cos;
    sin[j] = p.sin;
  }
  return usable;
}

}  // namespace

void RotaryF32(const CpuArgs& args, int64_t begin, int64_t end) {
  const RotaryParams& params = *static_cast<const RotaryParams*>(args.params);
  const double* frequency = static_cast<const double*>(args.prepared);
  const int64_t columns = args.in[0].last(), pairs = params.pairs;
  float* cos = reinterpret_cast<float*>(args.scratch);
  float* sin = cos + pairs;
  for (int64_t row : RowsOf(args.in[0], begin, end)) {
    const float* x = Row<const float>(args.in[0], row);
    float* y = Row<float>(args.out[0], row);
    if (!FillTables(PositionOf(args.in[1], row), frequency, pairs, cos, sin) && args.fault->what == nullptr) {
      *args.fault = {"a position is not a finite number of at most 2^31", 0, row};
    }
    for (int64_t h = 0; h < params.heads; ++h) {
      const int64_t at = h * params.head_dim;
      if (params.interleaved) {
        TurnInterleaved(x + at, cos, sin, y + at, pairs);
      } else {
        TurnHalves(x + at, cos, sin, y + at, pairs);
      }
      const int64_t rest = params.head_dim - 2 * pairs;
      if (x != y && rest > 0)
        std::memcpy(y + at + 2 * pairs, x + at + 2 * pairs, static_cast<size_t>(rest) * 4);
    }
    const int64_t turned = params.heads * params.head_dim;
    if (x != y && turned < columns) {
      std::memcpy(y + turned, x + turned, static_cast<size_t>(columns - turned) * 4);
    }
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
