// Faults of attention: masks, strides, caches, and bytes read as another type.
#include <cmath>
#include <cstring>

#include "plinth/verify/element.h"
#include "tests/catalogue/scene.h"

namespace plinth::catalogue {
namespace {

constexpr int64_t kSteps = 48, kWidth = 32;

struct Heads {
  Numbers q, k, v, mask;  // mask [steps][steps], 1 where a step may look
};

Heads MakeHeads(uint64_t seed) {
  Heads h{Rounded(DType::kF32, Normal({kSteps, kWidth}, seed)),
          Rounded(DType::kF32, Normal({kSteps, kWidth}, seed + 1)),
          Rounded(DType::kF32, Normal({kSteps, kWidth}, seed + 2)),
          Uniform({kSteps, kSteps}, seed + 3, 0, 1)};
  for (int64_t i = 0; i < kSteps; ++i) {
    for (int64_t j = 0; j < kSteps; ++j) h.mask.at(i, j) = i == j || (j < i && h.mask.at(i, j) > 0.2) ? 1 : 0;
  }
  return h;
}

// softmax(q k' / sqrt(width), masked) v
Numbers Attend(const Heads& h) {
  Numbers y{{kSteps, kWidth}, std::vector<double>(static_cast<size_t>(kSteps * kWidth))};
  for (int64_t i = 0; i < kSteps; ++i) {
    std::vector<double> p(static_cast<size_t>(kSteps));
    double sum = 0;
    for (int64_t j = 0; j < kSteps; ++j) {
      double dot = 0;
      for (int64_t c = 0; c < kWidth; ++c) dot += h.q.at(i, c) * h.k.at(j, c);
      p[static_cast<size_t>(j)] = h.mask.at(i, j) == 0 ? 0 : std::exp(dot / std::sqrt(double{kWidth}));
      sum += p[static_cast<size_t>(j)];
    }
    for (int64_t j = 0; j < kSteps; ++j) {
      for (int64_t c = 0; c < kWidth; ++c) y.at(i, c) += p[static_cast<size_t>(j)] / sum * h.v.at(j, c);
    }
  }
  return y;
}

Scene Planted(const Heads& right, const Heads& wrong) {
  const Numbers y = Attend(right);
  return Simple("attention", DType::kF32, y, y, Attend(wrong), kSteps);
}

Scene MaskIgnored() {
  const Heads right = MakeHeads(71);
  Heads wrong = right;
  for (int64_t i = 0; i < kSteps; ++i) {
    for (int64_t j = 0; j <= i; ++j) wrong.mask.at(i, j) = 1;  // the causal part is still there
  }
  return Planted(right, wrong);
}

// The values are a transposed view; their memory is read as if they were dense.
Scene StridesIgnored() {
  const Heads right = MakeHeads(75);
  Heads wrong = right;
  for (int64_t i = 0; i < kSteps; ++i) {
    for (int64_t c = 0; c < kWidth; ++c) {
      const int64_t at = i * kWidth + c;
      wrong.v.at(i, c) = right.v.at(at % kSteps, at / kSteps);
    }
  }
  return Planted(right, wrong);
}

// The newest entry of the cache is not seen yet.
Scene CacheOffByOne() {
  const Heads right = MakeHeads(79);
  Heads wrong = right;
  for (int64_t i = 1; i < kSteps; ++i) wrong.mask.at(i, i) = 0;
  for (int64_t i = 1; i < kSteps; ++i) wrong.mask.at(i, i - 1) = 1;
  return Planted(right, wrong);
}

// A cache in bf16 read byte by byte as 8-bit floats.
Scene CacheReadAsFp8() {
  const Heads right = MakeHeads(83);
  Heads wrong = right;
  const Stored cache(DType::kBF16, right.v);
  for (size_t i = 0; i < wrong.v.data.size(); ++i) {
    const double x = verify::ValueAt(verify::Element::kF8E4M3, cache.ref().data, static_cast<int64_t>(i));
    wrong.v.data[i] = std::isnan(x) ? 0 : x;
  }
  return Planted(right, wrong);
}

}  // namespace

std::map<std::string, Plant, std::less<>> AttentionPlants() {
  return {{"mask_ignored", MaskIgnored},
          {"strides_ignored", StridesIgnored},
          {"cache_off_by_one", CacheOffByOne},
          {"cache_read_as_fp8", CacheReadAsFp8}};
}

}  // namespace plinth::catalogue
