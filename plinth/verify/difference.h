// Compares two tensors in one pass: every statistic of the acceptance, summed in double.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plinth/base/cpu.h"
#include "plinth/base/status.h"
#include "plinth/base/threads.h"
#include "plinth/formats/safetensors.h"
#include "plinth/verify/element.h"

namespace plinth::verify {

// Counts of one side over all elements; min to l2 over the elements that are finite on both sides.
struct SideCounts {
  int64_t nan = 0, pos_inf = 0, neg_inf = 0, zero = 0, subnormal = 0;
  int64_t canary = 0;  // elements that still hold the pattern the memory was filled with beforehand
  double min = 0, max = 0, mean = 0, rms = 0, l2 = 0;
};

// `b - a` over elements that are finite on both sides; a is the reference.
struct Difference {
  int64_t count = 0;  // elements
  int64_t finite_both = 0;
  SideCounts a, b;
  int64_t nan_mismatch = 0, inf_mismatch = 0;  // where only one side is NaN; where infinities differ
  int64_t first_mismatch = -1;                 // index of the first of either kind
  int64_t zero_sign_mismatch = 0;              // both zero, of different sign
  int64_t unequal = 0;                         // elements of different value; NaN equals NaN, and 0 equals -0
  double max_abs = 0;
  int64_t worst = -1;  // index of the first largest |b - a|; -1 where nothing differs
  double worst_a = 0, worst_b = 0;
  // |b - a| / max(|a|, floor), so that values near zero do not rule. The floor is rms(a) * unit, at most
  // rms(a) / 256, rounded down to a power of two; of integers 1. The quantiles are those of all finite_both
  // elements, read from a histogram of 16 bins per power of two: the middle of the bin that holds the exact
  // one, which is at most 3.2 % away. max_rel is exact.
  double floor = 0;
  double max_rel = 0, p99_rel = 0, p999_rel = 0;
  double rel_l2 = 0;  // |b - a|_2 / |a|_2; infinite where a is all zero and b is not
  double rmse = 0, l2 = 0;
  double mean_error = 0;  // signed bias
  double balance = 0;     // (positive - negative errors) / both: -1 .. 1
  double cosine = 1;      // 0 where one side is all zero and the other is not
  // The relative L2 error that this cosine admits even at the best scale, sqrt(1 - cosine^2), computed
  // without the cancellation; it cannot see a wrong scale.
  double implied_rel_l2 = 0;
  // Steps between a and b on the grid of `unit_element`; of integers the difference itself.
  double max_ulp = 0;
  std::array<int64_t, 16> ulp_histogram{};  // 0, 1, 2, 3-4, 5-8 ... 4097-8192, more; finite_both elements
  // Largest |b - a| of the elements whose index along the last dimension is i modulo 64.
  std::array<double, 64> lane_max{};
  std::vector<double> tile_max;  // the same of consecutive runs of tile_elements; at most 64
  int64_t tile_elements = 0;
  int64_t outside = 0;  // |b - a| > atol + rtol |a|, or not finite and different; where DifferOptions asks
  Element element_a = Element::kF32, element_b = Element::kF32;
  Element unit_element = Element::kF32;  // the coarser of both: its unit and its steps count
  std::string sha256_a, sha256_b;        // of the tensors' bytes, where asked for

  // How many of a's subnormals b has not lost. A type of another range may hold them as normal numbers: then
  // only what became zero is lost.
  int64_t subnormals_kept() const {
    if (element_a == element_b) return b.subnormal;
    return a.subnormal - std::clamp<int64_t>(b.zero - a.zero, 0, a.subnormal);
  }
  int64_t nan_both() const { return (a.nan + b.nan - nan_mismatch) / 2; }  // elements that agree in being NaN
};

// A tensor seen through other strides: a permutation, or the valid part of a padded one.
struct StridedRef {
  formats::ConstTensorRef tensor;
  std::vector<int64_t> dims, strides;  // strides in elements
  int64_t offset = 0;                  // of the first element

  StridedRef() = default;
  StridedRef(const formats::ConstTensorRef& t);  // NOLINT: a tensor is a view of itself
  int64_t size() const;
  bool dense() const;  // the same bytes in the same order, none left out
};

// Copies elements [begin, begin + count) of a view to `out` in row-major order.
void CopyElements(const StridedRef& ref, int64_t begin, int64_t count, std::byte* out);

struct Closeness {
  double atol = 0, rtol = 0;
};

struct DifferOptions {
  bool sha256 = false;             // of both tensors' own bytes, in the same pass
  std::optional<uint64_t> canary;  // the low bytes of this, as many as an element has
  std::optional<Closeness> close;
  Threads* threads = nullptr;  // null: the calling thread. Results do not depend on it.
  std::optional<Isa> isa;      // nullopt: the best. Results do not depend on it either.
};

// Elements are taken in row-major order; types may differ; shapes must hold the same number of elements.
// Memory: a few megabytes per thread, whatever the size. Error: InvalidArgument for different counts.
StatusOr<Difference> Differ(const StridedRef& a, const StridedRef& b, const DifferOptions& options = {});

// The type whose rounding is the coarser one: where a reference in f64 meets a candidate in f32, f32.
Element CoarserOf(Element a, Element b);

}  // namespace plinth::verify
