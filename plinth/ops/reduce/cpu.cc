#include "plinth/ops/reduce/cpu.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

#define PLINTH_INLINE static inline __attribute__((always_inline))

struct SumOf {
  using Total = double;
  static constexpr double kStart = 0;
  PLINTH_INLINE double Join(double a, double b) { return a + b; }
};
struct ProdOf {
  using Total = double;
  static constexpr double kStart = 1;
  PLINTH_INLINE double Join(double a, double b) { return a * b; }
};
// Equal operands differ in the sign of zero at most: "and" keeps a plus, "or" a minus sign.
struct MaxOf {
  using Total = float;
  static constexpr float kStart = -__builtin_inff();
  PLINTH_INLINE float Join(float a, float b) {
    float r = a > b ? a : b;
    r = a == b ? __builtin_bit_cast(float, __builtin_bit_cast(int32_t, a) & __builtin_bit_cast(int32_t, b))
               : r;
    return a != a ? a : r;
  }
};
struct MinOf {
  using Total = float;
  static constexpr float kStart = __builtin_inff();
  PLINTH_INLINE float Join(float a, float b) {
    float r = a < b ? a : b;
    r = a == b ? __builtin_bit_cast(float, __builtin_bit_cast(int32_t, a) | __builtin_bit_cast(int32_t, b))
               : r;
    return a != a ? a : r;
  }
};

// Calls body(offset, count, step) for the runs along the last of the dimensions, in row-major order.
template <typename Body>
void ForRuns(const DimList& list, Body body) {
  if (list.size == 0) return;
  const int last = list.rank - 1;
  int64_t index[kMaxRank] = {}, offset = 0;
  while (true) {
    body(offset, list.dims[last], list.strides[last]);
    int d = last - 1;
    for (; d >= 0; --d) {
      offset += list.strides[d];
      if (++index[d] < list.dims[d]) break;
      offset -= list.dims[d] * list.strides[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

// Element j of all reduced ones belongs to lane j modulo kLanes, whatever runs they come in; lanes are
// joined in pairs at the end. So the order is a function of the count alone.
constexpr int64_t kLanes = 16;
template <typename F>
struct Lanes {
  using Total = typename F::Total;
  Total lane[kLanes];
  int64_t next = 0;

  Lanes() {
    for (Total& t : lane) t = F::kStart;
  }
  void Add(const float* x, int64_t n, int64_t step) {
    int64_t i = 0;
    for (; i < n && next % kLanes != 0; ++i) One(x[i * step]);
    if (step == 1) {
      for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
        for (int64_t l = 0; l < kLanes; ++l) lane[l] = F::Join(lane[l], static_cast<Total>(x[i + l]));
      }
    } else {
      for (; i + kLanes <= n; i += kLanes) {
        for (int64_t l = 0; l < kLanes; ++l)
          lane[l] = F::Join(lane[l], static_cast<Total>(x[(i + l) * step]));
      }
    }
    for (; i < n; ++i) One(x[i * step]);
  }
  void One(float x) {
    Total& t = lane[next++ % kLanes];
    t = F::Join(t, static_cast<Total>(x));
  }
  Total Join() {
    for (int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (int64_t l = 0; l < half; ++l) lane[l] = F::Join(lane[l], lane[l + half]);
    }
    return lane[0];
  }
};

template <typename F>
typename F::Total ReduceOne(const DimList& reduced, const float* x) {
  Lanes<F> lanes;
  ForRuns(reduced, [&](int64_t offset, int64_t n, int64_t step) { lanes.Add(x + offset, n, step); });
  return lanes.Join();
}

// `width` outputs side by side; each joins its elements one after the other.
template <typename F>
void ReduceColumns(const DimList& reduced, const float* x, int64_t stride, int64_t width,
                   typename F::Total* totals) {
  using Total = typename F::Total;
  for (int64_t c = 0; c < width; ++c) totals[c] = F::kStart;
  ForRuns(reduced, [&](int64_t offset, int64_t n, int64_t step) {
    for (int64_t i = 0; i < n; ++i) {
      const float* row = x + offset + i * step;
      if (stride == 1) {
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) totals[c] = F::Join(totals[c], static_cast<Total>(row[c]));
      } else {
        for (int64_t c = 0; c < width; ++c)
          totals[c] = F::Join(totals[c], static_cast<Total>(row[c * stride]));
      }
    }
  });
}

// `divisor` is the count of the mean and 1 elsewhere.
template <typename F>
void Reduce(const CpuArgs& args, const ReduceGrid& g, bool last_reduced, typename F::Total divisor,
            int64_t begin, int64_t end) {
  const float* x = static_cast<const float*>(args.in[0].data);
  float* y = static_cast<float*>(args.out[0].data);
  const int64_t stop = end * g.per_piece < g.units ? end * g.per_piece : g.units;
  for (int64_t unit = begin * g.per_piece; unit < stop; ++unit) {
    const int64_t row = unit / g.blocks, column = unit % g.blocks * kReduceColumns;
    int64_t from = column * g.column_stride, rest = row;
    for (int d = g.kept.rank - 1; d >= 0; --d) {
      from += rest % g.kept.dims[d] * g.kept.strides[d];
      rest /= g.kept.dims[d];
    }
    if (last_reduced) {
      y[row] = static_cast<float>(ReduceOne<F>(g.reduced, x + from) / divisor);
      continue;
    }
    typename F::Total totals[kReduceColumns];
    const int64_t left = g.columns - column, width = left < kReduceColumns ? left : kReduceColumns;
    ReduceColumns<F>(g.reduced, x + from, g.column_stride, width, totals);
    float* to = y + row * g.columns + column;
    for (int64_t c = 0; c < width; ++c) to[c] = static_cast<float>(totals[c] / divisor);
  }
}

}  // namespace

void ReduceF32(const CpuArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ReduceParams*>(args.params);
  const View& x = args.in[0];
  const ReduceGrid g = GridOf(x, p.axes);
  const bool last = x.rank == 0 || (p.axes >> (x.rank - 1) & 1) != 0;
  switch (p.function) {
    case ReduceFunction::kSum:
      return Reduce<SumOf>(args, g, last, 1, begin, end);
    case ReduceFunction::kMean:
      return Reduce<SumOf>(args, g, last, static_cast<double>(g.reduced.size), begin, end);
    case ReduceFunction::kMax:
      return Reduce<MaxOf>(args, g, last, 1, begin, end);
    case ReduceFunction::kMin:
      return Reduce<MinOf>(args, g, last, 1, begin, end);
    case ReduceFunction::kProd:
      return Reduce<ProdOf>(args, g, last, 1, begin, end);
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
