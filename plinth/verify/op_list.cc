#include <algorithm>

#include "plinth/formats/json_writer.h"
#include "plinth/verify/op_check.h"

namespace plinth::verify {
namespace {

using ops::OpChecks;
using ops::Tier;

constexpr std::string_view kTiers[] = {"smoke", "ci", "nightly"};

std::string_view ClassName(ops::ToleranceClass kind) {
  static constexpr std::string_view kNames[] = {"A exact",          "A' order",    "B arithmetic",
                                                "C transcendental", "D reduction", "E softmax",
                                                "F norm",           "G matmul"};
  return kNames[static_cast<int>(kind)];
}

OpListing ListingOf(const OpChecks& checks) {
  OpListing l;
  l.op = checks.spec->name;
  l.summary = checks.spec->summary;
  for (const ops::CpuKernel& k : checks.spec->cpu) l.kernels.emplace_back(k.name);
  if (checks.spec->view != nullptr) l.kernels.emplace_back("view");
  for (const ops::Case& c : checks.cases()) {
    ++l.cases[static_cast<int>(c.tier)];
    for (const ops::InputCase& in : c.inputs) {
      const std::string name(DTypeName(in.dtype));
      if (!in.absent && std::count(l.dtypes.begin(), l.dtypes.end(), name) == 0) l.dtypes.push_back(name);
    }
  }
  l.refusals = static_cast<int64_t>(checks.refusals().size());
  l.tolerance = ClassName(checks.tolerance.kind);
  l.derivation = checks.tolerance.derivation;
  l.attacks = checks.attacks;
  return l;
}

}  // namespace

StatusOr<std::vector<OpListing>> ListOps(const std::string& op) {
  std::vector<OpListing> list;
  for (const OpChecks* checks : ops::AllChecks()) {
    if (op.empty() || op == checks->spec->name) list.push_back(ListingOf(*checks));
  }
  if (list.empty()) {
    return absl::InvalidArgumentError(
        StrCat("no operator is named \"", op, "\"; there are ",
               Join(ops::AllChecks(), ", ", [](const OpChecks* c) { return c->spec->name; })));
  }
  return list;
}

std::string ToJson(const OpListing& l) {
  std::string out;
  formats::JsonWriter w(&out);
  const auto text = [&](std::string_view key, std::string_view value) { w.Key(key), w.String(value); };
  const auto texts = [&](std::string_view key, const std::vector<std::string>& values) {
    w.Key(key), w.BeginArray();
    for (const std::string& value : values) w.String(value);
    w.EndArray();
  };
  w.BeginObject();
  text("op", l.op);
  text("summary", l.summary);
  texts("kernels", l.kernels);
  texts("dtypes", l.dtypes);
  w.Key("cases"), w.BeginObject();
  for (int tier = 0; tier < 3; ++tier) w.Key(kTiers[tier]), w.Int(l.cases[tier]);
  w.EndObject();
  w.Key("refusals"), w.Int(l.refusals);
  text("tolerance", l.tolerance);
  text("derivation", l.derivation);
  text("attacks", l.attacks);
  w.EndObject();
  return out;
}

std::string ToText(const OpListing& l) {
  return StrCat(l.op, ": ", l.summary, "\n  kernels ", Join(l.kernels, ", "), "; types ",
                Join(l.dtypes, ", "), "; cases ", l.cases[0], " smoke, ", l.cases[1], " ci, ", l.cases[2],
                " nightly; ", l.refusals, " refusals\n  tolerance ", l.tolerance,
                l.derivation.empty() ? "" : ": ", l.derivation, "\n  ", l.attacks);
}

std::string_view ModeName(OpMode mode) {
  static constexpr std::string_view kNames[] = {"correct", "bitwise", "speed"};
  return kNames[static_cast<int>(mode)];
}

StatusOr<std::vector<OpMode>> ParseModes(std::string_view text, bool* list) {
  std::vector<OpMode> modes;
  *list = false;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    bool known = name == "list";
    *list = *list || known;
    for (OpMode mode : {OpMode::kCorrect, OpMode::kBitwise, OpMode::kSpeed}) {
      if (name != ModeName(mode)) continue;
      known = true;
      if (std::count(modes.begin(), modes.end(), mode) == 0) modes.push_back(mode);
    }
    if (name == "gradient") return absl::InvalidArgumentError("mode gradient: no operator has gradients yet");
    if (!known) {
      return absl::InvalidArgumentError(
          StrCat("mode \"", name, "\" is unknown; there are list, correct, bitwise, gradient and speed"));
    }
    if (comma == std::string_view::npos) return modes;
    text.remove_prefix(comma + 1);
  }
}

StatusOr<Tier> ParseTier(std::string_view text) {
  if (text == "smoke") return Tier::kSmoke;
  if (text == "ci") return Tier::kCi;
  if (text == "nightly") return Tier::kNightly;
  return absl::InvalidArgumentError(
      StrCat("tier \"", text, "\" is unknown; there are smoke, ci and nightly"));
}

}  // namespace plinth::verify
