#include "plinth/verify/fill.h"

#include <algorithm>
#include <cmath>

#include "plinth/base/random.h"

namespace plinth::verify {
namespace {

using ops::Fill;
using ops::InputCase;
using ops::RefTensor;

uint64_t Mix(uint64_t hash, std::string_view text) {
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;  // FNV-1a
  return (hash ^ 0xffu) * 0x100000001b3u;                           // "ab","c" differs from "a","bc"
}

double Special(Random& g) {
  switch (g.Below(32)) {
    case 0:
      return NAN;
    case 1:
      return INFINITY;
    case 2:
      return -INFINITY;
    case 3:
      return 0.0;
    case 4:
      return -0.0;
    default:
      return g.Normal();
  }
}

double Element(Fill fill, int64_t i, const InputCase& input, Random& g) {
  switch (fill) {
    case Fill::kNormal:
      return g.Normal();
    case Fill::kUniform:
      return g.Uniform(-1, 1);
    case Fill::kPositive:
      return g.Uniform(0.1, 2);
    case Fill::kHuge:
      return g.Normal() * 1e30;
    case Fill::kTiny:
      return g.Normal() * 1e-30;
    case Fill::kSubnormal:
      return g.Normal() * 1e-40;
    case Fill::kWide:
      return std::copysign(std::pow(10.0, g.Uniform(-6, 6)), g.Uniform() - 0.5);
    case Fill::kOffset:
      return 1000 + g.Normal();
    case Fill::kSpecial:
      return Special(g);
    case Fill::kZeros:
    case Fill::kMaskNone:
      return fill == Fill::kZeros && i % 2 == 1 ? -0.0 : 0.0;
    case Fill::kConstant:
      return 1.25;
    case Fill::kAscending:
      return static_cast<double>(i);
    case Fill::kTies:
      return static_cast<double>(g.Below(7)) - 3;
    case Fill::kIndex:
      return static_cast<double>(g.Below(static_cast<uint64_t>(input.limit)));
    case Fill::kMask:
      return static_cast<double>(g.Below(2));
    case Fill::kMaskAll:
      return 1;
    case Fill::kOffsets:
      return static_cast<double>(g.Below(static_cast<uint64_t>(input.limit + 1)));
    case Fill::kValues:
      return input.values[static_cast<size_t>(i)];
  }
  return 0;
}

// Each special value at least once, where there is room: chance must not decide what a case attacks.
void PlantSpecials(std::vector<double>& data, Random& g) {
  const double specials[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0};
  const auto n = static_cast<int64_t>(data.size());
  if (n < 10) return;
  const auto start = static_cast<int64_t>(g.Below(static_cast<uint64_t>(n)));
  for (int64_t k = 0; k < 5; ++k) data[static_cast<size_t>((start + k * (n / 5)) % n)] = specials[k];
}

// Sorted, first 0, last `limit`; every third segment empty, and the first and last too when there are
// enough of them.
void MakeOffsets(std::vector<double>& data, int64_t limit) {
  std::sort(data.begin(), data.end());
  for (size_t i = 3; i + 1 < data.size(); i += 3) data[i] = data[i - 1];
  if (data.size() > 4) data[1] = 0, data[data.size() - 2] = static_cast<double>(limit);
  data.front() = 0;
  if (data.size() > 1) data.back() = static_cast<double>(limit);
}

Status CheckInput(const InputCase& input, int64_t size) {
  if (input.fill == Fill::kValues && static_cast<int64_t>(input.values.size()) != size) {
    return absl::InvalidArgumentError(
        StrCat("the case lists ", input.values.size(), " values for ", size, " elements"));
  }
  if (input.fill == Fill::kIndex && input.limit < 1 && size > 0) {
    return absl::InvalidArgumentError("the case draws indices but gives no limit");
  }
  if (input.fill == Fill::kOffsets &&
      (input.dims.size() != 1 || size < 1 || input.limit < 0 || (size == 1 && input.limit != 0))) {
    return absl::InvalidArgumentError(
        "the case draws offsets; they need rank 1, one element at least, "
        "and a limit (0 where there is no segment)");
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t InputSeed(uint64_t seed, std::string_view op, std::string_view case_name, size_t input) {
  uint64_t hash = Mix(Mix(0xcbf29ce484222325u ^ seed, op), case_name);
  return SplitMix64(hash + input).Next();
}

StatusOr<RefTensor> FillInput(const InputCase& input, uint64_t seed) {
  RefTensor tensor;
  if (input.absent) return tensor;
  tensor.dims = input.dims;
  int64_t size = 1;
  for (int64_t d : input.dims) size *= d;
  PLINTH_RETURN_IF_ERROR(CheckInput(input, size));
  Random g(seed);
  tensor.data.resize(static_cast<size_t>(size));
  const bool scaled =
      !IsFloat(input.dtype) && input.dtype != DType::kBool &&
      (input.fill == Fill::kNormal || input.fill == Fill::kUniform || input.fill == Fill::kPositive);
  for (int64_t i = 0; i < size; ++i) {
    tensor.data[static_cast<size_t>(i)] = Element(input.fill, i, input, g) * (scaled ? 50 : 1);
  }
  if (input.fill == Fill::kSpecial) PlantSpecials(tensor.data, g);
  if (input.fill == Fill::kOffsets) MakeOffsets(tensor.data, input.limit);
  for (double& x : tensor.data) {
    x = ops::RoundTo(input.dtype, x);
    // A double holds integers up to 2^53; the reference must see what the kernel sees.
    if (input.dtype == DType::kI64) x = std::clamp(x, -0x1p53, 0x1p53);
  }
  return tensor;
}

}  // namespace plinth::verify
