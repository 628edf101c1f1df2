#include "plinth/base/memory.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>

namespace plinth {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// The number that follows `key` in a file of "key value" lines (the whole file where key is empty).
int64_t NumberIn(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (!key.empty()) {
      if (word != key || !(file >> word)) continue;
    }
    char* end = nullptr;
    const long long value = std::strtoll(word.c_str(), &end, 10);
    return end != word.c_str() && *end == 0 && value >= 0 ? value : kUnknown;  // "max"
  }
  return kUnknown;
}

// What is left below one group's limit. Its cached file pages can be given back, so they do not count.
int64_t LeftIn(const std::string& group, const char* limit, const char* usage) {
  const int64_t most = NumberIn(group + limit, ""), used = NumberIn(group + usage, "");
  if (most == kUnknown || used == kUnknown) return kUnknown;
  const int64_t cached = NumberIn(group + "/memory.stat", "inactive_file");
  return std::max<int64_t>(most - used + (cached == kUnknown ? 0 : std::min(cached, used)), 0);
}

// Version 2 of control groups: every group from this process's own up to the root.
int64_t LeftInGroups(const std::string& root) {
  const std::string base = root + "/sys/fs/cgroup";
  std::ifstream file(root + "/proc/self/cgroup");
  int64_t left = kUnknown;
  for (std::string line; std::getline(file, line);) {
    std::string group, mount = base;
    if (line.rfind("0::", 0) == 0) {
      group = line.substr(3);
    } else if (const size_t at = line.find(":memory:"); at != std::string::npos) {
      group = line.substr(at + 8);
      mount += "/memory";
    } else {
      continue;
    }
    while (true) {
      if (group == "/") group.clear();
      left = std::min({left, LeftIn(mount + group, "/memory.max", "/memory.current"),
                       LeftIn(mount + group, "/memory.limit_in_bytes", "/memory.usage_in_bytes")});
      if (group.empty()) break;
      group.erase(std::min(group.rfind('/'), group.size()));
    }
  }
  return left;
}

}  // namespace

int64_t AvailableMemory(const std::string& root) {
  const int64_t kibibytes = NumberIn(root + "/proc/meminfo", "MemAvailable:");
  const int64_t machine = kibibytes > kUnknown / 1024 ? kUnknown : kibibytes * 1024;
  return std::min(machine, LeftInGroups(root));
}

int64_t ResidentBytes() {
  const int64_t kilobytes = NumberIn("/proc/self/status", "VmRSS:");
  return kilobytes == kUnknown ? 0 : kilobytes * 1024;
}

}  // namespace plinth
