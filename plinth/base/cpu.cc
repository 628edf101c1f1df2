#include "plinth/base/cpu.h"

#include <cstdlib>

namespace plinth {

std::string_view IsaName(Isa isa) {
  constexpr std::string_view kNames[kIsaLevels] = {"v2", "v3", "v4"};
  return kNames[static_cast<int>(isa)];
}

StatusOr<Isa> HardwareIsa() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) {
    return absl::UnavailableError(
        "this processor lacks SSE4.2; Plinth needs x86-64-v2 (any server processor since 2009)");
  }
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (!v3) return Isa::kV2;
  const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? Isa::kV4 : Isa::kV3;
}

StatusOr<Isa> ChooseIsa(std::string_view wanted) {
  PLINTH_ASSIGN_OR_RETURN(const Isa best, HardwareIsa());
  if (wanted.empty()) return best;
  for (int i = 0; i < kIsaLevels; ++i) {
    const Isa isa = static_cast<Isa>(i);
    if (wanted != IsaName(isa)) continue;
    if (isa > best) {
      return absl::UnavailableError(StrCat("PLINTH_ISA=", wanted, ": this processor supports only up to ",
                                           IsaName(best), "; unset it or choose a lower one"));
    }
    return isa;
  }
  return absl::InvalidArgumentError(StrCat("PLINTH_ISA=", wanted, " is unknown; it can be v2, v3 or v4"));
}

StatusOr<Isa> IsaFromEnvironment() {
  const char* text = std::getenv("PLINTH_ISA");
  PLINTH_ASSIGN_OR_RETURN(const Isa isa, ChooseIsa(text == nullptr ? "" : text));
  constexpr const char* kOneDnn[kIsaLevels] = {"SSE41", "AVX2", nullptr};
  if (const char* cap = kOneDnn[static_cast<int>(isa)]; cap != nullptr) {
    setenv("ONEDNN_MAX_CPU_ISA", cap, /*overwrite=*/0);
  }
  return isa;
}

}  // namespace plinth
