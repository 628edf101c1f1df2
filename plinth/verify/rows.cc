#include "plinth/verify/rows.h"

#include <cstdio>
#include <string>
#include <vector>

#include "plinth/base/text.h"
#include "plinth/formats/json_writer.h"

namespace plinth::verify {
namespace {

std::string Short(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", x);
  return text;
}

}  // namespace

std::string_view StatusName(CheckStatus status) { return CheckStatusName(status); }

void Summary::Add(const CheckRow& row) {
  if (row.compared) ++compared;
  switch (row.status) {
    case CheckStatus::kPassed:
      ++passed;
      break;
    case CheckStatus::kWarned:
      ++passed, ++warned_;
      break;
    case CheckStatus::kFailed:
    case CheckStatus::kExtra:
    case CheckStatus::kUnimplemented:
    case CheckStatus::kMissing:
      ++failed;
      break;
    case CheckStatus::kRefused:
      ++refused;
      break;
    case CheckStatus::kMistrusted:
      ++mistrusted;
      break;
    case CheckStatus::kUnproven:
      ++unproven;
      break;
  }
}

void Summary::Add(const Summary& other) {
  compared += other.compared;
  passed += other.passed;
  failed += other.failed;
  refused += other.refused;
  mistrusted += other.mistrusted;
  unproven += other.unproven;
  warned_ += other.warned_;
}

std::string_view Summary::verdict() const {
  if ((compared == 0 && refused == 0) || failed > 0 || mistrusted > 0) return "fail";
  return warned_ > 0 ? "warn" : "pass";
}

std::string ToJson(const CheckRow& row) {
  std::string out;
  formats::JsonWriter w(&out);
  const auto text = [&](std::string_view key, std::string_view value) { w.Key(key), w.String(value); };
  const auto number = [&](std::string_view key, double value) { w.Key(key), w.Number(value); };
  w.BeginObject();
  text("case", row.case_name);
  text("output", row.output);
  if (!row.op.empty()) text("op", row.op);
  if (!row.model.empty()) text("model", row.model);
  text("device", row.device);
  text("dtype", row.dtype);
  text("mode", row.mode);
  text("status", StatusName(row.status));
  number("max_abs", row.max_abs);
  number("rel_l2", row.rel_l2);
  number("max_ulp", row.max_ulp);
  number("limit", row.limit);
  number("worst_share", row.worst_share);
  text("reproduce", row.reproduce);
  if (!row.kernel.empty()) text("kernel", row.kernel);
  if (!row.isa.empty()) text("isa", row.isa);
  if (!row.detail.empty()) text("detail", row.detail);
  for (const auto& [key, json] : row.members) w.Key(key), w.Raw(json);
  if (row.ms > 0) {
    w.Key("ms");
    w.BeginObject();
    number("p10", row.ms_low), number("p50", row.ms), number("p90", row.ms_high);
    w.EndObject();
    number("gb_per_second", row.gb_per_second);
    number("gflops", row.gflops);
  }
  w.EndObject();
  return out;
}

std::string ToJson(const Summary& s) {
  std::string out;
  formats::JsonWriter w(&out);
  const auto count = [&](std::string_view key, int64_t value) { w.Key(key), w.Int(value); };
  w.BeginObject();
  w.Key("summary"), w.Bool(true);
  count("compared", s.compared);
  count("passed", s.passed);
  count("failed", s.failed);
  count("refused", s.refused);
  count("mistrusted", s.mistrusted);
  count("unproven", s.unproven);
  w.Key("verdict"), w.String(s.verdict());
  w.EndObject();
  return out;
}

std::string ToText(const CheckRow& row) {
  std::string line = StrCat(StatusName(row.status), "  ", row.op.empty() ? row.model : row.op, " ",
                            row.case_name, " ", row.output, " ", row.dtype);
  if (!row.kernel.empty()) StrAppend(&line, " (kernel ", row.kernel, ", ", row.isa, ")");
  if (row.ms > 0) {
    StrAppend(&line, ": ", Short(row.ms), " ms [", Short(row.ms_low), ", ", Short(row.ms_high), "], ",
              Short(row.gb_per_second), " GB/s, ", Short(row.gflops), " GFLOP/s");
  }
  if (!row.detail.empty()) StrAppend(&line, ": ", row.detail);
  if (row.status != CheckStatus::kPassed && row.status != CheckStatus::kRefused) {
    StrAppend(&line, "\n        ", row.reproduce);
  }
  return line;
}

std::string ShellQuoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    // Nothing escapes inside single quotes: end them, escape, begin anew.
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string ToText(const Summary& s) {
  std::vector<std::string> others;
  if (s.refused > 0) others.push_back(StrCat(s.refused, " refused as documented"));
  if (s.mistrusted > 0) others.push_back(StrCat(s.mistrusted, " mistrusted"));
  if (s.unproven > 0) others.push_back(StrCat(s.unproven, " unproven"));
  if (s.compared == 0 && s.refused == 0) others.push_back("nothing was compared");
  return StrCat(Join(others, ", "), others.empty() ? "" : "\n", s.passed, " passed, ", s.failed, " failed");
}

}  // namespace plinth::verify
