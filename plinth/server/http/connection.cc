#include "plinth/server/http/connection.h"

#include <algorithm>
#include <cstring>

#include "plinth/base/text.h"
#include "plinth/server/http/connection_exchange.h"
#include "plinth/server/http/framing.h"

namespace plinth::server::http {
namespace {

namespace beast = boost::beast::http;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
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
    const std::string_view header(buffer_.data() + begin_, end_ - begin_);
    const size_t taken = parser_->put(boost::asio::buffer(header.data(), header.size()), error);
    begin_ += taken;
    if (error && error != beast::error::need_more) {
      RefuseMalformed(error);
      return;
    }
    if (state_ == State::kHeader && parser_->is_header_done()) {
      // The parser takes a header in one piece, once it is there.
      if (!HeaderDone(header.substr(0, taken))) return;
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
    if (state_ == State::kBody) {
      // What lies between the parts of a chunked body and behind it is no body, and has no other bound.
      if (end_ - begin_ > static_cast<size_t>(shared_.limits.header_bytes)) {
        Refuse(400, "malformed_request",
               StrCat("a chunk's extensions, or the fields behind the body, are larger than ",
                      shared_.limits.header_bytes, " bytes"));
        return;
      }
      SetBodyDeadline();
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

bool Connection::HeaderDone(std::string_view header) {
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
  if (const std::string wrong = CheckFraming(header, request_.target, request_.fields, old_);
      !wrong.empty()) {
    Refuse(400, "malformed_request", wrong);
    return false;
  }
  const std::string_view expect = request_.Field("expect");
  if (!expect.empty() && !boost::beast::iequals(message[beast::field::expect], "100-continue")) {
    Refuse(417, "expectation", "100-continue is all that may be expected");
    return false;
  }
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
  body_began_ = shared_.now;
  SetBodyDeadline();
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

}  // namespace plinth::server::http
