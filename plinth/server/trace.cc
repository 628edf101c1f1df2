#include "plinth/server/trace.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>

#include "plinth/base/text.h"

namespace plinth::server {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

// Numbers that no two requests of any server share, most likely; nothing secret rests on them.
uint64_t NextNumber() {
  static const uint64_t start = [] {
    std::random_device device;
    return (static_cast<uint64_t>(device()) << 32) | device();
  }();
  static std::atomic<uint64_t> count = 0;
  // SplitMix64 (Steele, Lea, Flood 2014).
  uint64_t z = start + (count.fetch_add(1, std::memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return z == 0 ? 1 : z;  // ids of zeros are invalid
}

void AppendHex(uint64_t number, std::string* out) {
  for (int shift = 60; shift >= 0; shift -= 4) out->push_back(kDigits[number >> shift & 15]);
}

bool IsLowerHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool AllZero(std::string_view text) { return text.find_first_not_of('0') == text.npos; }

// version "-" 32 "-" 16 "-" 2; more only behind another '-' and in versions above 00.
bool IsTraceParent(std::string_view t) {
  constexpr size_t kSize = 55;
  if (t.size() < kSize || t[2] != '-' || t[35] != '-' || t[52] != '-') return false;
  const std::string_view version = t.substr(0, 2), trace = t.substr(3, 32), span = t.substr(36, 16);
  if (!IsLowerHex(version) || !IsLowerHex(trace) || !IsLowerHex(span) || !IsLowerHex(t.substr(53, 2)))
    return false;
  if (version == "ff" || AllZero(trace) || AllZero(span)) return false;
  return version == "00" ? t.size() == kSize : t.size() == kSize || t[kSize] == '-';
}

}  // namespace

std::string RequestId(std::string_view from_client) {
  const bool visible =
      std::all_of(from_client.begin(), from_client.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!from_client.empty() && from_client.size() <= 128 && visible) return std::string(from_client);
  std::string id;
  AppendHex(NextNumber(), &id);
  AppendHex(NextNumber(), &id);
  return id;
}

std::string TraceParent(std::string_view from_client) {
  const bool valid = IsTraceParent(from_client);
  std::string parent = "00-";
  if (valid) {
    parent += from_client.substr(3, 32);
  } else {
    AppendHex(NextNumber(), &parent);
    AppendHex(NextNumber(), &parent);
  }
  parent += '-';
  AppendHex(NextNumber(), &parent);
  StrAppend(&parent, "-", valid ? std::string(from_client.substr(53, 2)) : "00");
  return parent;
}

}  // namespace plinth::server
