// Reads the names of folders that hold units. Internal to this folder.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "plinth/base/status.h"

namespace plinth::evidence {

// "20261130T183000.125Z-IDENTITY", a folder of the history: the time and the identity; both empty for another
// name.
std::pair<std::string, std::string> SplitHistoryName(const std::string& name);

// Whether `a` is the later of two CompactTimes, whose fractions may have different lengths.
bool IsLater(std::string_view a, std::string_view b);

// The folder of <root>/history with the newest unit of `identity` after `time`; empty where there is none.
// Errors: FileError.
StatusOr<std::string> LaterUnit(const std::string& root, const std::string& identity, std::string_view time);

}  // namespace plinth::evidence
