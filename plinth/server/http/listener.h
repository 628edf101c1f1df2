// Listens on a TCP port with a few threads and hands the requests of its connections to a site.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plinth/base/status.h"
#include "plinth/server/http/limits.h"
#include "plinth/server/http/site.h"

namespace plinth::server::http {

struct TlsOptions {
  std::string certificate;  // PEM file: ours, then those that lead to its root
  std::string key;          // PEM file
  std::string client_ca;    // PEM file; where it is given, a client must show a certificate of these
};

// Whether the files can be used. Error: InvalidArgument, naming the file.
Status CheckTls(const TlsOptions& files);

struct ListenOptions {
  std::string address = "127.0.0.1";  // an IP address
  uint16_t port = 0;                  // 0: any free one
  int threads = 1;
  Limits limits;
  bool tls = false;
  TlsOptions files;  // with tls
};

class Listener {
 public:
  // Binds and begins to answer. `site` must outlive it.
  // Errors: InvalidArgument (not an address; a certificate or key that cannot be used, naming the file),
  // Unavailable (the port is taken; the address is none of this machine), PermissionDenied.
  static StatusOr<std::unique_ptr<Listener>> Start(const ListenOptions& options, Site& site);
  // Closes what is open; answers in hand are lost. Call Drain first.
  ~Listener();

  uint16_t port() const;
  int64_t connections() const;
  // Reads certificate and key again; new connections use them. Errors: as Start; the old ones stay in use.
  Status ReloadTls();
  // Accepts no more, closes idle connections, and waits until requests in hand are answered, at most
  // `milliseconds`. Returns whether all were.
  bool Drain(int64_t milliseconds);

 private:
  struct State;
  explicit Listener(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plinth::server::http
