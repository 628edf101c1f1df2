#include "apps/plinth/env_text.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "plinth/base/text.h"
#include "plinth/report/terminal.h"

namespace plinth::app {
namespace {

using evidence::Environment;
using evidence::Fact;
using evidence::FactText;

// Texts come from files of a machine that may be anybody's.
std::string Clean(std::string_view text) { return Printable(text, Glyphs::kUnicode); }

std::string Padded(std::string_view text, size_t width) {
  std::string out(text);
  const auto shown = static_cast<size_t>(DisplayWidth(out));
  return shown < width ? out + std::string(width - shown, ' ') : out;
}

constexpr size_t kNameWidth = 14;

// "  name          value"; nothing where the value is empty.
void Row(std::string* out, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  StrAppend(out, "  ", Padded(Clean(name), kNameWidth), Clean(value), "\n");
}

std::string Bytes(const Fact* fact) {
  const int64_t* bytes = fact == nullptr ? nullptr : std::get_if<int64_t>(&fact->value);
  if (bytes == nullptr) return "";
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f GiB", static_cast<double>(*bytes) / (1 << 30));
  return text;
}

// "a, b" of those that are not empty.
std::string Listed(const std::vector<std::string>& parts, std::string_view separator = ", ") {
  std::string out;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    StrAppend(&out, out.empty() ? std::string_view() : separator, part);
  }
  return out;
}

// "`before` VALUE `after`", or nothing.
std::string With(std::string_view before, const std::string& value, std::string_view after = "") {
  return value.empty() ? "" : StrCat(before, value, after);
}

void Findings(const Environment& e, std::string* out) {
  for (const evidence::Finding& finding : e.findings) {
    StrAppend(out, Padded(SeverityName(finding.severity), 9), Clean(finding.sentence), "\n",
              std::string(9, ' '), "to resolve: ", Clean(finding.resolve), " [", finding.id, "]\n");
  }
  if (!e.findings.empty()) *out += "\n";
}

std::string Processor(const Environment& e) {
  const std::string visible = e.Text("cpu", "", "cores_visible"),
                    allowed = e.Text("cpu", "", "cores_allowed");
  const std::string cores = allowed.empty() || allowed == visible
                                ? With("", visible, " cores")
                                : StrCat(allowed, " of ", visible, " cores");
  return Listed({e.Text("cpu", "", "model"), cores, With("kernels at ", e.Text("cpu", "", "isa_plinth"))});
}

std::string Container(const Environment& e) {
  std::string processors;
  if (const Fact* fact = e.Find("container", "", "cpu_limit_millis"); fact != nullptr) {
    const int64_t* millis = std::get_if<int64_t>(&fact->value);
    char text[32];
    std::snprintf(text, sizeof(text), "%g cores",
                  millis == nullptr ? 0.0 : static_cast<double>(*millis) / 1000);
    processors = text;
  }
  const std::string limits = Listed({processors, Bytes(e.Find("container", "", "memory_limit_bytes"))});
  std::string image = e.Text("container", "", "image_id");
  if (image.empty()) image = e.Text("container", "", "image");
  return Listed({e.Text("container", "", "runtime"), With("image ", image), With("limited to ", limits)});
}

void Machine(const Environment& e, std::string* out) {
  *out += "machine\n";
  Row(out, "processor", Processor(e));
  Row(out, "memory", Bytes(e.Find("memory", "", "total_bytes")));
  Row(out, "system",
      Listed({e.Text("os", "", "name"), With("kernel ", e.Text("os", "", "kernel")),
              e.Text("os", "", "c_library"),
              e.Text("os", "", "virtual_machine") == "true" ? "virtual machine" : ""}));
  Row(out, "container", Container(e));
}

std::string Card(const Environment& e, const std::string& item) {
  const auto text = [&](std::string_view name) { return e.Text("devices", item, name); };
  std::string name = text("product");
  if (name.empty()) name = StrCat(text("vendor"), text("vendor").empty() ? "" : " ", "product unknown");
  std::string gfx = text("gfx_target").empty() ? text("gfx") : text("gfx_target");
  // The finding says who says what.
  if (!gfx.starts_with(text("gfx"))) gfx = StrCat(text("gfx"), " or ", gfx, " (sources disagree)");
  return Listed({name, text("pci_id"), gfx, With("compute capability ", text("compute_capability")),
                 With("wave ", text("wave_width")), With("", text("compute_units"), " compute units"),
                 With("", text("lds_kib"), " KiB LDS"), Bytes(e.Find("devices", item, "memory_bytes")),
                 text("driver").empty() ? "no driver bound" : StrCat("driver ", text("driver"))});
}

void Devices(const Environment& e, std::string* out) {
  const auto items = e.Items("devices");
  if (items.empty()) {
    Row(out, "cards",
        e.Find("devices", "", "count") == nullptr ? "unknown: the PCI bus cannot be seen" : "none");
    return;
  }
  *out += "cards\n";
  for (size_t i = 0; i < items.size();) {
    const std::string line = Card(e, items[i]);
    size_t end = i + 1;
    while (end < items.size() && Card(e, items[end]) == line) ++end;
    Row(out, end - i == 1 ? items[i] : StrCat(items[i], " to ", items[end - 1]), line);
    i = end;
  }
}

// "a 1, b 2" of a section without items.
std::string Pairs(const Environment& e, std::string_view section,
                  const std::function<bool(const Fact&)>& wanted) {
  std::vector<std::string> parts;
  for (const Fact& fact : e.facts) {
    if (fact.section == section && wanted(fact))
      parts.push_back(StrCat(fact.name, " ", FactText(fact.value)));
  }
  return Listed(parts);
}

// Drops what says again what another version says.
std::string Stack(const Environment& e) {
  return Pairs(e, "stack", [&](const Fact& fact) {
    const std::string& name = fact.name;
    if (name.starts_with("library_") || name.ends_with("_installed") || name == "hal_folder") return false;
    const bool package = name.ends_with("_package");
    return !package || FactText(fact.value) != e.Text("stack", "", name.substr(0, name.find('_')));
  });
}

std::string Frameworks(const Environment& e) {
  return Pairs(e, "frameworks", [](const Fact& fact) {
    return fact.name != "torch_folder" && !fact.name.ends_with("_das") && !fact.name.ends_with("_dtk");
  });
}

void Software(const Environment& e, std::string* out) {
  std::string rows;
  const auto all = [](const Fact&) { return true; };
  Row(&rows, "drivers", Pairs(e, "drivers", all));
  Row(&rows, "stack", Stack(e));
  std::vector<std::string> tools;
  for (const std::string& tool : e.Items("tools")) {
    tools.push_back(e.Text("tools", tool, "exit_code") == "0" ? tool : tool + " (failed)");
  }
  Row(&rows, "tools", Listed(tools));
  Row(&rows, "frameworks", Frameworks(e));
  if (!rows.empty()) StrAppend(out, "software\n", rows);
}

void Variables(const Environment& e, std::string* out) {
  std::string rows;
  for (const Fact& fact : e.facts) {
    if (fact.section != "variables") continue;
    StrAppend(&rows, "  ", Clean(StrCat(fact.name, "=", FactText(fact.value))), "\n");
  }
  if (!rows.empty()) StrAppend(out, "variables that select kernels or devices\n", rows);
}

void Libraries(const Environment& e, std::string* out) {
  const auto items = e.Items("libraries");
  if (!items.empty()) *out += "GPU code in libraries\n";
  for (const std::string& path : items) {
    std::string targets = e.Text("libraries", path, "gpu_targets");
    if (targets.empty())
      targets = e.Find("libraries", path, "error") != nullptr ? "unreadable" : "none found";
    StrAppend(out, "  ", Clean(path), "\n    ", Clean(targets), "\n");
  }
}

void Digests(const Environment& e, std::string* out) {
  std::string rows;
  size_t libraries = 0;
  for (const Fact& fact : e.facts) {
    if (fact.section != "digests") continue;
    if (fact.name.starts_with("library ")) {
      ++libraries;
      continue;
    }
    StrAppend(&rows, "  ", Clean(FactText(fact.value)), "  ", Clean(fact.name), "\n");
  }
  if (libraries > 0)
    StrAppend(&rows, "  and of ", libraries, " libraries that the program uses (--json, --sources)\n");
  if (!rows.empty()) StrAppend(out, "digests\n", rows);
}

// One heading per reason, in order of first appearance.
void DiffGroup(const evidence::EnvironmentDiff& diff, evidence::Effect effect, std::string_view heading,
               std::string* out) {
  std::vector<std::string> reasons;
  size_t count = 0, width = 0;
  for (const auto& d : diff.differences) {
    if (d.effect != effect) continue;
    ++count;
    width = std::max(width, static_cast<size_t>(DisplayWidth(Clean(d.path))));
    if (std::find(reasons.begin(), reasons.end(), d.reason) == reasons.end()) reasons.push_back(d.reason);
  }
  if (count == 0) return;
  width = std::min<size_t>(width, 48);
  StrAppend(out, heading, " (", count, ")\n");
  for (const std::string& reason : reasons) {
    if (!reason.empty()) StrAppend(out, "  ", Clean(reason), "\n");
    for (const auto& d : diff.differences) {
      if (d.effect != effect || d.reason != reason) continue;
      const auto value = [](bool known, const std::string& text) {
        if (!known) return std::string("(absent)");
        if (text.starts_with("sha256:")) return Clean(text.substr(0, 19)) + "...";
        return text.empty() ? std::string("(empty)") : Clean(text);
      };
      StrAppend(out, reason.empty() ? "  " : "    ", Padded(Clean(d.path), width), "  ", value(d.in_a, d.a),
                "  ->  ", value(d.in_b, d.b), "\n");
    }
  }
  *out += "\n";
}

}  // namespace

std::string EnvironmentText(const Environment& e) {
  std::string out;
  Findings(e, &out);
  Machine(e, &out);
  Devices(e, &out);
  Software(e, &out);
  Variables(e, &out);
  Libraries(e, &out);
  Digests(e, &out);
  return out;
}

std::string AllFactsText(const Environment& e) {
  std::string out;
  size_t width = 0;
  for (const Fact& fact : e.facts)
    width = std::max(width, static_cast<size_t>(DisplayWidth(Clean(fact.Path()))));
  width = std::min<size_t>(width, 40);
  for (const Fact& fact : e.facts) {
    StrAppend(&out, Padded(Clean(fact.Path()), width), "  ", Clean(FactText(fact.value)), "  <- ",
              Clean(Join(fact.sources, ", ")), "\n");
  }
  return out;
}

std::string DiffText(const evidence::EnvironmentDiff& diff) {
  std::string out;
  DiffGroup(diff, evidence::Effect::kNumbers, "can change numbers", &out);
  DiffGroup(diff, evidence::Effect::kSpeed, "can change speed", &out);
  DiffGroup(diff, evidence::Effect::kRecorded, "only recorded", &out);
  StrAppend(&out, diff.same, " facts are the same, ", diff.differences.size(), " differ; ",
            diff.CanChangeNumbers() ? "numbers may differ\n" : "nothing that can change numbers differs\n");
  return out;
}

}  // namespace plinth::app
