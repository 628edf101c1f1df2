// Reads what a run recorded about itself, where numbers alone cannot tell.
#pragma once

#include <string>

#include "plinth/formats/json.h"

namespace plinth::verify {

// Below this share of the operators' time on the declared device most of the work ran elsewhere. calibrate
inline constexpr double kLeastDeviceShare = 0.5;

// Whether a run that was meant for an accelerator ran on the processor without saying so. `precision` is a
// capture's object: "declared_device" (what was asked for: "hip:0"), "device" (where the weights lay),
// "device_time_share" (share of the operators' time there, 0 to 1); each may be missing. Empty, or one
// sentence.
std::string QuietFallback(const formats::JsonValue& precision);

}  // namespace plinth::verify
