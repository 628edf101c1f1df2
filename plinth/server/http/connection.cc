#include "plinth/server/http/connection.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <cstring>
#include <mutex>
#include <vector>

#include "plinth/base/text.h"

namespace plinth::server::http {
namespace {

namespace beast = boost::beast::http;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr int64_t kLingerSeconds = 2;
constexpr size_t kLeastRead = 4096, kMostRead = 256 << 10;
// Requests sent ahead of their answers are read up to here.
constexpr size_t kAhead = 64 << 10;

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

class ConnectionExchange : public Exchange {
 public:
  ConnectionExchange(std::shared_ptr<Connection> connection, uint64_t number)
      : connection_(std::move(connection)), number_(number) {}
  ~ConnectionExchange() override {
    if (answered_) return;
    Send(ErrorResponse(500, "internal",
                       "the request was dropped without an answer; this is a fault of the server"));
  }

  void Send(Response response) override {
    if (answered_.exchange(true)) return;
    boost::asio::dispatch(
        connection_->shared_.io,
        [c = connection_, n = number_, r = std::move(response)]() mutable { c->Answer(n, std::move(r)); });
  }

  void Stream(Response head, Producer producer) override {
    if (answered_.exchange(true)) return;
    boost::asio::dispatch(connection_->shared_.io, [c = connection_, n = number_, r = std::move(head),
                                                    p = std::move(producer)]() mutable {
      c->BeginStream(n, std::move(r), std::move(p));
    });
  }

  void Wake() override {
    boost::asio::dispatch(connection_->shared_.io, [c = connection_, n = number_] { c->Woken(n); });
  }

  void Run(std::function<void()> then) override {
    boost::asio::dispatch(connection_->shared_.io, std::move(then));
  }

  bool gone() const override { return gone_; }

  void OnGone(std::function<void()> then) override {
    {
      const std::lock_guard lock(mutex_);
      if (!gone_) {
        then_.push_back(std::move(then));
        return;
      }
    }
    then();
  }

  void SetGone() {
    std::vector<std::function<void()>> then;
    {
      const std::lock_guard lock(mutex_);
      gone_ = true;
      then.swap(then_);
    }
    for (const auto& call : then) call();
  }

 private:
  const std::shared_ptr<Connection> connection_;
  const uint64_t number_;
  std::atomic<bool> answered_ = false, gone_ = false;
  std::mutex mutex_;
  std::vector<std::function<void()>> then_;
};

Connection::Connection(std::shared_ptr<Shared> shared, std::string peer)
    : owner_(std::move(shared)), shared_(*owner_), peer_(std::move(peer)) {
  place_ = shared_.all.insert(shared_.all.end(), this);
  SetDeadline(shared_.limits.header_seconds);
}

void Connection::Started(std::string certificate, bool secure) {
  certificate_ = std::move(certificate);
  secure_ = secure;
  Wait();
}

void Connection::Tick() {
  if (deadline_ == 0 || shared_.now <= deadline_) return;
  if (state_ == State::kHeader || state_ == State::kBody) {
    Refuse(408, "request_timeout",
           state_ == State::kHeader ? "the header of the request did not come in time"
                                    : "the body of the request came too slowly");
    return;
  }
  Close();
}

void Connection::Drain() {
  keep_alive_ = false;
  if (state_ == State::kIdle) Close();
}

void Connection::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  shared_.all.erase(place_);
  ReturnCharge();
  ClientGone();
  producer_ = nullptr;
  CloseSocket();
}

void Connection::ReturnCharge() {
  shared_.budget->Return(charged_);
  charged_ = 0;
}

void Connection::ClientGone() {
  if (const auto exchange = exchange_.lock()) exchange->SetGone();
}

int64_t Connection::SecondsFor(int64_t bytes) const {
  return shared_.limits.header_seconds + bytes / shared_.limits.least_bytes_per_second;
}

void Connection::Wait() {
  state_ = State::kIdle;
  SetDeadline(shared_.limits.idle_seconds);
  shared_.all.splice(shared_.all.end(), shared_.all, place_);
  Parse();
}

void Connection::ReadMore() {
  if (reading_ || ended_) return;
  if (begin_ == end_) begin_ = end_ = 0;
  if (begin_ > 0 && end_ == buffer_.size()) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // Large pieces for large bodies, so that they do not come in thousands of calls.
  const size_t want = received_ > static_cast<int64_t>(kMostRead) ? kMostRead : kLeastRead;
  if (buffer_.size() < end_ + want) buffer_.resize(end_ + want);
  reading_ = true;
  StartRead({buffer_.data() + end_, buffer_.size() - end_});
}

void Connection::HasRead(bool good, size_t bytes) {
  reading_ = false;
  if (state_ == State::kClosed) return;
  end_ += bytes;
  received_ += static_cast<int64_t>(bytes);
  if (!good) ended_ = true;
  switch (state_) {
    case State::kIdle:
    case State::kHeader:
    case State::kBody:
      Parse();
      return;
    case State::kLingering:
      begin_ = end_ = 0;
      if (ended_) {
        Close();
      } else {
        ReadMore();
      }
      return;
    default:
      if (ended_) {
        ClientGone();
      } else if (end_ - begin_ < kAhead) {
        ReadMore();
      }
  }
}

void Connection::BeginHeader() {
  state_ = State::kHeader;
  SetDeadline(shared_.limits.header_seconds);
  received_ = static_cast<int64_t>(end_ - begin_);
  whole_ = false;
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(shared_.limits.header_bytes));
  parser_->body_limit(static_cast<uint64_t>(shared_.limits.body_bytes));
}

void Connection::Parse() {
  while (true) {
    if (state_ == State::kIdle) {
      // An empty line before a request is allowed (RFC 9112, 2.2).
      while (begin_ < end_ && (buffer_[begin_] == '\r' || buffer_[begin_] == '\n')) ++begin_;
      if (begin_ == end_) {
        if (ended_ || shared_.draining) {
          Close();
        } else {
          ReadMore();
        }
        return;
      }
      BeginHeader();
    }
    boost::system::error_code error;
    begin_ += parser_->put(boost::asio::buffer(buffer_.data() + begin_, end_ - begin_), error);
    if (error && error != beast::error::need_more) {
      RefuseMalformed(error);
      return;
    }
    if (state_ == State::kHeader && parser_->is_header_done()) {
      if (!HeaderDone()) return;
      state_ = State::kBody;
      if (!parser_->is_done() && begin_ < end_) continue;
    }
    if (state_ == State::kBody && !ChargeBody(static_cast<int64_t>(parser_->get().body().size()))) return;
    if (parser_->is_done()) {
      Dispatch();
      return;
    }
    if (!error && begin_ < end_) continue;
    if (ended_) {
      Close();
      return;
    }
    ReadMore();
    return;
  }
}

void Connection::RefuseMalformed(const boost::system::error_code& error) {
  if (error == beast::error::body_limit) {
    Refuse(413, "body_too_large",
           StrCat("the body is larger than ", shared_.limits.body_bytes,
                  " bytes; send fewer series at once, or raise limits.body_bytes"));
  } else if (error == beast::error::header_limit) {
    Refuse(431, "header_too_large",
           StrCat("the header is larger than ", shared_.limits.header_bytes, " bytes"));
  } else if (error == beast::error::bad_version) {
    Refuse(505, "bad_version", "HTTP/1.1 is spoken here");
  } else {
    Refuse(400, "malformed_request", StrCat("this is not an HTTP/1.1 request: ", error.message()));
  }
}

bool Connection::HeaderDone() {
  const auto& message = parser_->get();
  old_ = message.version() < 11;
  if (message.version() > 11) {
    Refuse(505, "bad_version", "HTTP/1.1 is spoken here");
    return false;
  }
  const auto length = parser_->content_length();
  if (!old_ && message.count(beast::field::host) != 1) {
    Refuse(400, "malformed_request", "a request of HTTP/1.1 needs exactly one host field");
    return false;
  }
  request_ = Head();
  const Status target = SplitTarget(&request_);
  if (!target.ok()) {
    Refuse(400, "malformed_request", std::string(target.message()));
    return false;
  }
  const int64_t bytes = length ? static_cast<int64_t>(*length) : parser_->chunked() ? -1 : 0;
  if (std::optional<Response> refusal = shared_.site.Admit(&request_, bytes)) {
    head_only_ = message.method() == beast::verb::head;
    // What has no body leaves the connection usable.
    keep_alive_ = bytes == 0 && parser_->keep_alive() && !shared_.draining;
    whole_ = bytes == 0;
    parser_.reset();
    state_ = State::kHandling;
    ++number_;
    Answer(number_, std::move(*refusal));
    return false;
  }
  if (!ChargeBody(std::max<int64_t>(bytes, 0))) return false;
  SetDeadline(SecondsFor(bytes < 0 ? shared_.limits.body_bytes : bytes));
  if (bytes != 0 && boost::beast::iequals(message[beast::field::expect], "100-continue")) {
    writing_ = true;
    StartWrite({boost::asio::buffer(kContinue), boost::asio::const_buffer()});
  }
  parser_->eager(true);
  return true;
}

bool Connection::ChargeBody(int64_t bytes) {
  if (bytes <= charged_) return true;
  if (shared_.budget->Take(bytes - charged_)) {
    charged_ = bytes;
    return true;
  }
  Refuse(503, "busy", "the bodies of other requests fill the memory set aside for them; try again soon");
  return false;
}

void Connection::Refuse(int status, std::string_view code, std::string_view message) {
  shared_.site.Refused(peer_, status, message);
  keep_alive_ = false;
  whole_ = false;
  head_only_ = false;
  parser_.reset();
  state_ = State::kHandling;
  ++number_;
  Response response = ErrorResponse(status, code, message);
  if (status == 503) response.fields.emplace_back("retry-after", "1");
  Answer(number_, std::move(response));
}

Request Connection::Head() const {
  const auto& message = parser_->get();
  Request request;
  request.method = View(message.method_string());
  request.target = View(message.target());
  request.peer = peer_;
  request.certificate = certificate_;
  request.secure = secure_;
  for (const auto& field : message) {
    request.fields.emplace_back(Lower(View(field.name_string())), View(field.value()));
  }
  return request;
}

void Connection::Dispatch() {
  const auto& message = parser_->get();
  keep_alive_ = parser_->keep_alive() && !shared_.draining;
  head_only_ = message.method() == beast::verb::head;
  request_.body = std::move(parser_->get().body());
  parser_.reset();
  whole_ = true;
  state_ = State::kHandling;
  deadline_ = 0;
  ++number_;
  auto exchange = std::make_shared<ConnectionExchange>(shared_from_this(), number_);
  exchange_ = exchange;
  shared_.site.Handle(std::move(request_), std::move(exchange));
  // Whoever asks for much and leaves shows as the end of what can be read.
  if (state_ == State::kHandling || state_ == State::kStreaming) ReadMore();
}

void Connection::Answer(uint64_t number, Response response) {
  if (number != number_ || state_ != State::kHandling) return;
  body_ = std::move(response.body);
  const int64_t length = static_cast<int64_t>(body_.size());
  WriteHead(response, length);
  if (head_only_) body_.clear();
  state_ = State::kWriting;
  SetDeadline(SecondsFor(length));
  Write();
}

void Connection::Write() {
  more_to_write_ = writing_;
  if (writing_) return;
  writing_ = true;
  StartWrite({boost::asio::buffer(head_), boost::asio::buffer(body_)});
}

void Connection::WriteHead(const Response& response, int64_t length) {
  std::string& out = head_;
  out.clear();
  StrAppend(&out, "HTTP/1.1 ", response.status, " ", ReasonPhrase(response.status),
            "\r\nserver: plinth\r\ndate: ", shared_.date, "\r\n");
  if (!response.content_type.empty() && response.status != 204 && response.status != 304) {
    StrAppend(&out, "content-type: ", response.content_type, "\r\n");
  }
  if (length >= 0 && response.status != 204 && response.status != 304) {
    StrAppend(&out, "content-length: ", length, "\r\n");
  }
  if (chunked_) StrAppend(&out, "transfer-encoding: chunked\r\n");
  if (!keep_alive_) {
    StrAppend(&out, "connection: close\r\n");
  } else if (old_) {
    StrAppend(&out, "connection: keep-alive\r\n");
  }
  for (const auto& [name, value] : response.fields) StrAppend(&out, name, ": ", value, "\r\n");
  out += "\r\n";
}

void Connection::BeginStream(uint64_t number, Response head, Producer producer) {
  if (number != number_ || state_ != State::kHandling) return;
  chunked_ = !old_;
  if (old_) keep_alive_ = false;
  WriteHead(head, -1);
  producer_ = std::move(producer);
  state_ = State::kStreaming;
  last_ = head_only_;
  body_.clear();
  SetDeadline(SecondsFor(0));
  Write();
}

void Connection::Woken(uint64_t number) {
  if (number == number_ && state_ == State::kStreaming && !writing_) WritePiece();
}

void Connection::WritePiece() {
  if (last_) {
    Finished();
    return;
  }
  std::string piece;
  const Produced produced = producer_(&piece);
  if (produced == Produced::kLater) {
    deadline_ = 0;  // it is not the client who is slow
    return;
  }
  last_ = produced == Produced::kEnd;
  head_.clear();
  body_.clear();
  if (!piece.empty()) {
    if (chunked_) {
      constexpr char kDigits[] = "0123456789abcdef";
      bool begun = false;
      for (int shift = 60; shift >= 0; shift -= 4) {
        const size_t digit = piece.size() >> shift & 15;
        begun = begun || digit != 0;
        if (begun) head_.push_back(kDigits[digit]);
      }
      head_ += "\r\n";
      piece += "\r\n";
    }
    body_ = std::move(piece);
  }
  if (last_ && chunked_) body_ += "0\r\n\r\n";
  SetDeadline(SecondsFor(static_cast<int64_t>(body_.size())));
  Write();
}

void Connection::HasWritten(bool good) {
  writing_ = false;
  if (state_ == State::kClosed) return;
  if (!good) {
    Close();
    return;
  }
  if (more_to_write_) {
    Write();
  } else if (state_ == State::kWriting) {
    Finished();
  } else if (state_ == State::kStreaming) {
    WritePiece();
  }
}

void Connection::Finished() {
  producer_ = nullptr;
  chunked_ = false;
  exchange_.reset();
  ReturnCharge();
  head_.clear();
  body_.clear();
  if (body_.capacity() > kMostRead) body_.shrink_to_fit();
  if (keep_alive_ && !shared_.draining) {
    Wait();
    return;
  }
  if (ended_ || (whole_ && !secure_)) {
    Close();
    return;
  }
  state_ = State::kLingering;
  SetDeadline(kLingerSeconds);
  EndSending();
  if (secure_) return;
  begin_ = end_ = 0;
  ReadMore();
}

}  // namespace plinth::server::http
