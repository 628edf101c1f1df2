// Remembers finished pieces of a long acceptance, so that an interrupted one goes on where it was.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "plinth/base/files.h"
#include "plinth/base/status.h"

namespace plinth::accept {

// A file of JSON lines, each on the disk before the next piece of work begins. What stands in it is signed as
// if this process had computed it, so nobody else may write it: each line ends in an HMAC-SHA256 over itself
// and the line before it, the first one over the run's own random id. Lines that were changed, left out,
// moved or brought from another run break the chain, and the work starts over. What is cut off at the end is
// done again; a last line that a crash tore is passed over.
class Journal {
 public:
  struct Owner {
    std::string key;     // digest of everything that decides the results
    std::string secret;  // 32 bytes that only the signing key gives
  };
  // Goes on with `path` where it belongs to this owner, else begins it anew. Errors: FileError (also for a
  // link in its place); Unavailable where the crypto library refuses.
  static StatusOr<Journal> Open(const std::string& path, const Owner& owner);

  // The remembered result of a piece that an earlier process finished; null where it has not been done.
  const std::string* Find(const std::string& piece) const;
  // Errors: FileError.
  Status Add(const std::string& piece, const std::string& result);
  // How many pieces were there when it was opened.
  size_t resumed() const { return resumed_; }
  // Why a journal that was there is not gone on with, one sentence; empty: there was none, or it is.
  const std::string& broken() const { return broken_; }
  // 32 hex digits, random: the same in all processes that go on with it.
  const std::string& run() const { return run_; }
  // Forgets all pieces and begins a new run. Errors: as Open.
  Status StartOver(std::string why);
  // Removes the file: the work is done.
  void Remove();

 private:
  Status Read(std::string_view text);
  Status Begin();

  Owner owner_;
  std::string path_, run_, last_mac_, broken_;
  Handle handle_;
  std::map<std::string, std::string> pieces_;
  size_t resumed_ = 0, whole_ = 0;
};

}  // namespace plinth::accept
