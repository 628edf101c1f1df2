// Feeds whole files to the parser of capture.json; accepted ones must not contradict themselves.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "plinth/base/check.h"
#include "plinth/formats/capture.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plinth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto capture = formats::ParseCaptureJson(text, "capture.json");
  if (!capture.ok()) {
    PLINTH_CHECK(capture.status().message().find("capture.json: ") == 0);
    return 0;
  }
  std::set<std::string> keys;
  int64_t before = 0;
  for (const formats::CaptureEntry& e : capture->entries) {
    PLINTH_CHECK(!e.name.empty());
    PLINTH_CHECK_LE(before, e.index);
    before = e.index;
    PLINTH_CHECK(keys.insert(e.Key()).second);
    PLINTH_CHECK(e.tensor.empty() || e.ReadAs().has_value());
    if (!e.stats.has_value()) continue;
    const formats::TensorStats& s = *e.stats;
    PLINTH_CHECK_EQ(s.finite + s.nan + s.pos_inf + s.neg_inf, s.count);
    PLINTH_CHECK_LE(s.zero + s.subnormal, s.finite);
    PLINTH_CHECK_LE(s.min, s.max);
  }
  PLINTH_CHECK_LE(capture->info.rank, capture->info.world - 1);
  return 0;
}
