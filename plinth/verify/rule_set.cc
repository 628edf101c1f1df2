#include "plinth/verify/rule_set.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/formats/config.h"
#include "plinth/formats/toml.h"

// cmake/PlinthEmbed.cmake defines these symbols.
extern "C" const char plinth_embedded_rules[];
extern "C" const char plinth_embedded_rules_end[];

namespace plinth::verify {
namespace {

using formats::Config;

// Factors beyond this are mistakes of the pen: a rule that allows a million times the incumbent's error is
// none.
constexpr double kLargest = 1e6;
constexpr std::array<std::string_view, kNumberTypes> kTypeNames = {"f64", "f32",  "tf32",
                                                                   "f16", "bf16", "int"};

bool Contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// A number that the rules divide by or multiply with: above 0.
StatusOr<double> Positive(const Config& c, std::string_view key) {
  PLINTH_ASSIGN_OR_RETURN(const double number, c.Real(key, 0, kLargest));
  if (number > 0) return number;
  return c.Refuse(key, StrCat("a number above 0, up to ", kLargest));
}

// What a format is, is not a matter of choice: only m and, for tf32, u_in are.
struct Format {
  double unit, accumulator, smallest;
};
Format FormatOf(size_t type) {
  static constexpr std::array<Format, kNumberTypes - 1> kFormats = {{{0x1p-53, 0x1p-53, 0x1p-1022},
                                                                     {0x1p-24, 0x1p-24, 0x1p-126},
                                                                     {0x1p-24, 0x1p-24, 0x1p-126},
                                                                     {0x1p-11, 0x1p-24, 0x1p-14},
                                                                     {0x1p-8, 0x1p-24, 0x1p-126}}};
  return kFormats[std::min(type, kFormats.size() - 1)];
}

StatusOr<TypeNumbers> ReadType(const Config& c, size_t type) {
  PLINTH_RETURN_IF_ERROR(c.CheckKeys({"u_out", "u_acc", "u_in", "smallest", "m"}));
  const Format format = FormatOf(type);
  TypeNumbers t;
  PLINTH_ASSIGN_OR_RETURN(t.u_out, c.Real("u_out", format.unit, format.unit));
  PLINTH_ASSIGN_OR_RETURN(t.u_acc, c.Real("u_acc", format.accumulator, format.accumulator));
  PLINTH_ASSIGN_OR_RETURN(t.u_in, c.Real("u_in", 0, kTypeNames[type] == "tf32" ? 0x1p-10 : 0));
  PLINTH_ASSIGN_OR_RETURN(t.smallest, c.Real("smallest", format.smallest, format.smallest));
  PLINTH_ASSIGN_OR_RETURN(t.m, Positive(c, "m"));
  return t;
}

StatusOr<Limit> ReadUlp(const Config& c) {
  PLINTH_RETURN_IF_ERROR(c.CheckKeys({"kind", "most", "relaxed"}));
  Limit limit{.kind = LimitKind::kUlp};
  PLINTH_ASSIGN_OR_RETURN(limit.most, Positive(c, "most"));
  PLINTH_ASSIGN_OR_RETURN(limit.relaxed, c.RealOr("relaxed", limit.most, kLargest, limit.most));
  return limit;
}

StatusOr<Limit> ReadRelative(const Config& c, double unit) {
  PLINTH_RETURN_IF_ERROR(c.CheckKeys({"kind", "fixed", "grown", "row_sum"}));
  Limit limit{.kind = LimitKind::kRelativeL2};
  PLINTH_ASSIGN_OR_RETURN(limit.fixed, c.Real("fixed", 0, 1));
  // A few times the accumulator's unit: 8 for Winograd.
  PLINTH_ASSIGN_OR_RETURN(limit.grown, c.Real("grown", 0, 16 * unit));
  PLINTH_ASSIGN_OR_RETURN(limit.row_sum, c.RealOr("row_sum", 0, 1, 0));
  if (limit.fixed + limit.grown > 0) return limit;
  return c.Refuse("fixed", "a number above 0 here or in grown");
}

StatusOr<Limit> ReadSteps(const Config& c, LimitKind kind) {
  PLINTH_RETURN_IF_ERROR(c.CheckKeys({"kind", "most", "share"}));
  Limit limit{.kind = kind};
  PLINTH_ASSIGN_OR_RETURN(const int64_t most, c.Int("most", 0, 255));
  limit.most = static_cast<double>(most);
  PLINTH_ASSIGN_OR_RETURN(limit.share, c.Real("share", 0, 1));
  return limit;
}

// `as` gets the name of another type where the limit refers to it.
StatusOr<Limit> ReadLimit(const Config& c, double unit, std::string* as) {
  PLINTH_ASSIGN_OR_RETURN(
      const std::string kind,
      c.Choice("kind", {"bitwise", "ulp", "relative_l2", "lsb", "codes", "distribution", "as", "undefined"}));
  if (kind == "ulp") return ReadUlp(c);
  if (kind == "relative_l2") return ReadRelative(c, unit);
  if (kind == "lsb") return ReadSteps(c, LimitKind::kLsb);
  if (kind == "codes") return ReadSteps(c, LimitKind::kCodes);
  if (kind == "as") {
    PLINTH_RETURN_IF_ERROR(c.CheckKeys({"kind", "type"}));
    PLINTH_ASSIGN_OR_RETURN(*as, c.Choice("type", {"f64", "f32", "f16", "bf16"}));
    return Limit{};
  }
  PLINTH_RETURN_IF_ERROR(c.CheckKeys({"kind"}));
  if (kind == "bitwise") return Limit{.kind = LimitKind::kBitwise};
  return Limit{.kind = kind == "distribution" ? LimitKind::kDistribution : LimitKind::kUndefined};
}

StatusOr<Growth> ReadGrowth(const Config& c) {
  const std::vector<std::string> names = {"none", "sqrt", "softmax", "norm", "contributions", "ranks"};
  PLINTH_ASSIGN_OR_RETURN(const std::string name, c.Choice("growth", names));
  return static_cast<Growth>(std::find(names.begin(), names.end(), name) - names.begin());
}

size_t TypeIndex(std::string_view name) {
  return static_cast<size_t>(std::find(kTypeNames.begin(), kTypeNames.end(), name) - kTypeNames.begin());
}

Status ReadLimits(const Config& c, RuleClass* rule_class) {
  std::array<std::string, kNumberTypes> as;
  for (size_t t = 0; t < kTypeNames.size(); ++t) {
    if (kTypeNames[t] == "tf32" && !c.Has("tf32")) {
      as[t] = "f32";
      continue;
    }
    PLINTH_ASSIGN_OR_RETURN(const Config section, c.Section(kTypeNames[t]));
    PLINTH_ASSIGN_OR_RETURN(rule_class->limits[t], ReadLimit(section, FormatOf(t).accumulator, &as[t]));
  }
  for (size_t t = 0; t < kTypeNames.size(); ++t) {
    if (as[t].empty()) continue;
    const size_t other = TypeIndex(as[t]);
    if (!as[other].empty()) return c.Refuse(kTypeNames[t], "a type whose own limit does not refer on");
    rule_class->limits[t] = rule_class->limits[other];
  }
  return absl::OkStatus();
}

StatusOr<RuleClass> ReadClass(const Config& c, const std::string& name) {
  PLINTH_RETURN_IF_ERROR(c.CheckKeys({"title", "growth", "operators", "relaxed", "band_required",
                                      "identical_ranks", "f64", "f32", "tf32", "f16", "bf16", "int"}));
  RuleClass rule_class;
  rule_class.name = name;
  PLINTH_ASSIGN_OR_RETURN(rule_class.title, c.Text("title"));
  PLINTH_ASSIGN_OR_RETURN(rule_class.growth, ReadGrowth(c));
  PLINTH_ASSIGN_OR_RETURN(rule_class.band_required, c.FlagOr("band_required", false));
  PLINTH_ASSIGN_OR_RETURN(rule_class.identical_ranks, c.FlagOr("identical_ranks", false));
  PLINTH_ASSIGN_OR_RETURN(rule_class.operators, c.Texts("operators"));
  PLINTH_ASSIGN_OR_RETURN(rule_class.relaxed, c.Texts("relaxed"));
  PLINTH_RETURN_IF_ERROR(ReadLimits(c, &rule_class));
  return rule_class;
}

Status ReadClasses(const Config& root, RuleSet* rules) {
  PLINTH_ASSIGN_OR_RETURN(const Config section, root.Section("class"));
  PLINTH_RETURN_IF_ERROR(section.CheckKeys(ClassNames()));
  std::map<std::string, std::string> class_of;
  for (const std::string& name : ClassNames()) {
    PLINTH_ASSIGN_OR_RETURN(const Config one, section.Section(name));
    PLINTH_ASSIGN_OR_RETURN(RuleClass rule_class, ReadClass(one, name));
    for (const auto* list : {&rule_class.operators, &rule_class.relaxed}) {
      for (const std::string& op : *list) {
        const auto [at, fresh] = class_of.emplace(op, name);
        if (!fresh) {
          return one.Refuse(list == &rule_class.relaxed ? "relaxed" : "operators",
                            StrCat("each operator once, and ", op, " stands in class ", at->second,
                                   " already; a list", " without it"));
        }
      }
    }
    rules->classes.push_back(std::move(rule_class));
  }
  PLINTH_ASSIGN_OR_RETURN(rules->default_class, root.Choice("default_class", ClassNames()));
  return absl::OkStatus();
}

StatusOr<std::vector<RuleSet::Raise>> ReadRaises(const Config& c, std::string_view factor) {
  PLINTH_ASSIGN_OR_RETURN(const std::vector<Config> rows, c.Sections("raises"));
  std::vector<RuleSet::Raise> raises;
  for (const Config& row : rows) {
    PLINTH_RETURN_IF_ERROR(row.CheckKeys({"below", std::string(factor)}));
    RuleSet::Raise raise;
    const int64_t least = raises.empty() ? 1 : raises.back().below + 1;
    PLINTH_ASSIGN_OR_RETURN(raise.below, row.Int("below", least, int64_t{1} << 40));
    PLINTH_ASSIGN_OR_RETURN(raise.factor, row.Real(factor, 1, 100));
    raises.push_back(raise);
  }
  return raises;
}

Status ReadIncumbent(const Config& root, RuleSet* rules) {
  PLINTH_ASSIGN_OR_RETURN(const Config c, root.Section("incumbent"));
  PLINTH_RETURN_IF_ERROR(c.CheckKeys({"raises", "max_ratio", "rms_floor", "max_floor", "bias_sigmas"}));
  PLINTH_ASSIGN_OR_RETURN(rules->m_raises, ReadRaises(c, "m"));
  PLINTH_ASSIGN_OR_RETURN(rules->max_ratio, Positive(c, "max_ratio"));
  PLINTH_ASSIGN_OR_RETURN(rules->rms_floor, c.Real("rms_floor", 0, kLargest));
  PLINTH_ASSIGN_OR_RETURN(rules->max_floor, c.Real("max_floor", 0, kLargest));
  PLINTH_ASSIGN_OR_RETURN(rules->bias_sigmas, Positive(c, "bias_sigmas"));
  return absl::OkStatus();
}

StatusOr<std::vector<int>> RuleNumbers(const Config& c, std::string_view key) {
  PLINTH_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, c.Ints(key, 1, 4, 4));
  std::vector<int> result(numbers.begin(), numbers.end());
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) == result.end()) return result;
  return c.Refuse(key, "a list that names each rule once");
}

Status ReadSoftenings(const Config& root, RuleSet* rules) {
  PLINTH_ASSIGN_OR_RETURN(const std::vector<Config> rows, root.Sections("warn"));
  for (const Config& row : rows) {
    PLINTH_RETURN_IF_ERROR(row.CheckKeys({"broken", "holds", "reason"}));
    Softening softening;
    PLINTH_ASSIGN_OR_RETURN(softening.broken, RuleNumbers(row, "broken"));
    PLINTH_ASSIGN_OR_RETURN(softening.holds, RuleNumbers(row, "holds"));
    PLINTH_ASSIGN_OR_RETURN(softening.reason, row.Text("reason"));
    rules->softenings.push_back(std::move(softening));
  }
  return absl::OkStatus();
}

Status ReadRest(const Config& root, RuleSet* rules) {
  PLINTH_ASSIGN_OR_RETURN(const Config structure, root.Section("structure"));
  PLINTH_RETURN_IF_ERROR(structure.CheckKeys({"subnormal_drop", "subnormal_least"}));
  PLINTH_ASSIGN_OR_RETURN(rules->subnormal_drop, Positive(structure, "subnormal_drop"));
  PLINTH_ASSIGN_OR_RETURN(rules->subnormal_least, structure.Int("subnormal_least", 1, 1 << 20));
  PLINTH_ASSIGN_OR_RETURN(const Config cap, root.Section("cap"));
  PLINTH_RETURN_IF_ERROR(cap.CheckKeys({"lambda", "assumed_terms", "estimated_scale", "raises"}));
  PLINTH_ASSIGN_OR_RETURN(rules->cap_raises, ReadRaises(cap, "factor"));
  PLINTH_ASSIGN_OR_RETURN(rules->lambda, Positive(cap, "lambda"));
  PLINTH_ASSIGN_OR_RETURN(rules->assumed_terms, cap.Real("assumed_terms", 1, 65536));
  PLINTH_ASSIGN_OR_RETURN(rules->estimated_scale, Positive(cap, "estimated_scale"));
  PLINTH_ASSIGN_OR_RETURN(const Config noise, root.Section("noise"));
  PLINTH_RETURN_IF_ERROR(noise.CheckKeys({"factor"}));
  PLINTH_ASSIGN_OR_RETURN(rules->noise_factor, Positive(noise, "factor"));
  PLINTH_ASSIGN_OR_RETURN(const Config distribution, root.Section("distribution"));
  PLINTH_RETURN_IF_ERROR(distribution.CheckKeys({"ks", "z"}));
  PLINTH_ASSIGN_OR_RETURN(rules->ks, distribution.Real("ks", 1, 10));
  PLINTH_ASSIGN_OR_RETURN(rules->z, distribution.Real("z", 1, 20));
  return absl::OkStatus();
}

Status ReadTypes(const Config& root, RuleSet* rules) {
  PLINTH_ASSIGN_OR_RETURN(const Config types, root.Section("types"));
  PLINTH_RETURN_IF_ERROR(types.CheckKeys({"f64", "f32", "tf32", "f16", "bf16"}));
  for (size_t t = 0; t + 1 < kTypeNames.size(); ++t) {
    PLINTH_ASSIGN_OR_RETURN(const Config section, types.Section(kTypeNames[t]));
    PLINTH_ASSIGN_OR_RETURN(rules->types[t], ReadType(section, t));
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view NumberTypeName(NumberType type) { return kTypeNames[static_cast<size_t>(type)]; }

std::optional<NumberType> NumberTypeOf(std::string_view dtype) {
  static constexpr std::string_view kWhole[] = {"i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool"};
  if (dtype.starts_with("f8_")) return NumberType::kInt;
  if (std::find(std::begin(kWhole), std::end(kWhole), dtype) != std::end(kWhole)) return NumberType::kInt;
  const size_t index = TypeIndex(dtype);
  if (index >= TypeIndex("int")) return std::nullopt;
  return static_cast<NumberType>(index);
}

bool RuleClass::Relaxed(std::string_view op) const { return Contains(relaxed, op); }

const std::vector<std::string>& ClassNames() {
  static const std::vector<std::string> kNames = {"A", "A'", "B", "C", "D",  "E", "F",
                                                  "G", "G'", "H", "I", "I'", "J", "K"};
  return kNames;
}

StatusOr<RuleSet> RuleSet::Parse(std::string_view text, std::string where) {
  PLINTH_ASSIGN_OR_RETURN(const Config root, formats::ParseTomlWithLines(text, where));
  PLINTH_RETURN_IF_ERROR(root.CheckKeys({"schema", "default_class", "structure", "cap", "incumbent", "noise",
                                         "distribution", "types", "class", "warn"}));
  PLINTH_RETURN_IF_ERROR(root.Choice("schema", {"plinth.rules/1"}).status());
  RuleSet rules;
  PLINTH_RETURN_IF_ERROR(ReadTypes(root, &rules));
  PLINTH_RETURN_IF_ERROR(ReadClasses(root, &rules));
  PLINTH_RETURN_IF_ERROR(ReadIncumbent(root, &rules));
  PLINTH_RETURN_IF_ERROR(ReadRest(root, &rules));
  PLINTH_RETURN_IF_ERROR(ReadSoftenings(root, &rules));
  PLINTH_ASSIGN_OR_RETURN(rules.digest_, Sha256Hex(text));
  rules.where_ = std::move(where);
  return rules;
}

StatusOr<RuleSet> RuleSet::Load(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, formats::kMaxConfigBytes));
  return Parse(text, path);
}

std::string_view RuleSet::BuiltinText() {
  return {plinth_embedded_rules, static_cast<size_t>(plinth_embedded_rules_end - plinth_embedded_rules)};
}

StatusOr<RuleSet> RuleSet::Builtin() { return Parse(BuiltinText(), "cases/rules.toml"); }

double RuleSet::Raised(const std::vector<Raise>& raises, int64_t elements, double otherwise) {
  const auto at =
      std::find_if(raises.begin(), raises.end(), [&](const Raise& r) { return elements < r.below; });
  return at == raises.end() ? otherwise : at->factor;
}

const RuleClass* RuleSet::Find(std::string_view name) const {
  const auto at =
      std::find_if(classes.begin(), classes.end(), [&](const RuleClass& c) { return c.name == name; });
  return at == classes.end() ? nullptr : &*at;
}

const RuleClass& RuleSet::ClassOf(std::string_view op) const {
  for (const RuleClass& c : classes) {
    if (Contains(c.operators, op) || Contains(c.relaxed, op)) return c;
  }
  return *Find(default_class);
}

}  // namespace plinth::verify
