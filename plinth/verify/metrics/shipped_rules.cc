#include "plinth/verify/metrics/shipped_rules.h"

#include <cstddef>

// Laid there by plinth_embed.
extern "C" const char plinth_embedded_asr_rules[];
extern "C" const char plinth_embedded_asr_rules_end[];
extern "C" const char plinth_embedded_generation_rules[];
extern "C" const char plinth_embedded_generation_rules_end[];

namespace plinth::verify::metrics {

std::string_view ShippedAsrRules() {
  return {plinth_embedded_asr_rules,
          static_cast<size_t>(plinth_embedded_asr_rules_end - plinth_embedded_asr_rules)};
}

std::string_view ShippedGenerationRules() {
  return {plinth_embedded_generation_rules,
          static_cast<size_t>(plinth_embedded_generation_rules_end - plinth_embedded_generation_rules)};
}

}  // namespace plinth::verify::metrics
