// Reads the topology that the kernel's compute driver (KFD) shows for AMD GPUs and Hygon DCUs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/evidence/system_tree.h"

namespace plinth::evidence {

// A node that computes; what the kernel does not tell is 0 or empty.
struct KfdNode {
  std::string path;  // ".../topology/nodes/1"
  std::string name;  // as the driver calls it, may be empty
  int64_t gpu_id = 0;
  int vendor = 0, device = 0;
  std::string address;  // of PCI, from domain and location_id
  std::string gfx;      // from gfx_target_version: 90306 is gfx936
  int64_t simd_count = 0, simd_per_cu = 0;
  int64_t wave_width = 0;
  int64_t lds_kib = 0;
  int64_t clock_mhz = 0;
  int64_t memory_bytes = 0;  // of the node's own banks

  // 0 where it is not known.
  int64_t compute_units() const { return simd_per_cu > 0 ? simd_count / simd_per_cu : 0; }
};

// Nodes with SIMDs or a gpu_id, by number.
std::vector<KfdNode> ReadKfd(const SystemTree& tree);

// "gfx936" of 90306, "gfx90a" of 90010: major, minor in decimal, stepping in hexadecimal. Empty for 0 and for
// what does not fit.
std::string GfxName(int64_t target_version);

}  // namespace plinth::evidence
