#include "plinth/server/http/listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "plinth/base/text.h"

namespace plinth::server::http {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A client that says exactly what it is told to.
class Client {
 public:
  explicit Client(uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~Client() { Close(); }
  void Close() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }
  bool connected() const { return connected_; }
  void Send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }
  void EndSending() const { shutdown(socket_, SHUT_WR); }
  // What comes until `end` has come, the other side closes, or `milliseconds` have passed.
  std::string Read(std::string_view end, int milliseconds = 5000) {
    std::string out = std::move(rest_);
    rest_.clear();
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (true) {
      const size_t at = end.empty() ? out.npos : out.find(end);
      if (at != out.npos) {
        rest_ = out.substr(at + end.size());
        out.resize(at + end.size());
        return out;
      }
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      pollfd one{socket_, POLLIN, 0};
      if (left.count() <= 0 || poll(&one, 1, static_cast<int>(left.count())) <= 0) return out;
      char bytes[65536];
      const ssize_t got = recv(socket_, bytes, sizeof bytes, 0);
      if (got <= 0) {
        closed_ = true;
        return out;
      }
      out.append(bytes, static_cast<size_t>(got));
    }
  }
  std::string ReadAll(int milliseconds = 5000) { return Read("", milliseconds); }
  bool closed() const { return closed_; }
  int socket() const { return socket_; }

 private:
  static int socket(int family, int type, int protocol) { return ::socket(family, type, protocol); }
  int socket_;
  bool connected_ = false, closed_ = false;
  std::string rest_;
};

// Answers with what it was asked.
class Echo : public Site {
 public:
  std::optional<Response> Admit(Request* head, int64_t body_bytes) override {
    if (head->path != "/closed") return std::nullopt;
    admitted_bytes = body_bytes;
    return ErrorResponse(401, "no_key", "a key is needed");
  }
  void Handle(Request request, ExchangePtr exchange) override {
    ++handled;
    if (request.path == "/later") {
      const std::lock_guard lock(mutex);
      kept.push_back(std::move(exchange));
      return;
    }
    if (request.path == "/drop") return;
    if (request.path == "/stream") {
      exchange->Stream({.status = 200, .content_type = "text/plain"},
                       [this, n = 0, end = std::stoi(*request.Query("pieces"))](std::string* piece) mutable {
                         ++asked;
                         if (n == end) return Produced::kEnd;
                         *piece = StrCat("piece ", n++, std::string(10000, 'x'), "\n");
                         return Produced::kPiece;
                       });
      return;
    }
    if (request.path == "/events") {
      exchange->Stream({.status = 200, .content_type = "text/event-stream"}, [this](std::string* piece) {
        const std::lock_guard lock(mutex);
        if (events.empty()) return ended ? Produced::kEnd : Produced::kLater;
        *piece = std::move(events.front());
        events.erase(events.begin());
        return Produced::kPiece;
      });
      const std::lock_guard lock(mutex);
      kept.push_back(std::move(exchange));
      return;
    }
    Response response;
    response.content_type = "text/plain";
    response.body = StrCat(request.method, " ", request.path, " ", request.body, "|", request.Field("x-a"));
    exchange->Send(std::move(response));
  }
  void Refused(const std::string&, int status, std::string_view) override { refused = status; }

  ExchangePtr Kept() {
    for (int i = 0; i < 500; ++i) {
      {
        const std::lock_guard lock(mutex);
        if (!kept.empty()) return kept.back();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return nullptr;
  }

  std::atomic<int> handled = 0, asked = 0, refused = 0;
  std::atomic<int64_t> admitted_bytes = -2;
  std::mutex mutex;
  std::vector<ExchangePtr> kept;
  std::vector<std::string> events;
  bool ended = false;
};

class ListenerTest : public testing::Test {
 protected:
  void Start(const Limits& limits = {}, int threads = 1) {
    ListenOptions options;
    options.limits = limits;
    options.threads = threads;
    auto started = Listener::Start(options, site_);
    ASSERT_TRUE(started.ok()) << started.status();
    listener_ = *std::move(started);
  }
  void TearDown() override {
    {
      const std::lock_guard lock(site_.mutex);
      site_.kept.clear();
    }
    listener_.reset();
  }
  uint16_t port() const { return listener_->port(); }

  Echo site_;
  std::unique_ptr<Listener> listener_;
};

constexpr char kGet[] = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n";

TEST_F(ListenerTest, AnswersAndKeepsTheConnection) {
  Start();
  Client client(port());
  for (int i = 0; i < 3; ++i) {
    client.Send("POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-A: v\r\nContent-Length: 4\r\n\r\nbody");
    const std::string answer = client.Read("POST /a body|v");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, HasSubstr("content-length: 14\r\n"));
    EXPECT_THAT(answer, testing::ContainsRegex("date: [A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} 20[0-9]{2} "));
    EXPECT_THAT(answer, testing::Not(HasSubstr("connection:")));
  }
  EXPECT_EQ(site_.handled, 3);
}

TEST_F(ListenerTest, TakesRequestsByteByByteAndSeveralAtOnce) {
  Start();
  Client client(port());
  for (const char c : std::string("POST /b HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc")) {
    client.Send(std::string(1, c));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(client.Read("POST /b abc|"), HasSubstr("200 OK"));
  client.Send(StrCat(kGet, kGet, "\r\n", "GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"));
  const std::string all = client.ReadAll();
  EXPECT_TRUE(client.closed());
  EXPECT_THAT(all, testing::MatchesRegex("(.|\n)*GET /a(.|\n)*GET /a(.|\n)*GET /last(.|\n)*"));
  EXPECT_THAT(all, HasSubstr("connection: close\r\n"));
}

TEST_F(ListenerTest, TakesChunkedBodiesAndExpectations) {
  Start();
  Client client(port());
  client.Send(
      "POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n");
  EXPECT_THAT(client.Read("POST /c abcdefg|"), HasSubstr("200 OK"));
  client.Send("POST /d HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n");
  EXPECT_EQ(client.Read("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ok");
  EXPECT_THAT(client.Read("POST /d ok|"), HasSubstr("200 OK"));
}

TEST_F(ListenerTest, HeadHasNoBodyAndOldClientsAreClosed) {
  Start();
  Client client(port());
  client.Send("HEAD /a HTTP/1.1\r\nhost: x\r\n\r\n");
  EXPECT_THAT(client.Read("\r\n\r\n"), HasSubstr("content-length: 9\r\n"));
  client.Send("GET /old HTTP/1.0\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_TRUE(client.closed());
  Client kept(port());
  kept.Send("GET /old HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
  EXPECT_THAT(kept.Read("GET /old |"), HasSubstr("connection: keep-alive"));
  kept.Send("GET /stream?pieces=2 HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
  const std::string all = kept.ReadAll();
  EXPECT_THAT(all, testing::Not(HasSubstr("chunked")));
  EXPECT_TRUE(kept.closed());
}

TEST_F(ListenerTest, RefusesWhatIsNoRequest) {
  Start({.header_bytes = 1000, .body_bytes = 100});
  const std::pair<std::string, int> cases[] = {
      {"nonsense\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n", 400},
      {"GET /%zz?%zz HTTP/1.1\r\nhost: x\r\n\r\n", 400},
      {"GET http://x/ HTTP/1.1\r\nhost: x\r\n\r\n", 400},
      {"GET /a HTTP/2.0\r\nhost: x\r\n\r\n", 505},
      {"GET /a HTTP/1.1\r\nhost: x\r\nbad name: y\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\nhost: x\r\ncontent-length: 1x\r\n\r\n", 400},
      {"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", 400},
      {"POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n0\r\n\r\n",
       400},
      {"POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400},
      {StrCat("GET /a HTTP/1.1\r\nhost: x\r\nlong: ", std::string(2000, 'x'), "\r\n\r\n"), 431},
      {"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 101\r\n\r\n", 413},
      {"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999\r\n\r\n", 413},
      {StrCat("POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffff\r\n",
              std::string(65535, 'x')),
       413},
  };
  for (const auto& [text, status] : cases) {
    Client client(port());
    client.Send(text);
    const std::string answer = client.ReadAll(3000);
    EXPECT_THAT(answer, StartsWith(StrCat("HTTP/1.1 ", status, " "))) << text.substr(0, 100);
    EXPECT_THAT(answer, HasSubstr("{\"error\":\"")) << text.substr(0, 100);
    EXPECT_THAT(answer, HasSubstr("connection: close")) << text.substr(0, 100);
    EXPECT_TRUE(client.closed()) << text.substr(0, 100);
    EXPECT_EQ(site_.refused, status);
  }
  EXPECT_EQ(site_.handled, 0);
}

// What a proxy before the service could read in another way than the service does.
TEST_F(ListenerTest, RefusesWhatCouldSmuggleARequest) {
  Start({.header_bytes = 1000, .header_seconds = 1});
  const std::string post = "POST /a HTTP/1.1\r\nhost: x\r\n", chunked = "transfer-encoding: chunked\r\n";
  const std::pair<std::string, int> cases[] = {
      {post + "content-length: 4\r\n" + chunked + "\r\n0\r\n\r\n", 400},
      {post + "content-length: 4\r\ncontent-length: 4\r\n\r\nabcd", 400},
      {post + "content-length: 4, 4\r\n\r\nabcd", 400},
      {post + "content-length: +4\r\n\r\nabcd", 400},
      {post + "content-length : 4\r\n\r\nabcd", 400},
      {post + chunked + chunked + "\r\n0\r\n\r\n", 400},
      {post + "transfer-encoding: identity\r\n\r\n", 400},
      {post + "transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400},
      {post + "transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400},
      {post + "transfer-encoding: \x0b" + "chunked\r\n\r\n0\r\n\r\n", 400},
      {post + "a: b\r\n transfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {post + "a: b\nc: d\r\n\r\n", 400},
      {post + chunked + "\r\n3\nabc\n0\n\n", 408},
      {post + chunked + "\r\n3\r\nabcd\r\n0\r\n\r\n", 400},
      {post + chunked + "\r\n-3\r\nabc\r\n0\r\n\r\n", 400},
      {post + chunked + "\r\n10000000000000003\r\nabc\r\n0\r\n\r\n", 400},
      {"POST /a HTTP/1.0\r\nhost: x\r\n" + chunked + "\r\n0\r\n\r\n", 400},
      {post + "expect: something\r\ncontent-length: 4\r\n\r\n", 417},
      {"GET //x/a HTTP/1.1 \r\nhost: x\r\n\r\n", 505},
      {"GET /a\tb HTTP/1.1\r\nhost: x\r\n\r\n", 400},
      {"GET http://x/a HTTP/1.1\r\nhost: x\r\n\r\n", 400},
      {"CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n", 400},
      // Neither the extensions of a chunk nor what follows the body grow without end.
      {post + chunked + "\r\n3;" + std::string(20000, 'x'), 400},
      {post + chunked + "\r\n0\r\na: " + std::string(20000, 'x'), 400},
  };
  for (const auto& [text, status] : cases) {
    Client client(port());
    client.Send(text);
    const std::string answer = client.ReadAll(3000);
    EXPECT_TRUE(answer.starts_with(StrCat("HTTP/1.1 ", status, " "))) << text.substr(0, 120) << answer;
    EXPECT_EQ(answer.find("server: plinth"), answer.rfind("server: plinth")) << text.substr(0, 120) << answer;
    EXPECT_TRUE(client.closed()) << text.substr(0, 120);
  }
  EXPECT_EQ(site_.handled, 0);
}

TEST_F(ListenerTest, FieldsBehindABodyChangeNothing) {
  Start();
  Client client(port());
  client.Send(
      "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
      "3;ext=\"v\"\r\nabc\r\n0\r\nx-a: later\r\n\r\n");
  client.Send(kGet);
  EXPECT_THAT(client.Read("POST /a abc|"), HasSubstr("200 OK"));
  EXPECT_THAT(client.Read("GET /a |"), HasSubstr("200 OK"));
}

// A client that sends nothing more is not borne for as long as its whole body might take.
TEST_F(ListenerTest, BodiesThatStopComingEndInTime) {
  Start({.header_seconds = 1, .least_bytes_per_second = 1000});
  Client announced(port()), chunked(port());
  announced.Send("POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 50000000\r\n\r\nabc");
  chunked.Send("POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n");
  EXPECT_THAT(announced.ReadAll(5000), HasSubstr("408 Request Timeout"));
  EXPECT_THAT(chunked.ReadAll(5000), HasSubstr("408 Request Timeout"));
}

TEST_F(ListenerTest, RefusalsByTheSiteComeBeforeTheBody) {
  Start();
  Client client(port());
  client.Send("POST /closed HTTP/1.1\r\nhost: x\r\ncontent-length: 50000000\r\n\r\n");
  EXPECT_THAT(client.ReadAll(4000), StartsWith("HTTP/1.1 401 Unauthorized"));
  EXPECT_EQ(site_.admitted_bytes, 50000000);
  // Without a body the connection stays.
  Client other(port());
  other.Send("GET /closed HTTP/1.1\r\nhost: x\r\n\r\n");
  EXPECT_THAT(other.Read("}\n"), StartsWith("HTTP/1.1 401"));
  other.Send(kGet);
  EXPECT_THAT(other.Read("GET /a |"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ListenerTest, BodiesOfAllTogetherAreBounded) {
  Start({.all_body_bytes = 1000});
  Client first(port()), second(port());
  first.Send("POST /later HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n");
  first.Send(std::string(900, 'x'));
  const ExchangePtr kept = site_.Kept();
  ASSERT_NE(kept, nullptr);
  second.Send("POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 200\r\n\r\n");
  const std::string busy = second.ReadAll(4000);
  EXPECT_THAT(busy, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(busy, HasSubstr("retry-after: 1\r\n"));
  kept->Send({});
  first.Read("\r\n\r\n");
  Client third(port());
  third.Send(StrCat("POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 200\r\n\r\n", std::string(200, 'y')));
  EXPECT_THAT(third.Read("y|"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ListenerTest, SlowClientsEndInTime) {
  Start({.header_seconds = 1, .idle_seconds = 1, .least_bytes_per_second = 1 << 20});
  Client silent(port()), header(port()), body(port());
  header.Send("GET /a HTT");
  body.Send("POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc");
  EXPECT_EQ(silent.ReadAll(4000), "");
  EXPECT_TRUE(silent.closed());
  EXPECT_THAT(header.ReadAll(4000), HasSubstr("408 Request Timeout"));
  EXPECT_THAT(body.ReadAll(4000), HasSubstr("the body of the request came too slowly"));
}

TEST_F(ListenerTest, SilentOnesMakeRoomForOthers) {
  Start({.connections = 20});
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(std::make_unique<Client>(port()));
  Client client(port());
  client.Send(kGet);
  EXPECT_THAT(client.Read("GET /a |"), StartsWith("HTTP/1.1 200"));
  EXPECT_LE(listener_->connections(), 21);
}

TEST_F(ListenerTest, TellsWhenTheClientGoes) {
  Start();
  auto client = std::make_unique<Client>(port());
  client->Send("GET /later HTTP/1.1\r\nhost: x\r\n\r\n");
  const ExchangePtr kept = site_.Kept();
  ASSERT_NE(kept, nullptr);
  std::atomic<bool> told = false;
  kept->OnGone([&] { told = true; });
  EXPECT_FALSE(kept->gone());
  client.reset();
  for (int i = 0; i < 500 && !told; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(told);
  EXPECT_TRUE(kept->gone());
  kept->Send({});  // to nobody
}

TEST_F(ListenerTest, AnswersFromOtherThreadsAndForThoseThatNeverDo) {
  Start();
  Client client(port());
  client.Send("GET /later HTTP/1.1\r\nhost: x\r\n\r\n");
  ExchangePtr kept = site_.Kept();
  ASSERT_NE(kept, nullptr);
  std::thread([kept] {
    kept->Send({.body = "{}"});
    kept->Send({.status = 500});  // too late
  }).join();
  EXPECT_THAT(client.Read("{}"), StartsWith("HTTP/1.1 200"));
  client.Send("GET /drop HTTP/1.1\r\nhost: x\r\n\r\n");
  EXPECT_THAT(client.Read("}\n"), StartsWith("HTTP/1.1 500"));
}

TEST_F(ListenerTest, StreamsAsFastAsItIsRead) {
  Start();
  Client client(port());
  client.Send("GET /stream?pieces=3 HTTP/1.1\r\nhost: x\r\n\r\n");
  const std::string all = client.Read("\r\n0\r\n\r\n");
  EXPECT_THAT(all, HasSubstr("transfer-encoding: chunked"));
  EXPECT_THAT(all, HasSubstr("2718\r\npiece 0"));  // 8 + 10000 bytes
  EXPECT_THAT(all, HasSubstr("piece 2"));
  // One that does not read holds what its socket holds, not the whole.
  Client slow(port());
  slow.Send("GET /stream?pieces=100000 HTTP/1.1\r\nhost: x\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(site_.asked, 2000);
  // Meanwhile others are served.
  client.Send(kGet);
  EXPECT_THAT(client.Read("GET /a |"), HasSubstr("200 OK"));
}

TEST_F(ListenerTest, EventsComeWhenTheyHappen) {
  Start();
  Client client(port());
  client.Send("GET /events HTTP/1.1\r\nhost: x\r\n\r\n");
  const ExchangePtr kept = site_.Kept();
  ASSERT_NE(kept, nullptr);
  client.Read("\r\n\r\n");
  for (int i = 0; i < 3; ++i) {
    {
      const std::lock_guard lock(site_.mutex);
      site_.events.push_back(StrCat("data: ", i, "\n\n"));
    }
    kept->Wake();
    EXPECT_THAT(client.Read("\n\n\r\n"), HasSubstr(StrCat("data: ", i)));
  }
  {
    const std::lock_guard lock(site_.mutex);
    site_.ended = true;
  }
  kept->Wake();
  EXPECT_THAT(client.Read("0\r\n\r\n"), testing::EndsWith("0\r\n\r\n"));
}

TEST_F(ListenerTest, DrainsWhatIsInHandAndNoMore) {
  Start({}, 2);
  Client busy(port()), idle(port());
  idle.Send(kGet);
  idle.Read("GET /a |");
  busy.Send("GET /later HTTP/1.1\r\nhost: x\r\n\r\n");
  const ExchangePtr kept = site_.Kept();
  ASSERT_NE(kept, nullptr);
  EXPECT_FALSE(listener_->Drain(50));
  EXPECT_EQ(idle.ReadAll(1000), "");
  EXPECT_TRUE(idle.closed());
  EXPECT_FALSE(Client(port()).connected());
  std::thread later([kept] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kept->Send({.body = "done"});
  });
  EXPECT_TRUE(listener_->Drain(5000));
  later.join();
  EXPECT_THAT(busy.ReadAll(), HasSubstr("done"));
}

TEST_F(ListenerTest, SaysWhyItCannotListen) {
  Start();
  ListenOptions options;
  options.port = port();
  EXPECT_THAT(
      std::string(Listener::Start(options, site_).status().message()),
      HasSubstr(StrCat("cannot listen on 127.0.0.1 port ", port(), ": another program has this port")));
  options.address = "example.org";
  EXPECT_THAT(std::string(Listener::Start(options, site_).status().message()),
              HasSubstr("not an IP address"));
  options = {.address = "203.0.113.1"};
  EXPECT_EQ(Listener::Start(options, site_).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace plinth::server::http
