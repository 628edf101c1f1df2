#include "plinth/server/grpc/infer_messages.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "plinth/base/text.h"
#include "plinth/series/quantiles.h"
#include "plinth/server/fields.h"

namespace plinth::server::rpc {
namespace {

using inference::InferParameter;
using inference::InferTensorContents;
using inference::ModelInferRequest;

constexpr int kMostTensors = 16, kMostExtents = 8, kMostParameters = 32;
constexpr size_t kMostId = 1024, kShown = 60;

template <typename T>
std::string_view BytesOf(const google::protobuf::RepeatedField<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), static_cast<size_t>(values.size()) * sizeof(T)};
}

// How many of the fields hold anything.
int FieldsIn(const InferTensorContents& contents) {
  return (contents.bool_contents_size() > 0) + (contents.int_contents_size() > 0) +
         (contents.int64_contents_size() > 0) + (contents.uint_contents_size() > 0) +
         (contents.uint64_contents_size() > 0) + (contents.fp32_contents_size() > 0) +
         (contents.fp64_contents_size() > 0) + (contents.bytes_contents_size() > 0);
}

// The field that goes with the datatype, as the bytes that it stands for.
std::string_view ContentsOf(const InferTensorContents& contents, oip::Datatype datatype) {
  switch (datatype) {
    case oip::Datatype::kBool:
      return BytesOf(contents.bool_contents());
    case oip::Datatype::kInt64:
      return BytesOf(contents.int64_contents());
    case oip::Datatype::kFp32:
      return BytesOf(contents.fp32_contents());
    case oip::Datatype::kFp64:
      return BytesOf(contents.fp64_contents());
  }
  return {};
}

StatusOr<oip::Parameter> ReadParameter(const std::string& name, const InferParameter& value) {
  switch (value.parameter_choice_case()) {
    case InferParameter::kBoolParam:
      return oip::Parameter{name, value.bool_param()};
    case InferParameter::kInt64Param:
      return oip::Parameter{name, int64_t{value.int64_param()}};
    case InferParameter::kStringParam:
      return oip::Parameter{name, value.string_param()};
    case InferParameter::kDoubleParam:
      return oip::Parameter{name, value.double_param()};
    case InferParameter::kUint64Param:
      if (value.uint64_param() > uint64_t{std::numeric_limits<int64_t>::max()})
        return oip::Parameter{name, static_cast<double>(value.uint64_param())};
      return oip::Parameter{name, static_cast<int64_t>(value.uint64_param())};
    case InferParameter::PARAMETER_CHOICE_NOT_SET:
      break;
  }
  return FieldError(StrCat("parameters.", std::string_view(name).substr(0, kShown)), "has no value");
}

// Tensors have no parameters here.
template <typename Map>
Status RefuseParameters(const std::string& path, const Map& parameters) {
  if (parameters.empty()) return absl::OkStatus();
  return FieldError(
      StrCat(path, ".parameters.", std::string_view(parameters.begin()->first).substr(0, kShown)),
      "is not known; over gRPC a tensor takes no parameter");
}

Status CheckCount(const char* field, int count, int most) {
  if (count <= most) return absl::OkStatus();
  return FieldError(field, StrCat("has ", count, " elements; at most ", most, " are taken"));
}

Status ReadInputs(const ModelInferRequest& message, const oip::TensorLimits& limits,
                  oip::InferRequest* request) {
  const int count = message.inputs_size(), raw = message.raw_input_contents_size();
  PLINTH_RETURN_IF_ERROR(CheckCount("inputs", count, kMostTensors));
  if (raw > 0 && raw != count) {
    return FieldError("raw_input_contents", StrCat("has ", raw, " elements for ", count,
                                                   " inputs; one for each or none is expected"));
  }
  for (int i = 0; i < count; ++i) {
    const ModelInferRequest::InferInputTensor& input = message.inputs(i);
    const std::string path = StrCat("inputs[", i, "]");
    PLINTH_RETURN_IF_ERROR(RefuseParameters(path, input.parameters()));
    PLINTH_RETURN_IF_ERROR(CheckCount(StrCat(path, ".shape").c_str(), input.shape_size(), kMostExtents));
    PLINTH_ASSIGN_OR_RETURN(oip::Tensor tensor,
                            oip::MakeInput(path, input.name(), input.datatype(),
                                           {input.shape().begin(), input.shape().end()}, limits));
    const int fields = FieldsIn(input.contents());
    if (raw > 0) {
      if (fields > 0) return FieldError(StrCat(path, ".contents"), "is given beside raw_input_contents");
      PLINTH_RETURN_IF_ERROR(oip::SetData(path, message.raw_input_contents(i), &tensor));
    } else {
      const std::string_view data = ContentsOf(input.contents(), tensor.datatype);
      if (fields != 1 || data.empty()) {
        return FieldError(StrCat(path, ".contents"),
                          StrCat("is expected to hold values in the field of ",
                                 oip::DatatypeName(tensor.datatype), " and in no other"));
      }
      PLINTH_RETURN_IF_ERROR(oip::SetData(path, data, &tensor));
    }
    request->inputs.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

Status ReadOutputs(const ModelInferRequest& message, oip::InferRequest* request) {
  PLINTH_RETURN_IF_ERROR(CheckCount("outputs", message.outputs_size(), kMostTensors));
  for (int i = 0; i < message.outputs_size(); ++i) {
    const std::string path = StrCat("outputs[", i, "]");
    PLINTH_RETURN_IF_ERROR(RefuseParameters(path, message.outputs(i).parameters()));
    PLINTH_RETURN_IF_ERROR(oip::AddOutput(path, message.outputs(i).name(), true, request));
  }
  if (!request->outputs.empty()) return absl::OkStatus();
  for (const oip::TensorSpec& spec : oip::OutputSpecs()) {
    PLINTH_RETURN_IF_ERROR(oip::AddOutput("outputs", spec.name, true, request));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<oip::InferRequest> ReadInferRequest(const ModelInferRequest& message,
                                             const oip::TensorLimits& limits) {
  oip::InferRequest request;
  if (message.id().size() > kMostId) return FieldError("id", StrCat("is longer than ", kMostId, " bytes"));
  request.id = message.id();
  PLINTH_RETURN_IF_ERROR(
      CheckCount("parameters", static_cast<int>(message.parameters().size()), kMostParameters));
  for (const auto& [name, value] : message.parameters()) {
    PLINTH_ASSIGN_OR_RETURN(oip::Parameter parameter, ReadParameter(name, value));
    request.parameters.push_back(std::move(parameter));
  }
  // A map has no order of its own; the first error shall always be the same.
  std::sort(request.parameters.begin(), request.parameters.end(),
            [](const oip::Parameter& a, const oip::Parameter& b) { return a.name < b.name; });
  PLINTH_RETURN_IF_ERROR(ReadOutputs(message, &request));
  PLINTH_RETURN_IF_ERROR(ReadInputs(message, limits, &request));
  return request;
}

Status WriteInferResponse(const oip::InferAnswer& answer, inference::ModelInferResponse* message) {
  size_t bytes = 0;
  for (const oip::Tensor& output : answer.outputs) bytes += output.data.size();
  // What stands beside the tensors is small.
  constexpr size_t kMost = (size_t{1} << 31) - (size_t{1} << 20);
  if (bytes > kMost) {
    return absl::InvalidArgumentError(StrCat("the answer would have ", bytes,
                                             " bytes; a message of gRPC holds ", kMost,
                                             "; ask for fewer series at once"));
  }
  message->set_model_name(answer.model->name());
  message->set_model_version(std::string(oip::kVersionName));
  message->set_id(answer.id);
  (*message->mutable_parameters())["quantiles"].set_string_param(
      Join(answer.levels, ",", series::QuantileName));
  for (const oip::Tensor& output : answer.outputs) {
    inference::ModelInferResponse::InferOutputTensor* tensor = message->add_outputs();
    tensor->set_name(output.name);
    tensor->set_datatype(std::string(oip::DatatypeName(output.datatype)));
    for (const int64_t extent : output.shape) tensor->add_shape(extent);
    message->add_raw_output_contents(output.data.data(), output.data.size());
  }
  return absl::OkStatus();
}

}  // namespace plinth::server::rpc
