// Reads and writes stamps by a strptime-like pattern such as "%d.%m.%Y %H:%M".
#pragma once

#include <string>
#include <string_view>

#include "plinth/base/status.h"
#include "plinth/series/timestamp.h"

namespace plinth::series {

// Directives: %Y %y %m %d %e %j %H %I %p %M %S %f (decimals of a second) %z (offset or Z) %b %B %h (English
// month names) %a %A (English weekday names, not checked) %F = %Y-%m-%d, %T = %H:%M:%S, %R = %H:%M, %%.
// Anything else stands for itself. Numbers may lack leading zeros. %y: 69 to 99 are 1969 to 1999.

// Errors: InvalidArgument for an unknown directive and for a pattern without a year.
Status CheckPattern(std::string_view pattern);

// Errors: InvalidArgument with the text, the place, and what was expected there.
StatusOr<Timestamp> ReadByPattern(std::string_view text, std::string_view pattern);

std::string WriteByPattern(const Timestamp& t, std::string_view pattern);

// Whether the pattern reads an offset.
bool PatternHasOffset(std::string_view pattern);

}  // namespace plinth::series
