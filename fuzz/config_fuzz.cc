// Feeds config.json texts to the parser and asks for values of every kind.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plinth/base/check.h"
#include "plinth/formats/config.h"

namespace {

using plinth::formats::Config;

void Ask(const Config& config, int depth) {
  for (const auto& key : config.UnknownKeys({"d_model"})) {
    const auto integer = config.Int(key, -5, 1000);
    if (integer.ok()) PLINTH_CHECK(*integer >= -5 && *integer <= 1000);
    const auto real = config.Real(key, 0, 1);
    if (real.ok()) PLINTH_CHECK(*real >= 0 && *real <= 1);
    const auto reals = config.Reals(key, -1e300, 1e300, 100);
    if (reals.ok()) PLINTH_CHECK(!reals->empty() && reals->size() <= 100);
    PLINTH_CHECK(config.Ints(key, 0, 9).ok() <= reals.ok() || config.json().Find(key)->array()->size() > 100);
    PLINTH_CHECK(!config.Text(key).ok() || !config.Flag(key).ok());
    static_cast<void>(config.Choice(key, {"a", "b"}));
    const auto section = config.Section(key);
    if (section.ok()) {
      PLINTH_CHECK_LT(depth, plinth::formats::kMaxJsonDepth);
      Ask(*section, depth + 1);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto config = Config::Parse({reinterpret_cast<const char*>(data), size}, "F");
  if (config.ok()) Ask(*config, 1);
  return 0;
}
