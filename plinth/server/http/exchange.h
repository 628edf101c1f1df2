// Carries one answer back to the client that asked, at once or piece by piece, from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "plinth/server/http/message.h"

namespace plinth::server::http {

// What a producer of a long answer has to say when it is asked for its next piece.
enum class Produced : uint8_t {
  kPiece,  // there is one, and perhaps more
  kLater,  // nothing yet; Exchange::Wake when there is
  kEnd,    // there will be no more
};
using Producer = std::function<Produced(std::string* piece)>;

// Exactly one of Send and Stream is called, once. One that is dropped without an answer sends 500.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual void Send(Response response) = 0;
  // Sends head.status and fields, then what `producer` gives, asked for one piece each time the client has
  // taken the last one, so that a slow reader holds one piece in memory and no thread. It is called on the
  // connection's thread and must not block. A producer is dropped unasked when the client goes.
  virtual void Stream(Response head, Producer producer) = 0;
  virtual void Wake() = 0;

  // Calls `then` on the connection's thread, where answers are best written: the engine's has better to do.
  virtual void Run(std::function<void()> then) = 0;

  // Whether the client has gone; what it asked for may then be left undone.
  virtual bool gone() const = 0;
  // Calls `then` on the connection's thread when the client goes before the answer is complete; at once if it
  // has gone already.
  virtual void OnGone(std::function<void()> then) = 0;
};

using ExchangePtr = std::shared_ptr<Exchange>;

}  // namespace plinth::server::http
