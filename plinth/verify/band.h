// Measures how much a computation varies by itself: over repeats, batch sizes, threads, kernels, or last
// input bits.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/base/threads.h"
#include "plinth/formats/safetensors.h"
#include "plinth/tensor/dtype.h"

namespace plinth::verify {

// Repeats for daily work and for a signed acceptance.
inline constexpr int kWorkRepeats = 5;
inline constexpr int kSignedRepeats = 59;

// The largest of each statistic over all pairs of runs.
struct TensorBand {
  int64_t runs = 0;
  double rel_l2 = 0, max_abs = 0, mean_error = 0, rmse = 0;
  // No two runs differed in any bit that carries a value: bitwise equality is expected.
  bool bitwise = false;
};

// One run of the incumbent. Tensors of one key have one shape and type in all runs.
struct BandRun {
  std::string source;  // what was varied: "repeat", "batch", "threads", "kernel", "isa", "last-bit"
  std::vector<std::pair<std::string, formats::ConstTensorRef>> tensors;  // by key
};

struct Band {
  int64_t runs = 0;                  // R
  std::vector<std::string> sources;  // each once, in the order they came
  std::map<std::string, TensorBand, std::less<>> tensors;

  const TensorBand* Find(std::string_view key) const;
};

// Errors: InvalidArgument for fewer than two runs, an unknown source, a key that some run lacks, shapes or
// types that differ between runs (all name run and tensor).
StatusOr<Band> MakeBand(std::span<const BandRun> runs, Threads* threads = nullptr);

// band.json: {"schema":"plinth.band/1","runs","sources","exceed_chance","coverage","tensors":{KEY:{...}}}.
std::string ToJson(const Band& band);
// Errors: InvalidArgument with `where` and place for anything that MakeBand could not have made.
StatusOr<Band> ParseBand(std::string_view json, std::string_view where);

// The chance that the next exchangeable run exceeds the largest of `runs`: 1 / (R + 1). Without any factor.
double ExceedChance(int64_t runs);
// The share of future runs that stay below the largest of `runs`, with 95 % confidence: 0.05^(1/R). 0.95 from
// 59 on (Wilks 1941).
double Coverage(int64_t runs);
// "R = 5: the next run exceeds the largest seen with a chance of 16.7 %".
std::string CoverageText(int64_t runs);

// Makes a neighbour of an input where a bit-stable reference would give a band of zero: flips the last bit of
// the significand in a random subset (`share` of the elements, at least one; seeded) of finite values that
// are not zero and keep their sign and finiteness. Elements of other types than floating stay. Returns how
// many were flipped. `data` may have any alignment. Method: the comparison tools' "free benchmark".
int64_t FlipLastBits(DType dtype, std::span<std::byte> data, uint64_t seed, double share = 0.5);

}  // namespace plinth::verify
