#include "plinth/server/grpc/call.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "plinth/base/clock.h"
#include "plinth/base/text.h"
#include "plinth/server/fields.h"
#include "plinth/server/trace.h"

namespace plinth::server::rpc {
namespace {

// Messages travel in a header field, whose size clients bound.
constexpr size_t kMostMessage = 2000;

std::string_view ViewOf(const ::grpc::string_ref& text) { return {text.data(), text.size()}; }

// "ipv4:127.0.0.1:50000" and "ipv6:%5B::1%5D:50000" without what surrounds the address.
std::string AddressOf(const std::string& peer) {
  std::string_view address = peer;
  if (const size_t scheme = address.find(':'); scheme != address.npos) address.remove_prefix(scheme + 1);
  if (const size_t port = address.rfind(':'); port != address.npos) address = address.substr(0, port);
  for (const std::string_view open : {"%5B", "["}) {
    if (address.substr(0, open.size()) == open) address.remove_prefix(open.size());
  }
  for (const std::string_view close : {"%5D", "]"}) {
    if (address.size() >= close.size() && address.substr(address.size() - close.size()) == close)
      address.remove_suffix(close.size());
  }
  return std::string(address);
}

// What there is to know about the client, as a request of HTTP has it.
http::Request RequestOf(const ::grpc::CallbackServerContext& context, std::string_view method, bool tls) {
  http::Request request;
  request.method = "POST";
  request.target = request.path = std::string(method);
  for (const auto& [name, value] : context.client_metadata()) {
    request.fields.emplace_back(ViewOf(name), ViewOf(value));
  }
  request.peer = AddressOf(context.peer());
  request.secure = tls;
  if (const auto auth = context.auth_context(); auth != nullptr) {
    for (const ::grpc::string_ref& subject : auth->FindPropertyValues(GRPC_X509_SUBJECT_PROPERTY_NAME)) {
      request.certificate = std::string(ViewOf(subject));
    }
  }
  request.id = RequestId(request.Field("x-request-id"));
  request.traceparent = TraceParent(request.Field("traceparent"));
  return request;
}

// The status that the same end has over HTTP, as far as load counts it.
int CountedAs(::grpc::StatusCode code) {
  switch (code) {
    case ::grpc::StatusCode::OK:
      return 200;
    case ::grpc::StatusCode::RESOURCE_EXHAUSTED:
      return 429;
    case ::grpc::StatusCode::UNAVAILABLE:
      return 503;
    case ::grpc::StatusCode::INTERNAL:
    case ::grpc::StatusCode::UNKNOWN:
    case ::grpc::StatusCode::DATA_LOSS:
      return 500;
    case ::grpc::StatusCode::DEADLINE_EXCEEDED:
      return 504;
    default:
      return 400;
  }
}

// The value of a text in an error's body.
std::string TextOf(const http::Response& response, std::string_view key) {
  const auto body = JsonBody::Parse(response.body);
  if (!body.ok()) return {};
  const auto field = body->root().Find(key);
  if (!field) return {};
  const auto text = field->Text();
  return text.ok() ? std::string(*text) : std::string();
}

}  // namespace

::grpc::StatusCode CodeOf(int http_status, std::string_view word) {
  using ::grpc::StatusCode;
  struct Row {
    int http;
    StatusCode code;
  };
  constexpr Row kRows[] = {
      {200, StatusCode::OK},
      {400, StatusCode::INVALID_ARGUMENT},
      {401, StatusCode::UNAUTHENTICATED},
      {403, StatusCode::PERMISSION_DENIED},
      {404, StatusCode::NOT_FOUND},
      {409, StatusCode::FAILED_PRECONDITION},
      {413, StatusCode::RESOURCE_EXHAUSTED},
      {429, StatusCode::RESOURCE_EXHAUSTED},
      {499, StatusCode::CANCELLED},
      {501, StatusCode::UNIMPLEMENTED},
      {503, StatusCode::UNAVAILABLE},
      {504, StatusCode::DEADLINE_EXCEEDED},
  };
  // Statuses of HTTP that stand for more than one thing.
  if (word == "out_of_memory") return StatusCode::RESOURCE_EXHAUSTED;
  if (word == "already_exists") return StatusCode::ALREADY_EXISTS;
  if (word == "broken") return StatusCode::DATA_LOSS;
  for (const Row& row : kRows) {
    if (row.http == http_status) return row.code;
  }
  return StatusCode::INTERNAL;
}

void Reactor::OnCancel() {
  if (const std::shared_ptr<Call> call = call_.lock()) call->Gone();
}

Call::Call(Shared& shared, ::grpc::CallbackServerContext* context, std::string_view method, bool quiet,
           Reactor* reactor)
    : shared_(shared),
      context_(context),
      method_(method),
      quiet_(quiet),
      reactor_(reactor),
      began_(Clock::System().Monotonic()),
      request_(RequestOf(*context, method, shared.tls)) {
  ++shared_.in_hand;
}

Call::~Call() { End(::grpc::StatusCode::INTERNAL, "the call was given up without an answer", {}); }

bool Call::Admit(http::Scope scope) {
  work_ = scope == http::Scope::kInfer;
  std::optional<http::Response> refusal = shared_.service.access().Check(request_, scope, &request_.key);
  if (!refusal) return true;
  Send(*std::move(refusal));
  return false;
}

void Call::Finish(const Status& status) {
  if (status.ok()) {
    End(::grpc::StatusCode::OK, {}, {});
  } else {
    Send(ToResponse(status));
  }
}

double Call::SecondsLeft() const {
  const auto deadline = context_->deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return 0;
  const std::chrono::duration<double> left = deadline - std::chrono::system_clock::now();
  // One that has passed already still needs a number above none.
  return std::max(left.count(), 1e-6);
}

void Call::Gone() {
  std::function<void()> then;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    gone_ = true;
    then = std::move(on_gone_);
    on_gone_ = nullptr;
  }
  if (then) then();
}

bool Call::gone() const {
  const std::lock_guard lock(mutex_);
  return gone_;
}

void Call::OnGone(std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    if (!gone_) {
      on_gone_ = std::move(then);
      return;
    }
  }
  then();
}

void Call::Send(http::Response response) {
  const std::string message = TextOf(response, "error");
  std::string_view retry_after;
  for (const auto& [name, value] : response.fields) {
    if (name == "retry-after") retry_after = value;
  }
  End(CodeOf(response.status, TextOf(response, "code")), message.empty() ? "refused" : message, retry_after);
}

void Call::Stream(http::Response, http::Producer) {
  End(::grpc::StatusCode::INTERNAL, "a streamed answer has no form in this call", {});
}

void Call::End(::grpc::StatusCode code, const std::string& message, std::string_view retry_after) {
  std::function<void()> forgotten;  // ends outside the lock
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = true;
    forgotten = std::move(on_gone_);
  }
  Service& service = shared_.service;
  const double seconds = static_cast<double>(Clock::System().Monotonic() - began_) / 1e9;
  context_->AddTrailingMetadata("x-request-id", request_.id);
  context_->AddTrailingMetadata("traceparent", request_.traceparent);
  if (!retry_after.empty()) context_->AddTrailingMetadata("retry-after", std::string(retry_after));
  if (service.models().AnyUnproven()) context_->AddTrailingMetadata("plinth-evidence", "unproven");
  service.metrics().Answered("grpc", method_, code, seconds);
  if (work_) service.load().Answered(CountedAs(code), seconds);
  const bool fault = code == ::grpc::StatusCode::INTERNAL || code == ::grpc::StatusCode::UNAVAILABLE ||
                     code == ::grpc::StatusCode::DEADLINE_EXCEEDED;
  const LogLevel level = fault ? LogLevel::kWarn : quiet_ ? LogLevel::kDebug : LogLevel::kInfo;
  if (service.log().Enabled(level)) {
    service.log().Write(level, "request",
                        {{"id", std::string_view(request_.id)},
                         {"traceparent", std::string_view(request_.traceparent)},
                         {"method", std::string_view("grpc")},
                         {"target", method_},
                         {"status", static_cast<int64_t>(code)},
                         {"seconds", seconds},
                         {"peer", std::string_view(request_.peer)},
                         {"key", std::string_view(request_.key)}});
  }
  --shared_.in_hand;
  // Once gRPC has the answer, the server may end, and all that is shared with it.
  reactor_->Finish(::grpc::Status(code, message.substr(0, kMostMessage)));
}

}  // namespace plinth::server::rpc
