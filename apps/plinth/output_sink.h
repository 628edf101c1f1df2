// Takes a command's output: a file that appears when it is complete, or standard output when all is well.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "plinth/base/files.h"
#include "plinth/base/status.h"

namespace plinth::app {

// Standard output is written at the end: bad input late in a file must not leave half a result. What is large
// waits in an unnamed temporary file.
class Sink {
 public:
  ~Sink();
  // To standard output where `path` is empty. Errors: NotFound for a folder that is not there; FileError.
  static StatusOr<std::unique_ptr<Sink>> Open(const std::string& path);
  Status Write(std::string_view text);
  // Writes `text` and empties it, for writers that fill one string again and again.
  Status Drain(std::string* text);
  Status Finish();

 private:
  Status Spill();
  Status CopySpill();
  std::string held_;
  std::FILE* spill_ = nullptr;
  std::unique_ptr<AtomicWriter> file_;
};

}  // namespace plinth::app
