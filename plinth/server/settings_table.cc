#include "plinth/server/settings.h"

namespace plinth::server {
namespace {

constexpr double kBytes = double{1} * (int64_t{1} << 40);

constexpr bool kPath = true;
constexpr bool kReload = true;

constexpr Setting kSettings[] = {
    {"http.enabled", &Settings::http_enabled, 0, 1, "answer over HTTP"},
    {"http.address", &Settings::http_address, 0, 0,
     "IP address to listen on; 0.0.0.0 is every one of this machine's, and then access.keys is a must"},
    {"http.port", &Settings::http_port, 0, 65535, "TCP port; 0 takes any free one and says which"},
    {"http.threads", &Settings::http_threads, 1, 64,
     "threads for sockets and parsing; the engine has its own"},
    {"http.tls_certificate", &Settings::tls_certificate, 0, 0,
     "PEM file with the server's certificate and those up to its root; turns TLS on", kPath},
    {"http.tls_key", &Settings::tls_key, 0, 0, "PEM file with the certificate's private key", kPath},
    {"http.tls_client_ca", &Settings::tls_client_ca, 0, 0,
     "PEM file of authorities; clients must then show a certificate of theirs (mutual TLS)", kPath},
    {"grpc.enabled", &Settings::grpc_enabled, 0, 1, "answer over gRPC, with the certificate of [http]"},
    {"grpc.address", &Settings::grpc_address, 0, 0, "IP address to listen on"},
    {"grpc.port", &Settings::grpc_port, 0, 65535, "TCP port; 0 takes any free one and says which"},
    {"evidence.keys", &Settings::evidence_keys, 0, 0,
     "PEM files of public keys whose evidence is trusted, beside the local key", kPath},
    {"evidence.folder", &Settings::evidence_folder, 0, 0,
     "folder to look for evidence in first; then the system's and the model's own", kPath},
    {"evidence.allow_unproven", &Settings::allow_unproven, 0, 1,
     "serve models without valid evidence; every answer and the dashboard then say so"},
    {"engine.threads", &Settings::threads, 0, 1024, "threads that compute; 0 is one per available processor"},
    {"batch.window_milliseconds", &Settings::window_milliseconds, 0, 1000,
     "how long a batch waits for more requests behind a running one; an idle engine never waits", false,
     kReload},
    {"batch.most_series", &Settings::most_series, 1, 65536, "series that run together at most", false,
     kReload},
    {"batch.preferred_series", &Settings::preferred_series, 1, 65536,
     "a batch of so many series does not wait for more", false, kReload},
    {"limits.connections", &Settings::connections, 1, 1 << 20,
     "open connections; beyond, the one that has waited longest for a request is closed"},
    {"limits.header_bytes", &Settings::header_bytes, 1024, 1 << 20, "header of one request"},
    {"limits.body_bytes", &Settings::body_bytes, 1024, kBytes, "body of one request"},
    {"limits.all_body_bytes", &Settings::all_body_bytes, 1024, kBytes,
     "bodies of all requests that are received or answered at a time"},
    {"limits.header_seconds", &Settings::header_seconds, 1, 3600, "time for the header of a request to come"},
    {"limits.idle_seconds", &Settings::idle_seconds, 1, 86400, "time between two requests of a connection"},
    {"limits.least_bytes_per_second", &Settings::least_bytes_per_second, 1, 1e9,
     "slower bodies and readers are closed"},
    {"limits.queue", &Settings::queue, 1, 1 << 20, "requests that wait for the engine; more get 429", false,
     kReload},
    {"limits.jobs", &Settings::jobs, 1, 1 << 16,
     "detections and backtests that wait for their turn; more get 429", false, kReload},
    {"limits.series", &Settings::series, 1, 1e7, "series in one request", false, kReload},
    {"limits.values", &Settings::values, 1, 1e9, "values in one request, covariates counted", false, kReload},
    {"limits.horizon", &Settings::horizon, 1, 1 << 20, "steps that one request may ask for", false, kReload},
    {"limits.request_seconds", &Settings::request_seconds, 0.001, 86400,
     "time for a request from its last byte to its answer; a request may ask for less", false, kReload},
    {"limits.requests_per_second", &Settings::requests_per_second, 0, 1e6,
     "requests of one key, or of one address without a key; 0 is no limit", false, kReload},
    {"limits.burst", &Settings::burst, 0, 1e6,
     "requests that may come at once before the rate counts; 0 is one second's", false, kReload},
    {"sessions.most", &Settings::sessions, 0, 1e7,
     "rolling series whose history is kept; 0 turns sessions off"},
    {"sessions.idle_seconds", &Settings::session_idle_seconds, 1, 1e9,
     "a history is dropped after so long without a request"},
    {"watch.input", &Settings::watch_input, 0, 1,
     "look at what clients send: range, flat lines, replays, shape, gaps, cut-off values; nothing is "
     "changed"},
    {"watch.alarms", &Settings::watch_alarms, 0, 1,
     "what is found in a series with a name is an alarm of low priority, too", false, kReload},
    {"watch.series", &Settings::watch_series, 0, 1e7,
     "series with a name that are remembered, about 3 kB each; 0 looks at each request by itself"},
    {"watch.idle_seconds", &Settings::watch_idle_seconds, 1, 1e9,
     "a series is forgotten after so long without a request"},
    {"watch.gap_share", &Settings::watch_gap_share, 0, 1,
     "more gaps than this share of the newest 256 rows are a finding"},
    {"access.keys", &Settings::keys_file, 0, 0,
     "file of API keys (`plinth serve --new-key` writes its lines); without one everybody may do everything",
     kPath, kReload},
    {"access.open", &Settings::open_access, 0, 1,
     "answer everybody on an address that is not the loopback one, without keys or client certificates"},
    {"service.drain_seconds", &Settings::drain_seconds, 0, 3600,
     "after SIGTERM, time for requests in hand to be answered"},
    {"service.log_level", &Settings::log_level, 0, 0, "debug, info, warn, error or off", false, kReload},
    {"service.dashboard", &Settings::dashboard, 0, 1, "show the dashboard at /"},
    {"service.state_folder", &Settings::state_folder, 0, 0,
     "folder for alarms and their acknowledgements; without one they last as long as the process", kPath},
    {"service.credential", &Settings::credential, 0, 0,
     "file with the key of encrypted model folders (32 bytes, or 64 hexadecimal digits); by default what "
     "systemd "
     "passes as plinth-model-key",
     kPath},
};

}  // namespace

std::span<const Setting> AllSettings() { return kSettings; }

}  // namespace plinth::server
