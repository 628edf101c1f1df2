// Reads and writes inference requests as REST carries them: JSON, with tensors in it or in bytes behind it
// (Triton's binary tensor data extension).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "plinth/server/http/exchange.h"
#include "plinth/server/oip/infer.h"

namespace plinth::server::oip {

// The field that tells how many bytes of a body are JSON.
constexpr std::string_view kHeaderLength = "inference-header-content-length";

// `header_length`: that field's text; empty: there was none, and the body is JSON throughout. Tensors in
// bytes point into `body`. Errors: InvalidArgument with the field.
StatusOr<InferRequest> ParseInferRequest(std::string_view body, std::string_view header_length,
                                         const TensorLimits& limits);

// Sends the answer: in one piece, or, where it is long and JSON throughout, piece by piece.
void SendInferAnswer(InferAnswer answer, http::Exchange& exchange);

}  // namespace plinth::server::oip
