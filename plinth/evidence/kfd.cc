#include "plinth/evidence/kfd.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "plinth/base/text.h"
#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {
namespace {

// Lines "key value".
std::map<std::string, int64_t, std::less<>> Properties(std::string_view text) {
  std::map<std::string, int64_t, std::less<>> values;
  for (const std::string_view line : Lines(text)) {
    const auto words = Words(line);
    if (words.size() != 2) continue;
    if (const auto value = ToInteger(words[1])) values.emplace(words[0], *value);
  }
  return values;
}

// Banks of kinds 1 and 2 are the card's own memory (public and private frame buffer).
int64_t BankBytes(const SystemTree& tree, const std::string& node) {
  int64_t bytes = 0;
  for (const std::string& bank : tree.List(node + "/mem_banks")) {
    auto p = Properties(tree.Read(StrCat(node, "/mem_banks/", bank, "/properties")).value_or(""));
    const int64_t size = p["size_in_bytes"];
    if ((p["heap_type"] == 1 || p["heap_type"] == 2) && size > 0 && size < int64_t{1} << 50) bytes += size;
  }
  return bytes;
}

}  // namespace

std::string GfxName(int64_t target_version) {
  const int64_t major = target_version / 10000, minor = target_version / 100 % 100,
                step = target_version % 100;
  if (target_version <= 0 || major > 99 || step > 15 || minor > 9) return "";
  return absl::StrFormat("gfx%d%d%x", major, minor, step);
}

std::vector<KfdNode> ReadKfd(const SystemTree& tree) {
  const std::string folder = "/sys/class/kfd/kfd/topology/nodes";
  std::vector<std::pair<int64_t, std::string>> numbers;
  for (const std::string& name : tree.List(folder)) {
    if (const auto number = ToInteger(name)) numbers.emplace_back(*number, StrCat(folder, "/", name));
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<KfdNode> nodes;
  for (const auto& [number, path] : numbers) {
    auto p = Properties(tree.Read(path + "/properties").value_or(""));
    KfdNode node;
    node.path = path;
    node.gpu_id = ToInteger(tree.ReadLine(path + "/gpu_id")).value_or(0);
    node.simd_count = std::clamp<int64_t>(p["simd_count"], 0, 1 << 20);
    if (node.gpu_id == 0 && node.simd_count == 0) continue;  // a processor
    node.name = tree.ReadLine(path + "/name");
    node.vendor = static_cast<int>(p["vendor_id"] & 0xffff);
    node.device = static_cast<int>(p["device_id"] & 0xffff);
    if (p.count("location_id") > 0) {
      const int64_t at = p["location_id"];
      node.address =
          absl::StrFormat("%04x:%02x:%02x.%d", p["domain"] & 0xffff, at >> 8 & 0xff, at >> 3 & 0x1f, at & 7);
    }
    node.gfx = GfxName(p["gfx_target_version"]);
    node.simd_per_cu = std::clamp<int64_t>(p["simd_per_cu"], 0, 1 << 10);
    node.wave_width = std::clamp<int64_t>(p["wave_front_size"], 0, 1 << 10);
    node.lds_kib = std::clamp<int64_t>(p["lds_size_in_kb"], 0, 1 << 20);
    node.clock_mhz = std::clamp<int64_t>(p["max_engine_clk_fcompute"], 0, 1 << 20);
    node.memory_bytes = BankBytes(tree, path);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace plinth::evidence
