// Reads configurations, a model's config.json above all: every value is asked for with the range it must
// have.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/formats/json.h"

namespace plinth::formats {

inline constexpr int64_t kMaxConfigBytes = 16 << 20;

// An object of the file. Getters refuse what is missing, of another kind or out of range with
// InvalidArgument, for example
//   DIR/config.json: "d_model" is "abc"; an integer in [1, 65536] is expected
//   DIR/config.json: "rope.theta" is missing; a number in [1, 1e+09] is expected
// The getters ending in Or give `fallback` where the key is missing or null. Copies are cheap.
class Config {
 public:
  // Reads `folder`/config.json, or config.json.enc (sealed_file.h). Errors: NotFound; FileError; as Parse.
  static StatusOr<Config> Load(const std::string& folder);
  // `where` begins every message. Errors: as ParseJson; InvalidArgument unless it is an object.
  static StatusOr<Config> Parse(std::string_view text, std::string where);
  // Where a key stands: its path from the root ("rope.theta", "rules[2].name") -> line of the file.
  using Lines = std::map<std::string, int64_t, std::less<>>;
  // A tree that was read elsewhere. With `lines` messages begin "WHERE: line 7: "; what is missing is looked
  // for at the line of its section. Errors: InvalidArgument unless it is an object.
  static StatusOr<Config> Of(JsonValue root, std::string where, Lines lines = {});

  bool Has(std::string_view key) const { return node_->Find(key) != nullptr; }
  StatusOr<int64_t> Int(std::string_view key, int64_t lo, int64_t hi) const;
  StatusOr<int64_t> IntOr(std::string_view key, int64_t lo, int64_t hi, int64_t fallback) const;
  // Integers are taken too.
  StatusOr<double> Real(std::string_view key, double lo, double hi) const;
  StatusOr<double> RealOr(std::string_view key, double lo, double hi, double fallback) const;
  StatusOr<bool> Flag(std::string_view key) const;
  StatusOr<bool> FlagOr(std::string_view key, bool fallback) const;
  StatusOr<std::string> Text(std::string_view key) const;
  StatusOr<std::string> TextOr(std::string_view key, std::string_view fallback) const;
  // One of `allowed`; the message lists them.
  StatusOr<std::string> Choice(std::string_view key, const std::vector<std::string>& allowed) const;
  // Lists of 1 to `most` values, each in [lo, hi]; a message names the element: "quantiles[3]".
  StatusOr<std::vector<double>> Reals(std::string_view key, double lo, double hi, int64_t most = 65536) const;
  StatusOr<std::vector<int64_t>> Ints(std::string_view key, int64_t lo, int64_t hi,
                                      int64_t most = 65536) const;
  // A list of texts; empty where the key is missing.
  StatusOr<std::vector<std::string>> Texts(std::string_view key) const;
  // An object inside; its messages name the path ("rope.theta").
  StatusOr<Config> Section(std::string_view key) const;
  // A list of objects ("rules[2].name"); empty where the key is missing.
  StatusOr<std::vector<Config>> Sections(std::string_view key) const;

  // Keys of this object that are not among `known`, in the order of the file.
  std::vector<std::string> UnknownKeys(const std::vector<std::string>& known) const;
  // Error: InvalidArgument naming the first key that is not known, and those that are.
  Status CheckKeys(const std::vector<std::string>& known) const;
  // For a check that the getters cannot express: "WHERE: "key" is VALUE; WANTED is expected".
  Status Refuse(std::string_view key, std::string_view wanted) const;

  const JsonValue& json() const { return *node_; }
  const std::string& where() const { return file_->where; }

 private:
  struct File {
    std::string where;
    JsonValue root;
    Lines lines;
  };
  Config(std::shared_ptr<const File> file, const JsonValue* node, std::string prefix)
      : file_(std::move(file)), node_(node), prefix_(std::move(prefix)) {}

  // "WHERE" or "WHERE: line 7" for a path from the root.
  std::string At(std::string path) const;
  const JsonValue* Present(std::string_view key) const;
  Status RefuseValue(std::string_view path, const JsonValue* value, std::string_view wanted) const;
  StatusOr<int64_t> ToInt(std::string_view path, const JsonValue* value, int64_t lo, int64_t hi) const;
  StatusOr<double> ToReal(std::string_view path, const JsonValue* value, double lo, double hi) const;
  template <typename T, typename Convert>
  StatusOr<std::vector<T>> ToList(std::string_view key, std::string_view kind, int64_t most,
                                  Convert convert) const;

  std::shared_ptr<const File> file_;
  const JsonValue* node_;
  std::string prefix_;  // "rope." inside the section rope
};

}  // namespace plinth::formats
