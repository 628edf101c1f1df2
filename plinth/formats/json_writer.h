// Writes JSON text piece by piece, without building a tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plinth::formats {

class JsonValue;

// Appends to a string that the caller may empty between calls (to write it out); commas and nesting
// are kept here. Text is compact, on one line. Numbers are the shortest that read back to the same
// value; NaN and infinities become null. Bytes that are not UTF-8 become U+FFFD.
class JsonWriter {
 public:
  explicit JsonWriter(std::string* out) : out_(out) {}

  void BeginObject();
  void EndObject();
  void BeginArray();
  void EndArray();
  // The name of the next value; only inside an object.
  void Key(std::string_view key);

  void String(std::string_view text);
  void Number(double value);
  void Number(float value);  // shortest for float: 0.1f is 0.1
  void Int(int64_t value);
  void Bool(bool value);
  void Null();
  // Text that is JSON already.
  void Raw(std::string_view json);

  // Ends a line of a file with one value per line. Only outside any object or array.
  void EndLine();

 private:
  void Separate();
  void Open(char bracket, bool object);
  void Close(char bracket, bool object);
  void Quote(std::string_view text);
  template <typename T>
  void Shortest(T value);

  struct Level {
    bool object;
    bool first = true;
  };
  std::string* out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

// Writes a whole tree. Numbers without fraction that were read as reals stay equal, not alike: 1.0 becomes 1.
void WriteJson(const JsonValue& value, JsonWriter& json);

}  // namespace plinth::formats
