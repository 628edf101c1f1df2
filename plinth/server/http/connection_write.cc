// How a connection writes its answers; connection.cc reads the requests.
#include <algorithm>
#include <utility>

#include "plinth/base/text.h"
#include "plinth/server/http/connection_exchange.h"

namespace plinth::server::http {
namespace {

constexpr int64_t kLingerSeconds = 2;
constexpr size_t kMostKept = 256 << 10;  // of memory for answers, between two

}  // namespace

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
  if (body_.capacity() > kMostKept) body_.shrink_to_fit();
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
