#include "bench/serve/load.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>

#include "plinth/base/clock.h"

namespace plinth::bench {
namespace {

struct Connection {
  int socket = -1;
  bool busy = false;
  double due = 0;
  const std::string* request = nullptr;
  size_t sent = 0;
  std::string answer;
  size_t want = 0;  // bytes of the whole answer, once its header is known
};

double Now() { return static_cast<double>(Clock::System().Monotonic()) / 1e9; }

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "bench: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

int Connect(uint16_t port) {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) Fail("connect");
  const int on = 1;
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(s, F_SETFL, O_NONBLOCK);
  return s;
}

class Load {
 public:
  explicit Load(const LoadOptions& options) : o_(options), epoll_(epoll_create1(0)), random_(options.seed) {
    for (int c = 0; c < o_.connections; ++c) {
      Connection& connection = connections_.emplace_back();
      connection.socket = Connect(o_.port);
      epoll_event event{EPOLLIN, {.u64 = static_cast<uint64_t>(c)}};
      epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.socket, &event);
      free_.push_back(static_cast<size_t>(c));
    }
  }
  ~Load() {
    for (const Connection& connection : connections_) close(connection.socket);
    close(epoll_);
  }

  LoadResult Run() {
    const double began = Now(), end = began + o_.seconds;
    double next = began;
    std::exponential_distribution<double> gap(o_.rate > 0 ? o_.rate : 1);
    while (true) {
      const double now = Now();
      if (o_.rate > 0) {
        for (; next <= now && next < end; next += gap(random_)) due_.push_back(next);
      } else if (now < end) {
        due_.assign(free_.size(), now);
      }
      while (!due_.empty() && !free_.empty()) Begin();
      const bool over = now >= end && due_.empty() && free_.size() == connections_.size();
      if (over || now > end + 30) break;
      Wait(o_.rate > 0 && now < end ? std::min(next - now, 0.05) : 0.05);
    }
    result_.seconds = Now() - began;
    std::sort(result_.latencies.begin(), result_.latencies.end());
    return std::move(result_);
  }

 private:
  void Begin() {
    const size_t c = free_.front();
    free_.pop_front();
    Connection& connection = connections_[c];
    connection.due = due_.front();
    due_.pop_front();
    connection.request = &o_.requests[turn_++ % o_.requests.size()];
    connection.sent = 0;
    connection.answer.clear();
    connection.want = 0;
    Send(c);
  }

  void Send(size_t c) {
    Connection& connection = connections_[c];
    while (connection.sent < connection.request->size()) {
      const ssize_t n = send(connection.socket, connection.request->data() + connection.sent,
                             connection.request->size() - connection.sent, MSG_NOSIGNAL);
      if (n > 0) {
        connection.sent += static_cast<size_t>(n);
        continue;
      }
      if (errno != EAGAIN) Fail("send");
      pollfd one{connection.socket, POLLOUT, 0};
      poll(&one, 1, 1000);
    }
  }

  void Wait(double seconds) {
    epoll_event events[256];
    const timespec time{static_cast<time_t>(seconds),
                        static_cast<long>((seconds - static_cast<time_t>(seconds)) * 1e9)};
    const int n = epoll_pwait2(epoll_, events, 256, &time, nullptr);
    for (int e = 0; e < n; ++e) Read(events[e].data.u64);
  }

  void Read(size_t c) {
    Connection& connection = connections_[c];
    char bytes[65536];
    const ssize_t n = recv(connection.socket, bytes, sizeof bytes, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) Fail("the server closed a connection");
    connection.answer.append(bytes, static_cast<size_t>(n));
    const size_t header = connection.want == 0 ? connection.answer.find("\r\n\r\n") : 0;
    if (header == std::string::npos) return;
    if (connection.want == 0) {
      const size_t field = connection.answer.find("content-length: ");
      if (field > header) Fail("an answer without content-length");
      connection.want = header + 4 + std::strtoull(connection.answer.c_str() + field + 16, nullptr, 10);
    }
    if (connection.answer.size() < connection.want) return;
    const bool good = connection.answer.compare(0, 12, "HTTP/1.1 200") == 0;
    ++(good ? result_.answered : result_.failed);
    if (good) result_.latencies.push_back(Now() - connection.due);
    free_.push_back(c);
  }

  const LoadOptions& o_;
  const int epoll_;
  std::mt19937_64 random_;
  std::vector<Connection> connections_;
  std::deque<size_t> free_;
  std::deque<double> due_;
  size_t turn_ = 0;
  LoadResult result_;
};

}  // namespace

double LoadResult::Quantile(double q) const {
  if (latencies.empty()) return 0;
  const double at = q * static_cast<double>(latencies.size() - 1);
  return latencies[static_cast<size_t>(at + 0.5)];
}

LoadResult RunLoad(const LoadOptions& options) { return Load(options).Run(); }

}  // namespace plinth::bench
