// Says which arithmetic an error level or the values themselves betray.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plinth/verify/difference.h"

namespace plinth::verify {

// Which arithmetic an error level betrays. One rounding to a type of unit roundoff u has an RMS relative
// error of 0.425 u: 4.7e-17 (f64), 2.5e-8 (f32), 2.1e-4 (f16, tf32; 2.9e-4 with both inputs of a product
// rounded), 1.66e-3 (bf16; 2.4e-3 for f16 results through bf16), 2.7e-2 and 5.3e-2 (the 8-bit formats).
// Levels of products hardly depend on their length except in f32, where they reach 3e-7 at 4096. The borders
// lie between these figures.
enum class ArithmeticLevel : uint8_t { kExact, kF64, kF32, kTf32OrF16, kBF16, kFp8, kWrong };
std::string_view LevelName(
    ArithmeticLevel level);  // "exact", "f64", "f32", "tf32 or f16", "bf16", "fp8", "wrong"

// By a relative L2 error (NaN and infinity are kWrong).
ArithmeticLevel LevelOfError(double rel_l2);
// The level that a result stored in this type should show; kExact for integers.
ArithmeticLevel LevelOfElement(Element element);

// The narrowest format whose grid holds all of the tensor's values, where that is narrower than its own type
// and the values use the grid up (its last bit is set in a tenth of them or more: small integers do not
// count).
enum class ValueGrid : uint8_t { kTf32, kF16, kBF16, kF8E4M3, kF8E5M2 };
std::string_view GridName(ValueGrid grid);
// Looks at up to 2^16 elements, evenly spread; nullopt for fewer than 32 nonzero finite ones, and for
// integers.
std::optional<ValueGrid> GridOf(const formats::ConstTensorRef& tensor);

}  // namespace plinth::verify
