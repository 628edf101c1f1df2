#include "plinth/ops/unary/cpu.h"

#include "plinth/ops/strided.h"
#include "plinth/ops/unary/large_angle.h"
#include "plinth/ops/vector_math.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

PLINTH_VECTOR float Ceil(float x) { return __builtin_ceilf(x); }
PLINTH_VECTOR float Floor(float x) { return __builtin_floorf(x); }
PLINTH_VECTOR float Neg(float x) { return BitsToFloat(FloatToBits(x) ^ INT32_MIN); }
PLINTH_VECTOR float Reciprocal(float x) { return 1.0f / x; }
PLINTH_VECTOR float Relu(float x) { return x < 0 ? 0.0f : x; }
PLINTH_VECTOR float Round(float x) { return __builtin_nearbyintf(x); }
PLINTH_VECTOR float Rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
PLINTH_VECTOR float Sign(float x) {
  const float one = x > 0 ? 1.0f : -1.0f;
  return x == 0 || x != x ? x : one;
}
PLINTH_VECTOR float Square(float x) { return x * x; }
// The reduction loses the sign of zero.
PLINTH_VECTOR float Sin(float x) { return x == 0 ? x : SinCos(static_cast<double>(x)).sin; }
PLINTH_VECTOR float Cos(float x) { return SinCos(static_cast<double>(x)).cos; }

// y[i] = F(x[i]) over contiguous elements; y may be x.
using Loop = void(const float* x, float* y, int64_t n);

template <float F(float)>
void Plain(const float* x, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = F(x[i]);
}

// Most angles are moderate; a block that holds another one is gone over again.
template <float F(float), bool cosine>
void Angles(const float* x, float* y, int64_t n) {
  constexpr int64_t kBlock = 256;
  float kept[kBlock];
  for (int64_t start = 0; start < n; start += kBlock) {
    const int64_t count = n - start < kBlock ? n - start : kBlock;
    int32_t large = 0;
#pragma omp simd reduction(| : large)
    for (int64_t i = 0; i < count; ++i) {
      kept[i] = x[start + i];
      large |= Abs(kept[i]) <= kLargeAngle ? 0 : 1;
    }
    Plain<F>(kept, y + start, count);
    for (int64_t i = 0; large != 0 && i < count; ++i) {
      if (Abs(kept[i]) <= kLargeAngle) continue;
      y[start + i] = Abs(kept[i]) < kInf ? LargeAngle(kept[i], cosine) : kNan;
    }
  }
}

// In the order of PLINTH_UNARY_FUNCTIONS.
template <float F(float)>
constexpr Loop* kLoop = &Plain<F>;
template <>
constexpr Loop* kLoop<Sin> = &Angles<Sin, false>;
template <>
constexpr Loop* kLoop<Cos> = &Angles<Cos, true>;
#define PLINTH_UNARY_LOOP(text, fn) kLoop<fn>,
constexpr Loop* kLoops[] = {PLINTH_UNARY_FUNCTIONS(PLINTH_UNARY_LOOP)};
#undef PLINTH_UNARY_LOOP

// A run that is not contiguous goes through a small buffer.
void StridedRun(Loop* loop, const float* x, int64_t x_step, float* y, int64_t y_step, int64_t n) {
  constexpr int64_t kBlock = 256;
  float block[kBlock];
  for (int64_t start = 0; start < n; start += kBlock) {
    const int64_t count = n - start < kBlock ? n - start : kBlock;
    for (int64_t i = 0; i < count; ++i) block[i] = x[(start + i) * x_step];
    loop(block, block, count);
    for (int64_t i = 0; i < count; ++i) y[(start + i) * y_step] = block[i];
  }
}

}  // namespace

void UnaryF32(const CpuArgs& args, int64_t begin, int64_t end) {
  Loop* loop = kLoops[static_cast<const UnaryParams*>(args.params)->function];
  const View &in = args.in[0], &out = args.out[0];
  const Walk<2> w = MakeWalk<2>(out, {&in, &out});
  const ElementRange range = ElementsOf(w.size, begin, end);
  ForRuns(w, range.first, range.last, [&](const int64_t* at, int64_t n) {
    const float* x = static_cast<const float*>(in.data) + at[0];
    float* y = static_cast<float*>(out.data) + at[1];
    if (w.step(0) == 1 && w.step(1) == 1) {
      loop(x, y, n);
    } else {
      StridedRun(loop, x, w.step(0), y, w.step(1), n);
    }
  });
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
