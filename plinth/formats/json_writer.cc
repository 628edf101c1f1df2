#include "plinth/formats/json_writer.h"

#include <charconv>
#include <cmath>

#include "plinth/base/check.h"
#include "plinth/base/utf8.h"
#include "plinth/formats/json.h"

namespace plinth::formats {

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  PLINTH_CHECK(!levels_.back().object);  // a value in an object needs a key
  if (!levels_.back().first) *out_ += ',';
  levels_.back().first = false;
}

void JsonWriter::Open(char bracket, bool object) {
  Separate();
  levels_.push_back({object});
  *out_ += bracket;
}

void JsonWriter::Close(char bracket, bool object) {
  PLINTH_CHECK(!levels_.empty() && levels_.back().object == object && !after_key_);
  levels_.pop_back();
  *out_ += bracket;
}

void JsonWriter::BeginObject() { Open('{', true); }
void JsonWriter::EndObject() { Close('}', true); }
void JsonWriter::BeginArray() { Open('[', false); }
void JsonWriter::EndArray() { Close(']', false); }

void JsonWriter::Key(std::string_view key) {
  PLINTH_CHECK(!levels_.empty() && levels_.back().object && !after_key_);
  if (!levels_.back().first) *out_ += ',';
  levels_.back().first = false;
  Quote(key);
  *out_ += ':';
  after_key_ = true;
}

void JsonWriter::Quote(std::string_view text) {
  *out_ += '"';
  while (!text.empty()) {
    const size_t good = Utf8Prefix(text);
    for (const char c : text.substr(0, good)) {
      if (c == '"' || c == '\\') {
        *out_ += '\\';
        *out_ += c;
      } else if (static_cast<unsigned char>(c) >= 0x20) {
        *out_ += c;
      } else if (c == '\n') {
        *out_ += "\\n";
      } else if (c == '\t') {
        *out_ += "\\t";
      } else if (c == '\r') {
        *out_ += "\\r";
      } else {
        *out_ += "\\u00";
        *out_ += c < 16 ? '0' : '1';
        *out_ += "0123456789abcdef"[c & 15];
      }
    }
    text.remove_prefix(good);
    if (text.empty()) break;
    *out_ += "\xEF\xBF\xBD";
    text.remove_prefix(1);
  }
  *out_ += '"';
}

template <typename T>
void JsonWriter::Shortest(T value) {
  Separate();
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) {
      *out_ += "null";
      return;
    }
  }
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  out_->append(text, end);
}

void JsonWriter::Number(double value) { Shortest(value); }
void JsonWriter::Number(float value) { Shortest(value); }
void JsonWriter::Int(int64_t value) { Shortest(value); }

void JsonWriter::String(std::string_view text) {
  Separate();
  Quote(text);
}

void JsonWriter::Bool(bool value) { Raw(value ? "true" : "false"); }
void JsonWriter::Null() { Raw("null"); }

void JsonWriter::Raw(std::string_view json) {
  Separate();
  *out_ += json;
}

void JsonWriter::EndLine() {
  PLINTH_CHECK(levels_.empty());
  *out_ += '\n';
}

void WriteJson(const JsonValue& value, JsonWriter& json) {
  if (const bool* flag = value.flag()) {
    json.Bool(*flag);
  } else if (const int64_t* integer = value.integer()) {
    json.Int(*integer);
  } else if (const double* real = value.real()) {
    json.Number(*real);
  } else if (const std::string* text = value.text()) {
    json.String(*text);
  } else if (const auto* array = value.array()) {
    json.BeginArray();
    for (const JsonValue& item : *array) WriteJson(item, json);
    json.EndArray();
  } else if (const auto* object = value.object()) {
    json.BeginObject();
    for (const auto& [key, member] : *object) {
      json.Key(key);
      WriteJson(member, json);
    }
    json.EndObject();
  } else {
    json.Null();
  }
}

}  // namespace plinth::formats
