// Faults of kernels written for 32 lanes that run on 64, and of what lies beyond the last full group.
#include <cmath>

#include "tests/catalogue/scene.h"

namespace plinth::catalogue {
namespace {

constexpr int64_t kLanes = 64, kHalf = 32;

Numbers RmsNorm(const Numbers& x) {
  Numbers y = x;
  for (int64_t row = 0; row < x.rows(); ++row) {
    double sum = 0;
    for (int64_t i = 0; i < x.last(); ++i) sum += x.at(row, i) * x.at(row, i);
    const double scale = 1 / std::sqrt(sum / static_cast<double>(x.last()) + 1e-6);
    for (int64_t i = 0; i < x.last(); ++i) y.at(row, i) *= scale;
  }
  return y;
}

// The butterfly ends after 32 lanes: the upper half of the wavefront never sees the lower half's sum and
// scales by its own.
Scene RmsNormLanes() {
  const Numbers x = Rounded(DType::kF32, Normal({32, 256}, 1));
  const Numbers right = RmsNorm(x);
  Numbers wrong = right;
  for (int64_t row = 0; row < x.rows(); ++row) {
    double sum = 0, upper = 0;
    for (int64_t i = 0; i < x.last(); ++i) {
      sum += x.at(row, i) * x.at(row, i);
      if (i % kLanes >= kHalf) upper += x.at(row, i) * x.at(row, i);
    }
    for (int64_t i = 0; i < x.last(); ++i) {
      if (i % kLanes >= kHalf) wrong.at(row, i) *= std::sqrt(sum / upper);
    }
  }
  return Simple("rms_norm", DType::kF32, right, right, wrong, 256);
}

// A 4-bit matrix times a vector: blocks of 64 weights share a scale; a literal 32 gives the second half of
// each the scale of the next block.
Scene FourBitScales() {
  const int64_t rows = 64, columns = 512;
  const Numbers codes = Uniform({rows, columns}, 2, -8, 8),
                scales = Uniform({rows, columns / kLanes + 1}, 3, 0.2, 2);
  Numbers right{{rows, columns}, std::vector<double>(static_cast<size_t>(rows * columns))}, wrong = right;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const double code = std::floor(codes.at(i, j));
      right.at(i, j) = code * scales.at(i, j / kLanes);
      wrong.at(i, j) = code * scales.at(i, j / kLanes + (j % kLanes >= kHalf ? 1 : 0));
    }
  }
  return Simple("dequantize", DType::kF32, right, right, wrong, 1);
}

// Positions counted by a ballot that is cut to 32 bits: every count behind lane 31 misses what lies above.
Scene BallotCut() {
  const int64_t rows = 4, n = 65;
  Numbers right{{rows, n}, std::vector<double>(static_cast<size_t>(rows * n))}, wrong = right;
  const Numbers keep = Uniform({rows, n}, 4, 0, 1);
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0, cut = 0;
    for (int64_t i = 0; i < n; ++i) {
      right.at(row, i) = sum, wrong.at(row, i) = cut;
      sum += keep.at(row, i) > 0.3;
      if (i % kLanes < kHalf) cut += keep.at(row, i) > 0.3;
    }
  }
  return Simple("compare", DType::kI32, right, right, wrong, 1);
}

// A shuffle that forgets its width: each lane reads its partner across the whole wavefront.
Scene ShuffleWidth() {
  const int64_t rows = 6;  // widths 2, 4, ... 64
  const Numbers values = Uniform({rows, kLanes}, 10, 0, 1e6);
  Numbers right = values, wrong = values;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t width = int64_t{2} << row;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      right.at(row, lane) = std::floor(values.at(row, lane / width * width + (lane + 1) % width));
      wrong.at(row, lane) = std::floor(values.at(row, (lane + 1) % kLanes));
    }
  }
  return Simple("compare", DType::kI32, right, right, wrong, 1);
}

// Backward of a normalisation with a hard-coded width: the second half of each group of gradients is never
// added.
Scene HalfOfGradients() {
  const Numbers right = Normal({16, 512}, 5);
  Numbers wrong = right;
  for (int64_t row = 0; row < right.rows(); ++row) {
    for (int64_t i = 0; i < right.last(); ++i) {
      if (i % kLanes >= kHalf) wrong.at(row, i) = 0;
    }
  }
  return Simple("layer_norm", DType::kF32, right, right, wrong, 512);
}

// Rows beyond the last full tile stay as the memory was: the pattern that the harness filled it with.
Scene TailRowsUnwritten() {
  const Numbers right = Normal({67, 30}, 6);
  const float pattern = 7.0e9F;
  Numbers wrong = right;
  for (int64_t row = 64; row < 67; ++row) {
    for (int64_t i = 0; i < 30; ++i) wrong.at(row, i) = pattern;
  }
  Scene scene = Simple("layer_norm", DType::kF32, right, right, wrong, 30);
  scene.canary = std::bit_cast<uint32_t>(pattern);
  return scene;
}

// The same where the memory happened to hold zeros.
Scene TailRowsZero() {
  const Numbers right = Normal({67, 30}, 7);
  Numbers wrong = right;
  for (int64_t row = 64; row < 67; ++row) {
    for (int64_t i = 0; i < 30; ++i) wrong.at(row, i) = 0;
  }
  return Simple("layer_norm", DType::kF32, right, right, wrong, 30);
}

// The last, partial tile of a copy keeps what an earlier, longer input left there.
Scene StaleTail() {
  const Numbers before = Normal({4, 1000}, 8), right = Normal({4, 1000}, 9);
  Numbers wrong = right;
  for (size_t i = wrong.data.size() - 40; i < wrong.data.size(); ++i) wrong.data[i] = before.data[i];
  return Simple("linear", DType::kF32, right, right, wrong, 512);
}

}  // namespace

std::map<std::string, Plant, std::less<>> LanePlants() {
  return {{"rms_norm_lanes", RmsNormLanes},
          {"four_bit_scales", FourBitScales},
          {"ballot_cut", BallotCut},
          {"shuffle_width", ShuffleWidth},
          {"half_of_gradients", HalfOfGradients},
          {"tail_rows_unwritten", TailRowsUnwritten},
          {"tail_rows_zero", TailRowsZero},
          {"stale_tail", StaleTail}};
}

}  // namespace plinth::catalogue
