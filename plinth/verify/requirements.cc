#include "plinth/verify/requirements.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/base/pattern.h"
#include "plinth/base/text.h"
#include "plinth/formats/config.h"
#include "plinth/formats/toml.h"
#include "plinth/verify/element.h"
#include "plinth/verify/short_number.h"

namespace plinth::verify {
namespace {

using formats::Config;
using formats::ConstTensorRef;

constexpr int64_t kMostRecords = 10'000;
constexpr double kLargest = std::numeric_limits<double>::max();

StatusOr<std::optional<double>> Optional(const Config& c, std::string_view key, double lo, double hi) {
  if (!c.Has(key)) return std::optional<double>();
  PLINTH_ASSIGN_OR_RETURN(const double number, c.Real(key, lo, hi));
  return std::optional<double>(number);
}

Status ReadAllclose(const Config& c, Requirement* r) {
  std::vector<std::string> known = {"name", "kind", "tensor"};
  bool any = false;
  for (int t = 0; t < kNumberTypes; ++t) {
    const std::string type(NumberTypeName(static_cast<NumberType>(t)));
    if (type != "tf32") known.push_back(type);
  }
  PLINTH_RETURN_IF_ERROR(c.CheckKeys(known));
  for (size_t i = 3; i < known.size(); ++i) {
    if (!c.Has(known[i])) continue;
    PLINTH_ASSIGN_OR_RETURN(const Config limits, c.Section(known[i]));
    PLINTH_RETURN_IF_ERROR(limits.CheckKeys({"atol", "rtol"}));
    Closeness close;
    PLINTH_ASSIGN_OR_RETURN(close.atol, limits.Real("atol", 0, kLargest));
    PLINTH_ASSIGN_OR_RETURN(close.rtol, limits.Real("rtol", 0, kLargest));
    const NumberType type = known[i] == "int" ? NumberType::kInt : *NumberTypeOf(known[i]);
    r->close[static_cast<size_t>(type)] = close;
    any = true;
  }
  return any ? absl::OkStatus()
             : c.Refuse("kind",
                        "a type beside it, such as f32 = {atol = 1e-5, rtol = 1e-5}, for \"allclose\"");
}

Status ReadDistance(const Config& c, Requirement* r) {
  PLINTH_RETURN_IF_ERROR(
      c.CheckKeys({"name", "kind", "tensor", "types", "max_abs", "cosine", "max_rel", "rel_l2"}));
  PLINTH_ASSIGN_OR_RETURN(r->max_abs, Optional(c, "max_abs", 0, kLargest));
  PLINTH_ASSIGN_OR_RETURN(r->cosine, Optional(c, "cosine", -1, 1));
  PLINTH_ASSIGN_OR_RETURN(r->max_rel, Optional(c, "max_rel", 0, kLargest));
  PLINTH_ASSIGN_OR_RETURN(r->rel_l2, Optional(c, "rel_l2", 0, kLargest));
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> types, c.Texts("types"));
  for (const std::string& name : types) {
    const std::optional<NumberType> type = name == "int" ? NumberType::kInt : NumberTypeOf(name);
    if (!type.has_value()) return c.Refuse("types", "a list of f64, f32, f16, bf16 and int");
    r->types.push_back(*type);
  }
  if (r->max_abs.has_value() || r->cosine.has_value() || r->max_rel.has_value() || r->rel_l2.has_value()) {
    return absl::OkStatus();
  }
  return c.Refuse("kind", "one of max_abs, cosine, max_rel and rel_l2 beside it for \"distance\"");
}

Status ReadTask(const Config& c, Requirement* r) {
  PLINTH_RETURN_IF_ERROR(c.CheckKeys({"name", "kind", "metric", "at_least", "at_most"}));
  PLINTH_ASSIGN_OR_RETURN(r->metric, c.Text("metric"));
  PLINTH_ASSIGN_OR_RETURN(r->at_least, Optional(c, "at_least", -kLargest, kLargest));
  PLINTH_ASSIGN_OR_RETURN(r->at_most, Optional(c, "at_most", -kLargest, kLargest));
  if (r->at_least.has_value() || r->at_most.has_value()) return absl::OkStatus();
  return c.Refuse("kind", "at_least or at_most beside it for \"task\"");
}

StatusOr<Requirement> ReadRequirement(const Config& c) {
  Requirement r;
  PLINTH_ASSIGN_OR_RETURN(r.name, c.Text("name"));
  if (r.name.empty()) return c.Refuse("name", "a name by which people know the line");
  const std::vector<std::string> kinds = {"allclose", "distance", "task"};
  PLINTH_ASSIGN_OR_RETURN(const std::string kind, c.Choice("kind", kinds));
  r.kind = static_cast<RequirementKind>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
  if (r.kind != RequirementKind::kTask) {
    PLINTH_ASSIGN_OR_RETURN(r.tensor, c.TextOr("tensor", "*"));
  }
  PLINTH_RETURN_IF_ERROR(r.kind == RequirementKind::kAllclose   ? ReadAllclose(c, &r)
                         : r.kind == RequirementKind::kDistance ? ReadDistance(c, &r)
                                                                : ReadTask(c, &r));
  return r;
}

std::string Status3(bool good) { return good ? "passed" : "failed"; }

constexpr std::string_view kNothingFinite = "no element is finite on both sides: nothing was compared";
bool NothingFinite(const Difference& d) { return d.count > 0 && d.finite_both == 0; }

StatusOr<RequirementResult> CheckClose(const Requirement& r, const Closeness& close, const ConstTensorRef& x,
                                       const ConstTensorRef& d, Threads* threads) {
  DifferOptions options;
  options.close = close;
  options.threads = threads;
  PLINTH_ASSIGN_OR_RETURN(const Difference difference, Differ(x, d, options));
  if (NothingFinite(difference)) return RequirementResult{r.name, "failed", std::string(kNothingFinite)};
  return RequirementResult{
      r.name, Status3(difference.outside == 0),
      StrCat(difference.outside, " of ", difference.count, " elements beyond atol ", ShortNumber(close.atol),
             " + rtol ", ShortNumber(close.rtol), " x |reference|")};
}

RequirementResult CheckDistance(const Requirement& r, const Difference& d) {
  if (NothingFinite(d)) return {r.name, "failed", std::string(kNothingFinite)};
  bool good = d.nan_mismatch == 0 && d.inf_mismatch == 0;
  std::string detail = good ? "" : "not finite on one side only; ";
  const auto at_most = [&](std::string_view name, double measured, const std::optional<double>& limit) {
    if (!limit.has_value()) return;
    good = good && measured <= *limit;
    StrAppend(&detail, name, " ", ShortNumber(measured), ", at most ", ShortNumber(*limit), "; ");
  };
  at_most("largest difference", d.max_abs, r.max_abs);
  at_most("largest relative error", d.max_rel, r.max_rel);
  at_most("relative L2", d.rel_l2, r.rel_l2);
  if (r.cosine.has_value()) {
    good = good && d.cosine >= *r.cosine;
    // Few people see what a cosine admits.
    char text[48];
    std::snprintf(text, sizeof(text), "%.9g", d.cosine);
    StrAppend(&detail, "cosine ", std::string_view(text), ", at least ", *r.cosine,
              " (a relative L2 error up to ",
              ShortNumber(std::sqrt(std::max(0.0, 1 - *r.cosine * *r.cosine))), " and any scale have it); ");
  }
  detail.resize(detail.size() - 2);
  return {r.name, Status3(good), detail};
}

}  // namespace

StatusOr<Requirements> ParseRequirements(std::string_view text, std::string where) {
  PLINTH_ASSIGN_OR_RETURN(const Config root, formats::ParseTomlWithLines(text, std::move(where)));
  PLINTH_RETURN_IF_ERROR(root.CheckKeys({"requirement"}));
  PLINTH_ASSIGN_OR_RETURN(const std::vector<Config> records, root.Sections("requirement"));
  if (records.empty() || static_cast<int64_t>(records.size()) > kMostRecords) {
    return root.Refuse("requirement", StrCat("1 to ", kMostRecords, " records"));
  }
  Requirements requirements;
  PLINTH_ASSIGN_OR_RETURN(requirements.sha256, Sha256Hex(text));
  std::set<std::string> names;
  for (const Config& record : records) {
    PLINTH_ASSIGN_OR_RETURN(Requirement r, ReadRequirement(record));
    if (!names.insert(r.name).second) return record.Refuse("name", "a name that no other requirement has");
    requirements.records.push_back(std::move(r));
  }
  return requirements;
}

StatusOr<Requirements> LoadRequirements(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, formats::kMaxConfigBytes));
  return ParseRequirements(text, path);
}

StatusOr<std::vector<RequirementResult>> CheckRequirements(const Requirements& requirements,
                                                           std::string_view tensor, const ConstTensorRef& x,
                                                           const ConstTensorRef& d, Threads* threads) {
  const std::optional<NumberType> type = NumberTypeOf(InfoOf(ElementOf(d)).name);
  std::vector<RequirementResult> results;
  std::optional<Difference> difference;
  for (const Requirement& r : requirements.records) {
    if (r.kind == RequirementKind::kTask || !type.has_value() || !MatchesWildcards(r.tensor, tensor))
      continue;
    if (r.kind == RequirementKind::kAllclose) {
      const std::optional<Closeness>& close = r.close[static_cast<size_t>(*type)];
      if (!close.has_value()) continue;
      PLINTH_ASSIGN_OR_RETURN(RequirementResult result, CheckClose(r, *close, x, d, threads));
      results.push_back(std::move(result));
      continue;
    }
    if (!r.types.empty() && std::find(r.types.begin(), r.types.end(), *type) == r.types.end()) continue;
    if (!difference.has_value()) {
      DifferOptions options;
      options.threads = threads;
      PLINTH_ASSIGN_OR_RETURN(difference, Differ(x, d, options));
    }
    results.push_back(CheckDistance(r, *difference));
  }
  return results;
}

std::vector<RequirementResult> CheckTaskRequirements(
    const Requirements& requirements, const std::vector<std::pair<std::string, double>>& metrics) {
  std::vector<RequirementResult> results;
  for (const Requirement& r : requirements.records) {
    if (r.kind != RequirementKind::kTask) continue;
    const auto at = std::find_if(metrics.begin(), metrics.end(),
                                 [&](const auto& metric) { return metric.first == r.metric; });
    if (at == metrics.end()) {
      results.push_back({r.name, "unproven", StrCat("no ", r.metric, " was measured")});
      continue;
    }
    const double x = at->second;
    // Negated, so that a NaN fails.
    const bool good =
        !(r.at_least.has_value() && !(x >= *r.at_least)) && !(r.at_most.has_value() && !(x <= *r.at_most));
    results.push_back({r.name, Status3(good),
                       StrCat(r.metric, " ", ShortNumber(x),
                              r.at_least.has_value() ? StrCat(", at least ", ShortNumber(*r.at_least)) : "",
                              r.at_most.has_value() ? StrCat(", at most ", ShortNumber(*r.at_most)) : "")});
  }
  return results;
}

}  // namespace plinth::verify
