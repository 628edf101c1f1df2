// The service: serves models over HTTP and gRPC until it is told to stop.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "CLI/CLI.hpp"
#include "apps/installation.h"
#include "apps/plinth-serve/prove.h"
#include "plinth/base/context.h"
#include "plinth/base/files.h"
#include "plinth/base/version.h"
#include "plinth/evidence/keys.h"
#include "plinth/server/access.h"
#include "plinth/server/grpc/grpc_server.h"
#include "plinth/server/http/listener.h"
#include "plinth/server/service.h"
#include "plinth/server/settings.h"
#include "plinth/server/systemd.h"

extern char** environ;

namespace plinth::app {
namespace {

using server::Service;
using server::Settings;

struct Options {
  std::string config;
  std::map<std::string, std::string> flags;
  std::vector<std::string> models;
  bool show_config = false, settings_table = false, check = false, prove = false;
  std::string new_key, scopes = "infer";
};

void PrintError(const Status& status) {
  std::string text(status.message());
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  std::fprintf(stderr, "plinth: error: %s\n", text.c_str());
}

StatusOr<Settings> Load(const Options& o) {
  PLINTH_ASSIGN_OR_RETURN(Settings settings, server::LoadSettings(o.config, o.flags, environ));
  for (const std::string& path : o.models) {
    server::ModelSetting model;
    model.path = path;
    model.name = BaseName(path);
    if (!server::IsModelName(model.name)) {
      return absl::InvalidArgumentError(
          StrCat("--model ", path, ": \"", model.name,
                 "\" cannot be a model's name; name it in [[models]] of a file"));
    }
    settings.models.push_back(std::move(model));
  }
  if (settings.models.empty()) {
    server::ModelSetting shipped;
    PLINTH_ASSIGN_OR_RETURN(shipped.path, ShippedModel());
    shipped.name = BaseName(shipped.path);
    settings.models.push_back(std::move(shipped));
  }
  return settings;
}

// As many descriptors as connections need, as far as the system lets us.
Status RaiseFileLimit(int64_t connections) {
  constexpr rlim_t kOthers = 256;
  const rlim_t wanted = static_cast<rlim_t>(connections) + kOthers;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return absl::OkStatus();
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("limits.connections is ", connections,
                                           ", but this process may open only ", limit.rlim_max,
                                           " files; lower it, or raise the limit (LimitNOFILE= of the "
                                           "unit, ulimit -n)"));
}

server::http::ListenOptions ListenOptionsOf(const Settings& s) {
  server::http::ListenOptions options;
  options.address = s.http_address;
  options.port = static_cast<uint16_t>(s.http_port);
  options.threads = static_cast<int>(s.http_threads);
  options.limits = {s.connections,  s.header_bytes,          s.body_bytes, s.all_body_bytes, s.header_seconds,
                    s.idle_seconds, s.least_bytes_per_second};
  options.tls = !s.tls_certificate.empty();
  options.files = {s.tls_certificate, s.tls_key, s.tls_client_ca};
  return options;
}

server::GrpcServer::Options GrpcOptionsOf(const Settings& s) {
  server::GrpcServer::Options options;
  options.address = s.grpc_address;
  options.port = static_cast<uint16_t>(s.grpc_port);
  options.message_bytes = s.body_bytes;
  options.all_message_bytes = s.all_body_bytes;
  options.tls = !s.tls_certificate.empty();
  options.files = {s.tls_certificate, s.tls_key, s.tls_client_ca};
  return options;
}

// Waits for the signals that end it, and reloads on SIGHUP. Returns once it shall stop.
void WaitForSignals(const Options& o, const sigset_t& signals, Service& service, server::http::Listener* http,
                    server::Systemd& systemd) {
  const int64_t watchdog = systemd.WatchdogNanoseconds();
  while (true) {
    timespec wait{watchdog == 0 ? 3600 : watchdog / 2 / 1'000'000'000, watchdog / 2 % 1'000'000'000};
    const int signal = sigtimedwait(&signals, nullptr, &wait);
    if (signal == SIGTERM || signal == SIGINT) return;
    systemd.Notify("WATCHDOG=1");
    if (signal != SIGHUP) continue;
    systemd.Notify(StrCat("RELOADING=1\nMONOTONIC_USEC=", Clock::System().Monotonic() / 1000));
    StatusOr<Settings> fresh = Load(o);
    StatusOr<std::vector<std::string>> restart =
        fresh.ok() ? service.Reload(*fresh) : StatusOr<std::vector<std::string>>(fresh.status());
    const Status tls = http == nullptr ? absl::OkStatus() : http->ReloadTls();
    const Status status = restart.ok() ? tls : restart.status();
    service.log().Write(
        status.ok() ? LogLevel::kInfo : LogLevel::kError, "reload",
        {{"done", status.ok()},
         {"error", std::string_view(status.message().data(), status.message().size())},
         {"need_restart", std::string_view(restart.ok() ? Join(*restart, ", ") : std::string())}});
    systemd.Notify("READY=1");
  }
}

StatusOr<int> Serve(const Options& o) {
  if (o.settings_table) {
    std::fputs(server::SettingsTable().c_str(), stdout);
    return 0;
  }
  PLINTH_ASSIGN_OR_RETURN(const Settings settings, Load(o));
  if (!o.new_key.empty()) {
    if (settings.keys_file.empty()) {
      return absl::InvalidArgumentError(
          "--new-key needs access.keys (or --access-keys FILE): where the key goes");
    }
    PLINTH_ASSIGN_OR_RETURN(const std::string secret,
                            server::AddKey(settings.keys_file, o.new_key, o.scopes));
    std::printf("%s\n", secret.c_str());
    return 0;
  }
  if (o.show_config) {
    std::fputs(ToToml(settings).c_str(), stdout);
    return 0;
  }
  PLINTH_RETURN_IF_ERROR(RaiseFileLimit(settings.connections));
  PLINTH_ASSIGN_OR_RETURN(const Isa isa, IsaFromEnvironment());
  if (o.check || o.prove) {
    Threads threads(static_cast<int>(settings.threads));
    return ProveModels(settings, {&threads, isa}, o.prove);
  }
  // Blocked before the first thread is made, so that no thread but this one sees them.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  server::Systemd systemd;
  Threads threads(static_cast<int>(settings.threads));
  Service::Parts parts;
  parts.settings = settings;
  parts.context = {&threads, isa};
  parts.key_folder = evidence::KeyFolder().value_or("");
  PLINTH_ASSIGN_OR_RETURN(const std::unique_ptr<Service> service, Service::Make(std::move(parts)));
  std::fprintf(stderr, "%s", ToToml(settings).c_str());
  std::unique_ptr<server::http::Listener> http;
  if (settings.http_enabled) {
    PLINTH_ASSIGN_OR_RETURN(http, server::http::Listener::Start(ListenOptionsOf(settings), *service));
    service->log().Write(LogLevel::kInfo, "listening",
                         {{"protocol", std::string_view("http")},
                          {"address", std::string_view(settings.http_address)},
                          {"port", static_cast<int64_t>(http->port())},
                          {"tls", !settings.tls_certificate.empty()}});
  }
  std::unique_ptr<server::GrpcServer> grpc;
  if (settings.grpc_enabled) {
    PLINTH_ASSIGN_OR_RETURN(grpc, server::GrpcServer::Start(GrpcOptionsOf(settings), *service));
    service->log().Write(LogLevel::kInfo, "listening",
                         {{"protocol", std::string_view("grpc")},
                          {"address", std::string_view(settings.grpc_address)},
                          {"port", static_cast<int64_t>(grpc->port())},
                          {"tls", !settings.tls_certificate.empty()}});
  }
  systemd.Notify("STATUS=loading models");
  PLINTH_RETURN_IF_ERROR(service->LoadModels());
  service->log().Write(LogLevel::kInfo, "ready", {});
  systemd.Notify("READY=1\nSTATUS=serving");
  WaitForSignals(o, signals, *service, http.get(), systemd);
  service->SetDraining();
  service->log().Write(LogLevel::kInfo, "stopping", {{"drain_seconds", settings.drain_seconds}});
  systemd.Notify("STOPPING=1\nSTATUS=answering what is in hand");
  const auto milliseconds = static_cast<int64_t>(settings.drain_seconds * 1000);
  bool grpc_drained = true;
  std::thread grpc_drain([&] { grpc_drained = grpc == nullptr || grpc->Drain(milliseconds); });
  const bool http_drained = http == nullptr || http->Drain(milliseconds);
  grpc_drain.join();
  const bool drained = http_drained && grpc_drained;
  service->log().Write(LogLevel::kInfo, "stopped", {{"all_answered", drained}});
  grpc.reset();
  http.reset();
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App cli{"serves models over HTTP and gRPC, each by its evidence"};
  cli.name("plinth serve");
  cli.set_version_flag("--version", StrCat("plinth ", kVersion));
  Options o;
  cli.add_option("--config", o.config, "file of settings (TOML); without one the shipped model is served");
  cli.add_option("-m,--model", o.models, "a model folder to serve beside those of the file");
  cli.add_flag("--show-config", o.show_config,
               "print the effective settings and where they come from; serve nothing");
  cli.add_flag("--check", o.check,
               "say whether the settings are right and each model is proven here; serve nothing");
  cli.add_flag("--prove", o.prove, "prove each model that lacks evidence, by plinth accept; serve nothing");
  cli.add_option("--new-key", o.new_key, "add an API key of this name to access.keys and print it, once");
  cli.add_option("--scopes", o.scopes, "of the new key: read, infer, admin")->capture_default_str();
  cli.add_flag("--settings", o.settings_table, "print what can be set, as a table");
  for (const server::Setting& setting : server::AllSettings()) {
    cli.add_option_function<std::string>(
           server::FlagOf(setting),
           [&o, key = std::string(setting.key)](const std::string& v) { o.flags[key] = v; },
           std::string(setting.about))
        ->group("Settings")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return cli.exit(error);
    PrintError(absl::InvalidArgumentError(StrCat(error.what(), "; see plinth serve --help")));
    return 2;
  }
  const StatusOr<int> result = Serve(o);
  if (result.ok()) return *result;
  PrintError(result.status());
  return ExitCode(result.status());
}

}  // namespace
}  // namespace plinth::app

int main(int argc, char** argv) { return plinth::app::Main(argc, argv); }
