// Opens a model folder: its configuration, weights, digest, licence and card.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/formats/config.h"
#include "plinth/formats/weights.h"

namespace plinth::formats {

// What plinth.toml beside the model may say; all of it is optional.
struct ModelNotes {
  std::string licence;  // SPDX identifier, as "Apache-2.0"; else what the card's front matter says
  std::string notes;    // free text
};

// Reads the text of a plinth.toml; `where` begins every message. Errors: InvalidArgument for bad
// syntax (with the line), a value that is not text, an unknown key.
StatusOr<ModelNotes> ParseModelNotes(std::string_view text, std::string_view where);

// The licence that a model card states in its front matter ("license: apache-2.0" between lines of "---" at
// its beginning, as model hubs have it); empty where it states none.
std::string LicenceOfCard(std::string_view card);

class ModelFolder {
 public:
  // Reads config.json and plinth.toml and maps the weights. Errors: NotFound that names what is
  // expected; as Config::Load, OpenWeights and ParseModelNotes.
  static StatusOr<ModelFolder> Open(const std::string& path);

  const std::string& path() const { return path_; }
  // The folder's own name ("plinth-ts-0").
  const std::string& name() const { return name_; }
  const Config& config() const { return config_; }
  const WeightFiles& weights() const { return weights_; }
  const ModelNotes& notes() const { return notes_; }
  // Path of the model's card: CARD.md, MODEL_CARD.md or README.md; empty where there is none.
  const std::string& card() const { return card_; }

  // Identifies the numbers: what `sha256sum config.json model.safetensors | sha256sum` prints in the
  // folder, over config.json and the weight files (and their index), sorted by name. Reads them all
  // (1 s per 1.5 GB or so). Errors: FileError, and those of encrypted files (sealed_file.h).
  StatusOr<std::string> Digest() const;
  // The names that Digest covers, in its order, as they are without encryption.
  std::vector<std::string> DigestFiles() const;
  // SHA-256 of one of them, of its plain bytes: a model has one digest, encrypted or not. Errors: as Digest.
  StatusOr<std::string> DigestOf(std::string_view name) const;

 private:
  ModelFolder(Config config, WeightFiles weights)
      : config_(std::move(config)), weights_(std::move(weights)) {}
  std::string path_, name_, card_;
  Config config_;
  WeightFiles weights_;
  ModelNotes notes_;
};

}  // namespace plinth::formats
