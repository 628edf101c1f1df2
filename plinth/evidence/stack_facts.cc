// DTK, ROCm, CUDA and HAL: versions from their files, and the libraries they bring.
#include <algorithm>

#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/evidence/environment_subjects.h"
#include "plinth/evidence/text_fields.h"
#include "plinth/formats/json.h"

namespace plinth::evidence {
namespace {

void AddLine(const SystemTree& tree, const std::string& path, std::string_view name, Environment* e) {
  if (const std::string value = tree.ReadLine(path); !value.empty()) e->Add("stack", "", name, value, path);
}

// /opt/NAME-VERSION folders, and where the link /opt/NAME leads.
void AddInstalled(const SystemTree& tree, const std::vector<std::string>& names, const std::string& folder,
                  const std::string& product, Environment* e) {
  std::vector<std::string> versions;
  for (const std::string& name : names) {
    if (name.starts_with(product + "-")) versions.push_back(name.substr(product.size() + 1));
  }
  if (!versions.empty()) e->Add("stack", "", product + "_installed", std::move(versions), folder);
  const std::string link = StrCat(folder, "/", product);
  const std::string target = tree.Resolve(link);
  if (const std::string version = VersionAfter(BaseName(target), product + "-"); !version.empty()) {
    e->Add("stack", "", product, version, link);
  }
}

// hipVersion holds lines HIP_VERSION_MAJOR=6.
void AddHip(const SystemTree& tree, const std::string& path, Environment* e) {
  const std::string text = tree.Read(path).value_or("");
  const std::string major(Field(text, "HIP_VERSION_MAJOR", '=')),
      minor(Field(text, "HIP_VERSION_MINOR", '='));
  const std::string patch(Field(text, "HIP_VERSION_PATCH", '='));
  if (major.empty() || minor.empty()) return;
  e->Add("stack", "", "hip", FirstLine(StrCat(major, ".", minor, patch.empty() ? "" : ".", patch)), path);
}

void AddCuda(const SystemTree& tree, const std::string& folder, Environment* e) {
  const std::string path = folder + "/version.json";
  if (const auto text = tree.Read(path)) {
    const auto json = formats::ParseJson(*text, path);
    const formats::JsonValue* cuda = json.ok() ? json->Find("cuda") : nullptr;
    const formats::JsonValue* version = cuda == nullptr ? nullptr : cuda->Find("version");
    if (version != nullptr && version->text() != nullptr) {
      e->Add("stack", "", "cuda_package", FirstLine(*version->text()), path);
    }
    return;
  }
  const std::string old = folder + "/version.txt";  // before CUDA 11.1
  if (const std::string version = VersionAfter(tree.ReadLine(old), "CUDA Version"); !version.empty()) {
    e->Add("stack", "", "cuda_package", version, old);
  }
}

constexpr std::string_view kLibraries[] = {
    "libamdhip64.so", "libgalaxyhip.so", "libhsa-runtime64.so", "librocblas.so", "libhipblaslt.so",
    "libhipblas.so",  "libMIOpen.so",    "librccl.so",          "libcudart.so",  "libcublas.so",
    "libcublasLt.so", "libcudnn.so",     "libnccl.so",          "libcuda.so.1"};

// The version of a library is in the name that its link leads to: libamdhip64.so ->
// libamdhip64.so.6.3.60325521.
void AddLibraries(const SystemTree& tree, const std::string& folder, Environment* e) {
  for (const std::string_view library : kLibraries) {
    const std::string path = StrCat(folder, "/", library);
    const std::string name = BaseName(tree.Resolve(path));
    if (!name.empty())
      e->Add("stack", "", StrCat("library_", library.substr(3, library.find('.') - 3)), name, path);
  }
}

}  // namespace

void AddStackFacts(const SystemTree& tree, Environment* e) {
  const auto names = tree.List("/opt");
  AddInstalled(tree, names, "/opt", "dtk", e);
  AddInstalled(tree, names, "/opt", "rocm", e);
  AddInstalled(tree, tree.List("/usr/local"), "/usr/local", "cuda", e);
  // The link's name is what somebody typed; the file is what the package says.
  AddLine(tree, "/opt/dtk/.info/version", "dtk_package", e);
  AddLine(tree, "/opt/rocm/.info/version", "rocm_package", e);
  for (const char* path :
       {"/opt/dtk/hip/bin/.hipVersion", "/opt/dtk/bin/.hipVersion", "/opt/rocm/bin/.hipVersion",
        "/opt/rocm/share/hip/version", "/opt/dtk/share/hip/version"}) {
    AddHip(tree, path, e);
  }
  AddCuda(tree, "/usr/local/cuda", e);
  for (const char* folder : {"/opt/hyhal", "/opt/dtk/.hyhal"}) {
    if (!tree.IsFolder(folder)) continue;
    e->Add("stack", "", "hal_folder", std::string(folder), folder);
    for (const char* file : {"/.info/version", "/version", "/VERSION"}) {
      AddLine(tree, StrCat(folder, file), "hal", e);
    }
    break;
  }
  for (const char* folder : {"/opt/dtk/lib", "/opt/dtk/hip/lib", "/opt/dtk/hsa/lib", "/opt/rocm/lib",
                             "/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64"}) {
    AddLibraries(tree, folder, e);
  }
}

}  // namespace plinth::evidence
