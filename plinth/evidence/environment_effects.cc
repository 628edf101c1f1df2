// The table of what a change of each fact can do.
#include <algorithm>

#include "plinth/evidence/environment_diff.h"
#include "plinth/evidence/variables.h"

namespace plinth::evidence {
namespace {

struct Rule {
  std::string_view section;
  std::string_view name;  // or the beginning of names, when it ends in '*'
  Effect effect;
  std::string_view reason;  // completes "it ..."
};

constexpr Effect kNumbers = Effect::kNumbers, kSpeed = Effect::kSpeed;
constexpr std::string_view kDevice = "decides which kernels run on the device and how they cut their work";
constexpr std::string_view kStack = "holds the compiler, the runtime or the math libraries of the device";
constexpr std::string_view kCores =
    "sets how many threads run (Plinth's results do not depend on it; those of others may)";

// The first that fits holds; what no rule names is only recorded.
constexpr Rule kRules[] = {
    {"cpu", "vendor", kNumbers,
     "is what math libraries choose kernels by, and approximate instructions differ"},
    {"cpu", "features", kNumbers, "is what math libraries choose kernels by"},
    {"cpu", "isa_*", kNumbers, "selects the instruction set of kernels"},
    {"cpu", "cache_*", kNumbers, "sets how libraries block matrix products, and with it the order of sums"},
    {"cpu", "model", kSpeed, "is another processor"},
    {"cpu", "cores_*", kSpeed, kCores},
    {"cpu", "numa_nodes", kSpeed, "changes how far memory is"},
    {"memory", "*", kSpeed, "limits how much is done at once"},
    {"os", "c_library", kNumbers, "holds exp, log and others"},
    {"os", "machine", kNumbers, "is another architecture"},
    {"os", "virtual_machine", kSpeed, "puts a hypervisor below"},
    {"container", "memory_limit_bytes", kSpeed, "limits how much is done at once"},
    {"container", "cpu_limit_millis", kSpeed, kCores},
    {"devices", "vendor", kNumbers, kDevice},
    {"devices", "product", kNumbers, kDevice},
    {"devices", "pci_id", kNumbers, kDevice},
    {"devices", "gfx*", kNumbers, kDevice},
    {"devices", "compute_capability", kNumbers, kDevice},
    {"devices", "wave_width", kNumbers, kDevice},
    {"devices", "compute_units", kNumbers, kDevice},
    {"devices", "simd_count", kNumbers, kDevice},
    {"devices", "lds_kib", kNumbers, kDevice},
    {"devices", "count", kNumbers, "changes over how many ranks collectives sum"},
    {"devices", "driver*", kNumbers, kStack},
    {"devices", "memory_bytes", kSpeed, "limits how much is done at once"},
    {"devices", "clock_mhz", kSpeed, "changes the clock"},
    {"devices", "pci_link", kSpeed, "changes how fast data reach the device"},
    {"devices", "numa_node", kSpeed, "changes how far memory is"},
    {"drivers", "*", kNumbers, kStack},
    {"stack", "dtk_installed", Effect::kRecorded, ""},
    {"stack", "rocm_installed", Effect::kRecorded, ""},
    {"stack", "cuda_installed", Effect::kRecorded, ""},
    {"stack", "hal_folder", Effect::kRecorded, ""},
    {"stack", "*", kNumbers, kStack},
    {"frameworks", "torch_folder", Effect::kRecorded, ""},
    {"frameworks", "*", kNumbers, "computes, or chooses who computes"},
    {"libraries", "gpu_targets", kNumbers, "decides which kernels can run"},
    {"digests", "program", kNumbers, "is another build of Plinth"},
    {"digests", "library *", kNumbers, "is another build of a library that this program uses"},
    {"digests", "model*", kNumbers, "is another model"},
    {"digests", "input *", kNumbers, "is other data"},
};

bool Fits(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

}  // namespace

EffectOfFact FindEffect(const Fact& fact) {
  if (fact.section == "variables") {
    const VariableRule* rule = FindVariableRule(fact.name);
    return rule == nullptr ? EffectOfFact{} : EffectOfFact{rule->effect, rule->reason};
  }
  // A second value of another source has the source in its name.
  const std::string_view name = std::string_view(fact.name).substr(0, fact.name.find(" ("));
  const auto rule = std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) {
    return r.section == fact.section && Fits(r.name, name);
  });
  return rule == std::end(kRules) ? EffectOfFact{} : EffectOfFact{rule->effect, rule->reason};
}

}  // namespace plinth::evidence
