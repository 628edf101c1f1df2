// Decides who may do what: API keys with scopes, and how often.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "plinth/base/clock.h"
#include "plinth/base/status.h"
#include "plinth/server/http/router.h"
#include "plinth/server/settings.h"

namespace plinth::server {

// Thread-safe.
class Access {
 public:
  virtual ~Access() = default;
  // Whether a request may go on; `key_name` is set to the name of its key. The answer that refuses it: 401
  // without a good key, 403 for a scope that the key lacks, 429 for one that comes too often.
  virtual std::optional<http::Response> Check(const http::Request& request, http::Scope scope,
                                              std::string* key_name) = 0;
  // Takes what may change. Error: as MakeAccess; everything is then as it was.
  virtual Status Reload(const Settings& settings) = 0;
};

// Errors: FileError; InvalidArgument with file and line for a file of keys that is none.
StatusOr<std::unique_ptr<Access>> MakeAccess(const Settings& settings, const Clock& clock = Clock::System());

// Adds a new key to the file, which is made (for its owner alone) where there is none, and gives its secret,
// which is stored nowhere. Errors: as LoadSettings for scopes and a name that is taken; FileError.
StatusOr<std::string> AddKey(const std::string& file, const std::string& name, const std::string& scopes);

}  // namespace plinth::server
