#include "plinth/base/pattern.h"

namespace plinth {
namespace {

template <typename Same>
bool Matches(std::string_view pattern, std::string_view name, Same same) {
  size_t p = 0, n = 0;
  // Where to resume after the last star: only the last one needs another try.
  size_t star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && same(pattern[p], name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;  // the last star takes one character more
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool MatchesStars(std::string_view pattern, std::string_view name) {
  return Matches(pattern, name, [](char p, char n) { return p == n; });
}

bool MatchesWildcards(std::string_view pattern, std::string_view name) {
  return Matches(pattern, name, [](char p, char n) { return p == '?' || p == n; });
}

}  // namespace plinth
