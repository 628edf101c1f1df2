// Reads what rocminfo prints about the agents that compute.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plinth::evidence {

// What is not printed is 0 or empty.
struct RocmAgent {
  std::string gfx;          // "gfx936"
  std::string gfx_target;   // "gfx936:sramecc+:xnack-", from the name of its instruction set
  std::string market_name;  // "BW1000"
  std::string address;      // of PCI, from BDFID and Domain
  int64_t wave_width = 0, compute_units = 0;
};

// Agents of type GPU, in the order printed.
std::vector<RocmAgent> ParseRocminfo(std::string_view text);

}  // namespace plinth::evidence
