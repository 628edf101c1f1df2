#include "plinth/verify/metrics/answer_rules.h"

#include <algorithm>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/formats/toml.h"
#include "plinth/verify/metrics/shipped_rules.h"

namespace plinth::verify::metrics {
namespace {

using formats::Config;
using formats::JsonValue;

std::u32string Collapsed(std::u32string_view text) {
  std::u32string out;
  for (const char32_t c : text) {
    if (!IsSpace(c)) {
      out += c;
    } else if (!out.empty() && out.back() != U' ') {
      out += U' ';
    }
  }
  return out;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

// Without the line ```NAME before and the line ``` after it.
std::string_view Unfenced(std::string_view text) {
  text = Trimmed(text);
  const size_t line = text.find('\n');
  if (!text.starts_with("```") || !text.ends_with("```") || line == text.npos || text.size() < line + 4)
    return text;
  return Trimmed(text.substr(line, text.size() - 3 - line));
}

// A pattern that is wrong is a fault of the file's key.
StatusOr<Pattern> CompileAt(const Config& table, const char* key, const std::string& text) {
  auto pattern = Pattern::Compile(text);
  if (!pattern.ok())
    return table.Refuse(
        key,
        StrCat("a pattern of RE2 (",
               std::string_view(pattern.status().message().data(), pattern.status().message().size()), ")"));
  return pattern;
}

}  // namespace

StatusOr<AnswerFormat> AnswerFormat::Read(const Config& table) {
  AnswerFormat format;
  PLINTH_ASSIGN_OR_RETURN(const std::string kind, table.Choice("kind", {"pattern", "json"}));
  if (kind == "pattern") {
    PLINTH_RETURN_IF_ERROR(table.CheckKeys({"about", "kind", "pattern"}));
    PLINTH_ASSIGN_OR_RETURN(const std::string text, table.Text("pattern"));
    PLINTH_ASSIGN_OR_RETURN(Pattern pattern, CompileAt(table, "pattern", text));
    format.pattern_ = std::make_shared<const Pattern>(std::move(pattern));
    return format;
  }
  PLINTH_RETURN_IF_ERROR(table.CheckKeys({"about", "kind", "unfence", "schema"}));
  PLINTH_ASSIGN_OR_RETURN(format.unfence_, table.FlagOr("unfence", false));
  if (const JsonValue* schema = table.json().Find("schema")) {
    if (const Status status = CheckSchema(*schema, "schema"); !status.ok()) {
      return table.Refuse("schema",
                          StrCat("a schema that can be checked (",
                                 std::string_view(status.message().data(), status.message().size()), ")"));
    }
    format.schema_ = *schema;
  }
  return format;
}

bool AnswerFormat::Adheres(std::string_view answer) const {
  if (pattern_ != nullptr) return pattern_->MatchesAll(answer);
  const auto value = formats::ParseJson(unfence_ ? Unfenced(answer) : answer, "answer");
  return value.ok() && (schema_.is_null() || FitsSchema(*value, schema_));
}

StatusOr<AnswerRules::Form> AnswerRules::ReadForm(const Config& table) {
  Form form;
  if (table.Has("unicode")) {
    PLINTH_ASSIGN_OR_RETURN(const std::string name, table.Choice("unicode", {"as-is", "nfc", "nfkc"}));
    form.form = name == "nfkc" ? NormalForm::kNfkc : name == "nfc" ? NormalForm::kNfc : NormalForm::kAsIs;
  }
  PLINTH_ASSIGN_OR_RETURN(form.lower, table.FlagOr("lower", false));
  return form;
}

Status AnswerRules::ReadExactMatch(const Config& table) {
  PLINTH_RETURN_IF_ERROR(table.CheckKeys({"unicode", "lower", "collapse_spaces", "strip"}));
  PLINTH_ASSIGN_OR_RETURN(match_form_, ReadForm(table));
  PLINTH_ASSIGN_OR_RETURN(collapse_spaces_, table.FlagOr("collapse_spaces", false));
  PLINTH_ASSIGN_OR_RETURN(const std::string strip, table.TextOr("strip", ""));
  strip_ = CodePoints(strip);
  return absl::OkStatus();
}

Status AnswerRules::ReadRefusal(const Config& table) {
  PLINTH_RETURN_IF_ERROR(table.CheckKeys({"unicode", "lower", "within", "phrases"}));
  PLINTH_ASSIGN_OR_RETURN(refusal_form_, ReadForm(table));
  PLINTH_ASSIGN_OR_RETURN(refusal_within_, table.IntOr("within", 0, int64_t{1} << 40, 0));
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> phrases, table.Texts("phrases"));
  for (const std::string& phrase : phrases) {
    if (phrase.empty()) return table.Refuse("phrases", "a list of phrases, none of them empty,");
    refusals_.push_back(Normalise(phrase, refusal_form_.form, refusal_form_.lower));
  }
  return absl::OkStatus();
}

Status AnswerRules::ReadCitation(const Config& table) {
  PLINTH_RETURN_IF_ERROR(table.CheckKeys({"patterns"}));
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> patterns, table.Texts("patterns"));
  for (const std::string& text : patterns) {
    PLINTH_ASSIGN_OR_RETURN(Pattern pattern, CompileAt(table, "patterns", text));
    if (!pattern.has_group())
      return table.Refuse("patterns", "patterns with a group, which is what was cited,");
    citations_.push_back(std::move(pattern));
  }
  return absl::OkStatus();
}

StatusOr<AnswerRules> AnswerRules::Parse(std::string_view text, const std::string& where) {
  PLINTH_ASSIGN_OR_RETURN(const Config file, formats::ParseTomlWithLines(text, where));
  PLINTH_RETURN_IF_ERROR(file.CheckKeys({"schema", "exact_match", "refusal", "citation", "formats"}));
  PLINTH_RETURN_IF_ERROR(file.Choice("schema", {"plinth.generation-rules/1"}).status());
  AnswerRules rules;
  if (file.Has("exact_match")) {
    PLINTH_ASSIGN_OR_RETURN(const Config table, file.Section("exact_match"));
    PLINTH_RETURN_IF_ERROR(rules.ReadExactMatch(table));
  }
  if (file.Has("refusal")) {
    PLINTH_ASSIGN_OR_RETURN(const Config table, file.Section("refusal"));
    PLINTH_RETURN_IF_ERROR(rules.ReadRefusal(table));
  }
  if (file.Has("citation")) {
    PLINTH_ASSIGN_OR_RETURN(const Config table, file.Section("citation"));
    PLINTH_RETURN_IF_ERROR(rules.ReadCitation(table));
  }
  if (file.Has("formats")) {
    PLINTH_ASSIGN_OR_RETURN(const Config formats, file.Section("formats"));
    for (const auto& [name, value] : *formats.json().object()) {
      PLINTH_ASSIGN_OR_RETURN(const Config table, formats.Section(name));
      PLINTH_ASSIGN_OR_RETURN(rules.formats_[name], AnswerFormat::Read(table));
    }
  }
  PLINTH_ASSIGN_OR_RETURN(rules.digest_, Sha256Hex(text));
  return rules;
}

StatusOr<AnswerRules> AnswerRules::Load(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, formats::kMaxConfigBytes));
  return Parse(text, path);
}

StatusOr<AnswerRules> AnswerRules::Shipped() {
  return Parse(ShippedGenerationRules(), "the shipped rules (generation_rules.toml)");
}

std::string AnswerRules::Comparable(std::string_view answer) const {
  std::u32string points = CodePoints(Normalise(answer, match_form_.form, match_form_.lower));
  if (collapse_spaces_) points = Collapsed(points);
  std::u32string_view rest = points;
  const auto stripped = [&](char32_t c) { return strip_.find(c) != strip_.npos; };
  while (!rest.empty() && stripped(rest.front())) rest.remove_prefix(1);
  while (!rest.empty() && stripped(rest.back())) rest.remove_suffix(1);
  return ToUtf8(rest);
}

bool AnswerRules::Refuses(std::string_view answer) const {
  std::string text = Normalise(answer, refusal_form_.form, refusal_form_.lower);
  if (refusal_within_ > 0) {
    const std::u32string points = CodePoints(text);
    text = ToUtf8(std::u32string_view(points).substr(0, static_cast<size_t>(refusal_within_)));
  }
  // Typographic apostrophes are common in answers and rare in rules.
  static const std::string apostrophe = "'";
  ReplaceAll(text, "\u2019", apostrophe);
  return std::any_of(refusals_.begin(), refusals_.end(),
                     [&](const std::string& phrase) { return text.find(phrase) != text.npos; });
}

std::vector<std::string> AnswerRules::Citations(std::string_view answer) const {
  std::vector<std::string> cited;
  for (const Pattern& pattern : citations_) {
    for (std::string& source : pattern.FirstGroups(answer)) {
      if (std::find(cited.begin(), cited.end(), source) == cited.end()) cited.push_back(std::move(source));
    }
  }
  return cited;
}

const AnswerFormat* AnswerRules::Format(std::string_view name) const {
  const auto at = formats_.find(name);
  return at == formats_.end() ? nullptr : &at->second;
}

std::vector<std::string> AnswerRules::FormatNames() const {
  std::vector<std::string> names;
  for (const auto& [name, format] : formats_) names.push_back(name);
  return names;
}

}  // namespace plinth::verify::metrics
