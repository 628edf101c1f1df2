// Versions, variables, tools, libraries and sources against each other.
#include <algorithm>
#include <map>
#include <set>

#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/evidence/environment_findings.h"
#include "plinth/evidence/text_fields.h"
#include "plinth/formats/json.h"

namespace plinth::evidence {
namespace {

// Every "/opt/dtk-VERSION" in a variable that lists folders.
std::vector<std::string> DtkFolders(std::string_view value) {
  std::vector<std::string> versions;
  for (size_t at = 0; (at = value.find("/dtk-", at)) != value.npos; at += 5) {
    if (std::string version = VersionAfter(value.substr(at, 32), "/dtk-"); !version.empty()) {
      versions.push_back(std::move(version));
    }
  }
  return versions;
}

// "gfx936:sramecc+" runs where the device is gfx936 with sramecc on, or with it unknown.
bool CodeFits(std::string_view code, std::string_view device) {
  const auto wanted = Words(code, ":"), had = Words(device, ":");
  if (wanted.empty() || had.empty() || wanted[0] != had[0]) return false;
  for (const std::string_view feature : wanted) {
    const std::string_view name = feature.substr(0, feature.find_first_of("+-"));
    for (const std::string_view other : had) {
      if (other.substr(0, other.find_first_of("+-")) == name && other != feature) return false;
    }
  }
  return true;
}

// "sm_80" runs on every 8.x from 8.0 on; "compute_80" (PTX) on everything from there on.
bool CudaCodeFits(std::string_view code, int64_t capability) {
  const size_t under = code.find('_');
  const auto number = ToInteger(code.substr(under + 1));
  if (!number || *number > capability) return false;
  return code.starts_with("compute_") || *number / 10 == capability / 10;
}

}  // namespace

bool VersionsMayAgree(std::string_view a, std::string_view b) {
  const auto x = Words(a, "."), y = Words(b, ".");
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (ToInteger(x[i]).value_or(-1) != ToInteger(y[i]).value_or(-1) && x[i] != y[i]) return false;
  }
  return true;
}

void FindingMaker::ProvesNothing() {
  if (Of("Hygon").empty()) return;
  std::vector<std::string> claims;
  if (const std::string v = e_.Text("tools", "nvcc", "cuda_version"); !v.empty())
    claims.push_back("nvcc reports CUDA " + v);
  for (const char* name : {"cuda_package", "cuda"}) {
    if (e_.Find("stack", "", name) == nullptr) continue;
    claims.push_back("/usr/local/cuda is CUDA " + e_.Text("stack", "", name));
    break;
  }
  if (const std::string v = e_.Text("tools", "nvidia-smi", "cuda_version"); !v.empty()) {
    claims.push_back("nvidia-smi reports CUDA " + v);
  }
  if (const std::string v = e_.Text("frameworks", "", "torch_cuda"); !v.empty())
    claims.push_back("torch was built with CUDA " + v);
  if (claims.empty() || !Of("NVIDIA").empty()) return;
  Add("cuda-proves-nothing", Severity::kWarning,
      StrCat(Join(claims, "; "),
             "; but the device is a Hygon DCU, where DTK has a CUDA layer: an nvcc, a CUDA version or a "
             "compute capability prove nothing about the device"),
      "read the device from PCI, KFD and rocminfo, the stack from the DTK version");
}

void FindingMaker::DtkVersions() {
  std::vector<std::pair<std::string, std::string>> found;  // version, where
  const auto add = [&](std::string version, std::string where) {
    if (!version.empty()) found.emplace_back(std::move(version), std::move(where));
  };
  add(e_.Text("stack", "", "dtk"), "/opt/dtk");
  add(VersionAfter(e_.Text("stack", "", "dtk_package"), ""), "/opt/dtk/.info/version");
  for (const char* name : {"ROCM_PATH", "HIP_PATH", "DTKROOT", "LD_LIBRARY_PATH"}) {
    for (const std::string& version : DtkFolders(Variable(name))) add(version, StrCat("variable ", name));
  }
  for (const Fact& fact : e_.facts) {
    if (fact.section == "frameworks" && fact.name.ends_with("_dtk")) {
      add(FactText(fact.value), StrCat("wheel of ", fact.name.substr(0, fact.name.size() - 4)));
    }
    // A link inside /opt/dtk may lead into another version.
    if (fact.section == "stack" && fact.name.starts_with("library_") && !fact.sources.empty()) {
      for (const std::string& version : DtkFolders(tree_.Resolve(fact.sources[0])))
        add(version, fact.sources[0]);
    }
  }
  for (const auto& [version, where] : found) {
    if (VersionsMayAgree(version, found[0].first)) continue;
    std::map<std::string, std::vector<std::string>> places;
    for (const auto& [v, w] : found) {
      auto& list = places[v];
      if (std::find(list.begin(), list.end(), w) == list.end()) list.push_back(w);
    }
    Add("dtk-versions-mixed", Severity::kError,
        StrCat(
            "more than one DTK is in use: ",
            Join(places, "; ",
                 [](const auto& place) { return StrCat(place.first, " (", Join(place.second, ", "), ")"); })),
        "use wheels built for the DTK that is installed, and source the env.sh of that one alone");
    return;
  }
}

void FindingMaker::NvidiaDriverVersions() {
  const std::string kernel = e_.Text("drivers", "", "nvidia"),
                    user = e_.Text("tools", "nvidia-smi", "driver_version");
  if (!kernel.empty() && !user.empty() && VersionAfter(kernel, "") == kernel && kernel != user) {
    Add("nvidia-driver-mixed", Severity::kError,
        StrCat("the kernel module nvidia is ", kernel, ", the libraries beside nvidia-smi are ", user),
        "reboot or reload the module after an update of the driver; in a container use the host's libraries");
  }
}

void FindingMaker::FrameworkBuild() {
  const std::string torch = e_.Text("frameworks", "", "torch");
  if (torch.empty() || e_.Items("devices").empty()) return;
  const bool rocm = e_.Find("frameworks", "", "torch_hip") != nullptr;
  const bool cuda = e_.Find("frameworks", "", "torch_cuda") != nullptr;
  const bool only_nvidia = Of("NVIDIA").size() == e_.Items("devices").size();
  if (!rocm && !cuda) {
    Add("framework-without-device", Severity::kWarning,
        StrCat("torch ", torch,
               " was built for neither CUDA nor HIP; it computes on the CPU although there are cards"),
        "install the wheel that belongs to the device's stack");
  } else if (rocm && only_nvidia) {
    Add("framework-for-other-device", Severity::kError,
        StrCat("torch ", torch, " was built for HIP, but the cards are NVIDIA's"),
        "install a wheel built for CUDA");
  } else if (!rocm && Of("NVIDIA").empty() && HasKfdVendor()) {
    Add("framework-for-other-device", Severity::kError,
        StrCat("torch ", torch, " was built for CUDA, but the cards are ",
               Of("Hygon").empty() ? "AMD GPUs" : "DCUs"),
        "install a wheel built for the device's stack (for a DCU its version has +das or dtk in it)");
  }
}

void FindingMaker::Override() {
  const std::string value = Variable("HSA_OVERRIDE_GFX_VERSION");
  if (value.empty()) return;
  Add("gfx-override-set", Severity::kError,
      StrCat("HSA_OVERRIDE_GFX_VERSION is ", formats::QuotedShort(value),
             "; the runtime loads code that was built for another device, and says nothing about it"),
      "unset it; a library without code for this device must be rebuilt");
}

void FindingMaker::FineGrain() {
  const std::vector<std::string> dcus = Of("Hygon");
  const bool bw1000 = std::any_of(
      dcus.begin(), dcus.end(), [&](const auto& i) { return e_.Text("devices", i, "product") == "BW1000"; });
  if (!bw1000 || Variable("HSA_FORCE_FINE_GRAIN_PCIE") == "1") return;
  Add("fine-grain-pcie-unset", Severity::kWarning,
      "HSA_FORCE_FINE_GRAIN_PCIE is not 1; on a BW1000 ncclCommInitRank then hangs",
      "export HSA_FORCE_FINE_GRAIN_PCIE=1 before any run with more than one card");
}

void FindingMaker::VisibleDevices() {
  const size_t cards = e_.Items("devices").size();
  std::map<std::string, std::vector<std::string>> by_value;
  for (const char* name :
       {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}) {
    if (e_.Find("variables", "", name) == nullptr) continue;
    const std::string value = Variable(name);
    by_value[value].push_back(name);
    // "-1" and empty hide all of them.
    size_t shown = 0;
    for (const std::string_view word : Words(value, ", ")) {
      if (word.starts_with('-')) break;
      ++shown;
    }
    if (shown >= cards) continue;
    Add("cards-hidden", shown == 0 ? Severity::kWarning : Severity::kNote,
        StrCat(name, "=", formats::QuotedShort(value), " shows a program ", shown, " of ", cards,
               cards == 1 ? " card" : " cards"),
        "unset it to use all cards");
  }
  if (by_value.size() > 1) {
    Add("visible-devices-differ", Severity::kWarning,
        StrCat("variables that select cards disagree: ",
               Join(by_value, "; ",
                    [](const auto& entry) {
                      return StrCat(Join(entry.second, ", "), "=", formats::QuotedShort(entry.first));
                    }),
               "; they apply one after the other, each numbering what the one before left"),
        "set one of them only");
  }
}

// What is wrong with one library, whatever the device.
bool FindingMaker::LibraryState(const std::string& path) {
  if (e_.Find("libraries", path, "error") != nullptr) {
    Add("library-unreadable", Severity::kWarning, e_.Text("libraries", path, "error"), "make it readable");
  }
  if (e_.Find("libraries", path, "truncated") != nullptr) {
    Add("library-truncated", Severity::kError, StrCat(path, ": ends before its own headers say"),
        "install it again");
  }
  if (e_.Find("libraries", path, "broken_bundles") != nullptr) {
    Add("library-broken", Severity::kWarning,
        StrCat(path, ": holds tables of GPU code that do not fit the file"),
        "install it again; the targets listed are those that could be read");
  }
  if (e_.Find("libraries", path, "compressed_bundles") == nullptr) return true;
  Add("library-compressed", Severity::kNote,
      StrCat(path, ": holds compressed GPU code, whose targets cannot be read"),
      "list them with clang-offload-bundler --list or the vendor's object dump");
  return false;
}

void FindingMaker::Libraries() {
  std::set<std::string> amd;
  std::set<int64_t> nvidia;  // 90 for compute capability 9.0
  for (const std::string& item : e_.Items("devices")) {
    for (const char* name : {"gfx_target", "gfx", "gfx_of_product"}) {
      if (e_.Find("devices", item, name) == nullptr) continue;
      amd.insert(e_.Text("devices", item, name));
      break;
    }
    const std::string capability = e_.Text("devices", item, "compute_capability");
    const auto parts = Words(capability, ".");
    if (parts.size() == 2) {
      nvidia.insert(ToInteger(parts[0]).value_or(0) * 10 + ToInteger(parts[1]).value_or(0));
    }
  }
  for (const std::string& path : e_.Items("libraries")) {
    const Fact* fact = e_.Find("libraries", path, "gpu_targets");
    const auto* targets = fact == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&fact->value);
    if (!LibraryState(path) || targets == nullptr) continue;
    std::vector<std::string> gfx, sm;
    for (const std::string& target : *targets) (target.starts_with("gfx") ? gfx : sm).push_back(target);
    const auto lacks = [&](const std::vector<std::string>& codes, const std::string& device,
                           const auto& fits) {
      if (codes.empty() || std::any_of(codes.begin(), codes.end(), fits)) return;
      Add("library-without-target", Severity::kError,
          StrCat(path, ": holds code for ", Join(codes, ", "), ", but the device is ", device),
          "rebuild it for this device, or install the build that has it");
    };
    for (const std::string& device : amd) {
      lacks(gfx, device, [&](const std::string& code) { return CodeFits(code, device); });
    }
    for (const int64_t device : nvidia) {
      lacks(sm, StrCat("sm_", device), [&](const std::string& code) { return CudaCodeFits(code, device); });
    }
  }
}

void FindingMaker::Tools() {
  for (const ToolOutput& output : outputs_) {
    if (output.hung) {
      Add("tool-failed", Severity::kWarning, StrCat(output.name, " did not end in time and was stopped"),
          "run it by hand; a driver that hangs makes every tool hang");
    } else if (output.name == "python" && output.exit_code != 0) {
      // Nobody asks for an interpreter in passing: without it the frameworks are unknown.
      Add("tool-failed", Severity::kWarning,
          StrCat("the Python interpreter ended with exit code ", output.exit_code, " and told no packages",
                 output.text.empty() ? "" : StrCat(": ", formats::QuotedShort(FirstLine(output.text)))),
          "name a Python 3.8 or newer");
    } else if (output.exit_code != 0) {
      Add("tool-failed", Severity::kNote,
          StrCat(output.name, " ended with exit code ", output.exit_code, ": ",
                 formats::QuotedShort(FirstLine(output.text))),
          "run it by hand; what it would have told is left out");
    } else if (output.cut) {
      Add("tool-failed", Severity::kNote,
          StrCat(output.name, " wrote more than ", kMostToolBytes, " bytes; the rest was not read"),
          "run it by hand");
    } else if (output.name == "python" && e_.Find("frameworks", "", "python") == nullptr) {
      Add("tool-failed", Severity::kWarning, "the Python interpreter did not answer with a list of packages",
          "name a Python 3.8 or newer");
    }
  }
}

void FindingMaker::Isa() {
  for (const Fact& fact : e_.facts) {
    if (fact.section != "cpu" || !fact.name.starts_with("isa_level (")) continue;
    Add("isa-disagrees", Severity::kWarning,
        StrCat("the kernel lists features of ", e_.Text("cpu", "", "isa_level"),
               ", the processor itself says ", FactText(fact.value)),
        "a hypervisor or an emulator hides features; fix the level with PLINTH_ISA");
    return;
  }
}

void FindingMaker::Sources() {
  const auto& troubles = tree_.troubles();
  if (troubles.empty()) return;
  std::vector<std::string> shown(
      troubles.begin(), std::next(troubles.begin(), std::min<std::ptrdiff_t>(3, std::ssize(troubles))));
  for (std::string& text : shown) text = FirstLine(text);
  const size_t more = troubles.size() - shown.size();
  Add("source-unreadable", Severity::kNote,
      StrCat(Join(shown, "; "), more > 0 ? StrCat(" and ", more, " more") : std::string()),
      "run as a user who may read them; what they would have told is left out");
}

void FindingMaker::Stack() {
  Override();
  DtkVersions();
  NvidiaDriverVersions();
  FrameworkBuild();
  Libraries();
  ProvesNothing();
  FineGrain();
  VisibleDevices();
  Tools();
  Isa();
  Sources();
}

}  // namespace plinth::evidence
