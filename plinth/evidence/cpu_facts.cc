// The processor: what selects kernels, and what only tells machines apart.
#include <algorithm>
#include <set>

#include "plinth/base/cpu.h"
#include "plinth/base/text.h"
#include "plinth/evidence/environment_subjects.h"
#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {
namespace {

constexpr const char* kCpuInfo = "/proc/cpuinfo";

// Those that Plinth, oneDNN, MKL, OpenBLAS or a C library ask for before they choose a kernel.
constexpr std::string_view kKernelFeatures[] = {
    "sse4_1",      "sse4_2",      "popcnt",   "avx",      "f16c",     "fma",      "bmi1",     "bmi2",
    "avx2",        "avx_vnni",    "avx512f",  "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni",
    "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16", "avx10"};

// The level of the x86-64 psABI that the flags add up to, as base/cpu.h counts it; empty below v2.
std::string LevelOf(const std::set<std::string_view>& flags) {
  const auto all = [&](std::initializer_list<std::string_view> names) {
    return std::all_of(names.begin(), names.end(), [&](auto name) { return flags.count(name) > 0; });
  };
  if (!all({"sse4_2", "popcnt"})) return "";
  if (!all({"avx2", "fma", "bmi1", "bmi2"})) return "v2";
  return all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) ? "v4" : "v3";
}

// How many a list like "0-3,8" names; 0 where it is not one.
int64_t CountOfList(std::string_view list) {
  int64_t count = 0;
  for (const std::string_view part : Words(list, ", \t\n")) {
    const size_t dash = part.find('-');
    const auto first = ToInteger(part.substr(0, dash));
    const auto last = dash == part.npos ? first : ToInteger(part.substr(dash + 1));
    if (!first || !last || *last < *first || *first < 0 || *last >= 1 << 20) return 0;
    count += *last - *first + 1;
  }
  return count;
}

void AddCaches(const SystemTree& tree, Environment* e) {
  const std::string folder = "/sys/devices/system/cpu/cpu0/cache";
  for (const std::string& index : tree.List(folder)) {
    if (!index.starts_with("index")) continue;
    const std::string base = StrCat(folder, "/", index);
    const std::string level = tree.ReadLine(base + "/level"), type = tree.ReadLine(base + "/type");
    const std::string size = tree.ReadLine(base + "/size");
    if (level.empty() || size.empty()) continue;
    const std::string kind = type == "Data" ? "d" : type == "Instruction" ? "i" : "";
    e->Add("cpu", "", StrCat("cache_l", level, kind), size, base);
  }
}

void AddLevels(const std::set<std::string_view>& flags, const SystemTree& tree, const Variables& variables,
               Environment* e) {
  const std::string hardware = LevelOf(flags);
  if (!hardware.empty()) e->Add("cpu", "", "isa_level", StrCat("x86-64-", hardware), kCpuInfo);
  const auto forced = variables.values.find("PLINTH_ISA");
  if (forced != variables.values.end() && !forced->second.empty()) {
    e->Add("cpu", "", "isa_plinth", StrCat("x86-64-", forced->second), "variable PLINTH_ISA");
  } else if (!hardware.empty()) {
    e->Add("cpu", "", "isa_plinth", StrCat("x86-64-", hardware), kCpuInfo);
  }
  if (tree.recorded()) return;
  // A second opinion: what the processor itself says.
  if (const auto isa = HardwareIsa(); isa.ok()) {
    e->Add("cpu", "", "isa_level", StrCat("x86-64-", IsaName(*isa)), "instruction cpuid");
  }
}

void AddCores(const SystemTree& tree, const std::string& info, Environment* e) {
  int64_t visible = 0;
  for (const std::string_view line : Lines(info)) visible += line.starts_with("processor");
  if (visible > 0) e->Add("cpu", "", "cores_visible", visible, kCpuInfo);
  const std::string status = tree.Read("/proc/self/status").value_or("");
  const int64_t allowed = CountOfList(Field(status, "Cpus_allowed_list"));
  // The list may name processors that are not there.
  if (allowed > 0) {
    e->Add("cpu", "", "cores_allowed", visible > 0 ? std::min(allowed, visible) : allowed,
           "/proc/self/status");
  }
}

}  // namespace

void AddCpuFacts(const SystemTree& tree, const Variables& variables, Environment* e) {
  // 512 processors take 1 MiB or so.
  const std::string info = tree.Read(kCpuInfo, 8 << 20).value_or("");
  const auto text = [&](std::string_view name, std::string_view key) {
    const std::string value = FirstLine(Field(info, key));
    if (!value.empty()) e->Add("cpu", "", name, value, kCpuInfo);
  };
  text("model", "model name");
  text("vendor", "vendor_id");
  text("family", "cpu family");
  text("model_number", "model");
  text("stepping", "stepping");
  text("microcode", "microcode");
  const auto words = Words(Field(info, "flags"));
  const std::set<std::string_view> flags(words.begin(), words.end());
  if (!flags.empty()) {
    std::vector<std::string> features;
    for (const std::string_view name : kKernelFeatures) {
      if (flags.count(name) > 0) features.emplace_back(name);
    }
    e->Add("cpu", "", "features", std::move(features), kCpuInfo);
    AddLevels(flags, tree, variables, e);
  }
  AddCores(tree, info, e);
  AddCaches(tree, e);
  if (const std::string nodes = tree.ReadLine("/sys/devices/system/node/online"); !nodes.empty()) {
    e->Add("cpu", "", "numa_nodes", CountOfList(nodes), "/sys/devices/system/node/online");
  }
}

}  // namespace plinth::evidence
