#include "plinth/tensor/dtype.h"

#include <strings.h>

namespace plinth {
namespace {
constexpr std::string_view kNames[kDTypes] = {"f64", "f32", "f16", "bf16", "i64",
                                              "i32", "i16", "i8",  "u8",   "bool"};
}  // namespace

std::string_view DTypeName(DType t) { return kNames[static_cast<int>(t)]; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (int i = 0; i < kDTypes; ++i) {
    if (name.size() == kNames[i].size() && strncasecmp(name.data(), kNames[i].data(), name.size()) == 0) {
      return static_cast<DType>(i);
    }
  }
  return std::nullopt;
}

}  // namespace plinth
