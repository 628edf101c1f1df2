// Kernel modules that drive cards, and the nodes through which programs reach them.
#include "plinth/base/text.h"
#include "plinth/evidence/environment_subjects.h"
#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {
namespace {

constexpr std::string_view kModules[] = {"amdgpu", "amdkfd",      "amdttm",         "amdkcl",
                                         "hydcu",  "hydcu_sched", "hyttm",          "hykcl",
                                         "nvidia", "nvidia_uvm",  "nvidia_peermem", "nouveau"};

}  // namespace

void AddDriverFacts(const SystemTree& tree, Environment* e) {
  const std::string loaded = tree.Read("/proc/modules", 1 << 20).value_or("");
  for (const std::string_view module : kModules) {
    const std::string folder = StrCat("/sys/module/", module);
    if (const std::string version = tree.ReadLine(folder + "/version"); !version.empty()) {
      e->Add("drivers", "", module, version, folder + "/version");
      continue;
    }
    // /sys/module has a folder for what is built into the kernel too.
    bool listed = tree.IsFolder(folder);
    for (const std::string_view line : Lines(loaded)) listed |= line.starts_with(StrCat(module, " "));
    if (listed) e->Add("drivers", "", module, std::string("loaded; states no version"), folder);
  }
  const char* nvidia = "/proc/driver/nvidia/version";
  const std::string text = tree.Read(nvidia).value_or("");
  if (const std::string version = VersionAfter(Field(text, "NVRM version"), "Kernel Module");
      !version.empty()) {
    e->Add("drivers", "", "nvidia", version, nvidia);
  }
  for (const auto& [path, node] : tree.Nodes({"/dev/kfd", "/dev/mkfd", "/dev/nvidia", "/dev/dri/"})) {
    e->Add("nodes", path, "access", node.access, path);
    if (!node.mode.empty()) e->Add("nodes", path, "mode", node.mode, path);
    if (!node.owner.empty()) e->Add("nodes", path, "owner", node.owner, path);
  }
}

}  // namespace plinth::evidence
