// Runs one operator call in tests: types from tensors, guarded output, any order of pieces.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "plinth/ops/cpu_step.h"
#include "plinth/tensor/tensor.h"

namespace plinth::ops {

// Views of the inputs; one without data is an absent optional input.
struct StepRun {
  const OpSpec* spec;
  std::vector<View> inputs;
  Attributes attributes = {};
  Isa isa = Isa::kV2;
  int64_t pieces_per_launch = 1 << 30;
  bool reversed = false;

  // Filled by Go.
  KernelFault fault = {};
  std::vector<std::byte> output = {};
  View out = {};

  // Computes output 0 into `output`, whose margins must stay as they were.
  void Go() {
    std::vector<std::optional<ValueType>> types;
    for (const View& v : inputs) {
      if (v.data == nullptr) {
        types.emplace_back(std::nullopt);
        continue;
      }
      ValueType type{v.dtype, {}};
      for (int d = 0; d < v.rank; ++d) type.shape.emplace_back(v.dims[d]);
      types.emplace_back(std::move(type));
    }
    auto call = MakeCall(*spec, std::move(types), attributes);
    ASSERT_TRUE(call.ok()) << call.status();
    auto step = CpuStep::Make(*call, {}, isa);
    ASSERT_TRUE(step.ok()) << step.status();
    std::vector<int64_t> dims;
    for (const Dim& d : call->outputs[0].shape) dims.push_back(d.offset());
    out = DenseView(nullptr, call->outputs[0].dtype, dims.data(), static_cast<int>(dims.size()));
    const int64_t bytes = out.size() * SizeOf(out.dtype);
    constexpr int64_t kMargin = 256;
    std::vector<std::byte> guarded(static_cast<size_t>(bytes + 2 * kMargin), std::byte{0xa5});
    out.data = guarded.data() + kMargin;
    const AlignedBytes scratch = AllocateAligned(step->ScratchBytes(inputs.data(), &out));
    const int64_t pieces = step->Pieces(inputs.data(), &out);
    const int64_t launches = PiecesOf(pieces, pieces_per_launch);
    for (int64_t i = 0; i < launches; ++i) {
      const int64_t begin = (reversed ? launches - 1 - i : i) * pieces_per_launch;
      step->Run(inputs.data(), &out, begin, std::min(pieces, begin + pieces_per_launch), scratch.get(),
                &fault);
    }
    for (int64_t i = 0; i < kMargin; ++i) {
      ASSERT_EQ(guarded[static_cast<size_t>(i)], std::byte{0xa5}) << "written before the output";
      ASSERT_EQ(guarded[guarded.size() - 1 - static_cast<size_t>(i)], std::byte{0xa5})
          << "written behind the output";
    }
    output.assign(guarded.begin() + kMargin, guarded.end() - kMargin);
    out.data = output.data();
  }

  template <typename T>
  std::vector<T> Values() const {
    std::vector<T> values(output.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), output.data(), output.size());
    return values;
  }
};

// The levels that this processor has.
inline std::vector<Isa> LevelsHere() {
  std::vector<Isa> levels;
  for (int i = 0; i <= static_cast<int>(*HardwareIsa()); ++i) levels.push_back(static_cast<Isa>(i));
  return levels;
}

template <typename T>
Tensor TensorOf(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  Tensor t(dtype, std::move(dims));
  for (size_t i = 0; i < values.size(); ++i) t.data<T>()[i] = values[i];
  return t;
}

}  // namespace plinth::ops
