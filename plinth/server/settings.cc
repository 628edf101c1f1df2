#include "plinth/server/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>
#include <tuple>

#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/formats/json_writer.h"
#include "plinth/formats/toml.h"

namespace plinth::server {
namespace {

using formats::Config;

std::string_view SectionOf(const Setting& s) { return s.key.substr(0, s.key.find('.')); }
std::string_view NameOf(const Setting& s) { return s.key.substr(s.key.find('.') + 1); }

std::string Quoted(std::string_view text) {
  std::string out;
  formats::JsonWriter(&out).String(text);
  return out;
}

std::string NumberText(double value) {
  std::string out;
  formats::JsonWriter(&out).Number(value);
  return out;
}

// Relative paths of a file are taken from its folder.
std::string Beside(const std::string& file, const std::string& path) {
  const size_t slash = file.rfind('/');
  if (path.empty() || path[0] == '/' || slash == file.npos) return path;
  return JoinPath(file.substr(0, slash), path);
}

// Reads one value of a section of the file.
Status ReadOne(const Config& section, const Setting& s, const std::string& file, Settings* to) {
  const std::string name(NameOf(s));
  return std::visit(
      [&](auto member) -> Status {
        using T = std::remove_reference_t<decltype(to->*member)>;
        if constexpr (std::is_same_v<T, bool>) {
          PLINTH_ASSIGN_OR_RETURN(to->*member, section.Flag(name));
        } else if constexpr (std::is_same_v<T, int64_t>) {
          PLINTH_ASSIGN_OR_RETURN(
              to->*member, section.Int(name, static_cast<int64_t>(s.least), static_cast<int64_t>(s.most)));
        } else if constexpr (std::is_same_v<T, double>) {
          PLINTH_ASSIGN_OR_RETURN(to->*member, section.Real(name, s.least, s.most));
        } else if constexpr (std::is_same_v<T, std::string>) {
          PLINTH_ASSIGN_OR_RETURN(to->*member, section.Text(name));
          if (s.path) to->*member = Beside(file, to->*member);
        } else {
          PLINTH_ASSIGN_OR_RETURN(to->*member, section.Texts(name));
          if (s.path) {
            for (std::string& path : to->*member) path = Beside(file, path);
          }
        }
        return absl::OkStatus();
      },
      s.member);
}

// Sets one value from text. `origin` begins messages.
Status SetFromText(const Setting& s, std::string_view text, const std::string& origin, Settings* to) {
  const auto refuse = [&](std::string_view wanted) {
    return absl::InvalidArgumentError(StrCat(origin, " is ", Quoted(text), "; ", wanted, " is expected"));
  };
  return std::visit(
      [&](auto member) -> Status {
        using T = std::remove_reference_t<decltype(to->*member)>;
        if constexpr (std::is_same_v<T, bool>) {
          if (text != "true" && text != "false") return refuse("true or false");
          to->*member = text == "true";
        } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
          T value{};
          const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
          const double number = static_cast<double>(value);
          if (error != std::errc() || end != text.data() + text.size() || !(number >= s.least) ||
              !(number <= s.most)) {
            return refuse(StrCat(std::is_same_v<T, int64_t> ? "an integer" : "a number", " in [",
                                 NumberText(s.least), ", ", NumberText(s.most), "]"));
          }
          to->*member = value;
        } else if constexpr (std::is_same_v<T, std::string>) {
          to->*member = std::string(text);
        } else {
          (to->*member).clear();
          size_t begin = 0;
          while (begin < text.size()) {
            const size_t end = std::min(text.find(',', begin), text.size());
            (to->*member).emplace_back(text.substr(begin, end - begin));
            begin = end + 1;
          }
        }
        to->origins[std::string(s.key)] = origin;
        return absl::OkStatus();
      },
      s.member);
}

Status ReadModels(const Config& root, const std::string& file, Settings* to) {
  PLINTH_ASSIGN_OR_RETURN(const std::vector<Config> models, root.Sections("models"));
  std::set<std::string, std::less<>> names;
  const auto take_name = [&](const Config& model, const char* key, const std::string& name) -> Status {
    if (!IsModelName(name)) {
      return model.Refuse(key, "a name of letters, digits, '.', '_' and '-' that does not begin with '.'");
    }
    if (!names.insert(name).second) return model.Refuse(key, "a name that no other model or alias has");
    return absl::OkStatus();
  };
  for (const Config& model : models) {
    PLINTH_RETURN_IF_ERROR(model.CheckKeys({"name", "path", "device", "precision", "aliases"}));
    ModelSetting m;
    PLINTH_ASSIGN_OR_RETURN(m.path, model.Text("path"));
    m.path = Beside(file, m.path);
    PLINTH_ASSIGN_OR_RETURN(m.name, model.TextOr("name", BaseName(m.path)));
    PLINTH_ASSIGN_OR_RETURN(m.device, model.TextOr("device", m.device));
    PLINTH_ASSIGN_OR_RETURN(m.precision, model.TextOr("precision", m.precision));
    PLINTH_ASSIGN_OR_RETURN(m.aliases, model.Texts("aliases"));
    PLINTH_RETURN_IF_ERROR(take_name(model, model.Has("name") ? "name" : "path", m.name));
    for (const std::string& alias : m.aliases) PLINTH_RETURN_IF_ERROR(take_name(model, "aliases", alias));
    to->models.push_back(std::move(m));
  }
  return absl::OkStatus();
}

Status ReadFile(const std::string& file, Settings* to) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, plinth::ReadFile(file, formats::kMaxConfigBytes));
  PLINTH_ASSIGN_OR_RETURN(const Config root, formats::ParseTomlWithLines(text, file));
  const Config::Lines lines = formats::TomlLines(text);
  std::vector<std::string> sections = {"models"};
  for (const Setting& s : AllSettings()) {
    if (sections.back() != SectionOf(s)) sections.emplace_back(SectionOf(s));
  }
  PLINTH_RETURN_IF_ERROR(root.CheckKeys(sections));
  for (const std::string& name : sections) {
    if (name == "models" || !root.Has(name)) continue;
    PLINTH_ASSIGN_OR_RETURN(const Config section, root.Section(name));
    std::vector<std::string> known;
    for (const Setting& s : AllSettings()) {
      if (SectionOf(s) == name) known.emplace_back(NameOf(s));
    }
    PLINTH_RETURN_IF_ERROR(section.CheckKeys(known));
    for (const Setting& s : AllSettings()) {
      if (SectionOf(s) != name || !section.Has(NameOf(s))) continue;
      PLINTH_RETURN_IF_ERROR(ReadOne(section, s, file, to));
      const auto line = lines.find(std::string(s.key));
      to->origins[std::string(s.key)] = line == lines.end() ? file : StrCat(file, " line ", line->second);
    }
  }
  return ReadModels(root, file, to);
}

bool IsLoopback(std::string_view address) {
  return address == "localhost" || address == "::1" || address.substr(0, 4) == "127.";
}

// What contradicts what; the setting that was made is named with its origin.
Status CheckTogether(const Settings& s) {
  const auto origin = [&](std::string_view key) {
    const auto at = s.origins.find(key);
    return at == s.origins.end() ? StrCat(key) : StrCat(key, " (", at->second, ")");
  };
  const auto refuse = [](auto... parts) { return absl::InvalidArgumentError(StrCat(parts...)); };
  if (!s.http_enabled && !s.grpc_enabled) {
    return refuse(origin("http.enabled"), " and ", origin("grpc.enabled"),
                  " are both false: nothing would be served; enable one");
  }
  if (s.tls_certificate.empty() != s.tls_key.empty()) {
    return refuse(origin(s.tls_key.empty() ? "http.tls_certificate" : "http.tls_key"), " is set without ",
                  s.tls_key.empty() ? "http.tls_key" : "http.tls_certificate", "; TLS needs both");
  }
  if (!s.tls_client_ca.empty() && s.tls_certificate.empty()) {
    return refuse(origin("http.tls_client_ca"),
                  " is set without http.tls_certificate and http.tls_key: clients "
                  "can show certificates only where the server has one");
  }
  if (s.http_enabled && s.grpc_enabled && s.http_port != 0 && s.http_port == s.grpc_port &&
      s.http_address == s.grpc_address) {
    return refuse(origin("http.port"), " and ", origin("grpc.port"), " are both ", s.http_port,
                  "; they need a port each");
  }
  for (const auto& [enabled, address, key] : {std::tuple(s.http_enabled, &s.http_address, "http.address"),
                                              std::tuple(s.grpc_enabled, &s.grpc_address, "grpc.address")}) {
    if (!enabled || IsLoopback(*address) || s.open_access || !s.keys_file.empty() || !s.tls_client_ca.empty())
      continue;
    return refuse(origin(key), " is ", *address,
                  ", which others reach, but nobody is asked for a key: set access.keys "
                  "(or http.tls_client_ca), or access.open = true where a proxy guards it");
  }
  if (s.all_body_bytes < s.body_bytes) {
    return refuse(origin("limits.all_body_bytes"), " is ", s.all_body_bytes, ", less than ",
                  origin("limits.body_bytes"), " of ", s.body_bytes,
                  ": the largest body would never be taken");
  }
  if (s.preferred_series > s.most_series) {
    return refuse(origin("batch.preferred_series"), " is ", s.preferred_series, ", more than ",
                  origin("batch.most_series"), " of ", s.most_series);
  }
  const std::set<std::string_view> levels = {"debug", "info", "warn", "error", "off"};
  if (!levels.contains(s.log_level)) {
    return refuse(origin("service.log_level"), " is \"", s.log_level,
                  "\"; debug, info, warn, error or off is expected");
  }
  return absl::OkStatus();
}

}  // namespace

bool IsModelName(std::string_view name) {
  if (name.empty() || name.size() > 128 || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

std::string FlagOf(const Setting& s) {
  std::string flag = StrCat("--", s.key);
  for (char& c : flag) {
    if (c == '.' || c == '_') c = '-';
  }
  return flag;
}

std::string VariableOf(const Setting& s) {
  std::string variable = StrCat("PLINTH_", s.key);
  for (char& c : variable) c = c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return variable;
}

std::string CredentialFile(const Settings& settings) {
  if (!settings.credential.empty()) return settings.credential;
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  if (folder == nullptr || *folder == '\0') return "";
  std::string passed = JoinPath(folder, "plinth-model-key");
  return FileExists(passed) ? passed : "";
}

std::string ValueText(const Settings& settings, const Setting& s) {
  return std::visit(
      [&](auto member) -> std::string {
        const auto& value = settings.*member;
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>)
          return value ? "true" : "false";
        else if constexpr (std::is_same_v<T, int64_t>)
          return StrCat(value);
        else if constexpr (std::is_same_v<T, double>)
          return NumberText(value);
        else if constexpr (std::is_same_v<T, std::string>)
          return value;
        else
          return Join(value, ",");
      },
      s.member);
}

StatusOr<Settings> LoadSettings(const std::string& file, const std::map<std::string, std::string>& flags,
                                const char* const* environment) {
  Settings settings;
  if (!file.empty()) PLINTH_RETURN_IF_ERROR(ReadFile(file, &settings));
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (name.size() == entry.size()) continue;
    bool of_a_section = false, known = false;
    for (const Setting& s : AllSettings()) {
      const std::string variable = VariableOf(s);
      of_a_section =
          of_a_section || name.starts_with(variable.substr(0, sizeof "PLINTH_" + SectionOf(s).size()));
      if (name != variable) continue;
      known = true;
      PLINTH_RETURN_IF_ERROR(SetFromText(s, entry.substr(name.size() + 1), StrCat(name), &settings));
    }
    // A mistyped name must not leave a door open.
    if (of_a_section && !known) {
      return absl::InvalidArgumentError(
          StrCat("the variable ", name.substr(0, 100), " is no setting; --show-config lists them"));
    }
  }
  for (const auto& [key, value] : flags) {
    const auto settings_table = AllSettings();
    const auto at = std::find_if(settings_table.begin(), settings_table.end(),
                                 [&, k = std::string_view(key)](const Setting& s) { return s.key == k; });
    if (at == settings_table.end()) return absl::InvalidArgumentError(StrCat("there is no setting ", key));
    PLINTH_RETURN_IF_ERROR(SetFromText(*at, value, FlagOf(*at), &settings));
  }
  PLINTH_RETURN_IF_ERROR(CheckTogether(settings));
  return settings;
}

std::string ToToml(const Settings& settings) {
  std::string out;
  std::string_view section;
  for (const Setting& s : AllSettings()) {
    if (SectionOf(s) != section) {
      section = SectionOf(s);
      StrAppend(&out, out.empty() ? "" : "\n", "[", section, "]\n");
    }
    StrAppend(&out, NameOf(s), " = ");
    std::visit(
        [&](auto member) {
          const auto& value = settings.*member;
          using T = std::remove_cvref_t<decltype(value)>;
          if constexpr (std::is_same_v<T, std::string>) {
            StrAppend(&out, Quoted(value));
          } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
            StrAppend(&out, "[", Join(value, ", ", Quoted), "]");
          } else {
            StrAppend(&out, ValueText(settings, s));
          }
        },
        s.member);
    const auto origin = settings.origins.find(s.key);
    if (origin != settings.origins.end()) StrAppend(&out, "  # ", origin->second);
    out += "\n";
  }
  for (const ModelSetting& m : settings.models) {
    StrAppend(&out, "\n[[models]]\nname = ", Quoted(m.name), "\npath = ", Quoted(m.path),
              "\ndevice = ", Quoted(m.device), "\nprecision = ", Quoted(m.precision), "\naliases = [",
              Join(m.aliases, ", ", Quoted), "]\n");
  }
  return out;
}

std::vector<std::string> NeedRestart(const Settings& before, const Settings& after) {
  std::vector<std::string> keys;
  for (const Setting& s : AllSettings()) {
    if (!s.reloadable && ValueText(before, s) != ValueText(after, s)) keys.emplace_back(s.key);
  }
  return keys;
}

std::string SettingsTable() {
  std::string out = "| setting | default | what it does |\n|---|---|---|\n";
  const Settings defaults;
  for (const Setting& s : AllSettings()) {
    const std::string value = ValueText(defaults, s);
    StrAppend(&out, "| `", s.key, "` | ", value.empty() ? "" : StrCat("`", value, "`"), " | ", s.about,
              s.reloadable ? " (reloadable)" : "", " |\n");
  }
  return out;
}

}  // namespace plinth::server
