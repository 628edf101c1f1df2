#include "plinth/server/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace plinth::server {
namespace {

using http::Produced;
using testing::HasSubstr;

// A connection whose reader takes when the test says so.
class Reader : public http::Exchange {
 public:
  void Send(http::Response response) override { sent = std::move(response); }
  void Stream(http::Response head, http::Producer with) override {
    sent = std::move(head);
    producer = std::move(with);
  }
  void Wake() override { ++woken; }
  void Run(std::function<void()> then) override { then(); }
  bool gone() const override { return false; }
  void OnGone(std::function<void()>) override {}

  std::string Take() {
    std::string all;
    while (true) {
      std::string piece;
      last = producer(&piece);
      all += piece;
      if (last != Produced::kPiece) return all;
    }
  }

  http::Response sent{.status = 0, .content_type = {}, .body = {}, .fields = {}};
  http::Producer producer;
  std::atomic<int> woken = 0;
  Produced last = Produced::kPiece;
};

// Lets go of the stream at its end, as a connection does.
class Opened {
 public:
  ~Opened() { reader_->producer = nullptr; }
  Reader* operator->() const { return reader_.get(); }
  operator http::ExchangePtr() const { return reader_; }  // NOLINT(google-explicit-constructor)

 private:
  const std::shared_ptr<Reader> reader_ = std::make_shared<Reader>();
};

TEST(Events, ReachEveryReaderInOrder) {
  Events events({});
  const Opened a, b;
  events.Serve(a);
  events.Serve(b);
  EXPECT_EQ(a->sent.content_type, "text/event-stream");
  EXPECT_THAT(a->Take(), HasSubstr("event: hello\n"));
  EXPECT_EQ(a->last, Produced::kLater);
  events.Publish("alarm", R"({"id":1})");
  events.Publish("alarm", R"({"id":2})");
  EXPECT_EQ(a->woken, 2);
  EXPECT_EQ(a->Take(), "event: alarm\ndata: {\"id\":1}\n\nevent: alarm\ndata: {\"id\":2}\n\n");
  EXPECT_THAT(b->Take(), HasSubstr("{\"id\":2}"));
}

TEST(Events, AReaderThatDoesNotKeepUpIsToldSo) {
  Events events({.queue = 3});
  const Opened slow;
  events.Serve(slow);
  for (int i = 0; i < 100; ++i) events.Publish("forecast", "{}");
  const std::string got = slow->Take();
  EXPECT_THAT(got, HasSubstr("event: lost\n"));
  EXPECT_LT(got.size(), 200u);
  events.Publish("alarm", "{}");
  EXPECT_EQ(slow->Take(), "event: alarm\ndata: {}\n\n");
}

TEST(Events, AreBoundedInReaders) {
  Events events({.readers = 1});
  const Opened first, second;
  events.Serve(first);
  events.Serve(second);
  EXPECT_EQ(second->sent.status, 503);
  EXPECT_EQ(events.readers(), 1u);
  first->producer = nullptr;  // however its stream ended
  EXPECT_EQ(events.readers(), 0u);
  const Opened third;
  events.Serve(third);
  EXPECT_EQ(third->sent.status, 200);
}

TEST(Events, CloseEndsStreams) {
  const Opened reader, late;
  {
    Events events({});
    events.Serve(reader);
    events.Publish("alarm", "{}");
    events.Close();
    EXPECT_THAT(reader->Take(), HasSubstr("event: alarm")) << "what was said before is still given";
    EXPECT_EQ(reader->last, Produced::kEnd);
    events.Serve(late);
    EXPECT_EQ(late->sent.status, 503);
  }
  reader->producer = nullptr;  // after the service
}

TEST(Events, SaysThatItLives) {
  Events events({.heartbeat_nanoseconds = 1'000'000});
  const Opened reader;
  events.Serve(reader);
  reader->Take();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (reader->woken == 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_THAT(reader->Take(), HasSubstr(":\n\n"));
}

}  // namespace
}  // namespace plinth::server
