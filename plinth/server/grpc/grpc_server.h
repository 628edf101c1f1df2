// Answers the Open Inference Protocol over gRPC, with the services for health and reflection beside it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plinth/base/status.h"
#include "plinth/server/http/listener.h"

namespace plinth::server {

class Service;

class GrpcServer {
 public:
  struct Options {
    std::string address = "127.0.0.1";  // an IP address
    uint16_t port = 0;                  // 0: any free one
    int64_t message_bytes = 64 << 20, all_message_bytes = 256 << 20;
    bool tls = false;
    http::TlsOptions files;  // with tls; read again by themselves when they change
  };
  // Binds and begins to answer. `service` must outlive it.
  // Errors: InvalidArgument (not an address; a certificate or key that cannot be used), Unavailable.
  static StatusOr<std::unique_ptr<GrpcServer>> Start(const Options& options, Service& service);
  // Cancels what is in hand. Call Drain first.
  ~GrpcServer();

  uint16_t port() const;
  // Takes no more inferences and waits until those in hand are answered, at most `milliseconds`. Returns
  // whether all were.
  bool Drain(int64_t milliseconds);

 private:
  struct State;
  explicit GrpcServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plinth::server
