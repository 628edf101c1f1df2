#include "plinth/evidence/pci.h"

#include "absl/strings/str_format.h"
#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {

std::string PciFunction::Id() const { return absl::StrFormat("%04x:%04x", vendor, device); }
std::string PciFunction::Class() const { return absl::StrFormat("%04x", class_code >> 8); }

bool PciFunction::IsCard() const {
  const int base = class_code >> 16, kind = class_code >> 8;
  if (vendor == kVendorHygon) return kind == 0x0b40 || kind == 0x0380;
  if (vendor == kVendorNvidia) return base == 0x03;
  return vendor == kVendorAmd && (base == 0x03 || kind == 0x0b40 || kind == 0x1200);
}

std::vector<PciFunction> ReadPci(const SystemTree& tree) {
  const std::string folder = "/sys/bus/pci/devices";
  std::vector<PciFunction> functions;
  for (const std::string& address : tree.List(folder)) {
    const std::string base = StrCat(folder, "/", address);
    const auto number = [&](std::string_view file, int64_t most) -> int {
      const auto value = ToInteger(tree.ReadLine(JoinPath(base, file)), 16);
      return value && *value >= 0 && *value <= most ? static_cast<int>(*value) : -1;
    };
    PciFunction f;
    f.address = address;
    f.vendor = number("vendor", 0xffff);
    f.device = number("device", 0xffff);
    f.class_code = number("class", 0xffffff);
    if (f.vendor < 0 || f.device < 0 || f.class_code < 0) continue;
    f.subsystem_vendor = number("subsystem_vendor", 0xffff);
    f.subsystem_device = number("subsystem_device", 0xffff);
    // In sysfs a link; a recorded tree may have a file with the name in it.
    f.driver = BaseName(tree.LinkTarget(base + "/driver"));
    if (f.driver.empty()) f.driver = tree.ReadLine(base + "/driver");
    functions.push_back(std::move(f));
  }
  return functions;
}

std::string_view VendorName(int vendor) {
  switch (vendor) {
    case kVendorHygon:
      return "Hygon";
    case kVendorNvidia:
      return "NVIDIA";
    case kVendorAmd:
      return "AMD";
    default:
      return "";
  }
}

}  // namespace plinth::evidence
