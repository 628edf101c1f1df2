#include "plinth/report/sentences.h"

#include <vector>

#include "plinth/report/sentences_table.h"

namespace plinth {
namespace {

// Longer ones are no sentences of ours.
constexpr size_t kLongest = 4096;

// An English shape, taken apart: one piece more than there are places.
struct Parts {
  std::vector<std::string_view> pieces;
  std::vector<size_t> places;  // the number in each
};

Parts Split(std::string_view english) {
  Parts parts;
  size_t begin = 0;
  for (size_t i = 0; i + 2 < english.size(); ++i) {
    if (english[i] != '{' || english[i + 2] != '}') continue;
    parts.pieces.push_back(english.substr(begin, i - begin));
    parts.places.push_back(static_cast<size_t>(english[i + 1] - '0'));
    begin = i + 3;
  }
  parts.pieces.push_back(english.substr(begin));
  return parts;
}

bool HoldsSentences(std::string_view value) {
  return value.find(": ") != value.npos || value.find("; ") != value.npos;
}

// Whether the text has the shape; `values` takes what stands in the places, each as short as can be.
bool Matches(std::string_view text, std::string_view english, std::vector<std::string>* values) {
  const Parts parts = Split(english);
  const std::vector<std::string_view>& pieces = parts.pieces;
  if (!text.starts_with(pieces.front())) return false;
  values->assign(10, "");
  text.remove_prefix(pieces.front().size());
  for (size_t i = 1; i < pieces.size(); ++i) {
    const bool last = i + 1 == pieces.size();
    if (last && (text.size() < pieces[i].size() || !text.ends_with(pieces[i]))) return false;
    const size_t at = last ? text.size() - pieces[i].size() : text.find(pieces[i]);
    if (at == std::string_view::npos || at == 0) return false;
    // A name or a number, not a sentence: but for what ends a shape, or is all that stands in one.
    const std::string_view value = text.substr(0, at);
    const bool any = last && (pieces[i].empty() || (pieces.size() == 2 && !pieces.front().empty()));
    if (!any && HoldsSentences(value)) return false;
    values->at(parts.places[i - 1]) = value;
    text.remove_prefix(at + pieces[i].size());
  }
  return text.empty();
}

// Whether enough of a sentence is fixed to know it by.
bool IsTelling(std::string_view english) {
  size_t letters = 0;
  for (const std::string_view piece : Split(english).pieces) letters += piece.size();
  return letters >= 8;
}

std::string Fill(std::string_view chinese, const std::vector<std::string>& values) {
  std::string out;
  for (size_t i = 0; i < chinese.size(); ++i) {
    const bool place = chinese[i] == '{' && i + 2 < chinese.size() && chinese[i + 2] == '}';
    const size_t index = place ? static_cast<size_t>(chinese[i + 1] - '0') : values.size();
    if (!place) {
      out += chinese[i];
      continue;
    }
    out += Said(Language::kChinese, values[index]);
    i += 2;
  }
  return out;
}

// Where the mark first stands outside of parentheses.
size_t FindOutside(std::string_view text, std::string_view mark) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (depth <= 0 && text.substr(i).starts_with(mark)) return i;
  }
  return std::string_view::npos;
}

}  // namespace

std::string Said(Language language, std::string_view sentence) {
  if (language != Language::kChinese || sentence.size() > kLongest) return std::string(sentence);
  std::vector<std::string> values;
  for (const SentenceShape& shape : kSentences) {
    if (Matches(sentence, shape.english, &values)) return Fill(shape.chinese, values);
  }
  // What the page itself says, and a statement carries on.
  for (auto i = static_cast<size_t>(Message::kEnvironmentKnown);
       i <= static_cast<size_t>(Message::kLimitWaiver); ++i) {
    const MessageRow& row = MessageAt(i);
    if (IsTelling(row.english) && Matches(sentence, row.english, &values)) return Fill(row.chinese, values);
  }
  const size_t part = FindOutside(sentence, "; "), colon = FindOutside(sentence, ": ");
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
