// Cards against drivers, nodes, tools and the product table.
#include <algorithm>
#include <map>
#include <set>

#include "plinth/base/text.h"
#include "plinth/evidence/environment_findings.h"
#include "plinth/evidence/product_table.h"
#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {
namespace {

std::string Cards(size_t count) { return StrCat(count, count == 1 ? " card" : " cards"); }

}  // namespace

std::vector<std::string> FindingMaker::Of(std::string_view vendor) const {
  std::vector<std::string> items;
  for (const std::string& item : e_.Items("devices")) {
    if (e_.Text("devices", item, "vendor") == vendor) items.push_back(item);
  }
  return items;
}

void FindingMaker::HygonCpuFunctions() {
  size_t others = 0;
  for (const PciFunction& f : functions_) others += f.vendor == kVendorHygon && !f.IsCard();
  const size_t cards = Of("Hygon").size();
  if (others == 0) return;
  Add("hygon-cpu-functions", Severity::kNote,
      StrCat(others, " PCI functions of vendor 1d94 belong to a Hygon processor, ", Cards(cards),
             cards == 1 ? " is a DCU" : " are DCUs", "; a count by vendor alone would say ", others + cards),
      "nothing to do; cards are counted by class 0b40 or 0380 and by KFD");
}

void FindingMaker::UnknownProducts() {
  std::map<std::string, std::vector<std::string>> unknown;
  for (const std::string& item : Of("Hygon")) {
    if (e_.Find("devices", item, "product") == nullptr)
      unknown[e_.Text("devices", item, "pci_id")].push_back(item);
  }
  for (const auto& [id, items] : unknown) {
    Add("product-unknown", Severity::kWarning,
        StrCat(Cards(items.size()), " with PCI id ", id, ": the product is not known, and is not guessed"),
        "compare with the board's label, and report the id with the product's name");
  }
}

// Every value that one card has from more than one source: KFD, rocminfo, the product table.
void FindingMaker::GfxAgreement() {
  for (const std::string& item : e_.Items("devices")) {
    const std::string expected = e_.Text("devices", item, "gfx_of_product");
    const Fact* gfx = e_.Find("devices", item, "gfx");
    if (gfx == nullptr || expected.empty() || FactText(gfx->value) == expected) continue;
    Add("gfx-not-of-product", Severity::kError,
        StrCat("device ", item, " is a ", e_.Text("devices", item, "product"), " (",
               e_.Text("devices", item, "pci_id"), "), whose code is ", expected, ", but ",
               Join(gfx->sources, ", "), " says ", FactText(gfx->value)),
        "unset HSA_OVERRIDE_GFX_VERSION; else compare the driver's version with the board's");
  }
}

void FindingMaker::ValuesThatDisagree() {
  for (const Fact& fact : std::vector<Fact>(e_.facts)) {
    const size_t at = fact.name.find(" (");
    if (fact.section != "devices" || at == std::string::npos) continue;
    const std::string name = fact.name.substr(0, at);
    const Fact* first = e_.Find("devices", fact.item, name);
    if (first == nullptr) continue;
    // Names and memory sizes are told in several ways; the others are facts of the chip.
    if (name == "product" || name == "memory_bytes" || name == "vbios" || name == "pci_address") continue;
    Add("sources-disagree", Severity::kError,
        StrCat("device ", fact.item, ": ", name, " is ", FactText(first->value), " by ",
               Join(first->sources, ", "), ", but ", FactText(fact.value), " by ", Join(fact.sources, ", ")),
        "find out which of them is overridden or of another version before trusting either");
  }
}

void FindingMaker::DriversAndDevices() {
  struct Stack {
    const char* vendor;
    const char* cards;
    std::vector<std::string_view> modules;
    const char* driver;
  };
  const Stack stacks[] = {{"Hygon", "DCU", {"hydcu", "amdgpu"}, "hydcu (package rock-*)"},
                          {"AMD", "AMD GPU", {"amdgpu"}, "amdgpu"},
                          {"NVIDIA", "NVIDIA GPU", {"nvidia"}, "nvidia"}};
  for (const Stack& stack : stacks) {
    const size_t cards = Of(stack.vendor).size();
    const auto loaded =
        std::find_if(stack.modules.begin(), stack.modules.end(), [&](auto m) { return Loaded(m); });
    const bool any = loaded != stack.modules.end();
    if (cards > 0 && !any) {
      Add("device-without-driver", Severity::kError,
          StrCat(Cards(cards), " (", stack.cards, ") on the bus, but no kernel module drives ",
                 cards == 1 ? "it: " : "them: ", Join(stack.modules, " and "), " not loaded"),
          StrCat("install and load the driver ", stack.driver,
                 "; inside a container this is done on the host, and /sys must show it"));
    }
  }
  if (Loaded("hydcu") && Of("Hygon").empty()) {
    Add("driver-without-device", Severity::kError, "the module hydcu is loaded, but no DCU is on the bus",
        "look for the card in lspci -d 1d94: (class 0b40 or 0380) and in the BIOS; a container may be hiding "
        "it");
  }
  if (Loaded("nvidia") && Of("NVIDIA").empty()) {
    Add("driver-without-device", Severity::kError,
        "the module nvidia is loaded, but no NVIDIA GPU is on the bus",
        "look for the card in lspci -d 10de:; a container may be hiding it");
  }
  size_t on_bus = 0, in_kfd = 0;
  for (const std::string& item : e_.Items("devices")) {
    const std::string vendor = e_.Text("devices", item, "vendor");
    if (vendor != "Hygon" && vendor != "AMD") continue;
    ++on_bus;
    // Only the topology tells how many SIMDs or which gfx a card has, whatever else is missing from it.
    for (const Fact& fact : e_.facts) {
      const bool kfd = fact.section == "devices" && fact.item == item && !fact.sources.empty() &&
                       std::any_of(fact.sources.begin(), fact.sources.end(),
                                   [](const std::string& s) { return s.find("/kfd/topology/") != s.npos; });
      if (!kfd) continue;
      ++in_kfd;
      break;
    }
  }
  if (in_kfd < on_bus && (Loaded("hydcu") || Loaded("amdgpu"))) {
    Add("kfd-lacks-devices", Severity::kWarning,
        StrCat("the bus shows ", Cards(on_bus), ", the compute driver's topology ", in_kfd),
        "look in dmesg for cards that the driver refused; a container may have been given only some");
  }
}

void FindingMaker::Nodes() {
  const auto access = [&](std::string_view path) { return e_.Text("nodes", path, "access"); };
  const bool driver = Loaded("hydcu") || Loaded("amdgpu");
  if (HasKfdVendor() && driver && e_.Find("nodes", "/dev/kfd", "access") == nullptr) {
    Add("kfd-missing", Severity::kError, "there are cards and a driver, but no /dev/kfd",
        "start the container with --device /dev/kfd --device /dev/dri (and /dev/mkfd where the host has it)");
  }
  std::vector<std::string> refused;
  for (const std::string& path : e_.Items("nodes")) {
    // A display node (card0) is of no interest to programs that compute.
    if (access(path) != "rw" && !path.starts_with("/dev/dri/card")) refused.push_back(path);
  }
  if (refused.empty()) return;
  std::set<std::string> groups;
  for (const std::string& path : refused) {
    const std::string owner = e_.Text("nodes", path, "owner");
    if (owner.find(':') != owner.npos) groups.insert(owner.substr(owner.find(':') + 1));
  }
  Add("node-not-permitted", Severity::kError,
      StrCat("this user may not read and write ", Join(refused, ", ",
                                                       [&](const std::string& path) {
                                                         return StrCat(path, " (",
                                                                       e_.Text("nodes", path, "mode"), " ",
                                                                       e_.Text("nodes", path, "owner"), ")");
                                                       })),
      StrCat("add the user to the ", groups.size() == 1 ? "group " : "groups ", Join(groups, " and "),
             ", or start the container with --group-add and --device"));
}

void FindingMaker::ToolCounts() {
  const auto expected = [&](std::string_view tool) {
    if (tool == "hy-smi") return Of("Hygon").size();
    if (tool == "nvidia-smi-cards") return Of("NVIDIA").size();
    return Of("Hygon").size() + Of("AMD").size();
  };
  for (const std::string& tool : e_.Items("tools")) {
    const Fact* cards = e_.Find("tools", tool, "cards");
    const int64_t* count = cards == nullptr ? nullptr : std::get_if<int64_t>(&cards->value);
    if (count == nullptr || *count == static_cast<int64_t>(expected(tool))) continue;
    // rocminfo obeys the variable; the others do not.
    if (tool == "rocminfo" && e_.Find("variables", "", "ROCR_VISIBLE_DEVICES") != nullptr) continue;
    Add("tool-counts-differ", Severity::kWarning,
        StrCat(tool, " shows ", Cards(static_cast<size_t>(*count)), ", the PCI bus and KFD show ",
               expected(tool)),
        "trust the bus; a tool may lack the card's PCI id in its table, or may not be allowed to open it");
  }
}

void FindingMaker::Hal() {
  if (Of("Hygon").empty() || e_.Find("stack", "", "hal_folder") != nullptr) return;
  const bool container = e_.Find("container", "", "runtime") != nullptr;
  Add("hal-missing", Severity::kError,
      StrCat(container ? "this container has" : "there is",
             " neither /opt/hyhal nor /opt/dtk/.hyhal, whose libraries every DCU program loads"),
      container ? "start it with -v /opt/hyhal:/opt/hyhal:ro"
                : "install the HAL package that belongs to the driver");
}

void FindingMaker::Devices() {
  Hal();
  DriversAndDevices();
  Nodes();
  GfxAgreement();
  ValuesThatDisagree();
  UnknownProducts();
  ToolCounts();
  HygonCpuFunctions();
}

}  // namespace plinth::evidence
