#include "plinth/report/sentences.h"

#include <vector>

#include "plinth/report/sentences_table.h"

namespace plinth {
namespace {

// Longer ones are no sentences of ours.
constexpr size_t kLongest = 4096;

// The pieces between the placeholders of an English shape: one more than there are placeholders.
std::vector<std::string_view> Pieces(std::string_view english) {
  std::vector<std::string_view> pieces;
  size_t begin = 0;
  for (size_t i = 0; i + 2 < english.size(); ++i) {
    if (english[i] != '{' || english[i + 2] != '}') continue;
    pieces.push_back(english.substr(begin, i - begin));
    begin = i + 3;
  }
  pieces.push_back(english.substr(begin));
  return pieces;
}

// Whether the text has the shape; `values` takes what stands in the places, each as short as can be.
bool Matches(std::string_view text, std::string_view english, std::vector<std::string>* values) {
  const std::vector<std::string_view> pieces = Pieces(english);
  if (!text.starts_with(pieces.front())) return false;
  values->clear();
  text.remove_prefix(pieces.front().size());
  for (size_t i = 1; i < pieces.size(); ++i) {
    const bool last = i + 1 == pieces.size();
    if (last && (text.size() < pieces[i].size() || !text.ends_with(pieces[i]))) return false;
    const size_t at = last ? text.size() - pieces[i].size() : text.find(pieces[i]);
    if (at == std::string_view::npos || at == 0) return false;
    // What comes first is a name or a number, not a sentence before this one.
    const std::string_view value = text.substr(0, at);
    const bool joined = value.find(": ") != value.npos || value.find("; ") != value.npos;
    if (i == 1 && pieces.front().empty() && joined) return false;
    values->emplace_back(value);
    text.remove_prefix(at + pieces[i].size());
  }
  return text.empty();
}

std::string Fill(std::string_view chinese, const std::vector<std::string>& values) {
  std::string out;
  for (size_t i = 0; i < chinese.size(); ++i) {
    const bool place = chinese[i] == '{' && i + 2 < chinese.size() && chinese[i + 2] == '}';
    const size_t index = place ? static_cast<size_t>(chinese[i + 1] - '0') : values.size();
    if (index >= values.size()) {
      out += chinese[i];
      continue;
    }
    out += Said(Language::kChinese, values[index]);
    i += 2;
  }
  return out;
}

}  // namespace

std::string Said(Language language, std::string_view sentence) {
  if (language != Language::kChinese || sentence.size() > kLongest) return std::string(sentence);
  std::vector<std::string> values;
  for (const SentenceShape& shape : kSentences) {
    if (Matches(sentence, shape.english, &values)) return Fill(shape.chinese, values);
  }
  const size_t part = sentence.find("; "), colon = sentence.find(": ");
  // "NAME: what is wrong; and what more".
  if (colon < part) {
    const std::string_view rest = sentence.substr(colon + 2);
    const std::string said = Said(language, rest);
    if (said != rest) return std::string(sentence.substr(0, colon)) + "：" + said;
  }
  if (part == std::string_view::npos) return std::string(sentence);
  return Said(language, sentence.substr(0, part)) + "；" + Said(language, sentence.substr(part + 2));
}

}  // namespace plinth
