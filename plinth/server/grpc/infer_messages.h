// Reads and writes inference requests as gRPC carries them.
#pragma once

#include "open_inference.pb.h"
#include "plinth/server/oip/infer.h"

namespace plinth::server::rpc {

// Tensors point into `message`. Errors: InvalidArgument with the field, named as REST names it.
StatusOr<oip::InferRequest> ReadInferRequest(const inference::ModelInferRequest& message,
                                             const oip::TensorLimits& limits);

// Tensors go into raw_output_contents. Error: InvalidArgument for more than a message can hold.
Status WriteInferResponse(const oip::InferAnswer& answer, inference::ModelInferResponse* message);

}  // namespace plinth::server::rpc
