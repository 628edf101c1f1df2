// Makes a folder that disappears with its owner unless it is moved to its place.
#pragma once

#include <string>
#include <utility>

#include "plinth/base/status.h"

namespace plinth {

class TemporaryFolder {
 public:
  // A new folder beside `place`, on the same file system. Errors: AlreadyExists where `place` exists;
  // FileError.
  static StatusOr<TemporaryFolder> MakeFor(const std::string& place);
  // A new folder where the system keeps temporary files (TMPDIR, else /tmp). Errors: FileError.
  static StatusOr<TemporaryFolder> Make();
  TemporaryFolder(TemporaryFolder&& other) noexcept
      : path_(std::exchange(other.path_, "")), place_(std::move(other.place_)) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(place_, other.place_);
    return *this;
  }
  ~TemporaryFolder() { Remove(); }

  const std::string& path() const { return path_; }
  // Moves a folder of MakeFor to its place and flushes the names on the disk; files inside must have been
  // flushed. Errors: AlreadyExists where the place came to exist; FileError. It is removed then.
  Status Move();
  // `error` with the folder's place instead of its path, which means nothing to the caller.
  Status Named(const Status& error) const;

 private:
  TemporaryFolder(std::string path, std::string place) : path_(std::move(path)), place_(std::move(place)) {}
  void Remove();

  std::string path_;   // empty once it was moved or removed
  std::string place_;  // without a slash at its end
};

}  // namespace plinth
