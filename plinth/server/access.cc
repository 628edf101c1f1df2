#include "plinth/server/access.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/formats/toml.h"

namespace plinth::server {
namespace {

using http::ErrorResponse;
using http::Scope;

struct Key {
  std::string name, sha256;
  std::vector<Scope> scopes;
  double per_second = 0;  // 0: the service's
};

StatusOr<std::vector<Key>> LoadKeys(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, formats::kMaxConfigBytes));
  PLINTH_ASSIGN_OR_RETURN(const formats::Config root, formats::ParseTomlWithLines(text, path));
  PLINTH_RETURN_IF_ERROR(root.CheckKeys({"keys"}));
  PLINTH_ASSIGN_OR_RETURN(const std::vector<formats::Config> entries, root.Sections("keys"));
  std::vector<Key> keys;
  std::set<std::string> names;
  for (const formats::Config& entry : entries) {
    PLINTH_RETURN_IF_ERROR(entry.CheckKeys({"name", "sha256", "scopes", "requests_per_second"}));
    Key key;
    PLINTH_ASSIGN_OR_RETURN(key.name, entry.Text("name"));
    if (key.name.empty() || !names.insert(key.name).second) return entry.Refuse("name", "a name of its own");
    PLINTH_ASSIGN_OR_RETURN(key.sha256, entry.Text("sha256"));
    if (!IsHexDigest(key.sha256))
      return entry.Refuse("sha256", "the SHA-256 of the key in 64 hexadecimal digits");
    PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> scopes, entry.Texts("scopes"));
    for (const std::string& scope : scopes) {
      const auto known = {Scope::kRead, Scope::kInfer, Scope::kAdmin};
      const auto* at =
          std::find_if(known.begin(), known.end(), [&](Scope s) { return ScopeName(s) == scope; });
      if (at == known.end()) return entry.Refuse("scopes", "a list of read, infer and admin");
      key.scopes.push_back(*at);
    }
    if (key.scopes.empty()) return entry.Refuse("scopes", "a list of read, infer and admin");
    PLINTH_ASSIGN_OR_RETURN(key.per_second, entry.RealOr("requests_per_second", 0, 1e6, 0));
    keys.push_back(std::move(key));
  }
  if (keys.empty())
    return absl::InvalidArgumentError(StrCat(path, ": holds no [[keys]]; nobody could do anything"));
  return keys;
}

// The secret that a request shows: "Authorization: Bearer SECRET", or "x-api-key: SECRET".
std::string_view SecretOf(const http::Request& request) {
  constexpr std::string_view kBearer = "bearer ";
  std::string_view field = request.Field("authorization");
  if (field.size() > kBearer.size()) {
    const bool bearer = std::equal(kBearer.begin(), kBearer.end(), field.begin(), [](char a, char b) {
      return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
    });
    if (bearer) return field.substr(kBearer.size());
  }
  return request.Field("x-api-key");
}

// Token buckets by key or address; the fullest are forgotten first, which changes nothing.
class Rates {
 public:
  // Seconds until the next request may come; 0: now, and it is counted.
  double Take(const std::string& who, double per_second, double burst, int64_t now) {
    if (per_second <= 0) return 0;
    const std::lock_guard lock(mutex_);
    const double most = burst > 0 ? burst : std::max(1.0, per_second);
    if (buckets_.size() > kMost) Forget(now);
    const auto [at, fresh] = buckets_.try_emplace(who, Bucket{most, now, per_second, most});
    Bucket& bucket = at->second;
    bucket.per_second = per_second;
    bucket.most = most;
    bucket.Fill(now);
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return 0;
    }
    return (1 - bucket.tokens) / per_second;
  }

 private:
  static constexpr size_t kMost = 100'000;
  struct Bucket {
    double tokens;
    int64_t at;
    double per_second, most;
    void Fill(int64_t now) {
      tokens = std::min(most, tokens + static_cast<double>(now - at) / 1e9 * per_second);
      at = now;
    }
  };
  void Forget(int64_t now) {
    std::erase_if(buckets_, [&](const auto& entry) {
      Bucket bucket = entry.second;
      bucket.Fill(now);
      return bucket.tokens >= bucket.most;
    });
    // All of them busy: this is an attack by many addresses, which the limit of connections bounds.
    if (buckets_.size() > kMost) buckets_.clear();
  }
  std::mutex mutex_;
  std::map<std::string, Bucket, std::less<>> buckets_;
};

class KeyedAccess : public Access {
 public:
  KeyedAccess(std::vector<Key> keys, bool open, double per_second, double burst, const Clock& clock)
      : clock_(clock), state_(std::make_shared<State>(State{std::move(keys), open, per_second, burst})) {}

  std::optional<http::Response> Check(const http::Request& request, Scope scope,
                                      std::string* key_name) override {
    const std::shared_ptr<const State> state = Now();
    if (scope == Scope::kPublic) return std::nullopt;
    const Key* key = nullptr;
    if (!state->open) {
      const std::string_view secret = SecretOf(request);
      if (secret.empty()) {
        return WithField(
            ErrorResponse(401, "no_key", "an API key is needed: send it as \"Authorization: Bearer KEY\""),
            "www-authenticate", "Bearer");
      }
      key = Find(*state, secret);
      if (key == nullptr) {
        return WithField(ErrorResponse(401, "unknown_key", "this API key is not known"), "www-authenticate",
                         "Bearer error=\"invalid_token\"");
      }
      *key_name = key->name;
      if (!Allows(*key, scope)) {
        return ErrorResponse(403, "scope",
                             StrCat("the key \"", key->name, "\" lacks the scope ", ScopeName(scope)));
      }
    }
    const double per_second = key != nullptr && key->per_second > 0 ? key->per_second : state->per_second;
    const std::string who = key != nullptr ? StrCat("k:", key->name) : StrCat("a:", request.peer);
    const double wait = rates_.Take(who, per_second, state->burst, clock_.Monotonic());
    if (wait <= 0) return std::nullopt;
    return WithField(
        ErrorResponse(429, "rate_limit", StrCat("more than ", per_second, " requests per second")),
        "retry-after", StrCat(static_cast<int64_t>(wait) + 1));
  }

  Status Reload(const Settings& settings) override {
    std::vector<Key> keys;
    if (!settings.keys_file.empty()) {
      PLINTH_ASSIGN_OR_RETURN(keys, LoadKeys(settings.keys_file));
    }
    const std::lock_guard lock(mutex_);
    state_ =
        std::make_shared<State>(State{std::move(keys), settings.keys_file.empty(),
                                      settings.requests_per_second, static_cast<double>(settings.burst)});
    return absl::OkStatus();
  }

 private:
  struct State {
    std::vector<Key> keys;
    bool open = true;
    double per_second = 0, burst = 0;
  };

  std::shared_ptr<const State> Now() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }

  static http::Response WithField(http::Response response, std::string name, std::string value) {
    response.fields.emplace_back(std::move(name), std::move(value));
    return response;
  }

  static bool Allows(const Key& key, Scope scope) {
    return std::any_of(key.scopes.begin(), key.scopes.end(), [&](Scope s) {
      return s == scope || s == Scope::kAdmin || (s == Scope::kInfer && scope == Scope::kRead);
    });
  }

  // Every key is compared, in a time that does not depend on where digests differ.
  static const Key* Find(const State& state, std::string_view secret) {
    const StatusOr<std::string> digest = Sha256Hex(secret);
    if (!digest.ok()) return nullptr;
    const Key* found = nullptr;
    for (const Key& key : state.keys) {
      if (CRYPTO_memcmp(key.sha256.data(), digest->data(), digest->size()) == 0) found = &key;
    }
    return found;
  }

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::shared_ptr<const State> state_;
  Rates rates_;
};

}  // namespace

StatusOr<std::string> AddKey(const std::string& file, const std::string& name, const std::string& scopes) {
  if (!IsModelName(name)) {
    return absl::InvalidArgumentError(
        StrCat("--new-key ", name, ": a name of letters, digits, '.', '_' and '-' is expected"));
  }
  std::vector<std::string> quoted;
  for (size_t begin = 0; begin <= scopes.size();) {
    const size_t end = std::min(scopes.find(',', begin), scopes.size());
    const std::string scope = scopes.substr(begin, end - begin);
    if (scope != "read" && scope != "infer" && scope != "admin") {
      return absl::InvalidArgumentError(
          StrCat("--scopes ", scopes, ": a list of read, infer and admin is expected"));
    }
    quoted.push_back(StrCat("\"", scope, "\""));
    begin = end + 1;
  }
  std::string text;
  if (FileExists(file)) {
    PLINTH_ASSIGN_OR_RETURN(const std::vector<Key> keys, LoadKeys(file));
    for (const Key& key : keys) {
      if (key.name == name)
        return absl::InvalidArgumentError(StrCat(file, ": has a key named ", name, " already"));
    }
    PLINTH_ASSIGN_OR_RETURN(text, ReadFile(file, formats::kMaxConfigBytes));
  }
  unsigned char bytes[32];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return absl::UnavailableError("the system gave no random bytes");
  std::string secret = "plinth_";
  for (const unsigned char byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    secret.push_back(kDigits[byte >> 4]);
    secret.push_back(kDigits[byte & 15]);
  }
  PLINTH_ASSIGN_OR_RETURN(const std::string digest, Sha256Hex(secret));
  StrAppend(&text, text.empty() ? "" : "\n", "[[keys]]\nname = \"", name, "\"\nsha256 = \"", digest,
            "\"\nscopes = [", Join(quoted, ", "), "]\n");
  const mode_t mask = umask(077);
  const Status written = WriteFile(file, text);
  umask(mask);
  PLINTH_RETURN_IF_ERROR(written);
  return secret;
}

StatusOr<std::unique_ptr<Access>> MakeAccess(const Settings& settings, const Clock& clock) {
  auto access = std::make_unique<KeyedAccess>(std::vector<Key>(), true, 0, 0, clock);
  PLINTH_RETURN_IF_ERROR(access->Reload(settings));
  return std::unique_ptr<Access>(std::move(access));
}

}  // namespace plinth::server
