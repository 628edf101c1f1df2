#include "plinth/server/http/connection_exchange.h"

#include <boost/asio/dispatch.hpp>
#include <utility>

namespace plinth::server::http {

ConnectionExchange::~ConnectionExchange() {
  if (answered_) return;
  Send(ErrorResponse(500, "internal",
                     "the request was dropped without an answer; this is a fault of the server"));
}

void ConnectionExchange::Send(Response response) {
  if (answered_.exchange(true)) return;
  boost::asio::dispatch(
      connection_->shared_.io,
      [c = connection_, n = number_, r = std::move(response)]() mutable { c->Answer(n, std::move(r)); });
}

void ConnectionExchange::Stream(Response head, Producer producer) {
  if (answered_.exchange(true)) return;
  boost::asio::dispatch(connection_->shared_.io, [c = connection_, n = number_, r = std::move(head),
                                                  p = std::move(producer)]() mutable {
    c->BeginStream(n, std::move(r), std::move(p));
  });
}

void ConnectionExchange::Wake() {
  boost::asio::dispatch(connection_->shared_.io, [c = connection_, n = number_] { c->Woken(n); });
}

void ConnectionExchange::Run(std::function<void()> then) {
  boost::asio::dispatch(connection_->shared_.io, std::move(then));
}

void ConnectionExchange::OnGone(std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    if (!gone_) {
      then_.push_back(std::move(then));
      return;
    }
  }
  then();
}

void ConnectionExchange::SetGone() {
  std::vector<std::function<void()>> then;
  {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    then.swap(then_);
  }
  for (const auto& call : then) call();
}

}  // namespace plinth::server::http
