#include "plinth/verify/metrics/transcript.h"

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/formats/toml.h"
#include "plinth/verify/metrics/shipped_rules.h"
#include "plinth/verify/metrics/unicode_text.h"

namespace plinth::verify::metrics {
namespace {

using formats::Config;
using formats::JsonValue;

std::u32string_view Stripped(std::u32string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Text between white space; where `any` is false, a single white space other than U+0020 is part of a word,
// as in jiwer, whose runs of two and more become one U+0020.
std::vector<std::u32string> Words(std::u32string_view text, bool any) {
  std::vector<std::u32string> words;
  std::u32string word;
  const auto end = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (size_t i = 0; i < text.size();) {
    size_t stop = i;
    while (stop < text.size() && IsSpace(text[stop])) ++stop;
    if (stop == i) {
      word += text[i++];
    } else if (any || stop - i > 1 || text[i] == U' ') {
      end();
      i = stop;
    } else {
      word += text[i++];
    }
  }
  end();
  return words;
}

// Cuts out each character that stands alone.
std::vector<std::u32string> CutMixed(const std::vector<std::u32string>& words) {
  std::vector<std::u32string> out;
  for (const std::u32string& word : words) {
    bool open = false;
    for (const char32_t c : word) {
      const bool alone = StandsAlone(c);
      if (alone || !open) out.emplace_back();
      out.back() += c;
      open = !alone;
    }
  }
  return out;
}

}  // namespace

StatusOr<TranscriptRules> TranscriptRules::Parse(std::string_view text, const std::string& where,
                                                 const std::string& language) {
  PLINTH_ASSIGN_OR_RETURN(const Config file, formats::ParseTomlWithLines(text, where));
  PLINTH_RETURN_IF_ERROR(file.Choice("schema", {"plinth.asr-rules/1"}).status());
  const JsonValue* table_value = language == "schema" ? nullptr : file.json().Find(language);
  if (table_value == nullptr) {
    std::vector<std::string> names;
    for (const auto& [name, value] : *file.json().object()) {
      if (value.object() != nullptr) names.push_back(name);
    }
    return absl::InvalidArgumentError(
        StrCat(where, ": has no table ", formats::QuotedShort(language), "; there are ", Join(names, ", ")));
  }
  PLINTH_ASSIGN_OR_RETURN(const Config table, file.Section(language));
  PLINTH_RETURN_IF_ERROR(
      table.CheckKeys({"about", "unicode", "lower", "remove_punctuation", "keep", "replace", "replace_words",
                       "remove_words", "separators", "words", "spaces_are_characters"}));
  TranscriptRules rules;
  PLINTH_ASSIGN_OR_RETURN(const std::string form, table.Has("unicode")
                                                      ? table.Choice("unicode", {"as-is", "nfc", "nfkc"})
                                                      : StatusOr<std::string>("as-is"));
  rules.form_ = form == "nfkc" ? NormalForm::kNfkc : form == "nfc" ? NormalForm::kNfc : NormalForm::kAsIs;
  PLINTH_ASSIGN_OR_RETURN(rules.lower_, table.FlagOr("lower", false));
  PLINTH_ASSIGN_OR_RETURN(rules.remove_punctuation_, table.FlagOr("remove_punctuation", false));
  PLINTH_ASSIGN_OR_RETURN(const std::string keep, table.TextOr("keep", ""));
  rules.keep_ = CodePoints(keep);
  PLINTH_ASSIGN_OR_RETURN(const std::string separators, table.Has("separators")
                                                            ? table.Choice("separators", {"any", "jiwer"})
                                                            : StatusOr<std::string>("any"));
  rules.any_space_ = separators == "any";
  PLINTH_ASSIGN_OR_RETURN(const std::string words, table.Has("words")
                                                       ? table.Choice("words", {"spaced", "mixed"})
                                                       : StatusOr<std::string>("spaced"));
  rules.mixed_ = words == "mixed";
  PLINTH_ASSIGN_OR_RETURN(rules.space_counts_, table.FlagOr("spaces_are_characters", true));
  for (const auto& [key, pairs] : {std::pair("replace", false), std::pair("replace_words", true)}) {
    const JsonValue* value = table.json().Find(key);
    if (value == nullptr) continue;
    if (value->object() == nullptr) return table.Refuse(key, "a table of \"from\" = \"to\"");
    for (const auto& [from, to] : *value->object()) {
      if (from.empty() || to.text() == nullptr) return table.Refuse(key, "a table of \"from\" = \"to\"");
      if (pairs) {
        rules.replace_words_[from] = *to.text();
      } else {
        rules.replace_.emplace_back(from, *to.text());
      }
    }
  }
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> removed, table.Texts("remove_words"));
  for (const std::string& word : removed) rules.replace_words_[word] = "";
  PLINTH_ASSIGN_OR_RETURN(rules.digest_, Sha256Hex(text));
  return rules;
}

StatusOr<TranscriptRules> TranscriptRules::Load(const std::string& path, const std::string& language) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, formats::kMaxConfigBytes));
  return Parse(text, path, language);
}

StatusOr<TranscriptRules> TranscriptRules::Shipped(const std::string& language) {
  return Parse(ShippedAsrRules(), "the shipped rules (asr_rules.toml)", language);
}

TranscriptRules::Symbols TranscriptRules::Cut(std::string_view text) const {
  std::string normal = Normalise(text, form_, lower_);
  for (const auto& [from, to] : replace_) ReplaceAll(normal, from, to);
  std::u32string points = CodePoints(normal);
  if (remove_punctuation_) {
    // A space in its place, so that "yes,no" stays two words; but no word loses its inside to "keep".
    for (char32_t& c : points) {
      if (IsPunctuation(c) && keep_.find(c) == keep_.npos) c = U' ';
    }
  }
  Symbols symbols;
  std::vector<std::u32string> words = Words(Stripped(points), any_space_);
  if (!replace_words_.empty()) {
    std::u32string changed;
    for (const std::u32string& word : words) {
      const auto at = replace_words_.find(ToUtf8(word));
      changed += at == replace_words_.end() ? word : CodePoints(at->second);
      changed += U' ';
    }
    points = changed;
    words = Words(points, any_space_);
  }
  // Rules that change the text leave gaps behind, which are no characters; without them the text counts as it
  // is.
  if (remove_punctuation_ || !replace_words_.empty()) {
    points.clear();
    for (const std::u32string& word : words) (points += points.empty() ? U"" : U" ") += word;
  }
  for (const char32_t c : Stripped(points)) {
    if (space_counts_ || !IsSpace(c)) symbols.characters.push_back(static_cast<uint32_t>(c));
  }
  if (mixed_) words = CutMixed(words);
  for (const std::u32string& word : words) symbols.words.push_back(ToUtf8(word));
  return symbols;
}

}  // namespace plinth::verify::metrics
