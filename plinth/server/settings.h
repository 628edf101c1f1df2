// Holds everything that can be set about the service, in one table that also makes flags, environment
// variables and documentation.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plinth/base/status.h"

namespace plinth::server {

struct ModelSetting {
  std::string name, path;
  std::string device = "cpu", precision = "f32";
  std::vector<std::string> aliases;
};

struct Settings {
  // [http]
  bool http_enabled = true;
  std::string http_address = "127.0.0.1";
  int64_t http_port = 8000, http_threads = 1;
  std::string tls_certificate, tls_key, tls_client_ca;
  // [grpc]
  bool grpc_enabled = true;
  std::string grpc_address = "127.0.0.1";
  int64_t grpc_port = 8001;
  // [evidence]
  std::vector<std::string> evidence_keys;
  std::string evidence_folder;
  bool allow_unproven = false;
  // [engine]
  int64_t threads = 0;
  // [batch]
  double window_milliseconds = 2;
  int64_t most_series = 256, preferred_series = 32;
  // [limits]
  int64_t connections = 4096, header_bytes = 32 << 10, body_bytes = 64 << 20, all_body_bytes = 256 << 20;
  int64_t header_seconds = 10, idle_seconds = 75, least_bytes_per_second = 4096;
  int64_t queue = 256, jobs = 32, series = 10000, values = 20'000'000, horizon = 1 << 16;
  double request_seconds = 60;
  double requests_per_second = 0;
  int64_t burst = 0;
  // [sessions]
  int64_t sessions = 10000, session_idle_seconds = 3600;
  // [watch]
  bool watch_input = true, watch_alarms = true;
  int64_t watch_series = 10000, watch_idle_seconds = 86400;
  double watch_gap_share = 0.3;
  // [access]
  std::string keys_file;
  bool open_access = false;
  // [service]
  double drain_seconds = 30;
  std::string log_level = "info";
  bool dashboard = true;
  std::string state_folder;
  std::string credential;

  std::vector<ModelSetting> models;

  // Where each value that is not the default came from, by key: "plinth.toml: line 7", "--http-port",
  // "PLINTH_HTTP_PORT".
  std::map<std::string, std::string, std::less<>> origins;
};

struct Setting {
  using Member = std::variant<bool Settings::*, int64_t Settings::*, double Settings::*,
                              std::string Settings::*, std::vector<std::string> Settings::*>;
  std::string_view key;  // "http.port"
  Member member;
  double least = 0, most = 0;  // of numbers
  std::string_view about;      // one sentence
  bool path = false;           // a relative one in a file is taken from the file's folder
  bool reloadable = false;     // SIGHUP takes a new value
};

// Names that models and aliases may have: letters, digits, '.', '_' and '-', not beginning with '.'.
bool IsModelName(std::string_view name);

// Every setting but [[models]], by section.
std::span<const Setting> AllSettings();
std::string FlagOf(const Setting& setting);      // "--http-port"
std::string VariableOf(const Setting& setting);  // "PLINTH_HTTP_PORT"
// The file with the key of encrypted models: the setting's, or what systemd passes as the credential
// "plinth-model-key"; empty: none.
std::string CredentialFile(const Settings& settings);

// "8000", "true", "a, b": how a value is written in flags and documentation.
std::string ValueText(const Settings& settings, const Setting& setting);

// Reads `file` (empty: none), then environment variables, then flags ("http.port" -> "8000"), later ones
// winning. Errors: InvalidArgument with file and line, variable or flag for what is unknown, out of range or
// contradicts something else; FileError.
StatusOr<Settings> LoadSettings(const std::string& file, const std::map<std::string, std::string>& flags,
                                const char* const* environment);

// The effective settings as TOML, each value that is not the default with its origin as a comment.
std::string ToToml(const Settings& settings);

// The settings that differ and cannot change without a restart, by key.
std::vector<std::string> NeedRestart(const Settings& before, const Settings& after);

// The table of docs/serving.md, in Markdown.
std::string SettingsTable();

}  // namespace plinth::server
