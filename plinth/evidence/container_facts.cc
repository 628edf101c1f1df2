// The container around the process: which runtime, which image, and what control groups leave.
#include <algorithm>
#include <limits>

#include "plinth/base/text.h"
#include "plinth/evidence/environment_subjects.h"
#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {
namespace {

struct Mark {
  std::string_view text;
  std::string_view runtime;
};
// In the paths of control groups and mounts, the more telling first.
constexpr Mark kMarks[] = {{"kubepods", "kubernetes"}, {"libpod", "podman"},         {"docker", "docker"},
                           {"crio", "cri-o"},          {"containerd", "containerd"}, {"lxc", "lxc"}};

void AddRuntime(const SystemTree& tree, const Variables& variables, Environment* e) {
  const auto add = [&](std::string_view runtime, std::string_view source) {
    e->Add("container", "", "runtime", std::string(runtime), source);
  };
  const std::string podman = tree.Read("/run/.containerenv").value_or("");
  if (tree.Exists("/run/.containerenv")) add("podman", "/run/.containerenv");
  if (tree.Exists("/.dockerenv")) add("docker", "/.dockerenv");
  for (const char* path : {"/proc/self/cgroup", "/proc/1/cgroup", "/proc/self/mountinfo"}) {
    const std::string text = tree.Read(path, 1 << 20).value_or("");
    // Of the mounts only what is put into a container counts: a host has mounts of its containers too.
    std::string_view looked_at = text;
    std::string files;
    if (std::string_view(path).ends_with("mountinfo")) {
      for (const std::string_view line : Lines(text)) {
        const auto words = Words(line);
        if (words.size() > 4 && (words[4] == "/etc/hostname" || words[4] == "/etc/resolv.conf")) {
          StrAppend(&files, words[3], "\n");
        }
      }
      looked_at = files;
    }
    const auto mark = std::find_if(std::begin(kMarks), std::end(kMarks),
                                   [&](const Mark& m) { return looked_at.find(m.text) != looked_at.npos; });
    if (mark != std::end(kMarks)) add(mark->runtime, path);
  }
  if (const auto it = variables.values.find("container");
      it != variables.values.end() && !it->second.empty()) {
    add(it->second, "variable container");
  }
  const auto image = [&](std::string_view name, std::string_view key) {
    std::string value = FirstLine(Field(podman, key, '='));
    value.erase(std::remove(value.begin(), value.end(), '"'), value.end());
    if (!value.empty()) e->Add("container", "", name, value, "/run/.containerenv");
  };
  image("image", "image");
  image("image_id", "imageid");
  // A process in Docker or Kubernetes cannot see its image; whoever starts it can tell.
  const auto told = variables.values.find("PLINTH_CONTAINER_IMAGE");
  if (told != variables.values.end() && !told->second.empty()) {
    e->Add("container", "", "image", told->second, "variable PLINTH_CONTAINER_IMAGE");
  }
}

struct Limits {
  int64_t memory = std::numeric_limits<int64_t>::max();
  std::string memory_source;
  double processors = std::numeric_limits<double>::infinity();
  std::string processors_source;

  void Memory(std::string_view text, const std::string& source) {
    const auto bytes = ToInteger(text);
    // Version 1 says "no limit" by the largest multiple of a page.
    if (!bytes || *bytes < 0 || *bytes >= int64_t{1} << 62 || *bytes >= memory) return;
    memory = *bytes, memory_source = source;
  }
  void Processors(std::string_view quota, std::string_view period, const std::string& source) {
    const auto q = ToInteger(quota), p = ToInteger(period);
    if (!q || !p || *q <= 0 || *p <= 0) return;
    const double share = static_cast<double>(*q) / static_cast<double>(*p);
    if (share < processors) processors = share, processors_source = source;
  }
};

void ReadGroup(const SystemTree& tree, const std::string& folder, Limits* limits) {
  limits->Memory(tree.ReadLine(folder + "/memory.max"), folder + "/memory.max");
  limits->Memory(tree.ReadLine(folder + "/memory.limit_in_bytes"), folder + "/memory.limit_in_bytes");
  const std::string max = tree.ReadLine(folder + "/cpu.max");
  if (const auto words = Words(max); words.size() == 2) {
    limits->Processors(words[0], words[1], folder + "/cpu.max");
  }
  limits->Processors(tree.ReadLine(folder + "/cpu.cfs_quota_us"),
                     tree.ReadLine(folder + "/cpu.cfs_period_us"), folder + "/cpu.cfs_quota_us");
}

// The group of the process and all above it: each may set a limit of its own.
void ReadGroupsUp(const SystemTree& tree, const std::string& mount, std::string_view group, Limits* limits) {
  // A path from outside the namespace ("/../..") names nothing here.
  std::string path(group.find("..") == group.npos ? group : "/");
  for (int depth = 0; depth < 64; ++depth) {
    if (path == "/") path.clear();
    ReadGroup(tree, mount + path, limits);
    if (path.empty()) return;
    path.erase(std::min(path.rfind('/'), path.size()));
  }
}

void AddLimits(const SystemTree& tree, Environment* e) {
  const std::string groups = tree.Read("/proc/self/cgroup").value_or("");
  Limits limits;
  bool v1 = false, v2 = false;
  for (const std::string_view line : Lines(groups)) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    const auto walk = [&](const std::string& mount) { ReadGroupsUp(tree, mount, path, &limits); };
    if (names.empty()) {
      v2 = v2 || tree.Exists("/sys/fs/cgroup/cgroup.controllers");
      walk("/sys/fs/cgroup");
      continue;
    }
    for (const std::string_view name : Words(names, ",")) {
      if (name != "memory" && name != "cpu") continue;
      v1 = true;
      walk(StrCat("/sys/fs/cgroup/", names));
      if (name != names) walk(StrCat("/sys/fs/cgroup/", name));
    }
  }
  if (v1 || v2) {
    e->Add("container", "", "cgroup_version", int64_t{v1 ? 1 : 2}, "/proc/self/cgroup");
  }
  if (!limits.memory_source.empty()) {
    e->Add("container", "", "memory_limit_bytes", limits.memory, limits.memory_source);
  }
  if (!limits.processors_source.empty()) {
    e->Add("container", "", "cpu_limit_millis", static_cast<int64_t>(limits.processors * 1000 + 0.5),
           limits.processors_source);
  }
}

}  // namespace

void AddContainerFacts(const SystemTree& tree, const Variables& variables, Environment* e) {
  AddRuntime(tree, variables, e);
  AddLimits(tree, e);
}

}  // namespace plinth::evidence
