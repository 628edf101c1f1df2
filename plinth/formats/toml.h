// Reads small TOML files into the same tree, with the same strict getters, as configurations in JSON.
#pragma once

#include <string>
#include <string_view>

#include "plinth/base/status.h"
#include "plinth/formats/config.h"

namespace plinth::formats {

// TOML 1.0. Dates and times become text in their ISO 8601 form. `where` (the path) begins every message.
// Errors: InvalidArgument for bad syntax, with the line, a number that JSON cannot hold (nan, inf), and
// nesting deeper than kMaxJsonDepth.
StatusOr<Config> ParseToml(std::string_view text, std::string where);
// The same; whatever the getters refuse is said with its line, too: "r.toml: line 7: "rule.m" is -1; ...".
StatusOr<Config> ParseTomlWithLines(std::string_view text, std::string where);
// Where each key stands (none for text that is no TOML); for messages that a getter cannot give.
Config::Lines TomlLines(std::string_view text);
// ParseToml of a file of at most kMaxConfigBytes. Errors: FileError too.
StatusOr<Config> LoadToml(const std::string& path);

}  // namespace plinth::formats
