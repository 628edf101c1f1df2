#include "plinth/ops/cast/cpu.h"

#include <cstring>

#include "plinth/ops/strided.h"
#include "plinth/tensor/half.h"

#ifndef PLINTH_KERNEL_LEVEL
#error "kernel sources are compiled per instruction-set level"
#endif

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

struct Bool {
  uint8_t byte;
};

// What an element is computed in: float, double, int32_t or int64_t, each of which holds it exactly.
inline double Widen(double x) { return x; }
inline float Widen(float x) { return x; }
inline float Widen(Half x) { return ToFloat(x); }
inline float Widen(BFloat16 x) { return ToFloat(x); }
inline int64_t Widen(int64_t x) { return x; }
inline int32_t Widen(int32_t x) { return x; }
inline int32_t Widen(int16_t x) { return x; }
inline int32_t Widen(int8_t x) { return x; }
inline int32_t Widen(uint8_t x) { return x; }
inline int32_t Widen(Bool x) { return x.byte != 0; }

// Rounds to a float that a second rounding to 16 bits cannot tell from the exact value: towards zero,
// with the last bit set where anything was lost ("round to odd").
inline float OddFloat(double x) {
  const float nearest = static_cast<float>(x);
  const double back = static_cast<double>(nearest);
  if (!(back != x) || x != x) return nearest;
  uint32_t bits = __builtin_bit_cast(uint32_t, nearest);
  if (__builtin_fabs(back) > __builtin_fabs(x)) --bits;
  return __builtin_bit_cast(float, bits | 1u);
}
inline float OddFloat(float x) { return x; }
inline float OddFloat(int32_t x) { return OddFloat(static_cast<double>(x)); }
inline float OddFloat(int64_t x) {
  const uint64_t size = x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  const int spare = size < (uint64_t{1} << 24) ? 0 : 40 - __builtin_clzll(size);
  const uint64_t kept = (size >> spare) | ((size & ((uint64_t{1} << spare) - 1)) != 0 ? 1 : 0);
  const float y = static_cast<float>(kept) * static_cast<float>(uint64_t{1} << spare);
  return x < 0 ? -y : y;
}

template <typename To>
struct Range;
template <>
struct Range<int64_t> {
  static constexpr int64_t low = INT64_MIN, high = INT64_MAX;
};
template <>
struct Range<int32_t> {
  static constexpr int64_t low = INT32_MIN, high = INT32_MAX;
};
template <>
struct Range<int16_t> {
  static constexpr int64_t low = INT16_MIN, high = INT16_MAX;
};
template <>
struct Range<int8_t> {
  static constexpr int64_t low = INT8_MIN, high = INT8_MAX;
};
template <>
struct Range<uint8_t> {
  static constexpr int64_t low = 0, high = UINT8_MAX;
};

template <typename To>
struct Narrow {
  static To Of(double x) {
    // The upper end as a double may be one above the range, so compare with "at least one more".
    const double above = static_cast<double>(static_cast<uint64_t>(Range<To>::high) + 1);
    if (x != x) return 0;
    if (x >= above) return static_cast<To>(Range<To>::high);
    if (x <= static_cast<double>(Range<To>::low)) return static_cast<To>(Range<To>::low);
    return static_cast<To>(x);
  }
  static To Of(float x) { return Of(static_cast<double>(x)); }
  static To Of(int64_t x) {
    const int64_t y = x < Range<To>::low ? Range<To>::low : x;
    return static_cast<To>(y > Range<To>::high ? Range<To>::high : y);
  }
  static To Of(int32_t x) { return Of(static_cast<int64_t>(x)); }
};
template <>
struct Narrow<double> {
  template <typename T>
  static double Of(T x) {
    return static_cast<double>(x);
  }
};
template <>
struct Narrow<float> {
  template <typename T>
  static float Of(T x) {
    return static_cast<float>(x);
  }
};
template <>
struct Narrow<Half> {
  template <typename T>
  static Half Of(T x) {
    return ToHalf(OddFloat(x));
  }
};
template <>
struct Narrow<BFloat16> {
  template <typename T>
  static BFloat16 Of(T x) {
    return ToBFloat16(OddFloat(x));
  }
};
template <>
struct Narrow<Bool> {
  template <typename T>
  static Bool Of(T x) {
    return {static_cast<uint8_t>(x != 0 ? 1 : 0)};
  }
};

// One run of elements. flatten: everything is inlined, so that no function of the conversion headers
// gets a copy compiled for this level.
template <typename From, typename To>
__attribute__((flatten, noinline)) void ConvertRun(const void* from, int64_t step, void* to, int64_t count) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  if (step == 1) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] = Narrow<To>::Of(Widen(x[i]));
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = Narrow<To>::Of(Widen(x[i * step]));
  }
}

// A copy of the bits; only bytes of bool are made 0 or 1.
template <int Bytes>
void CopyRun(const void* from, int64_t step, void* to, int64_t count) {
  const char* x = static_cast<const char*>(from);
  char* y = static_cast<char*>(to);
  if (step == 1) {
    std::memcpy(y, x, static_cast<size_t>(count) * Bytes);
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(y + i * Bytes, x + i * step * Bytes, Bytes);
}

using Run = void (*)(const void* from, int64_t step, void* to, int64_t count);

template <typename From>
Run ChooseTo(DType to) {
  switch (to) {
    case DType::kF64:
      return ConvertRun<From, double>;
    case DType::kF32:
      return ConvertRun<From, float>;
    case DType::kF16:
      return ConvertRun<From, Half>;
    case DType::kBF16:
      return ConvertRun<From, BFloat16>;
    case DType::kI64:
      return ConvertRun<From, int64_t>;
    case DType::kI32:
      return ConvertRun<From, int32_t>;
    case DType::kI16:
      return ConvertRun<From, int16_t>;
    case DType::kI8:
      return ConvertRun<From, int8_t>;
    case DType::kU8:
      return ConvertRun<From, uint8_t>;
    case DType::kBool:
      return ConvertRun<From, Bool>;
  }
  __builtin_unreachable();
}

Run Choose(DType from, DType to) {
  if (from == to && from != DType::kBool) {
    switch (SizeOf(from)) {
      case 1:
        return CopyRun<1>;
      case 2:
        return CopyRun<2>;
      case 4:
        return CopyRun<4>;
      default:
        return CopyRun<8>;
    }
  }
  switch (from) {
    case DType::kF64:
      return ChooseTo<double>(to);
    case DType::kF32:
      return ChooseTo<float>(to);
    case DType::kF16:
      return ChooseTo<Half>(to);
    case DType::kBF16:
      return ChooseTo<BFloat16>(to);
    case DType::kI64:
      return ChooseTo<int64_t>(to);
    case DType::kI32:
      return ChooseTo<int32_t>(to);
    case DType::kI16:
      return ChooseTo<int16_t>(to);
    case DType::kI8:
      return ChooseTo<int8_t>(to);
    case DType::kU8:
      return ChooseTo<uint8_t>(to);
    case DType::kBool:
      return ChooseTo<Bool>(to);
  }
  __builtin_unreachable();
}

}  // namespace

void CastElements(const CpuArgs& args, int64_t begin, int64_t end) {
  const View &in = args.in[0], &out = args.out[0];
  const Run run = Choose(in.dtype, out.dtype);
  const int64_t in_bytes = SizeOf(in.dtype), out_bytes = SizeOf(out.dtype);
  const Walk<1> walk = MakeWalk<1>(out, {&in});
  const ElementRange range = ElementsOf(walk.size, begin, end);
  char* to = static_cast<char*>(out.data) + range.first * out_bytes;  // the output is dense
  ForRuns(walk, range.first, range.last, [&](const int64_t* offsets, int64_t count) {
    run(static_cast<const char*>(in.data) + offsets[0] * in_bytes, walk.step(0), to, count);
    to += count * out_bytes;
  });
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
