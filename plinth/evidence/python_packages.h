// Asks a Python interpreter which frameworks it has, without importing any of them.
#pragma once

#include <string>
#include <string_view>

#include "plinth/evidence/tools.h"

namespace plinth::evidence {

// Prints one line of JSON: {"python","executable","packages":{NAME:VERSION},"torch":{"cuda","hip","folder"}}.
// tools/record_environment runs the same script.
extern const std::string_view kPackageScript;

// "python PATH -c kPackageScript" as a tool whose output is named "python".
ToolCommand PythonTool(const std::string& interpreter);

// A wheel of DAS: <base>+das.optN.dtkXXXX.
struct WheelVersion {
  std::string base;  // "2.4.1"
  std::string das;   // "opt1"; empty where the version names none
  std::string dtk;   // "25.04", "25.04.4"; empty where the version names none
};
WheelVersion ParseWheelVersion(std::string_view version);

}  // namespace plinth::evidence
