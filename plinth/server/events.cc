#include "plinth/server/events.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "plinth/base/signals.h"
#include "plinth/base/text.h"

namespace plinth::server {

using http::ExchangePtr;
using http::Produced;

struct Events::Reader {
  std::mutex mutex;
  std::deque<std::string> queue;
  bool ends = false;
  ExchangePtr exchange;
};

struct Events::State {
  explicit State(const Options& o) : options(o) {}
  const Options options;
  std::mutex mutex;
  std::condition_variable changed;
  std::list<ReaderPtr> readers;
  bool closed = false;
};

// Goes with the stream, however that ends, and takes the reader off the list.
class Events::Ending {
 public:
  Ending(const std::shared_ptr<State>& state, ReaderPtr reader) : state_(state), reader_(std::move(reader)) {}
  ~Ending() {
    if (const auto state = state_.lock()) {
      const std::lock_guard lock(state->mutex);
      state->readers.remove(reader_);
    }
    const std::lock_guard lock(reader_->mutex);
    reader_->exchange.reset();
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

  Produced Next(std::string* piece) const {
    const std::lock_guard lock(reader_->mutex);
    if (reader_->queue.empty()) return reader_->ends ? Produced::kEnd : Produced::kLater;
    for (const std::string& text : reader_->queue) *piece += text;
    reader_->queue.clear();
    return Produced::kPiece;
  }

 private:
  const std::weak_ptr<State> state_;
  const ReaderPtr reader_;
};

Events::Events(Options options) : state_(std::make_shared<State>(options)) {}

Events::~Events() {
  Close();
  if (beat_.joinable()) beat_.join();
}

void Events::Serve(const ExchangePtr& exchange) {
  auto reader = std::make_shared<Reader>();
  reader->exchange = exchange;
  reader->queue.emplace_back("retry: 2000\nevent: hello\ndata: {}\n\n");
  const char* refusal = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->closed) {
      refusal = "the service is about to stop";
    } else if (state_->readers.size() >= state_->options.readers) {
      refusal = "as many as may read events do so already";
    } else {
      state_->readers.push_back(reader);
      if (!beat_.joinable()) beat_ = std::thread([state = state_] { Beat(*state); });
    }
  }
  if (refusal != nullptr) {
    http::Response response = http::ErrorResponse(503, "too_many_readers", refusal);
    response.fields.emplace_back("retry-after", "10");
    exchange->Send(std::move(response));
    return;
  }
  exchange->Stream({.content_type = "text/event-stream",
                    .body = {},
                    .fields = {{"cache-control", "no-store"}, {"x-accel-buffering", "no"}}},
                   [ending = std::make_shared<Ending>(state_, std::move(reader))](std::string* piece) {
                     return ending->Next(piece);
                   });
}

void Events::Publish(std::string_view event, std::string_view json) {
  if (readers() > 0) Say(*state_, StrCat("event: ", event, "\ndata: ", json, "\n\n"), false);
}

void Events::Say(State& state, const std::string& text, bool heartbeat) {
  std::vector<ReaderPtr> readers;
  {
    const std::lock_guard lock(state.mutex);
    readers.assign(state.readers.begin(), state.readers.end());
  }
  for (const ReaderPtr& reader : readers) {
    ExchangePtr exchange;
    {
      const std::lock_guard lock(reader->mutex);
      // A reader that has something to take already needs no sign of life.
      if (heartbeat && !reader->queue.empty()) continue;
      if (reader->queue.size() >= state.options.queue) {
        reader->queue.clear();
        reader->queue.emplace_back("event: lost\ndata: {}\n\n");
      } else {
        reader->queue.push_back(text);
      }
      exchange = reader->exchange;
    }
    if (exchange != nullptr) exchange->Wake();
  }
}

void Events::Beat(State& state) {
  BlockSignals();
  std::unique_lock lock(state.mutex);
  while (!state.closed) {
    state.changed.wait_for(lock, std::chrono::nanoseconds(state.options.heartbeat_nanoseconds));
    if (state.closed) return;
    lock.unlock();
    Say(state, ":\n\n", true);
    lock.lock();
  }
}

void Events::Close() {
  std::vector<ReaderPtr> readers;
  {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
    readers.assign(state_->readers.begin(), state_->readers.end());
  }
  state_->changed.notify_all();
  for (const ReaderPtr& reader : readers) {
    ExchangePtr exchange;
    {
      const std::lock_guard lock(reader->mutex);
      reader->ends = true;
      exchange = reader->exchange;
    }
    if (exchange != nullptr) exchange->Wake();
  }
}

size_t Events::readers() const {
  const std::lock_guard lock(state_->mutex);
  return state_->readers.size();
}

}  // namespace plinth::server
