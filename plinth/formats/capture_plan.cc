#include "plinth/formats/capture_plan.h"

#include "plinth/base/files.h"
#include "plinth/base/pattern.h"
#include "plinth/formats/capture.h"
#include "plinth/formats/toml.h"

namespace plinth::formats {
namespace {

constexpr std::string_view kSchema = "plinth.capture-plan/1";

Status CheckName(const Config& section, const std::string& key, const std::string& name) {
  if (!name.empty() && static_cast<int64_t>(name.size()) <= kMaxCaptureName) return absl::OkStatus();
  return section.Refuse(key, StrCat("text of 1 to ", kMaxCaptureName, " bytes"));
}

StatusOr<CapturePlan::Record> ReadRecord(const Config& section) {
  PLINTH_RETURN_IF_ERROR(section.CheckKeys({"name", "what", "direction", "operators"}));
  CapturePlan::Record record;
  PLINTH_ASSIGN_OR_RETURN(record.name, section.Text("name"));
  PLINTH_RETURN_IF_ERROR(CheckName(section, "name", record.name));
  if (section.Has("what")) {
    const auto what = section.Choice("what", {"statistics", "full"});
    PLINTH_RETURN_IF_ERROR(what.status());
    record.full = *what == "full";
  }
  record.inputs = record.full;
  PLINTH_ASSIGN_OR_RETURN(const auto directions, section.Texts("direction"));
  if (section.Has("direction")) record.inputs = record.outputs = false;
  for (const std::string& direction : directions) {
    if (direction != "input" && direction != "output") {
      return section.Refuse("direction", "a list of \"input\" and \"output\"");
    }
    (direction == "input" ? record.inputs : record.outputs) = true;
  }
  if (!record.inputs && !record.outputs) {
    return section.Refuse("direction", "a list of \"input\" and \"output\"");
  }
  PLINTH_ASSIGN_OR_RETURN(record.operators, section.FlagOr("operators", false));
  return record;
}

// As a basic string of TOML.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 32 || byte == 127) {
      constexpr std::string_view kHex = "0123456789ABCDEF";
      StrAppend(&out, "\\u00", std::string(1, kHex[byte >> 4]), std::string(1, kHex[byte & 15]));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

StatusOr<CapturePlan> ParseCapturePlan(std::string_view text, std::string where) {
  PLINTH_ASSIGN_OR_RETURN(const Config root, ParseTomlWithLines(text, std::move(where)));
  PLINTH_ASSIGN_OR_RETURN(const std::string schema, root.Text("schema"));
  if (schema != kSchema) return root.Refuse("schema", StrCat("\"", kSchema, "\""));
  PLINTH_RETURN_IF_ERROR(root.CheckKeys({"schema", "forced_by", "record", "replace"}));
  CapturePlan plan;
  if (root.Has("forced_by")) {
    PLINTH_ASSIGN_OR_RETURN(plan.forced_by, root.Text("forced_by"));
    PLINTH_RETURN_IF_ERROR(CheckName(root, "forced_by", plan.forced_by));
  }
  PLINTH_ASSIGN_OR_RETURN(const auto records, root.Sections("record"));
  for (const Config& section : records) {
    PLINTH_ASSIGN_OR_RETURN(auto record, ReadRecord(section));
    plan.records.push_back(std::move(record));
  }
  PLINTH_ASSIGN_OR_RETURN(const auto replacements, root.Sections("replace"));
  for (const Config& section : replacements) {
    PLINTH_RETURN_IF_ERROR(section.CheckKeys({"name", "capture"}));
    CapturePlan::Replacement replacement;
    PLINTH_ASSIGN_OR_RETURN(replacement.name, section.Text("name"));
    PLINTH_RETURN_IF_ERROR(CheckName(section, "name", replacement.name));
    PLINTH_ASSIGN_OR_RETURN(replacement.capture, section.Text("capture"));
    PLINTH_RETURN_IF_ERROR(CheckName(section, "capture", replacement.capture));
    plan.replacements.push_back(std::move(replacement));
  }
  return plan;
}

StatusOr<CapturePlan> LoadCapturePlan(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxConfigBytes));
  PLINTH_ASSIGN_OR_RETURN(CapturePlan plan, ParseCapturePlan(text, path));
  const std::string folder = path.substr(0, path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1);
  const auto beside = [&](std::string& capture) {
    if (!capture.empty() && !capture.starts_with('/')) capture = folder + capture;
  };
  for (auto& replacement : plan.replacements) beside(replacement.capture);
  beside(plan.forced_by);
  return plan;
}

std::string ToToml(const CapturePlan& plan, std::string_view comment) {
  std::string out;
  while (!comment.empty()) {
    const size_t end = comment.find('\n');
    StrAppend(&out, "# ", comment.substr(0, end), "\n");
    comment.remove_prefix(end == comment.npos ? comment.size() : end + 1);
  }
  StrAppend(&out, "schema = \"", kSchema, "\"\n");
  if (!plan.forced_by.empty()) StrAppend(&out, "forced_by = ", Quoted(plan.forced_by), "\n");
  for (const CapturePlan::Record& record : plan.records) {
    StrAppend(&out, "\n[[record]]\nname = ", Quoted(record.name),
              "\nwhat = ", record.full ? "\"full\"" : "\"statistics\"", "\ndirection = [",
              record.inputs ? "\"input\"" : "", record.inputs && record.outputs ? ", " : "",
              record.outputs ? "\"output\"" : "", "]\n");
    if (record.operators) out += "operators = true\n";
  }
  for (const CapturePlan::Replacement& replacement : plan.replacements) {
    StrAppend(&out, "\n[[replace]]\nname = ", Quoted(replacement.name),
              "\ncapture = ", Quoted(replacement.capture), "\n");
  }
  return out;
}

bool MatchesModuleOf(std::string_view pattern, std::string_view path) {
  for (;;) {
    if (MatchesStars(pattern, path)) return true;
    const size_t dot = path.rfind('.');
    if (dot == path.npos) return false;
    path = path.substr(0, dot);
  }
}

}  // namespace plinth::formats
