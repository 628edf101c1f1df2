#include "plinth/verify/tensor_map.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "plinth/base/files.h"
#include "plinth/formats/toml.h"

namespace plinth::verify {
namespace {

using formats::JsonValue;
using formats::QuotedShort;

constexpr size_t kMostName = 4096;  // bytes of a name that rules are applied to
constexpr int64_t kMostRules = 10'000;

struct NameRule {
  std::string from;  // literal, where pattern is null
  std::unique_ptr<re2::RE2> pattern;
  std::string to;
};
struct LayoutRule {
  std::unique_ptr<re2::RE2> pattern;
  bool candidate = true;
  std::vector<int64_t> reshape, permute;
  std::vector<std::pair<int64_t, int64_t>> slice;
  std::string where;
};
struct RankRule {
  std::unique_ptr<re2::RE2> pattern;
  int64_t dimension = 0;
};

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

// Reads one table of the file; messages begin with "FILE: name[3]".
class RuleReader {
 public:
  RuleReader(const JsonValue& value, std::string where) : value_(value), where_(std::move(where)) {}

  Status Known(const std::vector<std::string_view>& keys) const {
    if (value_.object() == nullptr) return Refuse("is no table");
    for (const auto& [key, member] : *value_.object()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        return Refuse(StrCat("has the key ", QuotedShort(key), "; there are ", Join(keys, ", ")));
      }
    }
    return absl::OkStatus();
  }
  bool Has(std::string_view key) const { return value_.Find(key) != nullptr; }
  StatusOr<std::string> Text(std::string_view key) const {
    const JsonValue* member = value_.Find(key);
    if (member == nullptr || member->text() == nullptr) {
      return Refuse(StrCat("\"", key, "\" is ", member == nullptr ? "missing" : formats::ShortText(*member),
                           "; text is expected"));
    }
    return *member->text();
  }
  StatusOr<std::unique_ptr<re2::RE2>> Pattern(std::string_view key) const {
    PLINTH_ASSIGN_OR_RETURN(const std::string text, Text(key));
    re2::RE2::Options options;
    options.set_log_errors(false);
    auto pattern = std::make_unique<re2::RE2>(text, options);
    if (!pattern->ok()) {
      return Refuse(
          StrCat("\"", key, "\" ", QuotedShort(text), " is no regular expression: ", pattern->error()));
    }
    return pattern;
  }
  StatusOr<std::vector<int64_t>> Integers(std::string_view key) const {
    std::vector<int64_t> result;
    const JsonValue* member = value_.Find(key);
    if (member == nullptr) return result;
    const auto* list = member->array();
    if (list == nullptr || list->empty() || list->size() > 64) {
      return Refuse(
          StrCat("\"", key, "\" is ", formats::ShortText(*member), "; a list of integers is expected"));
    }
    for (const JsonValue& element : *list) {
      if (element.integer() == nullptr) {
        return Refuse(StrCat("\"", key, "\" holds ", formats::ShortText(element), "; integers are expected"));
      }
      result.push_back(*element.integer());
    }
    return result;
  }
  StatusOr<std::vector<std::pair<int64_t, int64_t>>> Ranges(std::string_view key) const {
    std::vector<std::pair<int64_t, int64_t>> result;
    const JsonValue* member = value_.Find(key);
    if (member == nullptr) return result;
    const auto* list = member->array();
    if (list == nullptr || list->empty() || list->size() > 64) {
      return Refuse(
          StrCat("\"", key, "\" is ", formats::ShortText(*member), "; a list of [begin, end] is expected"));
    }
    for (const JsonValue& range : *list) {
      const auto* ends = range.array();
      const bool good = ends != nullptr && ends->size() == 2 && (*ends)[0].integer() != nullptr &&
                        (*ends)[1].integer() != nullptr && *(*ends)[0].integer() >= 0 &&
                        *(*ends)[1].integer() >= *(*ends)[0].integer();
      if (!good)
        return Refuse(
            StrCat("\"", key, "\" holds ", formats::ShortText(range), "; [begin, end] is expected"));
      result.emplace_back(*(*ends)[0].integer(), *(*ends)[1].integer());
    }
    return result;
  }
  Status Refuse(std::string_view what) const { return absl::InvalidArgumentError(StrCat(where_, " ", what)); }
  const std::string& where() const { return where_; }

 private:
  const JsonValue& value_;
  std::string where_;
};

StatusOr<NameRule> ReadName(const RuleReader& r) {
  PLINTH_RETURN_IF_ERROR(r.Known({"from", "pattern", "to"}));
  NameRule rule;
  if (r.Has("from") == r.Has("pattern")) return r.Refuse("needs either \"from\" or \"pattern\"");
  PLINTH_ASSIGN_OR_RETURN(rule.to, r.Text("to"));
  if (r.Has("from")) {
    PLINTH_ASSIGN_OR_RETURN(rule.from, r.Text("from"));
    return rule;
  }
  PLINTH_ASSIGN_OR_RETURN(rule.pattern, r.Pattern("pattern"));
  std::string why;
  if (!rule.pattern->CheckRewriteString(rule.to, &why))
    return r.Refuse(StrCat("\"to\" does not fit its pattern: ", why));
  return rule;
}

StatusOr<LayoutRule> ReadLayout(const RuleReader& r) {
  PLINTH_RETURN_IF_ERROR(r.Known({"pattern", "side", "reshape", "slice", "permute"}));
  LayoutRule rule;
  rule.where = r.where();
  PLINTH_ASSIGN_OR_RETURN(rule.pattern, r.Pattern("pattern"));
  if (r.Has("side")) {
    PLINTH_ASSIGN_OR_RETURN(const std::string side, r.Text("side"));
    if (side != "candidate" && side != "reference") {
      return r.Refuse(StrCat("\"side\" is ", QuotedShort(side), "; candidate or reference is expected"));
    }
    rule.candidate = side == "candidate";
  }
  PLINTH_ASSIGN_OR_RETURN(rule.reshape, r.Integers("reshape"));
  PLINTH_ASSIGN_OR_RETURN(rule.slice, r.Ranges("slice"));
  PLINTH_ASSIGN_OR_RETURN(rule.permute, r.Integers("permute"));
  if (rule.reshape.empty() && rule.slice.empty() && rule.permute.empty()) {
    return r.Refuse("does nothing; reshape, slice or permute is expected");
  }
  std::vector<int64_t> sorted = rule.permute;
  std::sort(sorted.begin(), sorted.end());
  for (size_t k = 0; k < sorted.size(); ++k) {
    if (sorted[k] != static_cast<int64_t>(k))
      return r.Refuse(StrCat("\"permute\" is no order of 0 to ", sorted.size() - 1));
  }
  return rule;
}

StatusOr<RankRule> ReadRanks(const RuleReader& r) {
  PLINTH_RETURN_IF_ERROR(r.Known({"pattern", "concatenate"}));
  RankRule rule;
  PLINTH_ASSIGN_OR_RETURN(rule.pattern, r.Pattern("pattern"));
  PLINTH_ASSIGN_OR_RETURN(const auto dimension, r.Integers("concatenate"));
  if (dimension.size() != 1 || dimension[0] < 0) {
    return r.Refuse("needs \"concatenate\", a list of one dimension: [1]");
  }
  rule.dimension = dimension[0];
  return rule;
}

}  // namespace

struct TensorMap::Rules {
  std::string where;
  std::vector<NameRule> names;
  std::vector<LayoutRule> layouts;
  std::vector<RankRule> ranks;
};

TensorMap::TensorMap() : rules_(std::make_unique<Rules>()) {}
TensorMap::~TensorMap() = default;
TensorMap::TensorMap(TensorMap&&) noexcept = default;
TensorMap& TensorMap::operator=(TensorMap&&) noexcept = default;

namespace {

// Literal rules that lead from a name back to it.
Status CheckLiteralCycles(const std::vector<NameRule>& rules, const std::string& where) {
  std::map<std::string_view, std::string_view> next;
  for (const NameRule& rule : rules) {
    if (rule.pattern == nullptr && rule.from != rule.to) next.emplace(rule.from, rule.to);
  }
  std::set<std::string_view> done;
  for (const auto& [start, first] : next) {
    std::vector<std::string_view> path = {start};
    std::set<std::string_view> seen = {start};
    auto at = next.find(start);
    while (at != next.end() && !done.contains(at->second)) {
      path.push_back(at->second);
      if (!seen.insert(at->second).second) {
        if (path.size() > 6) path.erase(path.begin() + 3, path.end() - 2);
        return absl::InvalidArgumentError(
            StrCat(where, ": the names lead in a circle: ", Join(path, " -> ", QuotedShort),
                   "; each name can change once"));
      }
      at = next.find(at->second);
    }
    done.insert(seen.begin(), seen.end());
  }
  return absl::OkStatus();
}

template <typename Rule, typename Read>
Status ReadList(const JsonValue& root, std::string_view key, const std::string& where, Read read,
                std::vector<Rule>* rules) {
  const JsonValue* list = root.Find(key);
  if (list == nullptr) return absl::OkStatus();
  if (list->array() == nullptr || static_cast<int64_t>(list->array()->size()) > kMostRules) {
    return absl::InvalidArgumentError(StrCat(where, ": \"", key, "\" is ", formats::ShortText(*list),
                                             "; a list of at most ", kMostRules, " tables is expected"));
  }
  for (const JsonValue& value : *list->array()) {
    const RuleReader reader(value, StrCat(where, ": ", key, "[", rules->size(), "]"));
    PLINTH_ASSIGN_OR_RETURN(Rule rule, read(reader));
    rules->push_back(std::move(rule));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<TensorMap> TensorMap::Load(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, formats::kMaxConfigBytes));
  const bool json = path.size() > 5 && path.compare(path.size() - 5, 5, ".json") == 0;
  PLINTH_ASSIGN_OR_RETURN(const formats::Config file,
                          json ? formats::Config::Parse(text, path) : formats::ParseToml(text, path));
  for (const std::string& key : file.UnknownKeys({"name", "layout", "ranks"})) {
    return absl::InvalidArgumentError(StrCat(path, ": has the key ", QuotedShort(key),
                                             "; lists called name, layout and ranks are expected"));
  }
  TensorMap map;
  Rules& rules = *map.rules_;
  rules.where = path;
  PLINTH_RETURN_IF_ERROR(ReadList(file.json(), "name", path, ReadName, &rules.names));
  PLINTH_RETURN_IF_ERROR(ReadList(file.json(), "layout", path, ReadLayout, &rules.layouts));
  PLINTH_RETURN_IF_ERROR(ReadList(file.json(), "ranks", path, ReadRanks, &rules.ranks));
  PLINTH_RETURN_IF_ERROR(CheckLiteralCycles(rules.names, path));
  return map;
}

std::string TensorMap::NameOf(std::string_view candidate) const {
  for (const NameRule& rule : rules_->names) {
    if (rule.pattern == nullptr) {
      if (rule.from == candidate) return rule.to;
    } else if (re2::RE2::FullMatch(Piece(candidate), *rule.pattern)) {
      std::string name(candidate);
      re2::RE2::Replace(&name, *rule.pattern, rule.to);
      return name;
    }
  }
  return std::string(candidate);
}

StatusOr<std::vector<std::string>> TensorMap::MapNames(const std::vector<std::string>& candidates) const {
  if (rules_->names.empty()) return candidates;
  std::vector<std::string> names;
  std::unordered_map<std::string, std::string> from;  // new name -> old
  std::unordered_map<std::string, std::string> to;    // old name -> new
  for (const std::string& old : candidates) {
    if (old.size() > kMostName) {
      return absl::InvalidArgumentError(StrCat(rules_->where, ": the name ", QuotedShort(old), " has ",
                                               old.size(), " bytes; rules apply to at most ", kMostName));
    }
    names.push_back(NameOf(old));
    const auto [at, fresh] = from.emplace(names.back(), old);
    if (!fresh) {
      return absl::InvalidArgumentError(StrCat(rules_->where, ": ", QuotedShort(at->second), " and ",
                                               QuotedShort(old), " both become ", QuotedShort(names.back())));
    }
    to.emplace(old, names.back());
  }
  for (const auto& [old, fresh] : to) {
    if (old == fresh) continue;
    const auto back = to.find(fresh);
    if (back != to.end() && back->second == old) {
      return absl::InvalidArgumentError(StrCat(rules_->where,
                                               ": the names lead in a circle: ", QuotedShort(old), " -> ",
                                               QuotedShort(fresh), " -> ", QuotedShort(old)));
    }
  }
  return names;
}

namespace {

std::string DimsText(const std::vector<int64_t>& dims) { return StrCat("[", Join(dims, ", "), "]"); }

Status Reshape(const LayoutRule& rule, std::string_view name, StridedRef* ref) {
  int64_t known = 1, open = -1;
  bool good = true;
  for (size_t k = 0; k < rule.reshape.size(); ++k) {
    if (rule.reshape[k] == -1 && open < 0) {
      open = static_cast<int64_t>(k);
    } else {
      good = good && rule.reshape[k] >= 0 && !__builtin_mul_overflow(known, rule.reshape[k], &known);
    }
  }
  std::vector<int64_t> dims = rule.reshape;
  const int64_t size = ref->size();
  if (good && open >= 0 && known > 0) dims[static_cast<size_t>(open)] = size / known;
  if (good && open >= 0) good = known > 0 && size % known == 0;
  if (!good || (open < 0 && known != size)) {
    return absl::InvalidArgumentError(StrCat(rule.where, " reshapes ", QuotedShort(name), " ",
                                             DimsText(ref->dims), " to ", DimsText(rule.reshape),
                                             ", which does not hold as many elements"));
  }
  formats::ConstTensorRef tensor = ref->tensor;
  tensor.dims = dims;
  StridedRef shaped(tensor);
  shaped.tensor = ref->tensor;
  *ref = std::move(shaped);
  return absl::OkStatus();
}

Status Slice(const LayoutRule& rule, std::string_view name, StridedRef* ref) {
  bool good = rule.slice.size() == ref->dims.size();
  for (size_t k = 0; good && k < rule.slice.size(); ++k) good = rule.slice[k].second <= ref->dims[k];
  if (!good) {
    return absl::InvalidArgumentError(StrCat(rule.where, " slices ", QuotedShort(name), ", which is ",
                                             DimsText(ref->dims),
                                             "; a range inside each dimension is expected"));
  }
  for (size_t k = 0; k < rule.slice.size(); ++k) {
    ref->offset += rule.slice[k].first * ref->strides[k];
    ref->dims[k] = rule.slice[k].second - rule.slice[k].first;
  }
  return absl::OkStatus();
}

Status Permute(const LayoutRule& rule, std::string_view name, StridedRef* ref) {
  if (rule.permute.size() != ref->dims.size()) {
    return absl::InvalidArgumentError(StrCat(rule.where, " permutes ", rule.permute.size(),
                                             " dimensions, but ", QuotedShort(name), " is ",
                                             DimsText(ref->dims)));
  }
  const StridedRef old = *ref;
  for (size_t k = 0; k < rule.permute.size(); ++k) {
    ref->dims[k] = old.dims[static_cast<size_t>(rule.permute[k])];
    ref->strides[k] = old.strides[static_cast<size_t>(rule.permute[k])];
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<StridedRef> TensorMap::LayOut(std::string_view name, bool candidate,
                                       const formats::ConstTensorRef& tensor) const {
  StridedRef ref(tensor);
  if (name.size() > kMostName) return ref;
  for (const LayoutRule& rule : rules_->layouts) {
    if (rule.candidate != candidate || !re2::RE2::FullMatch(Piece(name), *rule.pattern)) continue;
    if (!rule.reshape.empty()) PLINTH_RETURN_IF_ERROR(Reshape(rule, name, &ref));
    if (!rule.slice.empty()) PLINTH_RETURN_IF_ERROR(Slice(rule, name, &ref));
    if (!rule.permute.empty()) PLINTH_RETURN_IF_ERROR(Permute(rule, name, &ref));
    break;
  }
  return ref;
}

std::optional<int64_t> TensorMap::ConcatenatedAlong(std::string_view name) const {
  if (name.size() > kMostName) return std::nullopt;
  for (const RankRule& rule : rules_->ranks) {
    if (re2::RE2::FullMatch(Piece(name), *rule.pattern)) return rule.dimension;
  }
  return std::nullopt;
}

}  // namespace plinth::verify
