// Faults of memory: what was never written, written twice, read too late, or read from elsewhere.
#include <algorithm>
#include <cmath>

#include "tests/catalogue/scene.h"

namespace plinth::catalogue {
namespace {

// A product over K in two parts; one part of one tile of outputs is never stored. The harness had filled them
// with NaN.
Scene SplitKNan() {
  const Numbers a = Rounded(DType::kBF16, Normal({60, 256}, 51)),
                b = Rounded(DType::kBF16, Normal({256, 96}, 52));
  const Numbers right = Product(a, b), n = ProductF32(a, b, 16);
  Numbers wrong = ProductF32(a, b, 32);
  for (int64_t i = 48; i < 60; ++i) {
    for (int64_t j = 64; j < 96; ++j) wrong.at(i, j) = NAN;
  }
  return Simple("matmul", DType::kBF16, right, n, wrong, 256);
}

// A buffer store with a wrong stride: one block of a gradient lands on its neighbour.
Scene MiscompiledStore() {
  const Numbers right = Normal({64, 128}, 53, 1e-3);
  Numbers wrong = right;
  for (int64_t i = 16; i < 32; ++i) {
    for (int64_t j = 0; j < 128; ++j) wrong.at(i, j) = right.at(i + 16, j);
  }
  return Simple("linear", DType::kF32, right, right, wrong, 512);
}

// The graph is replayed with the inputs of the call before.
Scene StaleReplay() {
  const Numbers earlier = Normal({16, 256}, 54), right = Normal({16, 256}, 55);
  Scene scene = Simple("linear", DType::kF32, right, right, earlier, 256);
  scene.earlier = Stored(DType::kF32, earlier);
  return scene;
}

// Only one of twenty processes replays a stale buffer.
Scene StaleReplaySometimes() {
  const Numbers earlier = Normal({16, 256}, 56), right = Normal({16, 256}, 57);
  Scene scene = Simple("linear", DType::kF32, right, right, right, 256);
  scene.labels = {"process 0"};
  for (int process = 1; process < 20; ++process) {
    scene.candidates.emplace_back(DType::kF32, process == 13 ? earlier : right);
    scene.labels.push_back(StrCat("process ", process));
  }
  scene.earlier = Stored(DType::kF32, earlier);
  return scene;
}

// Row numbers computed in 16 bits: what overflows in 32 bits at 2^31, at a size that fits a test.
Scene IndexWraps() {
  const int64_t rows = 40'000;
  const Numbers table = Normal({rows, 2}, 58);
  Numbers wrong = table;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t wrapped = static_cast<int64_t>(static_cast<int16_t>(i));
    for (int64_t j = 0; j < 2; ++j) wrong.at(i, j) = table.at((wrapped + rows) % rows, j);
  }
  return Simple("gather", DType::kF32, table, table, wrong, 1);
}

// Two workers' additions meet: some are lost.
Scene LostAtomics() {
  Numbers right{{8, 64}, std::vector<double>(512)}, wrong = right;
  Random random(59);
  for (int add = 0; add < 100'000; ++add) {
    const auto bin = static_cast<size_t>(random.Below(512));
    right.data[bin] += 1;
    if (random.Uniform() > 0.002) wrong.data[bin] += 1;
  }
  return Simple("scatter_add", DType::kI32, right, right, wrong, 200);
}

Scene SwappedRows() {
  const Numbers right = Normal({32, 64}, 60);
  Numbers wrong = right;
  std::swap_ranges(wrong.data.begin() + 3 * 64, wrong.data.begin() + 4 * 64, wrong.data.begin() + 20 * 64);
  return Simple("linear", DType::kF32, right, right, wrong, 64);
}

Scene TransposedLayout() {
  const Numbers right = Normal({48, 48}, 61);
  Numbers wrong = right;
  for (int64_t i = 0; i < 48; ++i) {
    for (int64_t j = 0; j < 48; ++j) wrong.at(i, j) = right.at(j, i);
  }
  return Simple("conv2d", DType::kF32, right, right, wrong, 64);
}

// Indices of a top-k that were never written.
Scene UninitialisedIndices() {
  const Numbers input = Normal({4, 100}, 62);
  Numbers values{{4, 8}, std::vector<double>(32)}, indices = values;
  for (int64_t row = 0; row < 4; ++row) {
    std::vector<int64_t> order(100);
    for (size_t i = 0; i < 100; ++i) order[i] = static_cast<int64_t>(i);
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return input.at(row, a) > input.at(row, b); });
    for (int64_t k = 0; k < 8; ++k) {
      indices.at(row, k) = static_cast<double>(order[static_cast<size_t>(k)]);
      values.at(row, k) = input.at(row, order[static_cast<size_t>(k)]);
    }
  }
  Numbers wrong = indices;
  for (int64_t k = 5; k < 8; ++k) wrong.at(2, k) = 1'094'861'636;  // what the memory held
  Scene scene = Simple("topk", DType::kI64, indices, indices, wrong, 1);
  scene.truth = Stored(DType::kI64, indices);
  scene.order_input = Stored(DType::kF32, input);
  scene.order_values = Stored(DType::kF32, values);
  return scene;
}

}  // namespace

std::map<std::string, Plant, std::less<>> MemoryPlants() {
  return {{"split_k_nan", SplitKNan},
          {"miscompiled_store", MiscompiledStore},
          {"stale_replay", StaleReplay},
          {"stale_replay_sometimes", StaleReplaySometimes},
          {"index_wraps", IndexWraps},
          {"lost_atomics", LostAtomics},
          {"swapped_rows", SwappedRows},
          {"transposed_layout", TransposedLayout},
          {"uninitialised_indices", UninitialisedIndices}};
}

}  // namespace plinth::catalogue
