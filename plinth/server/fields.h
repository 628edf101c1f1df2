// Reads the JSON body of a request strictly: every value is asked for by name, with the range it must have,
// and whatever is wrong is said with the field's path.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"

namespace plinth::server {

// The path of the field that an error is about ("series.sizes[3]"), as a payload of its status.
Status FieldError(std::string_view field, std::string_view message);
// Empty where it names none.
std::string FieldOf(const Status& status);

// A value of a parsed body. Copies are cheap; they stay good as long as the JsonBody lives.
class JsonField {
 public:
  const std::string& path() const { return path_; }
  // The path of a key of this object.
  std::string PathOf(std::string_view key) const;
  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_number() const;

  // Of an object; nothing where the key is missing or null.
  std::optional<JsonField> Find(std::string_view key) const;
  StatusOr<JsonField> Get(std::string_view key) const;
  std::vector<std::string> Keys() const;
  // Error: names the first key that is not known, and those that are.
  Status CheckKeys(const std::vector<std::string_view>& known) const;
  // Error unless it is an object, with each key once.
  Status ExpectObject() const;
  StatusOr<std::vector<JsonField>> Elements(size_t most) const;

  StatusOr<std::string_view> Text() const;
  StatusOr<int64_t> Int(int64_t least, int64_t most) const;
  StatusOr<double> Number(double least, double most) const;
  StatusOr<bool> Flag() const;
  // A list of numbers; null is a gap (NaN). Nested lists are read in order where `nested`.
  Status Numbers(size_t most, bool nested, std::vector<double>* to) const;
  // A list of true and false (or 1 and 0).
  Status Flags(size_t most, std::vector<uint8_t>* to) const;
  // Whether it is a list whose first element is a list.
  bool is_nested() const;
  // The text of a value as JSON, at most `most` bytes of it.
  std::string Json(size_t most) const;

  Status Refuse(std::string_view wanted) const;

 private:
  friend class JsonBody;
  struct Element;
  std::shared_ptr<const Element> element_;
  std::string path_;
};

// A parsed body.
class JsonBody {
 public:
  // Error: InvalidArgument with what is wrong; for what is no JSON, with the place.
  static StatusOr<JsonBody> Parse(std::string_view body);
  JsonField root() const { return root_; }

 private:
  struct Document;
  std::shared_ptr<Document> document_;
  JsonField root_;
};

}  // namespace plinth::server
