// Defines the result rows that every verification reports, their statuses, and the closing summary.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plinth/base/check_status.h"

namespace plinth::verify {

using plinth::CheckStatus;
std::string_view StatusName(CheckStatus status);

// One checked output.
struct CheckRow {
  std::string case_name;
  std::string output;
  std::string op;     // set for operators,
  std::string model;  // or for models
  std::string device = "cpu";
  std::string dtype;
  std::string mode;
  CheckStatus status = CheckStatus::kFailed;
  double max_abs = 0;
  double rel_l2 = 0;
  double max_ulp = 0;
  // Both of the element nearest to its limit: limits differ per element, so that max_abs may belong to
  // another one.
  double limit = 0;
  double worst_share = 0;  // |result - reference| / limit; infinite where the limit is 0, at most 1 if passed
  std::string reproduce;

  std::string kernel;  // which variant ran
  std::string isa;
  bool compared = false;  // numbers were held against a reference
  std::string detail;     // what is wrong, or why it was refused; one line
  // Further members of the JSON object, in order: name and value, which is JSON already.
  std::vector<std::pair<std::string, std::string>> members;

  // Speed mode only.
  double ms = 0;                   // median
  double ms_low = 0, ms_high = 0;  // 10th and 90th percentile
  double gb_per_second = 0;
  double gflops = 0;
};
using RowSink = std::function<void(const CheckRow&)>;

// Counts of a whole run. A run that neither compared anything nor saw a documented refusal is bad.
struct Summary {
  int64_t compared = 0, passed = 0, failed = 0, refused = 0, mistrusted = 0, unproven = 0;

  void Add(const CheckRow& row);
  void Add(const Summary& other);
  // "pass", "warn" or "fail".
  std::string_view verdict() const;
  bool good() const { return verdict() != "fail"; }

 private:
  int64_t warned_ = 0;
};

// One JSON object without a line end, the keys of the contract first. Numbers that are not finite become
// null.
std::string ToJson(const CheckRow& row);
std::string ToJson(const Summary& summary);
// One line for people: "failed  softmax n17 y0 f32 (kernel f32, v3): ...".
std::string ToText(const CheckRow& row);
// `word` as a POSIX shell reads it back: in single quotes where it holds more than plain characters.
std::string ShellQuoted(std::string_view word);
// "12 passed, 0 failed" as the last line, after a line with the other counts where one is not zero.
std::string ToText(const Summary& summary);

}  // namespace plinth::verify
