#include "plinth/verify/replay/three_ways.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "plinth/formats/json_writer.h"
#include "plinth/verify/replay/given_reference.h"

namespace plinth::verify::replay {
namespace {

using formats::JsonWriter;

std::string Short(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", x);
  return text;
}

// Rule 3 of the rule set: "" or why the candidate is worse than the incumbent.
std::string WorseThan(const RuleSet& rules, const ThreeWays& w) {
  const WayStats &d = w.candidate->stats, &i = w.incumbent->stats;
  const auto type = w.precision == "tf32" ? NumberType::kTf32 : NumberTypeOf(w.format.name);
  if (w.candidate->line.exact || d.finite == 0 || !type.has_value() || *type == NumberType::kInt) return "";
  const double factor = RuleSet::Raised(rules.m_raises, d.finite, rules.type(*type).m);
  const double ratio = std::max(rules.max_ratio, factor), roundoff = w.format.roundoff();
  if (d.rmse() > factor * i.rmse() + rules.rms_floor * roundoff * d.rms_truth()) {
    return StrCat("its root mean square error ", Short(d.rmse()), " is ", Short(d.rmse() / i.rmse()),
                  " times the incumbent's; ", Short(factor), " times is allowed");
  }
  if (d.max_abs > ratio * i.max_abs + rules.max_floor * roundoff * d.max_truth) {
    return StrCat("its largest error ", Short(d.max_abs), " is ", Short(d.max_abs / i.max_abs),
                  " times the incumbent's; ", Short(ratio), " times is allowed");
  }
  const double noise = rules.bias_sigmas * d.rmse() / std::sqrt(static_cast<double>(d.finite));
  if (std::abs(d.mean_error()) > noise + std::abs(i.mean_error())) {
    return StrCat("its errors have a mean of ", Short(d.mean_error()), ", the incumbent's ",
                  Short(i.mean_error()));
  }
  return "";
}

// "" or how the outputs differ in type or shape. A wider floating type than the incumbent's is no fault.
std::string StructureOf(const ThreeWays& w) {
  if (!w.pair.has_value()) return "";
  if (!w.pair->same_shape) return "its shape differs from the incumbent's";
  return w.pair->same_type ? "" : "its type differs from the incumbent's";
}

void WriteWay(JsonWriter& w, const Way& way) {
  const WayStats& s = way.stats;
  const auto number = [&](std::string_view key, double value) { w.Key(key), w.Number(value); };
  w.BeginObject();
  w.Key("holds"), w.Bool(way.holds());
  w.Key("judged"), w.Int(s.judged);
  w.Key("elements"), w.Int(way.elements);
  w.Key("outside"), w.Int(s.outside);
  number("max_abs", s.max_abs), number("rel_l2", s.rel_l2()), number("rmse", s.rmse());
  number("max_ulp", s.max_ulp), number("mean_error", s.mean_error()), number("shrink", s.shrink());
  number("worst_share", s.worst_share);
  if (!way.line.exact) number("level_share", s.level() > 0 ? s.rmse() / s.level() : 0);
  if (s.worst >= 0) {
    w.Key("worst");
    w.BeginObject();
    w.Key("index"), w.Int(s.worst);
    number("is", s.worst_is), number("truth", s.worst_truth);
    w.EndObject();
  }
  if (!way.problem.empty()) w.Key("problem"), w.String(way.problem);
  w.EndObject();
}

void WritePair(JsonWriter& w, const PairStats& p) {
  w.BeginObject();
  w.Key("same_inputs"), w.Bool(p.same_inputs);
  w.Key("same_type"), w.Bool(p.same_type);
  w.Key("same_shape"), w.Bool(p.same_shape);
  w.Key("elements"), w.Int(p.elements);
  w.Key("unequal"), w.Int(p.unequal);
  w.Key("not_finite"), w.Int(p.not_finite);
  w.Key("max_abs"), w.Number(p.max_abs);
  w.Key("rel_l2"), w.Number(p.rel_l2);
  w.EndObject();
}

template <typename Write>
void AddMember(CheckRow& row, std::string name, Write write) {
  std::string text;
  JsonWriter w(&text);
  write(w);
  row.members.emplace_back(std::move(name), std::move(text));
}

void AddMembers(const ThreeWays& ways, const RuleStates& rules, CheckRow& row) {
  AddMember(row, "truth", [&](JsonWriter& w) { w.String(ways.truth); });
  if (ways.candidate.has_value()) {
    AddMember(row, "class", [&](JsonWriter& w) { w.String(ClassLetter(ways.candidate->line.kind)); });
    AddMember(row, "depth", [&](JsonWriter& w) { w.Int(ways.candidate->line.depth); });
    AddMember(row, "arithmetic", [&](JsonWriter& w) { w.String(ways.precision); });
    AddMember(row, "candidate", [&](JsonWriter& w) { WriteWay(w, *ways.candidate); });
  }
  if (ways.incumbent.has_value())
    AddMember(row, "incumbent", [&](JsonWriter& w) { WriteWay(w, *ways.incumbent); });
  if (ways.pair.has_value()) AddMember(row, "pair", [&](JsonWriter& w) { WritePair(w, *ways.pair); });
  AddMember(row, "rules", [&](JsonWriter& w) {
    w.BeginObject();
    w.Key("structure"), w.String(rules.structure);
    w.Key("cap"), w.String(rules.cap);
    w.Key("incumbent"), w.String(rules.incumbent);
    w.Key("noise"), w.String(rules.noise);
    w.EndObject();
  });
  if (!ways.fault.empty()) AddMember(row, "fault", [&](JsonWriter& w) { w.String(ways.fault); });
}

// No truth: what the incumbent says, which never makes a pass.
void WithoutTruth(const ThreeWays& ways, CheckRow& row) {
  row.status = CheckStatus::kUnproven;
  row.detail = ways.why_no_truth;
  if (!ways.pair.has_value()) return;
  const PairStats& p = *ways.pair;
  row.max_abs = p.max_abs, row.rel_l2 = p.rel_l2;
  row.limit = LevelOf(ways.format);
  if (!p.same_inputs) {
    row.detail = StrCat("no truth (", ways.why_no_truth, "), and the incumbent had other inputs");
    return;
  }
  const bool near = p.same_shape && p.not_finite == 0 && p.rel_l2 <= row.limit;
  row.worst_share = row.limit > 0 ? p.rel_l2 / row.limit : (p.rel_l2 > 0 ? INFINITY : 0);
  if (!near) row.status = CheckStatus::kFailed, row.compared = true;
  row.detail =
      StrCat("no truth (", ways.why_no_truth, "); ",
             near            ? "close to the incumbent: relative L2 "
             : !p.same_shape ? "its shape differs from the incumbent's: relative L2 "
                             : "differs from the incumbent on the same inputs: relative L2 ",
             Short(p.rel_l2), ", limit ", Short(row.limit),
             p.not_finite > 0 ? StrCat(", ", p.not_finite, " NaN or infinite on one side only") : "");
}

}  // namespace

std::string_view ClassLetter(ops::ToleranceClass kind) {
  static constexpr std::string_view kLetters[] = {"A", "A'", "B", "C", "D", "E", "F", "G"};
  return kLetters[static_cast<int>(kind)];
}

PairStats ComparePair(const Values& candidate, const Values& incumbent) {
  PairStats p;
  p.same_type = candidate.format().name == incumbent.format().name;
  p.same_shape = candidate.dims() == incumbent.dims();
  if (!p.same_shape) return p;
  p.elements = candidate.size();
  double error2 = 0, size2 = 0;
  for (int64_t i = 0; i < p.elements; ++i) {
    const double c = candidate[i], n = incumbent[i];
    if (c == n || (std::isnan(c) && std::isnan(n))) {
      if (std::isfinite(n)) size2 += n * n;
      continue;
    }
    ++p.unequal;
    if (!std::isfinite(c) || !std::isfinite(n)) {
      ++p.not_finite;
      continue;
    }
    p.max_abs = std::max(p.max_abs, std::abs(c - n));
    error2 += (c - n) * (c - n), size2 += n * n;
  }
  p.rel_l2 = size2 > 0 ? std::sqrt(error2 / size2) : (error2 > 0 ? INFINITY : 0);
  return p;
}

RuleStates RulesOf(const RuleSet& rules, const ThreeWays& w) {
  RuleStates r{.structure = "unproven", .cap = "unproven", .incumbent = "unproven"};
  if (w.wrong_use) return {.structure = "broken", .cap = "unproven", .incumbent = "unproven"};
  if (!w.candidate.has_value()) return r;
  const bool narrower = !StructureOf(w).empty();
  r.structure = w.candidate->structure_holds && !narrower ? "holds" : "broken";
  r.cap = w.candidate->cap_holds && w.candidate->level_holds && !w.candidate->shrinks ? "holds" : "broken";
  if (!w.incumbent.has_value()) return r;
  if (!w.incumbent->holds()) {
    // An incumbent that is itself wrong is no measure.
    r.incumbent = "not applicable";
    return r;
  }
  r.reason = WorseThan(rules, w);
  r.incumbent = r.reason.empty() ? "holds" : "broken";
  return r;
}

void FillRow(const RuleSet& rule_set, const ThreeWays& ways, CheckRow& row) {
  const RuleStates rules = RulesOf(rule_set, ways);
  if (ways.wrong_use) {
    row.status = CheckStatus::kFailed;
    row.compared = true;
    row.detail = ways.why_no_truth;
  } else if (!ways.candidate.has_value()) {
    WithoutTruth(ways, row);
  } else {
    const Way& c = *ways.candidate;
    row.compared = true;
    row.max_abs = c.stats.max_abs, row.rel_l2 = c.stats.rel_l2(), row.max_ulp = c.stats.max_ulp;
    row.limit = c.stats.limit, row.worst_share = c.stats.worst_share;
    row.status = CheckStatus::kPassed;
    if (!c.holds()) {
      row.status = CheckStatus::kFailed;
      row.detail = ways.fault.empty() ? c.problem : StrCat(ways.fault, ": ", c.problem);
    } else if (rules.structure == "broken") {
      row.status = CheckStatus::kFailed;
      row.detail = StructureOf(ways);
    } else if (rules.incumbent == "broken") {
      row.status = CheckStatus::kWarned;
      row.detail = StrCat("within its limits, but ", rules.reason);
    } else if (rules.incumbent == "not applicable") {
      row.detail = StrCat("the candidate is right, the incumbent is not: ", ways.incumbent->problem);
    }
  }
  AddMembers(ways, rules, row);
}

}  // namespace plinth::verify::replay
