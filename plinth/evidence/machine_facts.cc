// Memory, operating system, kernel and hypervisor.
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include "plinth/base/text.h"
#include "plinth/evidence/environment_subjects.h"
#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {
namespace {

void AddMemory(const SystemTree& tree, Environment* e) {
  const std::string info = tree.Read("/proc/meminfo").value_or("");
  const auto add = [&](std::string_view name, std::string_view key) {
    const auto words = Words(Field(info, key));
    const auto kibibytes = words.empty() ? std::nullopt : ToInteger(words[0]);
    if (kibibytes && *kibibytes >= 0 && *kibibytes < int64_t{1} << 50) {
      e->Add("memory", "", name, *kibibytes * 1024, "/proc/meminfo");
    }
  };
  add("total_bytes", "MemTotal");
  add("swap_bytes", "SwapTotal");
  add("huge_page_bytes", "Hugepagesize");
  const std::string huge = tree.ReadLine("/sys/kernel/mm/transparent_hugepage/enabled");
  if (const size_t open = huge.find('['); open != huge.npos) {
    e->Add("memory", "", "transparent_huge_pages", huge.substr(open + 1, huge.find(']') - open - 1),
           "/sys/kernel/mm/transparent_hugepage/enabled");
  }
}

// "Debian GNU/Linux 12" out of os-release(5), whose values may stand in quotes.
void AddDistribution(const SystemTree& tree, Environment* e) {
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    const std::string text = tree.Read(path).value_or("");
    const auto value = [&](std::string_view key) {
      std::string found = FirstLine(Field(text, key, '='));
      if (found.size() >= 2 && (found[0] == '"' || found[0] == '\'') && found.back() == found[0]) {
        found = found.substr(1, found.size() - 2);
      }
      return found;
    };
    const std::string name = value("PRETTY_NAME"), id = value("ID"), version = value("VERSION_ID");
    if (name.empty() && id.empty()) continue;
    if (!name.empty()) e->Add("os", "", "name", name, path);
    if (!id.empty()) e->Add("os", "", "id", version.empty() ? id : StrCat(id, " ", version), path);
    return;
  }
}

void AddKernel(const SystemTree& tree, Environment* e) {
  const char* source = "/proc/sys/kernel/osrelease";
  if (std::string release = tree.ReadLine(source); !release.empty())
    e->Add("os", "", "kernel", release, source);
  if (!tree.recorded()) {
    utsname name{};
    if (uname(&name) == 0) {
      e->Add("os", "", "kernel", std::string(name.release), "uname");
      e->Add("os", "", "machine", std::string(name.machine), "uname");
    }
    e->Add("os", "", "c_library", StrCat("glibc ", gnu_get_libc_version()), "gnu_get_libc_version");
    return;
  }
  // Lines of `uname -r` and `uname -m`, then `getconf GNU_LIBC_VERSION`.
  const std::string path = StrCat(kRecordedFolder, "/uname");
  const std::string recorded = tree.Read(path).value_or("");
  const auto lines = Lines(recorded);
  constexpr std::string_view kNames[] = {"kernel", "machine", "c_library"};
  for (size_t i = 0; i < std::min(lines.size(), std::size(kNames)); ++i) {
    if (const std::string value = FirstLine(lines[i]); !value.empty()) {
      e->Add("os", "", kNames[i], value, path.substr(1));
    }
  }
}

void AddHypervisor(const SystemTree& tree, Environment* e) {
  const std::string info = tree.Read("/proc/cpuinfo", 64 << 10).value_or("");
  bool guest = false;
  for (const std::string_view flag : Words(Field(info, "flags"))) guest |= flag == "hypervisor";
  if (!info.empty()) e->Add("os", "", "virtual_machine", guest, "/proc/cpuinfo");
  if (const std::string type = tree.ReadLine("/sys/hypervisor/type"); !type.empty()) {
    e->Add("os", "", "hypervisor", type, "/sys/hypervisor/type");
  }
  for (const auto& [name, file] :
       {std::pair("board_vendor", "sys_vendor"), {"board_product", "product_name"}}) {
    const std::string path = StrCat("/sys/class/dmi/id/", file);
    if (const std::string value = tree.ReadLine(path); !value.empty()) e->Add("os", "", name, value, path);
  }
}

}  // namespace

void AddMachineFacts(const SystemTree& tree, Environment* e) {
  AddMemory(tree, e);
  AddDistribution(tree, e);
  AddKernel(tree, e);
  AddHypervisor(tree, e);
}

}  // namespace plinth::evidence
