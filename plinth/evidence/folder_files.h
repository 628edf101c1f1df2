// Reads a folder whose content may be hostile, by its handle: what is listed is what is opened. Internal to
// this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/files.h"
#include "plinth/base/status.h"

namespace plinth::evidence {

inline constexpr size_t kMaxEvidenceFiles = 1024;

class FolderFiles {
 public:
  // Follows no link at the end of `path`. Errors: FileError; NotFound where there is none,
  // InvalidArgument for a link or a file.
  static StatusOr<FolderFiles> Open(const std::string& path);

  struct Listed {
    std::string name;  // "captures/a/capture.json"
    int64_t bytes = 0;
  };
  struct Listing {
    std::vector<Listed> files;  // by name
    std::string odd;            // the first entry that no evidence has, and why; empty: none
  };
  // Everything in the folder and below it. Errors: FileError.
  StatusOr<Listing> List() const;

  // Gives the bytes of a regular file to `take`, piece by piece, and stops at its first error. Follows no
  // link. Errors: FileError; InvalidArgument for anything but a regular file; those of `take`.
  Status Read(const std::string& name, const std::function<Status(std::string_view)>& take) const;
  // The whole file. Errors: as Read; InvalidArgument beyond `limit` bytes.
  StatusOr<std::string> ReadAll(const std::string& name, int64_t limit) const;

  // Whether `path` still leads to this folder.
  bool StillAt(const std::string& path) const;
  std::string PathOf(std::string_view name) const { return JoinPath(path_, name); }

 private:
  FolderFiles(std::string path, Handle handle) : path_(std::move(path)), handle_(std::move(handle)) {}
  Status ListInto(int folder, const std::string& prefix, int depth, Listing* listing) const;

  std::string path_;
  Handle handle_;
};

}  // namespace plinth::evidence
