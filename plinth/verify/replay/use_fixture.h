// Makes uses of operators for tests: tensors of any type from doubles, and outputs as a kernel would leave
// them.
#pragma once

#include <cstring>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "plinth/base/check.h"
#include "plinth/base/random.h"
#include "plinth/tensor/half.h"
#include "plinth/verify/replay/judgement.h"

namespace plinth::verify::replay {

// Owns the bytes of one use's tensors.
class UseFixture {
 public:
  explicit UseFixture(std::string_view op) { use_.op = op, use_.name = std::string(1, 'x'); }

  OpUse& use() { return use_; }
  const OpUse& use() const { return use_; }

  // Input or output at the next port; values are rounded to the type.
  UseFixture& In(std::string_view type, std::vector<int64_t> dims, const std::vector<double>& values) {
    use_.inputs.push_back(Port(type, std::move(dims), values));
    return *this;
  }
  UseFixture& NoInput() {
    use_.inputs.emplace_back();
    return *this;
  }
  UseFixture& Out(std::string_view type, std::vector<int64_t> dims, const std::vector<double>& values) {
    use_.outputs.push_back(Port(type, std::move(dims), values));
    return *this;
  }
  template <typename T>
  UseFixture& Set(std::string_view name, T value) {
    use_.Set(name, formats::JsonValue(std::move(value)));
    return *this;
  }
  UseFixture& SetInts(std::string_view name, const std::vector<int64_t>& values) {
    formats::JsonValue::Array list;
    for (const int64_t v : values) list.emplace_back(v);
    return Set(name, std::move(list));
  }
  // Overwrites one element of output 0.
  void Put(int64_t i, double value) { Store(use_.out(0).format(), bytes_.back().data(), i, value); }

  std::vector<double> Input(size_t i) const { return use_.in(i).All(); }

  // Judged against the reference.
  Way JudgeIt(const Arithmetic& arithmetic = {}, size_t port = 0, double flops = 1e12) const {
    Threads threads(2);
    const auto reference = MakeReference(use_, port, arithmetic);
    PLINTH_CHECK(reference.ok());
    return Judge(**reference, use_.out(port), arithmetic, {.flops = flops}, threads);
  }

 private:
  static void Store(const NumberFormat& format, std::byte* data, int64_t i, double value) {
    const int64_t size = SizeOf(format.storage);
    std::byte* at = data + i * size;
    if (format.eight_bits) {
      for (int code = 0; code < 256; ++code) {
        const double v = DecodeEight(format, static_cast<uint8_t>(code));
        if (v == value && std::signbit(v) == std::signbit(value)) *at = static_cast<std::byte>(code);
      }
      return;
    }
    const auto copy = [&](const auto& v) { std::memcpy(at, &v, sizeof(v)); };
    switch (format.storage) {
      case DType::kF64:
        return copy(value);
      case DType::kF32:
        return copy(static_cast<float>(value));
      case DType::kF16:
        return copy(ToHalf(static_cast<float>(RoundTo(format, value))));
      case DType::kBF16:
        return copy(ToBFloat16(static_cast<float>(RoundTo(format, value))));
      case DType::kI64:
        return copy(static_cast<int64_t>(value));
      case DType::kI32:
        return copy(static_cast<int32_t>(value));
      case DType::kI16:
        return copy(static_cast<int16_t>(value));
      default:
        return copy(static_cast<uint8_t>(static_cast<int64_t>(value)));
    }
  }
  UsePort Port(std::string_view type, std::vector<int64_t> dims, const std::vector<double>& values) {
    const NumberFormat& format = *FindFormat(type);
    bytes_.emplace_back(values.size() * static_cast<size_t>(SizeOf(format.storage)) + 1);
    for (size_t i = 0; i < values.size(); ++i)
      Store(format, bytes_.back().data(), static_cast<int64_t>(i), values[i]);
    UsePort port;
    port.recorded = true;
    port.values.emplace(format, std::move(dims), bytes_.back().data());
    PLINTH_CHECK_EQ(port.values->size(), static_cast<int64_t>(values.size()));
    return port;
  }

  OpUse use_;
  std::list<std::vector<std::byte>> bytes_;
};

// Standard normal numbers, rounded to the type.
inline std::vector<double> Normals(size_t count, uint64_t seed, std::string_view type = "f32",
                                   double scale = 1, double offset = 0) {
  Random random(seed);
  std::vector<double> out(count);
  for (double& v : out) v = RoundTo(*FindFormat(type), offset + scale * random.Normal());
  return out;
}

}  // namespace plinth::verify::replay
