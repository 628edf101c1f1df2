#include "plinth/formats/model_folder.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <utility>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"

namespace plinth::formats {
namespace {

constexpr int64_t kMaxNotesBytes = 1 << 20;

// "." and ".." have no name of their own.
std::string NameOf(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return BaseName(real != nullptr ? std::string_view(real.get()) : std::string_view(path));
}

std::string FindCard(const std::string& folder) {
  for (const char* name : {"CARD.md", "MODEL_CARD.md", "README.md"}) {
    const std::string path = JoinPath(folder, name);
    if (FileExists(path)) return path;
  }
  return "";
}

}  // namespace

StatusOr<ModelNotes> ParseModelNotes(std::string_view text, std::string_view where) {
  ModelNotes notes;
  try {
    const toml::table table = toml::parse(text, where);
    for (const auto& [key, node] : table) {
      const std::string_view name = key.str();
      std::string* into = name == "licence" ? &notes.licence : name == "notes" ? &notes.notes : nullptr;
      const auto line = node.source().begin.line;
      if (into == nullptr) {
        return absl::InvalidArgumentError(StrCat(where, ": line ", line, ": unknown key ", QuotedShort(name),
                                                 "; licence and notes are expected"));
      }
      const auto value = node.value_exact<std::string>();
      if (!value.has_value()) {
        return absl::InvalidArgumentError(
            StrCat(where, ": line ", line, ": \"", name, "\" is not text; text in quotes is expected"));
      }
      *into = *value;
    }
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(StrCat(where, ": line ", error.source().begin.line,
                                             ": not TOML: ", std::string_view(error.description())));
  }
  return notes;
}

std::string LicenceOfCard(std::string_view card) {
  bool inside = false;
  while (!card.empty()) {
    const size_t end = std::min(card.find('\n'), card.size());
    std::string_view line = card.substr(0, end);
    card.remove_prefix(std::min(end + 1, card.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line == "---") {
      if (inside) return "";
      inside = true;
      continue;
    }
    if (!inside) return "";
    if (!line.starts_with("license:")) continue;
    constexpr std::string_view kAround = " \t\"'";
    line.remove_prefix(std::min(line.find_first_not_of(kAround, 8), line.size()));
    return std::string(line.substr(0, line.find_last_not_of(kAround) + 1));
  }
  return "";
}

StatusOr<ModelFolder> ModelFolder::Open(const std::string& path) {
  if (FileExists(path)) {
    return absl::InvalidArgumentError(
        StrCat(path, ": is a file; a model folder (config.json and model.safetensors) is expected"));
  }
  PLINTH_ASSIGN_OR_RETURN(Config config, Config::Load(path));
  PLINTH_ASSIGN_OR_RETURN(WeightFiles weights, OpenWeights(path));
  ModelFolder folder(std::move(config), std::move(weights));
  folder.path_ = path;
  folder.name_ = NameOf(path);
  folder.card_ = FindCard(path);
  const std::string notes = JoinPath(path, "plinth.toml");
  if (FileExists(notes)) {
    PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(notes, kMaxNotesBytes));
    PLINTH_ASSIGN_OR_RETURN(folder.notes_, ParseModelNotes(text, notes));
  }
  if (folder.notes_.licence.empty() && !folder.card_.empty()) {
    // A card is for people: one that cannot be read says nothing.
    const StatusOr<std::string> card = ReadFile(folder.card_, kMaxNotesBytes);
    if (card.ok()) folder.notes_.licence = LicenceOfCard(*card);
  }
  return folder;
}

std::vector<std::string> ModelFolder::DigestFiles() const {
  std::vector<std::string> names = {"config.json"};
  for (const auto& file : weights_.files()) names.push_back(PlainName(file));
  std::sort(names.begin(), names.end());
  return names;
}

StatusOr<std::string> ModelFolder::DigestOf(std::string_view name) const {
  PLINTH_ASSIGN_OR_RETURN(const std::string path, FindModelFile(path_, name));
  return Sha256OfModelFile(path.empty() ? JoinPath(path_, name) : path);
}

StatusOr<std::string> ModelFolder::Digest() const {
  Sha256 all;
  for (const auto& name : DigestFiles()) {
    PLINTH_ASSIGN_OR_RETURN(const std::string hex, DigestOf(name));
    // The lines of sha256sum.
    all.Update(StrCat(hex, "  ", name, "\n"));
  }
  return all.Hex();
}

}  // namespace plinth::formats
