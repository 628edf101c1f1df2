// SHA-256 of the running program, of the libraries it has mapped, of a model and of inputs.
#include <algorithm>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/evidence/environment_subjects.h"
#include "plinth/evidence/text_fields.h"
#include "plinth/formats/model_folder.h"

namespace plinth::evidence {
namespace {

struct Hashed {
  std::string name;  // of the fact
  std::string path;
  bool required = false;  // whoever named it wants to know why it cannot be read
  StatusOr<std::string> digest = std::string();
};

// The files of this process that hold code, as /proc/self/maps lists them.
std::vector<std::string> MappedLibraries() {
  std::vector<std::string> paths;
  const auto maps = ReadFile("/proc/self/maps", 16 << 20);
  if (!maps.ok()) return paths;
  for (const std::string_view line : Lines(*maps)) {
    const size_t slash = line.find('/');
    if (slash == line.npos || Words(line).size() < 2 || Words(line)[1].find('x') == std::string_view::npos)
      continue;
    std::string path(line.substr(slash));
    if (path.ends_with(" (deleted)"))
      continue;  // replaced since the start: these bytes are not the ones that run
    paths.push_back(std::move(path));
  }
  // The order of addresses changes from run to run.
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

void ListProgram(std::vector<Hashed>* files) {
  // The link follows the file that runs, even where its name has gone to another file.
  const SystemTree machine = *SystemTree::Open("");
  const std::string program = machine.Resolve("/proc/self/exe");
  files->push_back({"program", "/proc/self/exe", false, std::string()});
  for (const std::string& path : MappedLibraries()) {
    if (path != program) files->push_back({StrCat("library ", BaseName(path)), path, false, std::string()});
  }
}

}  // namespace

Status AddDigestFacts(const std::string& model, const std::vector<std::string>& inputs, bool program,
                      Threads& threads, Environment* e) {
  std::vector<Hashed> files;
  if (program) ListProgram(&files);
  for (const std::string& path : inputs) {
    files.push_back({StrCat("input ", path), path, true, std::string()});
  }
  StatusOr<std::string> model_digest = std::string();
  // The model is one more piece beside the files.
  threads.For(static_cast<int64_t>(files.size()) + 1, [&](int64_t piece, int) {
    if (piece > 0) {
      Hashed& file = files[static_cast<size_t>(piece - 1)];
      file.digest = Sha256OfFile(file.path);
    } else if (!model.empty()) {
      auto folder = formats::ModelFolder::Open(model);
      model_digest = folder.ok() ? folder->Digest() : folder.status();
    }
  });
  for (const Hashed& file : files) {
    if (!file.digest.ok()) {
      if (file.required) return file.digest.status();
      continue;
    }
    e->Add("digests", "", file.name, StrCat("sha256:", *file.digest), file.path);
  }
  if (model.empty()) return absl::OkStatus();
  PLINTH_RETURN_IF_ERROR(model_digest.status());
  e->Add("digests", "", "model", StrCat("sha256:", *model_digest), model);
  return absl::OkStatus();
}

}  // namespace plinth::evidence
