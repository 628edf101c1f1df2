// Carries one call of gRPC through the service: who asks, whether they may, and the one answer.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "plinth/server/http/exchange.h"
#include "plinth/server/http/router.h"
#include "plinth/server/service.h"

namespace plinth::server::rpc {

// What the calls of one server share.
struct Shared {
  Service& service;
  const bool tls;
  const std::function<void(std::function<void()>)> run;  // on the thread where answers are written
  std::atomic<int64_t> in_hand = 0;                      // calls that are not answered
};

// The code that says over gRPC what `response` says over HTTP.
::grpc::StatusCode CodeOf(int http_status, std::string_view word);

class Call;

// What gRPC keeps of a call. Deletes itself.
class Reactor final : public ::grpc::ServerUnaryReactor {
 public:
  void Watch(const std::shared_ptr<Call>& call) { call_ = call; }

 private:
  void OnCancel() override;
  void OnDone() override { delete this; }
  std::weak_ptr<Call> call_;  // not shared: a call that everybody forgot is answered with an error
};

class Call final : public http::Exchange {
 public:
  // `method`: "/inference.GRPCInferenceService/ModelInfer", good for ever.
  Call(Shared& shared, ::grpc::CallbackServerContext* context, std::string_view method, bool quiet,
       Reactor* reactor);
  ~Call() override;

  // Whether it may go on; else it has been answered.
  bool Admit(http::Scope scope);
  // Answers, once; what comes later is dropped.
  void Finish(const Status& status);
  // Until the client's deadline; 0: it has none.
  double SecondsLeft() const;
  void Gone();

  // http::Exchange. Only errors come this way; what streams over HTTP has another form here.
  void Send(http::Response response) override;
  void Stream(http::Response head, http::Producer producer) override;
  void Wake() override {}
  void Run(std::function<void()> then) override { shared_.run(std::move(then)); }
  bool gone() const override;
  void OnGone(std::function<void()> then) override;

 private:
  void End(::grpc::StatusCode code, const std::string& message, std::string_view retry_after);

  Shared& shared_;
  ::grpc::CallbackServerContext* const context_;  // until the end
  const std::string_view method_;
  const bool quiet_;
  bool work_ = false;       // asks the engine for something
  Reactor* const reactor_;  // until the end
  const int64_t began_;
  http::Request request_;  // who asks

  mutable std::mutex mutex_;
  bool ended_ = false, gone_ = false;
  std::function<void()> on_gone_;
};

}  // namespace plinth::server::rpc
