// Names the element types of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plinth {

enum class DType : uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };
inline constexpr int kDTypes = 10;

// Bytes of one element.
constexpr int64_t SizeOf(DType t) {
  constexpr int64_t kSizes[kDTypes] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1};
  return kSizes[static_cast<int>(t)];
}

// "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool".
std::string_view DTypeName(DType t);
// The inverse of DTypeName, in either case ("F32" is what safetensors writes).
std::optional<DType> DTypeFromName(std::string_view name);

constexpr bool IsFloat(DType t) {
  return t == DType::kF64 || t == DType::kF32 || t == DType::kF16 || t == DType::kBF16;
}

}  // namespace plinth
