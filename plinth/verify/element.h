// Names every element type that a tensor in a file may have, those without a DType too, and reads elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "plinth/formats/safetensors.h"

namespace plinth::verify {

// The first ten are DType's, in its order.
enum class Element : uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU8,
  kBool,
  kU16,
  kU32,
  kU64,
  kF8E4M3,      // OCP 8-bit formats: bias 7, no infinities
  kF8E5M2,      // bias 15, infinities and NaN as in binary16
  kF8E4M3Fnuz,  // one zero, NaN in its place (0x80), bias 8
  kF8E5M2Fnuz,  // the same with bias 16
  kF8E8M0,      // powers of two: the scale of a block
};
inline constexpr int kElements = 18;

struct ElementInfo {
  std::string_view name;    // as captures write it: "f32", "f8_e4m3"
  std::string_view stored;  // as safetensors writes it: "F8_E4M3"
  int bytes;
  bool floating;
  int digits;   // of the significand, the implicit one included; of integers: bits without the sign
  double unit;  // unit roundoff, 2^-digits; 0 for integers
  double smallest_normal;  // 0 for integers
  double largest;          // finite
};
// By Element; for kernels, which call no function of other files.
extern const ElementInfo kElementInfo[kElements];
inline const ElementInfo& InfoOf(Element element) { return kElementInfo[static_cast<int>(element)]; }

// What the tensor's bytes stand for: its `stored` type where there is one.
Element ElementOf(const formats::ConstTensorRef& tensor);
// By either name, in either case.
std::optional<Element> ElementFromName(std::string_view name);

// Elements as numbers: any alignment. 64-bit integers are rounded to double.
double ValueAt(Element element, const std::byte* data, int64_t index);
inline double ValueAt(const formats::ConstTensorRef& tensor, int64_t index) {
  return ValueAt(ElementOf(tensor), tensor.data, index);
}
// Whole runs, `out` holding `count` doubles.
void ReadValues(Element element, const std::byte* data, int64_t begin, int64_t count, double* out);

}  // namespace plinth::verify
