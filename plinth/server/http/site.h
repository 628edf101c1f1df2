// Answers the requests of a listener; what a server is, seen from its sockets.
#pragma once

#include <optional>

#include "plinth/server/http/exchange.h"

namespace plinth::server::http {

// Its calls come from several threads at once.
class Site {
 public:
  virtual ~Site() = default;
  // Looks at a request whose body has not been read (and is empty here); `body_bytes` is its announced length
  // or -1. May set what the service sets of it. An answer refuses it, and the body is never taken in.
  virtual std::optional<Response> Admit(Request* head, int64_t body_bytes) = 0;
  // Answers, now or later, on any thread.
  virtual void Handle(Request request, ExchangePtr exchange) = 0;
  // A request that never became one (malformed, too large, too slow), for logs and counters.
  virtual void Refused(const std::string& peer, int status, std::string_view message) = 0;
};

}  // namespace plinth::server::http
