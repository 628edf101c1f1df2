// Remembers finished pieces of a long acceptance, so that an interrupted one goes on where it was.
#pragma once

#include <map>
#include <string>

#include "plinth/base/files.h"
#include "plinth/base/status.h"

namespace plinth::accept {

// A file of JSON lines, each on the disk before the next piece of work begins. A last line that a crash tore
// is passed over.
class Journal {
 public:
  // Goes on with `path` where it belongs to `key` (the digest of everything that decides the results), else
  // begins it anew. Errors: FileError.
  static StatusOr<Journal> Open(const std::string& path, const std::string& key);

  // The remembered result of a piece; null where it has not been done.
  const std::string* Find(const std::string& piece) const;
  // Errors: FileError.
  Status Add(const std::string& piece, const std::string& result);
  // How many pieces were there when it was opened.
  size_t resumed() const { return resumed_; }
  // Removes the file: the work is done.
  void Remove();

 private:
  std::string path_;
  Handle handle_;
  std::map<std::string, std::string> pieces_;
  size_t resumed_ = 0;
};

}  // namespace plinth::accept
