// Feeds whole files to the safetensors parser; accepted ones must tile their data exactly.
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "plinth/base/check.h"
#include "plinth/formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plinth;
  const auto header = formats::ParseSafetensorsHeader(std::as_bytes(std::span(data, size)));
  if (!header.ok()) {
    PLINTH_CHECK(!header.status().message().empty());
    return 0;
  }
  int64_t at = header->entries.empty() ? static_cast<int64_t>(size) : header->entries[0].begin;
  std::set<std::string> names;
  for (const auto& e : header->entries) {
    PLINTH_CHECK_EQ(e.begin, at);
    PLINTH_CHECK_LE(e.begin, e.end);
    int64_t bytes = SizeOf(e.dtype);
    for (const int64_t d : e.dims) bytes *= d;
    PLINTH_CHECK_EQ(bytes, e.end - e.begin);
    PLINTH_CHECK(names.insert(e.name).second);
    at = e.end;
  }
  PLINTH_CHECK_EQ(at, static_cast<int64_t>(size));
  return 0;
}
