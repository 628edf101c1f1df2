// Matches names against patterns with wildcards. Time linear in practice, never worse than the product of
// both lengths.
#pragma once

#include <string_view>

namespace plinth {

// Whether the pattern stands for the whole name: * for any text, also none, dots included; all else for
// itself.
bool MatchesStars(std::string_view pattern, std::string_view name);
// The same, and ? stands for any one byte.
bool MatchesWildcards(std::string_view pattern, std::string_view name);

}  // namespace plinth
