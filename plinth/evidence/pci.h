// Lists the functions of the PCI bus and tells which of them are cards that compute.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plinth/evidence/system_tree.h"

namespace plinth::evidence {

inline constexpr int kVendorHygon = 0x1d94;
inline constexpr int kVendorNvidia = 0x10de;
inline constexpr int kVendorAmd = 0x1002;

struct PciFunction {
  std::string address;  // "0000:33:00.0"
  int vendor = 0, device = 0;
  int class_code = 0;  // of 24 bits: 0x0b4000
  int subsystem_vendor = 0, subsystem_device = 0;
  std::string driver;  // empty: none is bound

  std::string Id() const;     // "1d94:6320"
  std::string Class() const;  // "0b40"
  // A vendor of cards, and a class that cards have: display and 3D controllers (03xx), co-processors (0b40),
  // processing accelerators (1200). Hygon's CPUs carry the vendor of its cards, so that the vendor alone
  // counts too many; only 0380 and 0b40 count there.
  bool IsCard() const;
};

// By address; functions whose files are broken are left out.
std::vector<PciFunction> ReadPci(const SystemTree& tree);

// "Hygon", "NVIDIA", "AMD"; empty for another vendor.
std::string_view VendorName(int vendor);

}  // namespace plinth::evidence
