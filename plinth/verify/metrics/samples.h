// Joins the rows of prediction files by their "id" and reads their keys with messages that name file and
// line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/formats/json.h"

namespace plinth::verify::metrics {

// One object of a prediction file. Getters refuse what is missing or of another kind with InvalidArgument:
//   FILE: line N: sample "x": "label" is missing; text or an integer is expected
class Row {
 public:
  Row(const formats::JsonValue* object, const std::string* file, int64_t line, const std::string* id)
      : object_(object), file_(file), line_(line), id_(id) {}

  // An object inside this one; `path` names it in messages ("objects[2]").
  Row Inside(const formats::JsonValue& object, std::string path) const;

  // Null where the key is missing or null.
  const formats::JsonValue* Find(std::string_view key) const;
  StatusOr<std::string> Text(std::string_view key) const;
  StatusOr<double> Real(std::string_view key) const;
  StatusOr<bool> FlagOr(std::string_view key, bool fallback) const;
  // A list of numbers; null becomes NaN where `gaps`, and is refused elsewhere.
  StatusOr<std::vector<double>> Reals(std::string_view key, bool gaps = false) const;
  // The same for any value; `path` names it in messages ("quantiles.0.5").
  StatusOr<std::vector<double>> Reals(std::string_view path, const formats::JsonValue& value,
                                      bool gaps) const;
  // A list of texts, or one text; empty where the key is missing.
  StatusOr<std::vector<std::string>> Texts(std::string_view key) const;
  // A class: text as it is, an integer or a flag as its text.
  StatusOr<std::string> Name(std::string_view key) const;

  // "FILE: line N: sample "x": "PATH" is VALUE; WANTED is expected".
  Status Refuse(std::string_view path, const formats::JsonValue* found, std::string_view wanted) const;
  // "FILE: line N: sample "x": MESSAGE".
  Status Refuse(std::string_view message) const;

 private:
  const formats::JsonValue* object_;
  const std::string* file_;
  int64_t line_;
  const std::string* id_;
  std::string prefix_;  // "objects[2]." inside an object
};

// Whether `value` is a number; an integer counts.
bool ToNumber(const formats::JsonValue& value, double* number);

// One sample on both sides.
struct Sample {
  const std::string& id;
  size_t index;  // its place among the reference's rows, from 0
  Row reference, candidate;
  // The row with the truth: of the labels' file, or the reference's own where there is none.
  Row truth;
  bool has_labels;                // there is a file of labels
  std::vector<std::string> tags;  // "tags" or "tag" of any of its rows
  // Where the truth stands: under `key` in a file of labels, under "truth" in a row of the reference, whose
  // own answer has the key.
  const char* TruthKey(const char* key) const { return has_labels ? key : "truth"; }
};

// SHA-256 of each file, as it was read; labels empty where there is no such file.
struct SampleDigests {
  std::string reference, candidate, labels;
};

// Calls `add` for each sample of the files (`labels` may be empty), in the order in which the last of its
// rows comes. Rows that come out of step wait in memory as text. Errors: of the files, see JsonLinesReader;
// ids that are missing, repeated, or not in every file; a file without rows; what `add` returns.
StatusOr<SampleDigests> ForEachSample(const std::string& reference, const std::string& candidate,
                                      const std::string& labels,
                                      const std::function<Status(const Sample&)>& add);

}  // namespace plinth::verify::metrics
