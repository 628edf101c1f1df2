// How verdicts by the rules are shown in the rows of `plinth compare`.
#include "plinth/base/text.h"
#include "plinth/formats/json_writer.h"
#include "plinth/verify/compare_rules.h"

namespace plinth::verify {
namespace {

using formats::JsonWriter;

constexpr std::string_view kTitles[] = {"structure", "hard cap", "incumbent", "noise"};

void Text(JsonWriter* w, std::string_view key, std::string_view value) { w->Key(key), w->String(value); }

void TextOrNull(JsonWriter* w, std::string_view key, std::string_view value) {
  w->Key(key);
  if (value.empty()) {
    w->Null();
  } else {
    w->String(value);
  }
}

void WriteRequirements(const std::vector<RequirementResult>& results, JsonWriter* w) {
  w->Key("requirements"), w->BeginArray();
  for (const RequirementResult& r : results) {
    w->BeginObject();
    Text(w, "name", r.name), Text(w, "status", r.status), Text(w, "detail", r.detail);
    w->EndObject();
  }
  w->EndArray();
}

void WriteRule(const RuleResult& rule, JsonWriter* w) {
  w->BeginObject();
  w->Key("number"), w->Int(rule.number);
  Text(w, "state", RuleStateName(rule.state)), Text(w, "detail", rule.detail);
  w->Key("measured"), w->Number(rule.measured);
  w->Key("limit"), w->Number(rule.limit);
  w->EndObject();
}

}  // namespace

void WriteJson(const RowVerdict& row, JsonWriter* w) {
  const TensorVerdict& v = row.verdict;
  Text(w, "verdict", row.word());
  TextOrNull(w, "class", v.rule_class);
  w->Key("rules"), w->BeginArray();
  for (const RuleResult& rule : v.rules) WriteRule(rule, w);
  w->EndArray();
  w->Key("remarks"), w->BeginArray();
  for (const std::string& remark : v.remarks) w->String(remark);
  w->EndArray();
  TextOrNull(w, "fault_kind", v.fault_kind);
  TextOrNull(w, "waiver", v.waiver);
  WriteRequirements(row.requirements, w);
}

void WriteJson(const RuleSummary& s, JsonWriter* w) {
  w->Key("rules"), w->BeginObject();
  Text(w, "source", s.rules), Text(w, "sha256", s.digest);
  w->EndObject();
  Text(w, "self_test", s.missed.empty() ? "passed" : s.missed);
  TextOrNull(w, "band", s.band);
  w->Key("waived"), w->Int(s.waived);
  w->Key("unproven_rules"), w->BeginArray();
  for (const int rule : s.unproven) w->Int(rule);
  w->EndArray();
  WriteRequirements(s.requirements, w);
  TextOrNull(w, "decided_by", s.worst.from);
}

std::vector<std::string> Lines(const RowVerdict& row) {
  const TensorVerdict& v = row.verdict;
  std::vector<std::string> states, lines;
  for (const RuleResult& rule : v.rules) {
    states.push_back(StrCat(rule.number, " ", kTitles[rule.number - 1], " ", RuleStateName(rule.state)));
  }
  lines.push_back(StrCat(ToText(v), v.rule_class.empty() ? "" : StrCat(", class ", v.rule_class), ": ",
                         Join(states, ", ")));
  // What is broken is the row's reason. Rules that lack the same thing share a line.
  for (size_t i = 0; i < v.rules.size(); ++i) {
    const auto lacks = [&](size_t rule) {
      return v.rules[rule].state == RuleState::kUnproven && v.rules[rule].detail == v.rules[i].detail;
    };
    if (!lacks(i) || (i > 0 && lacks(i - 1))) continue;
    std::vector<int> numbers;
    for (size_t k = i; k < v.rules.size() && lacks(k); ++k) numbers.push_back(v.rules[k].number);
    lines.push_back(StrCat(numbers.size() > 1 ? "rules " : "rule ", Join(numbers, ", "),
                           " unproven: ", v.rules[i].detail));
  }
  for (const std::string& remark : v.remarks) lines.push_back(StrCat("remark: ", remark));
  if (!v.waiver.empty()) lines.push_back(StrCat("waiver: ", v.waiver));
  for (const RequirementResult& r : row.requirements) {
    lines.push_back(StrCat("requirement ", r.name, ": ", r.status, ", ", r.detail));
  }
  return lines;
}

std::vector<std::string> Lines(const RuleSummary& s) {
  std::vector<std::string> lines = {StrCat("rules: ", s.rules, ", sha256 ", s.digest.substr(0, 12))};
  if (!s.missed.empty()) lines.push_back(StrCat("mistrusted: the rule set's self-test missed ", s.missed));
  if (!s.unproven.empty()) lines.push_back(StrCat("unproven rules: ", Join(s.unproven, ", ")));
  if (!s.band.empty()) lines.push_back(StrCat("band: ", s.band));
  if (s.waived > 0) lines.push_back(StrCat("waived: ", s.waived, s.waived == 1 ? " warning" : " warnings"));
  for (const RequirementResult& r : s.requirements) {
    lines.push_back(StrCat("requirement ", r.name, ": ", r.status, ", ", r.detail));
  }
  if (!s.worst.from.empty()) lines.push_back(StrCat("decided by: ", s.worst.from));
  return lines;
}

}  // namespace plinth::verify
