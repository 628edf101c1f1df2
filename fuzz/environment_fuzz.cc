// Feeds whole files to the reader of environment.json and to the search for GPU code in libraries.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "plinth/base/check.h"
#include "plinth/evidence/environment.h"
#include "plinth/evidence/environment_diff.h"
#include "plinth/evidence/gpu_code.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plinth;
  const evidence::GpuCode code = evidence::FindGpuCode(std::as_bytes(std::span(data, size)));
  for (const auto& [target, count] : code.amd) PLINTH_CHECK(target.find("gfx") == 0 && count > 0);
  for (const auto& [target, count] : code.nvidia) PLINTH_CHECK(!target.empty() && count > 0);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto environment = evidence::ParseEnvironment(text, "environment.json");
  if (!environment.ok()) {
    PLINTH_CHECK(environment.status().message().find("environment.json: ") == 0);
    return 0;
  }
  // What was read is written and read again without loss.
  const std::string written = evidence::ToJson(*environment);
  const auto again = evidence::ParseEnvironment(written, "environment.json");
  PLINTH_CHECK(again.ok());
  PLINTH_CHECK(evidence::ToJson(*again) == written);
  PLINTH_CHECK(evidence::Diff(*environment, *again).differences.empty());
  return 0;
}
