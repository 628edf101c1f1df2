#include "plinth/ops/binary/cpu.h"

#include "plinth/ops/binary/power.h"
#include "plinth/ops/strided.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

// What two's complement wraps around in, and the integer of the same width.
template <typename T>
struct Bits;
template <>
struct Bits<float> {
  using Arithmetic = float;
  using Integer = int32_t;
};
template <>
struct Bits<double> {
  using Arithmetic = double;
  using Integer = int64_t;
};
template <>
struct Bits<int32_t> {
  using Arithmetic = uint32_t;
  using Integer = int32_t;
};
template <>
struct Bits<int64_t> {
  using Arithmetic = uint64_t;
  using Integer = int64_t;
};
template <typename T>
using Arithmetic = typename Bits<T>::Arithmetic;
template <typename T>
using Integer = typename Bits<T>::Integer;

template <typename T>
struct AddOf {
  PLINTH_VECTOR T Do(T a, T b) {
    return static_cast<T>(static_cast<Arithmetic<T>>(a) + static_cast<Arithmetic<T>>(b));
  }
};
template <typename T>
struct SubOf {
  PLINTH_VECTOR T Do(T a, T b) {
    return static_cast<T>(static_cast<Arithmetic<T>>(a) - static_cast<Arithmetic<T>>(b));
  }
};
template <typename T>
struct MulOf {
  PLINTH_VECTOR T Do(T a, T b) {
    return static_cast<T>(static_cast<Arithmetic<T>>(a) * static_cast<Arithmetic<T>>(b));
  }
};
template <typename T>
struct DivOf {
  PLINTH_VECTOR T Do(T a, T b) { return a / b; }
};

PLINTH_VECTOR bool IsNan(float x) { return __builtin_isnan(x) != 0; }
PLINTH_VECTOR bool IsNan(double x) { return __builtin_isnan(x) != 0; }
PLINTH_VECTOR bool IsNan(int32_t) { return false; }
PLINTH_VECTOR bool IsNan(int64_t) { return false; }

// Equal operands differ in the sign of zero at most: "or" keeps a minus sign, "and" a plus.
template <typename T>
struct MinOf {
  PLINTH_VECTOR T Do(T a, T b) {
    const Integer<T> either = __builtin_bit_cast(Integer<T>, a) | __builtin_bit_cast(Integer<T>, b);
    T r = a < b ? a : b;
    r = a == b ? __builtin_bit_cast(T, either) : r;
    return IsNan(a) ? a : r;  // where b is the NaN, the comparison took it already
  }
};
template <typename T>
struct MaxOf {
  PLINTH_VECTOR T Do(T a, T b) {
    const Integer<T> both = __builtin_bit_cast(Integer<T>, a) & __builtin_bit_cast(Integer<T>, b);
    T r = a > b ? a : b;
    r = a == b ? __builtin_bit_cast(T, both) : r;
    return IsNan(a) ? a : r;
  }
};
struct PowOf {
  PLINTH_VECTOR float Do(float a, float b) { return Power(a, b); }
};

// y[i] = F(a[i], b[i]) over contiguous elements, and with one operand the same for all. y may be a or b.
template <typename T>
struct Loops {
  void (*both)(const T* a, const T* b, T* y, int64_t n);
  void (*left)(const T* a, T b, T* y, int64_t n);
  void (*right)(T a, const T* b, T* y, int64_t n);
};

template <typename T, typename F>
void LoopBoth(const T* a, const T* b, T* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = F::Do(a[i], b[i]);
}
template <typename T, typename F>
void LoopLeft(const T* a, T b, T* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = F::Do(a[i], b);
}
template <typename T, typename F>
void LoopRight(T a, const T* b, T* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = F::Do(a, b[i]);
}
template <typename T, typename F>
constexpr Loops<T> LoopsOf() {
  return {&LoopBoth<T, F>, &LoopLeft<T, F>, &LoopRight<T, F>};
}

template <typename T>
void Gather(const T* x, int64_t step, int64_t n, T* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = x[i * step];
}

// A run whose operands are not contiguous goes through small buffers.
template <typename T>
void StridedRun(const Loops<T>& loops, const T* a, int64_t a_step, const T* b, int64_t b_step, T* y,
                int64_t y_step, int64_t n) {
  constexpr int64_t kBlock = 256;
  T left[kBlock], right[kBlock], result[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = n - i < kBlock ? n - i : kBlock;
    Gather(a + i * a_step, a_step, count, left);
    Gather(b + i * b_step, b_step, count, right);
    loops.both(left, right, result, count);
    for (int64_t j = 0; j < count; ++j) y[(i + j) * y_step] = result[j];
  }
}

template <typename T>
void Apply(const Loops<T>& loops, const CpuArgs& args, int64_t begin, int64_t end) {
  const View &a = args.in[0], &b = args.in[1], &y = args.out[0];
  const Walk<3> w = MakeWalk<3>(y, {&a, &b, &y});
  const int64_t a_step = w.step(0), b_step = w.step(1), y_step = w.step(2);
  const ElementRange range = ElementsOf(w.size, begin, end);
  ForRuns(w, range.first, range.last, [&](const int64_t* at, int64_t n) {
    const T* x0 = static_cast<const T*>(a.data) + at[0];
    const T* x1 = static_cast<const T*>(b.data) + at[1];
    T* out = static_cast<T*>(y.data) + at[2];
    if (y_step == 1 && a_step == 1 && b_step == 1) {
      loops.both(x0, x1, out, n);
    } else if (y_step == 1 && a_step == 1 && b_step == 0) {
      loops.left(x0, *x1, out, n);
    } else if (y_step == 1 && a_step == 0 && b_step == 1) {
      loops.right(*x0, x1, out, n);
    } else {
      StridedRun(loops, x0, a_step, x1, b_step, out, y_step, n);
    }
  });
}

// In the order of BinaryFunction.
template <typename T>
constexpr Loops<T> kBasic[] = {LoopsOf<T, AddOf<T>>(), LoopsOf<T, SubOf<T>>(), LoopsOf<T, MulOf<T>>(),
                               LoopsOf<T, MinOf<T>>(), LoopsOf<T, MaxOf<T>>()};
constexpr Loops<float> kFloat[] = {kBasic<float>[0],       kBasic<float>[1], kBasic<float>[2],
                                   kBasic<float>[3],       kBasic<float>[4], LoopsOf<float, DivOf<float>>(),
                                   LoopsOf<float, PowOf>()};
constexpr Loops<double> kDouble[] = {kBasic<double>[0], kBasic<double>[1], kBasic<double>[2],
                                     kBasic<double>[3], kBasic<double>[4], LoopsOf<double, DivOf<double>>()};

int FunctionOf(const CpuArgs& args) {
  return static_cast<int>(static_cast<const BinaryParams*>(args.params)->function);
}

}  // namespace

void BinaryF32(const CpuArgs& args, int64_t begin, int64_t end) {
  Apply(kFloat[FunctionOf(args)], args, begin, end);
}
void BinaryF64(const CpuArgs& args, int64_t begin, int64_t end) {
  Apply(kDouble[FunctionOf(args)], args, begin, end);
}
void BinaryI32(const CpuArgs& args, int64_t begin, int64_t end) {
  Apply(kBasic<int32_t>[FunctionOf(args)], args, begin, end);
}
void BinaryI64(const CpuArgs& args, int64_t begin, int64_t end) {
  Apply(kBasic<int64_t>[FunctionOf(args)], args, begin, end);
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
