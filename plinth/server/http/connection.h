// Speaks HTTP/1.1 on one connection: reads a request within its limits, hands it on, writes the answer.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "plinth/server/http/exchange.h"
#include "plinth/server/http/limits.h"
#include "plinth/server/http/site.h"

namespace plinth::server::http {

class Connection;
class ConnectionExchange;

// What the connections of one thread share.
struct Shared {
  Shared(Site& of, const Limits& within, std::shared_ptr<Budget> from)
      : io(1), site(of), limits(within), budget(std::move(from)) {}

  boost::asio::io_context io;
  Site& site;
  const Limits limits;
  const std::shared_ptr<Budget> budget;
  int64_t now = 0;   // seconds of the monotonic clock, renewed every tick
  std::string date;  // the value of the date field, renewed with it
  bool draining = false;
  std::list<Connection*> all;  // the open ones; those whose last request is longest ago first
};

// Everything but its exchanges' calls runs on the thread of `shared`. What moves bytes (plain or TLS) derives
// from it.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Begins, with the TLS handshake where there is one.
  virtual void Start() = 0;
  // Ends it where its deadline has passed.
  void Tick();
  // Ends it as soon as no request is in hand.
  void Drain();
  void Close();
  // No request has come whole.
  bool waiting() const { return state_ <= State::kBody; }

 protected:
  Connection(std::shared_ptr<Shared> shared, std::string peer);

  // They end in a call of HasRead and HasWritten.
  virtual void StartRead(boost::asio::mutable_buffer into) = 0;
  virtual void StartWrite(const std::array<boost::asio::const_buffer, 2>& bytes) = 0;
  // Says to the other side that nothing more will be sent; with TLS, closes when it has agreed.
  virtual void EndSending() = 0;
  virtual void CloseSocket() = 0;

  // Begins to wait for the first request.
  void Started(std::string certificate, bool secure);
  void HasRead(bool good, size_t bytes);
  void HasWritten(bool good);

 private:
  friend class ConnectionExchange;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  enum class State : uint8_t {
    kHandshake,
    kIdle,
    kHeader,
    kBody,      // up to here no request has come whole
    kHandling,  // the site has it
    kWriting,
    kStreaming,
    kLingering,  // answered before the request was whole; takes what still comes, for the answer to arrive
    kClosed
  };

  void Wait();
  void Parse();
  void BeginHeader();
  // Whether the request may go on.
  bool HeaderDone(std::string_view header);
  bool ChargeBody(int64_t bytes);
  void Refuse(int status, std::string_view code, std::string_view message);
  void RefuseMalformed(const boost::system::error_code& error);
  Request Head() const;
  void Dispatch();
  void ReadMore();
  void SetDeadline(int64_t seconds) { deadline_ = shared_.now + seconds; }
  // As much time as what has come of the body by now may take.
  void SetBodyDeadline() { deadline_ = body_began_ + SecondsFor(received_); }
  int64_t SecondsFor(int64_t bytes) const;

  // From the exchange; `number` is that of its request.
  void Answer(uint64_t number, Response response);
  void BeginStream(uint64_t number, Response head, Producer producer);
  void Woken(uint64_t number);
  void WriteHead(const Response& response, int64_t length);
  void Write();
  void ReturnCharge();
  void WritePiece();
  void Finished();
  void ClientGone();

  const std::shared_ptr<Shared> owner_;
  Shared& shared_;
  std::list<Connection*>::iterator place_;
  std::string peer_, certificate_;
  bool secure_ = false;
  State state_ = State::kHandshake;
  int64_t deadline_ = 0;  // 0: none
  int64_t body_began_ = 0;

  std::string buffer_;  // what was read and not yet parsed: [begin_, end_)
  size_t begin_ = 0, end_ = 0;
  bool reading_ = false, writing_ = false;
  bool more_to_write_ = false;  // head_ and body_ wait for "100 Continue" to be written
  bool ended_ = false;          // the client sends no more
  std::optional<Parser> parser_;
  Request request_;      // but for its body, from the end of the header on
  int64_t charged_ = 0;  // bytes taken from the budget
  int64_t received_ = 0;
  bool keep_alive_ = false, head_only_ = false, old_ = false, whole_ = false;

  uint64_t number_ = 0;  // of the request in hand
  std::weak_ptr<ConnectionExchange> exchange_;
  std::string head_, body_;
  Producer producer_;
  bool chunked_ = false, last_ = false;
};

}  // namespace plinth::server::http
