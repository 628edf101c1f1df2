// Feeds bodies of /v1/forecast and /v1/detect to the reader of their series. What is accepted is within the
// limits, and every item has as many values of each target.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "plinth/base/check.h"
#include "plinth/server/fields.h"
#include "plinth/server/request_fields.h"
#include "plinth/server/series_body.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plinth::server;
  constexpr SeriesLimits kLimits = {.series = 64, .values = 4096};
  constexpr int64_t kHorizon = 8;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto body = JsonBody::Parse(input);
  if (!body.ok()) {
    PLINTH_CHECK(!body.status().message().empty());
    return 0;
  }
  const JsonField root = body->root();
  std::string frequency;
  if (const auto field = root.Find("freq")) {
    const auto text = field->Text();
    if (text.ok()) frequency = std::string(*text);
  }
  const auto series = root.Get("series");
  if (!series.ok()) return 0;
  for (const int64_t horizon : {kHorizon, int64_t{0}}) {
    const auto read = ReadSeries(*series, frequency, horizon, kLimits);
    if (!read.ok()) {
      PLINTH_CHECK(!read.status().message().empty());
      continue;
    }
    PLINTH_CHECK(!read->items.empty() && !read->targets.empty());
    PLINTH_CHECK_LE(read->items.size(), size_t{64});
    size_t values = 0;
    for (const auto& item : read->items) {
      PLINTH_CHECK_EQ(item.values.size(), read->targets.size());
      for (const auto& target : item.values) PLINTH_CHECK_EQ(target.size(), item.values[0].size());
      values += static_cast<size_t>(item.length()) * item.values.size();
    }
    PLINTH_CHECK_LE(values, size_t{4096});
    if (const auto session = root.Find("session")) (void)ReadSessionName(*session, *read);
  }
  return 0;
}
