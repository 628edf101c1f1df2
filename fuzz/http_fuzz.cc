// Feeds bytes to a connection of HTTP/1.1 without sockets, once whole and once in pieces whose size the first
// byte gives: requests sent ahead, chunked bodies, limits and the router. However the bytes are cut, the
// same requests are found in them up to the first that is refused, and the connection ends when the client
// does.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/check.h"
#include "plinth/server/http/connection.h"
#include "plinth/server/http/router.h"

namespace {

using namespace plinth::server::http;

constexpr Limits kLimits = {.header_bytes = 1024, .body_bytes = 2048, .all_body_bytes = 3072};

// Moves bytes out of one string and into another.
class MemoryConnection final : public Connection {
 public:
  MemoryConnection(const std::shared_ptr<Shared>& shared, std::string_view input, size_t piece)
      : Connection(shared, "peer"), io_(shared->io), input_(input), piece_(piece) {}
  void Start() override { Started("", false); }
  const std::string& output() const { return output_; }

 private:
  std::shared_ptr<MemoryConnection> Self() {
    return std::static_pointer_cast<MemoryConnection>(shared_from_this());
  }
  void StartRead(boost::asio::mutable_buffer into) override {
    const size_t bytes = std::min({into.size(), piece_, input_.size()});
    std::memcpy(into.data(), input_.data(), bytes);
    input_.remove_prefix(bytes);
    boost::asio::post(io_, [self = Self(), bytes] { self->HasRead(bytes > 0, bytes); });
  }
  void StartWrite(const std::array<boost::asio::const_buffer, 2>& bytes) override {
    PLINTH_CHECK(!writing_);
    writing_ = true;
    for (const auto& part : bytes) output_.append(static_cast<const char*>(part.data()), part.size());
    boost::asio::post(io_, [self = Self()] {
      self->writing_ = false;
      self->HasWritten(true);
    });
  }
  void EndSending() override {}
  void CloseSocket() override {}

  boost::asio::io_context& io_;
  std::string_view input_;
  const size_t piece_;
  bool writing_ = false;
  std::string output_;
};

class Routed final : public Site {
 public:
  std::optional<Response> Admit(Request* head, int64_t body_bytes) override {
    PLINTH_CHECK(!head->path.empty() && head->path[0] == '/');
    PLINTH_CHECK_LE(body_bytes, kLimits.body_bytes);
    if (head->Field("x-key") == "wrong") return ErrorResponse(401, "no_key", "a key is needed");
    return std::nullopt;
  }
  void Handle(Request request, ExchangePtr exchange) override {
    PLINTH_CHECK_LE(request.body.size(), static_cast<size_t>(kLimits.body_bytes));
    handled.push_back(request.method + ' ' + request.target + '\n' + request.body);
    const Found found = router_.Find(request.method, request.path);
    if (found.route == nullptr) {
      exchange->Send(ErrorResponse(found.allow.empty() ? 404 : 405, "no_route", found.wrong));
      return;
    }
    for (const std::string& name : found.names) PLINTH_CHECK(!name.empty() && name.find('\0') == name.npos);
    found.route->handler(std::move(request), found.names, std::move(exchange));
  }
  void Refused(const std::string&, int status, std::string_view message) override {
    PLINTH_CHECK(!ReasonPhrase(status).empty() && !message.empty());
    ++refused;
  }

  std::vector<std::string> handled;
  int refused = 0;

 private:
  static void Echo(Request request, const PathNames&, ExchangePtr exchange) {
    exchange->Send({.content_type = "text/plain", .body = std::move(request.body)});
  }
  static void Stream(const Request&, const PathNames&, const ExchangePtr& exchange) {
    exchange->Stream({}, [n = 0](std::string* piece) mutable {
      piece->assign("piece");
      return ++n < 3 ? Produced::kPiece : Produced::kEnd;
    });
  }
  const Router router_ = Router({{"POST", "/echo", Scope::kPublic, Echo},
                                 {"GET", "/stream", Scope::kPublic, Stream},
                                 {"POST", "/models/{model}/infer", Scope::kPublic, Echo},
                                 {"GET", "/drop", Scope::kPublic, [](auto&&...) {}}});
};

std::vector<std::string> Run(std::string_view input, size_t piece) {
  Routed site;
  const auto budget = std::make_shared<Budget>(kLimits.all_body_bytes);
  {
    const auto shared = std::make_shared<Shared>(site, kLimits, budget);
    shared->date = "Mon, 30 Nov 2026 22:00:00 GMT";
    auto connection = std::make_shared<MemoryConnection>(shared, input, piece);
    connection->Start();
    shared->io.run();
    PLINTH_CHECK(shared->all.empty());
    const std::string& output = connection->output();
    PLINTH_CHECK(output.empty() || output.compare(0, 9, "HTTP/1.1 ") == 0);
    if (!site.handled.empty() || site.refused > 0) PLINTH_CHECK(!output.empty());
    PLINTH_CHECK(site.refused <= 1);
    PLINTH_CHECK_EQ(connection.use_count(), 1L);
  }
  PLINTH_CHECK_EQ(budget->left(), kLimits.all_body_bytes);
  return site.handled;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = data[0] % 16 + 1;
  const std::vector<std::string> whole = Run(input, size), cut = Run(input, piece);
  const size_t both = std::min(whole.size(), cut.size());
  PLINTH_CHECK(std::equal(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(both), cut.begin()));
  return 0;
}
