#include "plinth/report/sentences.h"

#include <array>
#include <vector>

namespace plinth {
namespace {

// {0}, {1} stand for names and numbers; in English they appear in this order.
struct Shape {
  std::string_view english, chinese;
};

constexpr Shape kShapes[] = {
#include "plinth/report/sentences.inc"
};

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
    values->emplace_back(text.substr(0, at));
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
  if (language != Language::kChinese) return std::string(sentence);
  std::vector<std::string> values;
  for (const Shape& shape : kShapes) {
    if (Matches(sentence, shape.english, &values)) return Fill(shape.chinese, values);
  }
  const size_t cut = sentence.find("; ");
  if (cut == std::string_view::npos) return std::string(sentence);
  return Said(language, sentence.substr(0, cut)) + "；" + Said(language, sentence.substr(cut + 2));
}

}  // namespace plinth
