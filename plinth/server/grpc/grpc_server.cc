#include "plinth/server/grpc/grpc_server.h"

#include <arpa/inet.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "open_inference.grpc.pb.h"
#include "plinth/base/clock.h"
#include "plinth/base/text.h"
#include "plinth/base/version.h"
#include "plinth/server/grpc/call.h"
#include "plinth/server/grpc/infer_messages.h"

namespace plinth::server {
namespace {

using http::Scope;
using rpc::Call;
using rpc::Reactor;
using CallPtr = std::shared_ptr<Call>;
using Context = ::grpc::CallbackServerContext;
using Unary = ::grpc::ServerUnaryReactor;

constexpr auto kLastMoment = std::chrono::milliseconds(500);
constexpr auto kHealthTick = std::chrono::milliseconds(250);
// Dead peers are found within a minute and a half. Clients may ping every ten seconds, with or without calls:
// the default of five minutes breaks those that keep idle connections through firewalls.
constexpr int kKeepaliveMilliseconds = 60'000, kKeepaliveTimeoutMilliseconds = 20'000,
              kLeastPingMilliseconds = 10'000;
constexpr int kMostPingsTooEarly = 2;  // of one connection; then it is closed
constexpr int kCallsPerConnection = 1024;
constexpr int kHandshakeMilliseconds = 10'000;
constexpr int kMetadataBytes = 32 << 10;
constexpr unsigned kCertificateSeconds = 1;

// The thread where answers are written and health is kept up to date.
class AnswerThread {
 public:
  explicit AnswerThread(std::function<void()> tick) : tick_(std::move(tick)), thread_([this] { Loop(); }) {}
  ~AnswerThread() {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  void Run(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  void Loop() {
    std::unique_lock lock(mutex_);
    auto next_tick = std::chrono::steady_clock::now();
    while (true) {
      if (!tasks_.empty()) {
        const std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task();
        lock.lock();
      } else if (stops_) {
        return;
      } else if (std::chrono::steady_clock::now() >= next_tick) {
        lock.unlock();
        tick_();
        lock.lock();
        next_tick = std::chrono::steady_clock::now() + kHealthTick;
      } else {
        changed_.wait_until(lock, next_tick, [&] { return stops_ || !tasks_.empty(); });
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stops_ = false;
  const std::function<void()> tick_;
  std::thread thread_;
};

#define PLINTH_METHOD(name) "/inference.GRPCInferenceService/" name

class OpenInference final : public inference::GRPCInferenceService::CallbackService {
 public:
  explicit OpenInference(rpc::Shared& shared) : shared_(shared), service_(shared.service) {}

  Unary* ServerLive(Context* context, const inference::ServerLiveRequest*,
                    inference::ServerLiveResponse* response) override {
    return Begin(context, PLINTH_METHOD("ServerLive"), Scope::kPublic, [&](const CallPtr& call) {
      response->set_live(true);
      call->Finish(absl::OkStatus());
    });
  }

  Unary* ServerReady(Context* context, const inference::ServerReadyRequest*,
                     inference::ServerReadyResponse* response) override {
    return Begin(context, PLINTH_METHOD("ServerReady"), Scope::kPublic, [&](const CallPtr& call) {
      response->set_ready(service_.readiness().ready);
      call->Finish(absl::OkStatus());
    });
  }

  Unary* ServerMetadata(Context* context, const inference::ServerMetadataRequest*,
                        inference::ServerMetadataResponse* response) override {
    return Begin(context, PLINTH_METHOD("ServerMetadata"), Scope::kPublic, [&](const CallPtr& call) {
      response->set_name("plinth");
      response->set_version(std::string(kVersion));
      response->add_extensions("binary_tensor_data");
      call->Finish(absl::OkStatus());
    });
  }

  // A model that is not there is not ready, as Triton has it; that is no error.
  Unary* ModelReady(Context* context, const inference::ModelReadyRequest* request,
                    inference::ModelReadyResponse* response) override {
    return Begin(context, PLINTH_METHOD("ModelReady"), Scope::kRead, [&](const CallPtr& call) {
      const auto model = oip::FindModel(service_, request->name(), request->version());
      response->set_ready(model.ok() && service_.readiness().ready);
      call->Finish(model.ok() || absl::IsNotFound(model.status()) ? absl::OkStatus() : model.status());
    });
  }

  Unary* ModelMetadata(Context* context, const inference::ModelMetadataRequest* request,
                       inference::ModelMetadataResponse* response) override {
    return Begin(context, PLINTH_METHOD("ModelMetadata"), Scope::kRead, [&](const CallPtr& call) {
      const auto model = oip::FindModel(service_, request->name(), request->version());
      if (model.ok()) {
        response->set_name((*model)->name());
        response->add_versions(std::string(oip::kVersionName));
        response->set_platform(std::string(oip::kPlatform));
        for (const oip::TensorSpec& spec : oip::InputSpecs()) Describe(spec, response->add_inputs());
        for (const oip::TensorSpec& spec : oip::OutputSpecs()) Describe(spec, response->add_outputs());
      }
      call->Finish(model.status());
    });
  }

  Unary* ModelInfer(Context* context, const inference::ModelInferRequest* request,
                    inference::ModelInferResponse* response) override {
    return Begin(context, PLINTH_METHOD("ModelInfer"), Scope::kInfer, [&](const CallPtr& call) {
      const Status status = Infer(call, *request, response);
      if (!status.ok()) call->Finish(status);
    });
  }

  void StopTaking() { stopped_ = true; }

 private:
  template <typename Handler>
  Unary* Begin(Context* context, std::string_view method, Scope scope, const Handler& handler) {
    auto* reactor = new Reactor;
    const auto call = std::make_shared<Call>(shared_, context, method, scope == Scope::kPublic, reactor);
    reactor->Watch(call);
    try {
      if (call->Admit(scope)) handler(call);
    } catch (const std::bad_alloc&) {
      call->Finish(absl::ResourceExhaustedError("memory ran out; send fewer or shorter series at once"));
    }
    return reactor;
  }

  static void Describe(const oip::TensorSpec& spec,
                       inference::ModelMetadataResponse::TensorMetadata* metadata) {
    metadata->set_name(std::string(spec.name));
    metadata->set_datatype(std::string(oip::DatatypeName(spec.datatypes[0])));
    for (const int64_t extent : spec.shape) metadata->add_shape(extent);
  }

  Status Infer(const CallPtr& call, const inference::ModelInferRequest& request,
               inference::ModelInferResponse* response) {
    if (stopped_) return absl::UnavailableError("the service is about to stop");
    PLINTH_ASSIGN_OR_RETURN(ModelPtr model,
                            oip::FindModel(service_, request.model_name(), request.model_version()));
    const auto settings = service_.settings();
    PLINTH_ASSIGN_OR_RETURN(const oip::InferRequest infer,
                            rpc::ReadInferRequest(request, {settings->series, settings->values}));
    return oip::Infer(service_, std::move(model), infer, call->SecondsLeft(), call,
                      [call, response](const oip::InferAnswer& answer) {
                        try {
                          call->Finish(rpc::WriteInferResponse(answer, response));
                        } catch (const std::bad_alloc&) {
                          call->Finish(oip::OutOfMemory());
                        }
                      });
  }

  rpc::Shared& shared_;
  server::Service& service_;
  std::atomic<bool> stopped_ = false;
};

#undef PLINTH_METHOD

std::shared_ptr<::grpc::ServerCredentials> CredentialsOf(const GrpcServer::Options& options) {
  if (!options.tls) return ::grpc::InsecureServerCredentials();
  namespace tls = ::grpc::experimental;
  const http::TlsOptions& files = options.files;
  tls::TlsServerCredentialsOptions with(std::make_shared<tls::FileWatcherCertificateProvider>(
      files.key, files.certificate, files.client_ca, kCertificateSeconds));
  with.watch_identity_key_cert_pairs();
  if (!files.client_ca.empty()) {
    with.watch_root_certs();
    with.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(with);
}

// "127.0.0.1:8001", "[::1]:8001".
StatusOr<std::string> EndpointOf(const GrpcServer::Options& options) {
  const std::string name = options.address == "localhost" ? "127.0.0.1" : options.address;
  in6_addr parsed;
  if (inet_pton(AF_INET, name.c_str(), &parsed) == 1) return StrCat(name, ":", options.port);
  if (inet_pton(AF_INET6, name.c_str(), &parsed) == 1) return StrCat("[", name, "]:", options.port);
  return absl::InvalidArgumentError(StrCat("the address \"", options.address,
                                           "\" is not an IP address, such as 127.0.0.1, 0.0.0.0 or ::1"));
}

int ToInt(int64_t value) {
  return static_cast<int>(std::min<int64_t>(value, std::numeric_limits<int>::max()));
}

}  // namespace

struct GrpcServer::State {
  explicit State(const Options& options, Service& service)
      : shared{service, options.tls, [this](std::function<void()> task) { answers->Run(std::move(task)); }},
        calls(shared),
        answers(std::make_unique<AnswerThread>([this] {
          if (listening) UpdateHealth();
        })) {}

  // Tells the health service whether work is taken, and each model by its names; it tells those who watch.
  void UpdateHealth() {
    ::grpc::HealthCheckServiceInterface* health = server->GetHealthCheckService();
    if (health == nullptr) return;
    const bool ready = shared.service.readiness().ready;
    std::map<std::string, bool> now = {{"", ready}, {"inference.GRPCInferenceService", ready}};
    for (const ModelPtr& model : shared.service.models().All()) now[model->name()] = ready;
    for (const auto& [alias, model] : shared.service.models().Aliases()) now[alias] = ready;
    // What was there and is no more serves nothing.
    for (const auto& [name, was] : serving) now.emplace(name, false);
    for (const auto& [name, serves] : now) {
      const auto before = serving.find(name);
      if (before == serving.end() || before->second != serves) health->SetServingStatus(name, serves);
    }
    serving = std::move(now);
  }

  rpc::Shared shared;
  OpenInference calls;
  std::atomic<bool> listening = false;  // `server` is there
  std::map<std::string, bool> serving;  // what health says, by name
  int port = 0;
  std::unique_ptr<::grpc::Server> server;
  std::unique_ptr<AnswerThread> answers;  // ends first
};

GrpcServer::GrpcServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const Options& options, Service& service) {
  if (options.tls) PLINTH_RETURN_IF_ERROR(http::CheckTls(options.files));
  PLINTH_ASSIGN_OR_RETURN(const std::string endpoint, EndpointOf(options));
  // The library's own lines are no part of the service's log; errors that matter come back as statuses.
  gpr_set_log_function([](gpr_log_func_args*) {});
  ::grpc::EnableDefaultHealthCheckService(true);
  ::grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  auto state = std::make_unique<State>(options, service);
  ::grpc::ServerBuilder builder;
  builder.AddListeningPort(endpoint, CredentialsOf(options), &state->port);
  builder.RegisterService(&state->calls);
  builder.SetMaxReceiveMessageSize(ToInt(options.message_bytes));
  builder.SetMaxSendMessageSize(-1);
  builder.SetResourceQuota(
      ::grpc::ResourceQuota("plinth").Resize(static_cast<size_t>(options.all_message_bytes)));
  // Another process must not share the port unseen.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kCallsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, kMostPingsTooEarly);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytes);
  // Reflection alone takes threads that wait.
  builder.SetSyncServerOption(::grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(::grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(::grpc::ServerBuilder::MAX_POLLERS, 2);
  state->server = builder.BuildAndStart();
  if (state->server == nullptr || state->port == 0) {
    return absl::UnavailableError(
        StrCat("cannot listen on ", options.address, " port ", options.port,
               " for gRPC: another program has this port, the address is none of this machine's, or a port "
               "below 1024 needs root or CAP_NET_BIND_SERVICE"));
  }
  state->UpdateHealth();
  state->listening = true;
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(state)));
}

GrpcServer::~GrpcServer() {
  // Returns once every call has ended; for that, the thread must still be there. Answers on their way to a
  // client have a moment more; those who watch its health would stay for ever.
  state_->server->Shutdown(std::chrono::system_clock::now() + kLastMoment);
  state_->server->Wait();
}

uint16_t GrpcServer::port() const { return static_cast<uint16_t>(state_->port); }

bool GrpcServer::Drain(int64_t milliseconds) {
  const Clock& clock = Clock::System();
  const int64_t until = clock.Monotonic() + milliseconds * 1'000'000;
  state_->calls.StopTaking();
  state_->answers->Run([state = state_.get()] { state->UpdateHealth(); });
  while (state_->shared.in_hand > 0 && clock.Monotonic() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return state_->shared.in_hand == 0;
}

}  // namespace plinth::server
