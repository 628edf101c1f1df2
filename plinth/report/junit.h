// Writes check results as JUnit XML, which every continuous-integration server reads.
#pragma once

#include <string>

#include "plinth/report/check_result.h"

namespace plinth {

// Elements and attributes of the common JUnit format (testsuites, testsuite, testcase with failure or
// skipped, system-out); one testsuite for each suite, in the order in which they first occur. JUnit has no
// warning: a warned check passes, and its message stands in system-out. Well-formed XML 1.0 whatever the
// texts hold.
std::string JunitXml(const CheckRun& run);

}  // namespace plinth
