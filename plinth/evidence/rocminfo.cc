#include "plinth/evidence/rocminfo.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {
namespace {

// The lines of one agent, up to "*******" and the next "Agent N".
RocmAgent ParseAgent(const std::vector<std::string_view>& lines, bool* is_gpu) {
  RocmAgent agent;
  int64_t domain = 0, bdf = -1;
  for (const std::string_view line : lines) {
    const size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string_view key = Trim(line.substr(0, colon)), value = Trim(line.substr(colon + 1));
    // A width is "64(0x40)".
    const auto number = ToInteger(value.substr(0, value.find('('))).value_or(0);
    if (key == "Device Type") *is_gpu = value == "GPU";
    if (key == "Marketing Name" && agent.market_name.empty()) agent.market_name = FirstLine(value);
    if (key == "Wavefront Size") agent.wave_width = std::clamp<int64_t>(number, 0, 1 << 10);
    if (key == "Compute Unit") agent.compute_units = std::clamp<int64_t>(number, 0, 1 << 20);
    if (key == "BDFID") bdf = number;
    if (key == "Domain") domain = number;
    if (key != "Name") continue;
    constexpr std::string_view kIsa = "amdgcn-amd-amdhsa--";
    if (value.starts_with(kIsa) && agent.gfx_target.empty())
      agent.gfx_target = FirstLine(value.substr(kIsa.size()));
    if (value.starts_with("gfx") && agent.gfx.empty())
      agent.gfx = FirstLine(value.substr(0, value.find(':')));
  }
  if (agent.gfx.empty()) agent.gfx = agent.gfx_target.substr(0, agent.gfx_target.find(':'));
  if (bdf >= 0 && bdf <= 0xffff && domain >= 0 && domain <= 0xffff) {
    agent.address = absl::StrFormat("%04x:%02x:%02x.%d", domain, bdf >> 8, bdf >> 3 & 0x1f, bdf & 7);
  }
  return agent;
}

}  // namespace

std::vector<RocmAgent> ParseRocminfo(std::string_view text) {
  std::vector<RocmAgent> agents;
  std::vector<std::string_view> lines;
  const auto finish = [&] {
    bool is_gpu = false;
    RocmAgent agent = ParseAgent(lines, &is_gpu);
    if (is_gpu) agents.push_back(std::move(agent));
    lines.clear();
  };
  for (const std::string_view line : Lines(text)) {
    const auto words = Words(line);
    if (words.size() == 2 && words[0] == "Agent" && ToInteger(words[1]).has_value()) finish();
    lines.push_back(line);
  }
  finish();
  return agents;
}

}  // namespace plinth::evidence
