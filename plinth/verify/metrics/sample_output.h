// Writes each sample's values on both sides, so that the samples behind a difference can be looked at.
#pragma once

#include <string>
#include <vector>

#include "plinth/verify/metrics/task.h"

namespace plinth::verify::metrics {

// JSON lines {"id","METRIC":{"reference","candidate","difference"},...}, samples in the order of `ids`; what
// a sample takes no part in is left out, and so are metrics that only all samples together have. Errors:
// FileError; the file is replaced at the end or not at all.
Status WriteSamples(const std::string& path, const Task& task, const std::vector<std::string>& ids);

}  // namespace plinth::verify::metrics
