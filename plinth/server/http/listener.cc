#include "plinth/server/http/listener.h"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

#include "plinth/base/clock.h"
#include "plinth/base/signals.h"
#include "plinth/base/text.h"
#include "plinth/server/http/stream_connection.h"

namespace plinth::server::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr auto kTick = std::chrono::milliseconds(250);
constexpr auto kAfterFailedAccept = std::chrono::milliseconds(50);

// "Mon, 30 Nov 2026 22:00:00 GMT"; the C locale's names, whatever the process has.
std::string HttpDate(int64_t wall_nanoseconds) {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const time_t seconds = static_cast<time_t>(wall_nanoseconds / 1'000'000'000);
  tm t;
  gmtime_r(&seconds, &t);
  char text[40];
  std::snprintf(text, sizeof text, "%s, %02d %s %d %02d:%02d:%02d GMT", kDays[t.tm_wday % 7], t.tm_mday,
                kMonths[t.tm_mon % 12], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
  return text;
}

using TlsContext = std::shared_ptr<asio::ssl::context>;

StatusOr<TlsContext> LoadTls(const TlsOptions& files) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  const auto failed = [](const char* what, const std::string& file, const boost::system::error_code& error) {
    return absl::InvalidArgumentError(StrCat(file, ": ", what, ": ", error.message()));
  };
  boost::system::error_code error;
  context->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                       asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                       asio::ssl::context::no_tlsv1_1 | asio::ssl::context::single_dh_use);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  context->use_certificate_chain_file(files.certificate, error);
  if (error) return failed("not a certificate chain in PEM", files.certificate, error);
  context->use_private_key_file(files.key, asio::ssl::context::pem, error);
  if (error) return failed("not a private key in PEM that belongs to the certificate", files.key, error);
  if (!files.client_ca.empty()) {
    context->load_verify_file(files.client_ca, error);
    if (error) return failed("no certificates of authorities in PEM", files.client_ca, error);
    context->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert, error);
    STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(files.client_ca.c_str());
    if (names != nullptr) SSL_CTX_set_client_CA_list(context->native_handle(), names);
  }
  constexpr unsigned char kSession[] = "plinth";
  SSL_CTX_set_session_id_context(context->native_handle(), kSession, sizeof kSession - 1);
  return context;
}

}  // namespace

Status CheckTls(const TlsOptions& files) { return LoadTls(files).status(); }

struct Listener::State {
  struct Worker {
    Worker(Site& site, const Limits& limits, std::shared_ptr<Budget> budget)
        : shared(std::make_shared<Shared>(site, limits, std::move(budget))),
          work(shared->io.get_executor()),
          timer(shared->io) {}
    std::shared_ptr<Shared> shared;
    asio::executor_work_guard<asio::io_context::executor_type> work;
    asio::steady_timer timer;
    std::atomic<int64_t> open = 0;  // as of the last tick
    std::thread thread;
  };

  State(const ListenOptions& with, Site& of) : options(with), site(of) {
    auto budget = std::make_shared<Budget>(options.limits.all_body_bytes);
    for (int t = 0; t < options.threads; ++t) {
      workers.push_back(std::make_unique<Worker>(site, options.limits, budget));
    }
    acceptor.emplace(workers[0]->shared->io);
    retry.emplace(workers[0]->shared->io);
  }

  void Tick(Worker& worker) {
    Shared& shared = *worker.shared;
    const Clock& clock = Clock::System();
    shared.now = clock.Monotonic() / 1'000'000'000;
    shared.date = HttpDate(clock.Wall());
    for (auto at = shared.all.begin(); at != shared.all.end();) {
      Connection& connection = **at++;  // it may leave the list
      connection.Tick();
    }
    worker.open = static_cast<int64_t>(shared.all.size());
    worker.timer.expires_after(kTick);
    worker.timer.async_wait([this, &worker](const boost::system::error_code& error) {
      if (!error) Tick(worker);
    });
  }

  // Makes room for one more by closing the connection that has waited longest for a request of its own.
  bool MakeRoom(Shared& shared) const {
    const auto most = options.limits.connections / options.threads + 1;
    if (static_cast<int64_t>(shared.all.size()) < most) return true;
    for (Connection* connection : shared.all) {
      if (!connection->waiting()) continue;
      connection->Close();
      return true;
    }
    return false;
  }

  void Admit(Shared& shared, tcp::socket socket, const std::string& peer) {
    if (shared.draining || !MakeRoom(shared)) return;  // closes the socket
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    std::shared_ptr<Connection> connection;
    if (options.tls) {
      TlsContext context;
      {
        const std::lock_guard lock(tls_mutex);
        context = tls;
      }
      connection = std::make_shared<StreamConnection<asio::ssl::stream<tcp::socket>>>(
          worker_of(shared), peer, std::move(socket), *context);
    } else {
      connection =
          std::make_shared<StreamConnection<tcp::socket>>(worker_of(shared), peer, std::move(socket));
    }
    connection->Start();
  }

  std::shared_ptr<Shared> worker_of(Shared& shared) const {
    for (const auto& worker : workers) {
      if (worker->shared.get() == &shared) return worker->shared;
    }
    return nullptr;
  }

  // Deals connections out to the threads in turn.
  void Accept() {
    Worker& worker = *workers[next++ % workers.size()];
    acceptor->async_accept(
        worker.shared->io, [this, &worker](const boost::system::error_code& error, tcp::socket socket) {
          if (!acceptor->is_open()) return;
          if (error) {
            // Out of descriptors, most likely: connections end by themselves, and then there is room.
            retry->expires_after(kAfterFailedAccept);
            retry->async_wait([this](const boost::system::error_code& stopped) {
              if (!stopped && acceptor->is_open()) Accept();
            });
            return;
          }
          boost::system::error_code unknown;
          const auto endpoint = socket.remote_endpoint(unknown);
          const std::string peer = unknown ? std::string() : endpoint.address().to_string();
          if (!unknown) {
            asio::post(worker.shared->io,
                       [this, &worker, peer, s = std::make_shared<tcp::socket>(std::move(socket))] {
                         Admit(*worker.shared, std::move(*s), peer);
                       });
          }
          Accept();
        });
  }

  Status Bind() {
    boost::system::error_code error;
    const std::string name = options.address == "localhost" ? "127.0.0.1" : options.address;
    const auto address = asio::ip::make_address(name, error);
    if (error) {
      return absl::InvalidArgumentError(StrCat("the address \"", options.address,
                                               "\" is not an IP address, such as 127.0.0.1, 0.0.0.0 or ::1"));
    }
    const tcp::endpoint endpoint(address, options.port);
    const std::string where = StrCat(options.address, " port ", options.port);
    acceptor->open(endpoint.protocol(), error);
    if (!error) acceptor->set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor->bind(endpoint, error);
    if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
    if (!error) return absl::OkStatus();
    if (error == asio::error::access_denied) {
      return absl::PermissionDeniedError(
          StrCat("cannot listen on ", where, ": ports below 1024 need root or CAP_NET_BIND_SERVICE"));
    }
    if (error == asio::error::address_in_use) {
      return absl::UnavailableError(StrCat("cannot listen on ", where, ": another program has this port"));
    }
    return absl::UnavailableError(StrCat("cannot listen on ", where, ": ", error.message()));
  }

  void Run() {
    for (auto& worker : workers) {
      Shared& shared = *worker->shared;
      asio::post(shared.io, [this, w = worker.get()] { Tick(*w); });
      worker->thread = std::thread([&shared] {
        // Signals are for the thread that waits for them.
        BlockSignals();
        shared.io.run();
      });
    }
    asio::post(workers[0]->shared->io, [this] { Accept(); });
  }

  void StopAccepting() {
    asio::post(workers[0]->shared->io, [this] {
      boost::system::error_code ignored;
      acceptor->close(ignored);
      retry->cancel();
    });
  }

  // Runs `call` on the thread of each worker and waits for all.
  template <typename Call>
  void OnEach(Call call) {
    for (auto& worker : workers) {
      std::atomic<bool> done = false;
      asio::post(worker->shared->io, [&] {
        call(*worker);
        done = true;
        done.notify_one();
      });
      done.wait(false);
    }
  }

  const ListenOptions options;
  Site& site;
  std::vector<std::unique_ptr<Worker>> workers;
  std::optional<tcp::acceptor> acceptor;
  std::optional<asio::steady_timer> retry;
  size_t next = 0;
  uint16_t port = 0;
  std::mutex tls_mutex;
  TlsContext tls;
};

Listener::Listener(std::unique_ptr<State> state) : state_(std::move(state)) {}

StatusOr<std::unique_ptr<Listener>> Listener::Start(const ListenOptions& options, Site& site) {
  auto state = std::make_unique<State>(options, site);
  if (options.tls) {
    PLINTH_ASSIGN_OR_RETURN(state->tls, LoadTls(options.files));
  }
  PLINTH_RETURN_IF_ERROR(state->Bind());
  state->port = state->acceptor->local_endpoint().port();
  state->Run();
  return std::unique_ptr<Listener>(new Listener(std::move(state)));
}

Listener::~Listener() {
  state_->StopAccepting();
  state_->OnEach([](State::Worker& worker) {
    worker.shared->draining = true;
    worker.timer.cancel();
    while (!worker.shared->all.empty()) worker.shared->all.front()->Close();
    worker.work.reset();
  });
  for (auto& worker : state_->workers) {
    worker->shared->io.stop();
    worker->thread.join();
    // What was still on its way to a connection lets go of it.
    worker->shared->io.restart();
    worker->shared->io.poll();
  }
}

uint16_t Listener::port() const { return state_->port; }

int64_t Listener::connections() const {
  int64_t count = 0;
  for (const auto& worker : state_->workers) count += worker->open;
  return count;
}

Status Listener::ReloadTls() {
  if (!state_->options.tls) return absl::OkStatus();
  PLINTH_ASSIGN_OR_RETURN(TlsContext fresh, LoadTls(state_->options.files));
  const std::lock_guard lock(state_->tls_mutex);
  state_->tls = std::move(fresh);
  return absl::OkStatus();
}

bool Listener::Drain(int64_t milliseconds) {
  const int64_t until = Clock::System().Monotonic() + milliseconds * 1'000'000;
  state_->StopAccepting();
  state_->OnEach([](State::Worker& worker) {
    worker.shared->draining = true;
    auto& all = worker.shared->all;
    for (auto at = all.begin(); at != all.end();) (*at++)->Drain();
  });
  while (true) {
    size_t open = 0;
    state_->OnEach([&](State::Worker& worker) { open += worker.shared->all.size(); });
    if (open == 0) return true;
    if (Clock::System().Monotonic() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace plinth::server::http
