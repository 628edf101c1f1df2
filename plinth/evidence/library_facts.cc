// GPU targets of the code inside libraries.
#include <algorithm>

#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/evidence/environment_subjects.h"
#include "plinth/evidence/gpu_code.h"

namespace plinth::evidence {
namespace {

constexpr int kMostDepth = 8;
constexpr size_t kMostLibraries = 4096;

bool IsLibraryName(std::string_view name) {
  const size_t so = name.find(".so");
  return (so != name.npos && (so + 3 == name.size() || name[so + 3] == '.')) || name.ends_with(".co") ||
         name.ends_with(".hsaco") || name.ends_with(".fatbin");
}

// Libraries below a folder; each file once, however many links lead to it.
void Collect(const SystemTree& tree, const std::string& path, int depth, std::vector<std::string>* found) {
  if (!tree.IsFolder(path)) {
    if (std::find(found->begin(), found->end(), path) == found->end()) found->push_back(path);
    return;
  }
  if (depth == kMostDepth) return;
  for (const std::string& name : tree.List(path)) {
    if (found->size() >= kMostLibraries) return;
    const std::string resolved = tree.Resolve(JoinPath(path, name));
    if (resolved.empty()) continue;
    const bool is_folder = tree.IsFolder(resolved);
    // A link to a folder may lead back up.
    if (is_folder && resolved != JoinPath(path, name)) continue;
    if (is_folder || IsLibraryName(name)) Collect(tree, resolved, depth + 1, found);
  }
}

struct Scanned {
  Status status;
  GpuCode code;
};

Scanned Scan(const SystemTree& tree, const std::string& path) {
  auto file = MappedFile::Open(tree.HostPath(path));
  if (!file.ok()) return {file.status(), {}};
  return {absl::OkStatus(), FindGpuCode(file->bytes())};
}

void AddScanned(const std::string& path, const Scanned& scanned, bool named, Environment* e) {
  const auto add = [&](std::string_view name, FactValue value) {
    e->Add("libraries", path, name, value, path);
  };
  if (!scanned.status.ok()) return add("error", std::string(scanned.status.message()));
  const GpuCode& code = scanned.code;
  const bool has_code = !code.amd.empty() || !code.nvidia.empty() || code.compressed_bundles > 0 ||
                        code.broken_bundles > 0 || code.truncated;
  if (!has_code && !named) return;  // a folder holds many that have nothing to do with a GPU
  const auto names = [](const std::map<std::string, int64_t>& counts) {
    std::vector<std::string> list;
    for (const auto& [target, count] : counts) list.push_back(target);
    return list;
  };
  add("gpu_targets", [&] {
    auto all = names(code.amd);
    const auto nvidia = names(code.nvidia);
    all.insert(all.end(), nvidia.begin(), nvidia.end());
    return all;
  }());
  if (code.compressed_bundles > 0) add("compressed_bundles", code.compressed_bundles);
  if (code.broken_bundles > 0) add("broken_bundles", code.broken_bundles);
  if (code.truncated) add("truncated", true);
}

}  // namespace

Status AddLibraryFacts(const SystemTree& tree, const std::vector<std::string>& paths, Threads& threads,
                       Environment* e) {
  std::vector<std::string> files, named;
  for (const std::string& path : paths) {
    const std::string resolved = tree.Resolve(path);
    if (resolved.empty()) {
      return absl::NotFoundError(StrCat(tree.root(), path,
                                        ": no such file or folder; name a library or a folder of them",
                                        tree.recorded() ? " inside the recorded tree" : ""));
    }
    if (!tree.IsFolder(resolved)) named.push_back(resolved);
    Collect(tree, resolved, 0, &files);
  }
  std::vector<Scanned> scanned(files.size());
  threads.For(static_cast<int64_t>(files.size()), [&](int64_t i, int) {
    scanned[static_cast<size_t>(i)] = Scan(tree, files[static_cast<size_t>(i)]);
  });
  for (size_t i = 0; i < files.size(); ++i) {
    const bool is_named = std::find(named.begin(), named.end(), files[i]) != named.end();
    AddScanned(files[i], scanned[i], is_named, e);
  }
  return absl::OkStatus();
}

}  // namespace plinth::evidence
