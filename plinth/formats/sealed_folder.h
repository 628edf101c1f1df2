// Encrypts and decrypts whole model folders.
#pragma once

#include <string>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/formats/credential.h"

namespace plinth::formats {

struct FolderReport {
  std::vector<std::string> changed;   // names of the files that were encrypted or decrypted, as they are now
  std::vector<std::string> copied;    // card, plinth.toml, licence, evidence/
  std::vector<std::string> left_out;  // what is none of these
  int64_t bytes = 0;                  // plain bytes of what was changed
};

// Writes the model of `from` to the new folder `to` with config.json, the weights and their index encrypted.
// Its card, plinth.toml, licence and evidence are copied as they are: the digest of the model stays the same.
// What was written is read back and verified; `to` appears whole or not at all. Errors: those of
// ModelFolder::Open; AlreadyExists where `to` is there; InvalidArgument for a folder that is encrypted
// already; FileError; Cancelled.
StatusOr<FolderReport> EncryptFolder(const std::string& from, const std::string& to,
                                     const CredentialPtr& credential);
// The way back; `to` is for its owner alone. Errors: likewise; those of SealedFile.
StatusOr<FolderReport> DecryptFolder(const std::string& from, const std::string& to,
                                     const CredentialPtr& credential);

}  // namespace plinth::formats
