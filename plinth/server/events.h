// Tells browsers that look on what happens, as server-sent events (WHATWG HTML, "Server-sent events").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "plinth/server/http/exchange.h"

namespace plinth::server {

// Thread-safe. Each reader has a bounded queue: one that does not keep up loses what waits for it and gets
// "event: lost" instead, after which it asks for the whole state again.
class Events {
 public:
  struct Options {
    size_t readers = 64;                             // at once; more get 503
    size_t queue = 64;                               // events that wait for one reader
    int64_t heartbeat_nanoseconds = 15'000'000'000;  // a comment after so long, so that a dead client shows
  };
  explicit Events(Options options);
  // Ends every stream.
  ~Events();

  // Answers `exchange` with the stream, or with 503.
  void Serve(const http::ExchangePtr& exchange);
  // `json` is one line. Costs little where nobody reads.
  void Publish(std::string_view event, std::string_view json);
  // Ends every stream, and each that comes later at once: readers come back to a service that goes on.
  void Close();
  size_t readers() const;

 private:
  struct Reader;
  struct State;
  class Ending;
  using ReaderPtr = std::shared_ptr<Reader>;

  static void Say(State& state, const std::string& text, bool heartbeat);
  static void Beat(State& state);

  const std::shared_ptr<State> state_;  // streams may end after the service
  std::thread beat_;                    // begins with the first reader
};

}  // namespace plinth::server
