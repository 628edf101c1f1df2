// Writes check results in the Common Test Report Format (CTRF), one JSON object.
#pragma once

#include <string>

#include "plinth/report/check_result.h"

namespace plinth {

// Follows CTRF's schema: warned checks have the status "other", those that compared nothing "skipped"; our
// own word stands in rawStatus. Texts are taken as hostile.
std::string CtrfJson(const CheckRun& run);

}  // namespace plinth
