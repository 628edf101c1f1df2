// Runs an inference request of the Open Inference Protocol, whatever carried it here.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/server/http/exchange.h"
#include "plinth/server/model_host.h"
#include "plinth/server/oip/parameters.h"
#include "plinth/server/oip/tensor.h"

namespace plinth::server {
class Service;
}

namespace plinth::server::oip {

// The only version that a model here has.
constexpr std::string_view kVersionName = "1";
constexpr std::string_view kPlatform = "plinth";

struct InferRequest {
  std::string id;  // echoed
  std::vector<Tensor> inputs;
  std::vector<Parameter> parameters;
  struct Output {
    std::string name;
    bool binary = false;  // of those who can carry both
  };
  std::vector<Output> outputs;  // without any, all are given
};

struct InferAnswer {
  ModelPtr model;
  std::string id;
  std::vector<double> levels;   // of the last extent of "quantiles"
  std::vector<Tensor> outputs;  // as asked for, in that order
  std::vector<bool> binary;     // by output
};

// What is said where the answer has no room.
Status OutOfMemory();

// The model of that name or alias. Errors: NotFound for the model and for a version but "1" or "".
StatusOr<ModelPtr> FindModel(const Service& service, std::string_view name, std::string_view version);

// Adds an output that is asked for. Error: InvalidArgument for one that is not there, or is there twice.
Status AddOutput(std::string_view path, std::string_view name, bool binary, InferRequest* request);

// Puts the request into the queue. `seconds`: what the caller still has time for; 0 is no limit of its own.
// `finish` and what is answered without it: as Service::Submit has them.
// Errors (nothing is then answered): InvalidArgument; FailedPrecondition outside the model's bounds;
// ResourceExhausted for an answer that is too large.
Status Infer(Service& service, ModelPtr model, const InferRequest& request, double seconds,
             const http::ExchangePtr& exchange, std::function<void(InferAnswer)> finish);

}  // namespace plinth::server::oip
