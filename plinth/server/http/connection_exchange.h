// Is the exchange of one request of a connection: takes its answer from any thread to the connection's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "plinth/server/http/connection.h"

namespace plinth::server::http {

class ConnectionExchange : public Exchange {
 public:
  ConnectionExchange(std::shared_ptr<Connection> connection, uint64_t number)
      : connection_(std::move(connection)), number_(number) {}
  ~ConnectionExchange() override;

  void Send(Response response) override;
  void Stream(Response head, Producer producer) override;
  void Wake() override;
  void Run(std::function<void()> then) override;
  bool gone() const override { return gone_; }
  void OnGone(std::function<void()> then) override;
  // Of the connection: the client has gone.
  void SetGone();

 private:
  const std::shared_ptr<Connection> connection_;
  const uint64_t number_;
  std::atomic<bool> answered_ = false, gone_ = false;
  std::mutex mutex_;
  std::vector<std::function<void()>> then_;
};

}  // namespace plinth::server::http
