// Records what a network in double computes as a capture that others are held against.
#pragma once

#include <span>
#include <string>

#include "plinth/formats/capture.h"
#include "plinth/verify/reference_network.h"

namespace plinth::verify {

// One pass over `series` (each at most the model's context long) for `steps` steps: every named value of the
// published network in f64, then the forecast as "output" [series, steps, levels]. `info` tells model and
// inputs; the producer is set here. Errors: as ReferenceNetwork::Run and formats::CaptureWriter.
Status WriteReferenceCapture(const ReferenceNetwork& network, const engine::Session& session,
                             std::span<const std::span<const double>> series, int64_t steps,
                             const std::string& folder, formats::CaptureInfo info);

}  // namespace plinth::verify
