// What the vendors' tools say about themselves and about the cards.
#include "plinth/base/text.h"
#include "plinth/evidence/environment_subjects.h"
#include "plinth/evidence/rocminfo.h"
#include "plinth/evidence/smi.h"
#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {
namespace {

// The device with this address; else the one of this number; empty where there is neither.
std::string ItemOf(const Environment& e, const std::string& address, size_t number) {
  const auto items = e.Items("devices");
  for (const std::string& item : items) {
    if (!address.empty() && e.Text("devices", item, "pci_address") == address) return item;
  }
  return address.empty() && number < items.size() ? items[number] : "";
}

void AddRocminfo(const ToolOutput& output, Environment* e) {
  const auto agents = ParseRocminfo(output.text);
  e->Add("tools", output.name, "cards", static_cast<int64_t>(agents.size()), output.source);
  if (const std::string version = FirstLine(Field(output.text, "Runtime Version")); !version.empty()) {
    e->Add("tools", output.name, "runtime_version", version, output.source);
  }
  const std::string source = "tool rocminfo";
  for (size_t i = 0; i < agents.size(); ++i) {
    const RocmAgent& agent = agents[i];
    const std::string item = ItemOf(*e, agent.address, i);
    if (item.empty()) continue;
    if (!agent.gfx.empty()) e->Add("devices", item, "gfx", agent.gfx, source);
    if (!agent.gfx_target.empty()) e->Add("devices", item, "gfx_target", agent.gfx_target, source);
    if (!agent.market_name.empty()) e->Add("devices", item, "name_of_runtime", agent.market_name, source);
    if (agent.wave_width > 0) e->Add("devices", item, "wave_width", agent.wave_width, source);
    if (agent.compute_units > 0) e->Add("devices", item, "compute_units", agent.compute_units, source);
  }
}

void AddNvidiaCards(const ToolOutput& output, Environment* e) {
  const auto cards = ParseNvidiaCards(output.text);
  e->Add("tools", output.name, "cards", static_cast<int64_t>(cards.size()), output.source);
  for (size_t i = 0; i < cards.size(); ++i) {
    const NvidiaCard& card = cards[i];
    const std::string item = ItemOf(*e, card.address, i);
    if (item.empty() || e->Text("devices", item, "vendor") != "NVIDIA") continue;
    const auto add = [&](std::string_view name, const std::string& value) {
      if (!value.empty() && value.find("N/A") == value.npos) {
        e->Add("devices", item, name, value, "tool nvidia-smi");
      }
    };
    add("product", card.name);
    add("compute_capability", card.compute_capability);
    add("vbios", card.vbios);
    add("driver_version", card.driver_version);
    if (card.memory_mib > 0)
      e->Add("devices", item, "memory_bytes", card.memory_mib << 20, "tool nvidia-smi");
  }
}

void AddVersion(const ToolOutput& output, std::string_view name, std::string_view after, Environment* e) {
  if (output.text.find(after) == std::string::npos) return;
  if (const std::string version = VersionAfter(output.text, after); !version.empty()) {
    e->Add("tools", output.name, name, version, output.source);
  }
}

void AddOne(const ToolOutput& output, Environment* e) {
  e->Add("tools", output.name, "exit_code", int64_t{output.exit_code}, output.source);
  if (output.exit_code != 0) return;
  if (output.name == "rocminfo") return AddRocminfo(output, e);
  if (output.name == "nvidia-smi-cards") return AddNvidiaCards(output, e);
  if (output.name == "nvcc") return AddVersion(output, "cuda_version", "release ", e);
  if (output.name == "hipcc") return AddVersion(output, "hip_version", "HIP version:", e);
  if (output.name == "nvidia-smi") {
    AddVersion(output, "driver_version", "Driver Version:", e);
    return AddVersion(output, "cuda_version", "CUDA Version:", e);
  }
  if (const auto rows = CountSmiRows(output.text))
    e->Add("tools", output.name, "cards", *rows, output.source);
  AddVersion(output, "driver_version", "Driver Version:", e);
}

}  // namespace

void AddToolFacts(const std::vector<ToolOutput>& outputs, Environment* e) {
  for (const ToolOutput& output : outputs) AddOne(output, e);
}

}  // namespace plinth::evidence
