#include "plinth/formats/json.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "plinth/base/utf8.h"

namespace plinth::formats {
namespace {

using Json = nlohmann::json;

// Builds the tree from the parser's events: the parser itself would keep the last of repeated keys.
class TreeEvents : public nlohmann::json_sax<Json> {
 public:
  TreeEvents(std::string_view text, std::string_view where) : text_(text), where_(where) {}
  // Gives elements of the list under `key` to `take` instead of keeping them.
  using Take = absl::FunctionRef<Status(int64_t, const JsonValue&)>;
  TreeEvents(std::string_view text, std::string_view where, std::string_view key, int64_t most, Take take)
      : text_(text), where_(where), list_key_(key), most_(most), take_(take) {}
  Status status() const { return status_; }
  JsonValue TakeRoot() { return std::move(root_); }

  bool null() override { return Add(JsonValue()); }
  bool boolean(bool value) override { return Add(JsonValue(value)); }
  bool number_integer(int64_t value) override { return Add(JsonValue(value)); }
  bool number_unsigned(uint64_t value) override {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Add(JsonValue(static_cast<double>(value)));
    }
    return Add(JsonValue(static_cast<int64_t>(value)));
  }
  bool number_float(double value, const std::string&) override { return Add(JsonValue(value)); }
  bool string(std::string& value) override { return Add(JsonValue(std::move(value))); }
  bool binary(Json::binary_t&) override { return Fail("binary data"); }
  bool start_object(size_t) override { return Open(JsonValue(JsonValue::Object())); }
  bool start_array(size_t) override { return Open(JsonValue(JsonValue::Array())); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    if (!levels_.back().names.insert(name).second)
      return Fail(StrCat("the key ", QuotedShort(name), " appears twice"));
    key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    const size_t at = std::min(position, text_.size());
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<int64_t>(at > 0 ? at - 1 : 0), '\n');
    // 406: a number that does not fit a double.
    return Fail(StrCat("line ", line, ": ",
                       error.id == 406 ? "a number is beyond the range of double" : "not JSON",
                       "; last read ", QuotedShort(token)));
  }

 private:
  struct Level {
    JsonValue value;
    std::string key;  // under which it goes into the level above
    std::set<std::string> names;
  };

  bool Fail(std::string message) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(StrCat(where_, ": ", message));
    return false;
  }
  bool Add(JsonValue value) { return Put(std::move(value), std::move(key_)); }
  bool InList() const {
    return take_.has_value() && levels_.size() >= 2 && levels_[1].key == list_key_ &&
           levels_[0].value.object() != nullptr && levels_[1].value.array() != nullptr;
  }
  bool Put(JsonValue value, std::string key) {
    const bool in_list = InList();
    int64_t& values = in_list ? values_in_element_ : values_outside_;
    if (most_ >= 0 && ++values > most_) {
      return Fail(StrCat(in_list ? StrCat("\"", list_key_, "\"[", element_, "] holds") : "the file holds",
                         " more than the ", most_, " values allowed", in_list ? "" : " beside that list"));
    }
    if (in_list && levels_.size() == 2) {
      if (Status status = (*take_)(element_, value); !status.ok()) {
        status_ = std::move(status);
        return false;
      }
      ++element_;
      values_in_element_ = 0;
    } else if (levels_.empty()) {
      root_ = std::move(value);
    } else if (auto* array = levels_.back().value.array()) {
      array->push_back(std::move(value));
    } else {
      levels_.back().value.object()->emplace_back(std::move(key), std::move(value));
    }
    return true;
  }
  bool Open(JsonValue empty) {
    if (levels_.size() == static_cast<size_t>(kMaxJsonDepth)) {
      return Fail(StrCat("nested deeper than ", kMaxJsonDepth, " levels"));
    }
    levels_.push_back({std::move(empty), std::move(key_), {}});
    return true;
  }
  bool Close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    return Put(std::move(level.value), std::move(level.key));
  }

  std::string_view text_, where_;
  Status status_;
  std::vector<Level> levels_;
  std::string key_;
  JsonValue root_;
  std::string_view list_key_;
  int64_t most_ = -1;  // none
  std::optional<Take> take_;
  int64_t element_ = 0, values_in_element_ = 0, values_outside_ = 0;
};

}  // namespace

const JsonValue* JsonValue::Find(std::string_view key) const {
  const Object* members = object();
  if (members == nullptr) return nullptr;
  for (const auto& [name, value] : *members) {
    if (name == key) return &value;
  }
  return nullptr;
}

StatusOr<JsonValue> ParseJson(std::string_view text, std::string_view where) {
  TreeEvents events(text, where);
  if (!Json::sax_parse(text.begin(), text.end(), &events)) return events.status();
  return events.TakeRoot();
}

StatusOr<JsonValue> ParseJsonList(std::string_view text, std::string_view where, std::string_view key,
                                  int64_t most, absl::FunctionRef<Status(int64_t, const JsonValue&)> take) {
  TreeEvents events(text, where, key, most, take);
  if (!Json::sax_parse(text.begin(), text.end(), &events)) return events.status();
  return events.TakeRoot();
}

std::string QuotedShort(std::string_view text) {
  constexpr size_t kMost = 80;
  std::string_view head = text.substr(0, kMost);
  if (head.size() < text.size()) head = head.substr(0, std::max(Utf8Prefix(head), head.size() - 3));
  std::string out = "\"";
  while (!head.empty()) {
    const size_t good = Utf8Prefix(head);
    for (const char c : head.substr(0, good)) out += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
    head.remove_prefix(good);
    if (head.empty()) break;
    out += '?';
    head.remove_prefix(1);
  }
  return out + (text.size() > kMost ? "...\"" : "\"");
}

namespace {

// 1.0 keeps its fraction, so that a message shows why it is no integer.
std::string RealText(double value) {
  char text[32];
  const std::string shortest(text, std::to_chars(text, text + sizeof(text), value).ptr);
  return shortest.find_first_of(".e") == shortest.npos ? shortest + ".0" : shortest;
}

}  // namespace

std::string ShortText(const JsonValue& value) {
  if (value.is_null()) return "null";
  if (const bool* flag = value.flag()) return *flag ? "true" : "false";
  if (const int64_t* integer = value.integer()) return StrCat(*integer);
  if (const double* real = value.real()) return RealText(*real);
  if (const std::string* text = value.text()) return QuotedShort(*text);
  if (const auto* array = value.array()) return StrCat("a list of ", array->size());
  return StrCat("an object of ", value.object()->size());
}

}  // namespace plinth::formats
