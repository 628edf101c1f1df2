// Reads small JSON files into a tree, with limits, and says where they are wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "plinth/base/status.h"

namespace plinth::formats {

// Nesting beyond this is refused, so that nothing that walks a tree can run out of stack.
inline constexpr int kMaxJsonDepth = 64;

// One value; keys keep the order of the file. The accessors give null for another kind of value.
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;

  JsonValue() = default;
  template <typename T>
  explicit JsonValue(T value) : value_(std::move(value)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  const bool* flag() const { return std::get_if<bool>(&value_); }
  // Numbers written without fraction and exponent that fit 64 bits.
  const int64_t* integer() const { return std::get_if<int64_t>(&value_); }
  // All other numbers.
  const double* real() const { return std::get_if<double>(&value_); }
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }
  Array* array() { return std::get_if<Array>(&value_); }
  Object* object() { return std::get_if<Object>(&value_); }

  // A member of an object; null where there is none, or this is no object.
  const JsonValue* Find(std::string_view key) const;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

// Strict JSON (RFC 8259), UTF-8. `where` (the path) begins every message. Errors: InvalidArgument for
// bad syntax (line and what was read), a repeated key, nesting deeper than kMaxJsonDepth, a number
// beyond double.
StatusOr<JsonValue> ParseJson(std::string_view text, std::string_view where);

// As ParseJson for a large file whose root is an object with one long list: hands the elements of the list
// under `key` to `take` one by one, with their numbers from 0, and keeps none; the root has an empty list
// there. Further errors: what `take` gives; InvalidArgument where an element, or all the rest, holds more
// than `most` values, which bounds the memory that a hostile file takes.
StatusOr<JsonValue> ParseJsonList(std::string_view text, std::string_view where, std::string_view key,
                                  int64_t most, absl::FunctionRef<Status(int64_t, const JsonValue&)> take);

// A value as a message shows it: "abc" with quotes, numbers, "an object of 3", "a list of 2".
std::string ShortText(const JsonValue& value);

// Quotes text that comes from a file: cut after 80 bytes, control characters and broken UTF-8 as '?'.
std::string QuotedShort(std::string_view text);

}  // namespace plinth::formats
