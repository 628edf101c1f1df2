// One item per card: what PCI, KFD, the product table and the driver's files say about it.
#include <algorithm>
#include <map>

#include "plinth/base/text.h"
#include "plinth/evidence/environment_subjects.h"
#include "plinth/evidence/kfd.h"
#include "plinth/evidence/product_table.h"
#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {
namespace {

struct Card {
  const PciFunction* function = nullptr;  // null: the bus is not visible here
  const KfdNode* node = nullptr;          // null: no topology shows it
};

// A card is what the bus shows with a class of cards, or what KFD computes on. By address.
std::map<std::string, Card> Cards(const std::vector<PciFunction>& functions,
                                  const std::vector<KfdNode>& nodes) {
  std::map<std::string, Card> cards;
  for (const KfdNode& node : nodes) cards[node.address.empty() ? node.path : node.address].node = &node;
  for (const PciFunction& function : functions) {
    const auto known = cards.find(function.address);
    if (known != cards.end() || function.IsCard()) cards[function.address].function = &function;
  }
  return cards;
}

void AddFromPci(const SystemTree& tree, const PciFunction& f, const std::string& item, Environment* e) {
  const std::string base = "/sys/bus/pci/devices/" + f.address;
  const auto add = [&](std::string_view name, FactValue value) {
    e->Add("devices", item, name, value, base);
  };
  add("pci_address", f.address);
  add("pci_id", f.Id());
  add("pci_class", f.Class());
  if (f.subsystem_vendor >= 0 && f.subsystem_device >= 0) {
    PciFunction subsystem;
    subsystem.vendor = f.subsystem_vendor, subsystem.device = f.subsystem_device;
    add("pci_subsystem", subsystem.Id());
  }
  if (!f.driver.empty()) add("driver", f.driver);
  const std::string numa = tree.ReadLine(base + "/numa_node");
  if (const auto node = ToInteger(numa); node && *node >= 0) add("numa_node", *node);
  const std::string speed = tree.ReadLine(base + "/current_link_speed");
  const std::string width = tree.ReadLine(base + "/current_link_width");
  if (!speed.empty() && !width.empty()) add("pci_link", StrCat(speed, " x", width));
  if (auto drm = tree.List(base + "/drm"); !drm.empty()) add("drm", std::move(drm));
  if (const std::string vbios = tree.ReadLine(base + "/vbios_version"); !vbios.empty()) add("vbios", vbios);
}

void AddFromKfd(const KfdNode& node, const std::string& item, Environment* e) {
  const auto add = [&](std::string_view name, FactValue value) {
    e->Add("devices", item, name, value, node.path);
  };
  const auto number = [&](std::string_view name, int64_t value) {
    if (value > 0) add(name, value);
  };
  if (!node.address.empty()) add("pci_address", node.address);
  if (node.vendor > 0 && node.device > 0) {
    PciFunction id;
    id.vendor = node.vendor, id.device = node.device;
    add("pci_id", id.Id());
  }
  if (!node.name.empty()) add("kfd_name", node.name);
  if (!node.gfx.empty()) add("gfx", node.gfx);
  number("wave_width", node.wave_width);
  number("compute_units", node.compute_units());
  number("simd_count", node.simd_count);
  number("lds_kib", node.lds_kib);
  number("clock_mhz", node.clock_mhz);
  number("memory_bytes", node.memory_bytes);
}

void AddFromNvidia(const SystemTree& tree, const std::string& address, const std::string& item,
                   Environment* e) {
  const std::string path = StrCat("/proc/driver/nvidia/gpus/", address, "/information");
  const std::string text = tree.Read(path).value_or("");
  if (const std::string model = FirstLine(Field(text, "Model")); !model.empty()) {
    e->Add("devices", item, "product", model, path);
  }
  if (const std::string bios = FirstLine(Field(text, "Video BIOS")); !bios.empty()) {
    e->Add("devices", item, "vbios", bios, path);
  }
}

}  // namespace

void AddDeviceFacts(const SystemTree& tree, const std::vector<PciFunction>& functions, Environment* e) {
  const std::vector<KfdNode> nodes = ReadKfd(tree);
  int64_t number = 0;
  for (const auto& [address, card] : Cards(functions, nodes)) {
    const std::string item = StrCat(number++);
    const int vendor = card.function != nullptr ? card.function->vendor : card.node->vendor;
    const int device = card.function != nullptr ? card.function->device : card.node->device;
    const std::string from = card.function != nullptr ? "/sys/bus/pci/devices/" + address : card.node->path;
    if (const auto name = VendorName(vendor); !name.empty()) {
      e->Add("devices", item, "vendor", std::string(name), from);
    }
    if (const Product* product = FindProduct(vendor, device); product != nullptr) {
      e->Add("devices", item, "product", std::string(product->name), "product table");
      if (!product->gfx.empty()) {
        e->Add("devices", item, "gfx_of_product", std::string(product->gfx), "product table");
      }
    }
    if (card.function != nullptr) AddFromPci(tree, *card.function, item, e);
    if (card.node != nullptr) AddFromKfd(*card.node, item, e);
    if (vendor == kVendorNvidia) AddFromNvidia(tree, address, item, e);
  }
  if (number == 0 && !tree.IsFolder("/sys/bus/pci/devices")) return;  // nobody can tell
  e->Add("devices", "", "count", number,
         nodes.empty() ? "/sys/bus/pci/devices" : "/sys/bus/pci/devices, KFD");
}

}  // namespace plinth::evidence
