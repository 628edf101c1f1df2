#include "plinth/server/oip/json_infer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "plinth/base/text.h"
#include "plinth/formats/json_writer.h"
#include "plinth/series/quantiles.h"
#include "plinth/server/fields.h"
#include "plinth/server/service.h"

namespace plinth::server::oip {
namespace {

using http::Produced;

constexpr size_t kMostId = 1024, kMostTensors = 16, kMostExtents = 8, kMostLevels = 1000;
// JSON up to here goes out in one piece.
constexpr size_t kOnePiece = 1 << 20, kPiece = 64 << 10;

// The bytes behind the JSON, dealt out to the tensors in their order.
struct Behind {
  std::string_view left;
  bool announced = false;
};

StatusOr<size_t> ReadHeaderLength(std::string_view text, size_t body) {
  size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size() || length > body) {
    return FieldError(kHeaderLength, StrCat("is \"", text.substr(0, 40),
                                            "\"; the bytes of JSON in a body of ", body, " are expected"));
  }
  if (length == 0) {
    return FieldError(kHeaderLength,
                      "is 0; a body of bytes alone cannot tell the shape of context, so JSON is needed");
  }
  return length;
}

// Keeps `values` and gives their bytes.
template <typename T>
std::string_view Own(std::vector<T> values, Tensor* tensor) {
  const auto kept = std::make_shared<const std::vector<T>>(std::move(values));
  tensor->owner = kept;
  return {reinterpret_cast<const char*>(kept->data()), kept->size() * sizeof(T)};
}

// Appends one flat list of numbers in the tensor's type.
Status AppendList(const JsonField& list, size_t most, std::vector<double>* scratch, std::vector<double>* to) {
  PLINTH_RETURN_IF_ERROR(list.Numbers(most, false, scratch));
  if (to->empty()) {
    to->swap(*scratch);
  } else {
    to->insert(to->end(), scratch->begin(), scratch->end());
  }
  return absl::OkStatus();
}
Status AppendList(const JsonField& list, size_t most, std::vector<uint8_t>* scratch,
                  std::vector<uint8_t>* to) {
  PLINTH_RETURN_IF_ERROR(list.Flags(most, scratch));
  to->insert(to->end(), scratch->begin(), scratch->end());
  return absl::OkStatus();
}

// Row-major, flat or one list per series.
template <typename T>
StatusOr<std::vector<T>> ReadValues(const JsonField& data, const Tensor& tensor) {
  const size_t count = tensor.count();
  std::vector<T> values, scratch;
  if (tensor.shape.size() == 2 && data.is_nested()) {
    const auto rows = static_cast<size_t>(tensor.shape[0]), steps = static_cast<size_t>(tensor.shape[1]);
    PLINTH_ASSIGN_OR_RETURN(const std::vector<JsonField> lists, data.Elements(rows));
    if (lists.size() != rows)
      return FieldError(data.path(), StrCat("has ", lists.size(), " lists; the shape says ", rows));
    for (const JsonField& list : lists) {
      const size_t before = values.size();
      PLINTH_RETURN_IF_ERROR(AppendList(list, steps, &scratch, &values));
      if (values.size() - before != steps) {
        return FieldError(list.path(),
                          StrCat("has ", values.size() - before, " values; the shape says ", steps));
      }
    }
    return values;
  }
  PLINTH_RETURN_IF_ERROR(AppendList(data, count, &scratch, &values));
  if (values.size() != count)
    return FieldError(data.path(), StrCat("has ", values.size(), " values; the shape says ", count));
  return values;
}

StatusOr<std::vector<float>> ToSingle(std::span<const double> values, const std::string& path) {
  std::vector<float> singles(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    // Up to here a number rounds to a finite one.
    if (std::fabs(values[i]) >= 0x1.ffffffp127) {
      return FieldError(StrCat(path, "[", i, "]"), "is more than FP32 can hold");
    }
    singles[i] = static_cast<float>(values[i]);
  }
  return singles;
}

StatusOr<std::vector<int64_t>> ToIntegers(std::span<const double> values, const std::string& path) {
  std::vector<int64_t> integers(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(std::floor(values[i]) == values[i] && std::fabs(values[i]) < 1e15)) {
      return FieldError(StrCat(path, "[", i, "]"), "is no integer");
    }
    integers[i] = static_cast<int64_t>(values[i]);
  }
  return integers;
}

// Reads JSON into the bytes that the binary form has, so that both mean the same from here on.
Status ReadJsonData(const JsonField& data, const std::string& path, Tensor* tensor) {
  if (tensor->datatype == Datatype::kBool) {
    PLINTH_ASSIGN_OR_RETURN(std::vector<uint8_t> flags, ReadValues<uint8_t>(data, *tensor));
    return SetData(path, Own(std::move(flags), tensor), tensor);
  }
  PLINTH_ASSIGN_OR_RETURN(std::vector<double> values, ReadValues<double>(data, *tensor));
  if (tensor->datatype == Datatype::kFp32) {
    PLINTH_ASSIGN_OR_RETURN(std::vector<float> singles, ToSingle(values, data.path()));
    return SetData(path, Own(std::move(singles), tensor), tensor);
  }
  if (tensor->datatype == Datatype::kInt64) {
    PLINTH_ASSIGN_OR_RETURN(std::vector<int64_t> integers, ToIntegers(values, data.path()));
    return SetData(path, Own(std::move(integers), tensor), tensor);
  }
  return SetData(path, Own(std::move(values), tensor), tensor);
}

Status TakeBinary(const JsonField& size, const std::string& path, Behind* behind, Tensor* tensor) {
  PLINTH_ASSIGN_OR_RETURN(const int64_t bytes, size.Int(0, int64_t{1} << 50));
  if (!behind->announced) {
    return FieldError(size.path(), StrCat("is given, but the request has no field ", kHeaderLength));
  }
  if (static_cast<size_t>(bytes) > behind->left.size()) {
    return FieldError(
        size.path(), StrCat("is ", bytes, ", but only ", behind->left.size(), " more bytes follow the JSON"));
  }
  PLINTH_RETURN_IF_ERROR(SetData(path, behind->left.substr(0, static_cast<size_t>(bytes)), tensor));
  behind->left.remove_prefix(static_cast<size_t>(bytes));
  return absl::OkStatus();
}

StatusOr<Tensor> ReadInput(const JsonField& field, const TensorLimits& limits, Behind* behind) {
  PLINTH_RETURN_IF_ERROR(field.CheckKeys({"name", "shape", "datatype", "parameters", "data"}));
  PLINTH_ASSIGN_OR_RETURN(const JsonField name, field.Get("name"));
  PLINTH_ASSIGN_OR_RETURN(const std::string_view name_text, name.Text());
  PLINTH_ASSIGN_OR_RETURN(const JsonField datatype, field.Get("datatype"));
  PLINTH_ASSIGN_OR_RETURN(const std::string_view datatype_text, datatype.Text());
  PLINTH_ASSIGN_OR_RETURN(const JsonField shape, field.Get("shape"));
  PLINTH_ASSIGN_OR_RETURN(const std::vector<JsonField> elements, shape.Elements(kMostExtents));
  std::vector<int64_t> extents;
  for (const JsonField& element : elements) {
    PLINTH_ASSIGN_OR_RETURN(extents.emplace_back(), element.Int(INT64_MIN, INT64_MAX));
  }
  PLINTH_ASSIGN_OR_RETURN(Tensor tensor,
                          MakeInput(field.path(), name_text, datatype_text, std::move(extents), limits));
  std::optional<JsonField> size;
  if (const auto parameters = field.Find("parameters")) {
    PLINTH_RETURN_IF_ERROR(parameters->CheckKeys({"binary_data_size"}));
    size = parameters->Find("binary_data_size");
  }
  const auto data = field.Find("data");
  if (size && data) return FieldError(data->path(), "is given beside binary_data_size; give one of them");
  if (size) {
    PLINTH_RETURN_IF_ERROR(TakeBinary(*size, field.path(), behind, &tensor));
  } else {
    PLINTH_ASSIGN_OR_RETURN(const JsonField given, field.Get("data"));
    PLINTH_RETURN_IF_ERROR(ReadJsonData(given, field.path(), &tensor));
  }
  return tensor;
}

StatusOr<Parameter> ReadParameter(const std::string& name, const JsonField& field) {
  if (field.is_string()) {
    PLINTH_ASSIGN_OR_RETURN(const std::string_view text, field.Text());
    return Parameter{name, std::string(text)};
  }
  if (field.is_array()) {
    std::vector<double> list;
    PLINTH_RETURN_IF_ERROR(field.Numbers(kMostLevels, false, &list));
    return Parameter{name, std::move(list)};
  }
  if (field.is_number()) {
    if (const auto integer = field.Int(INT64_MIN, INT64_MAX); integer.ok()) return Parameter{name, *integer};
    PLINTH_ASSIGN_OR_RETURN(const double real, field.Number(-HUGE_VAL, HUGE_VAL));
    return Parameter{name, real};
  }
  PLINTH_ASSIGN_OR_RETURN(const bool flag, field.Flag());
  return Parameter{name, flag};
}

// `all_binary`: what an output is that does not say.
Status ReadOutputs(const JsonField& root, bool all_binary, InferRequest* request) {
  const auto outputs = root.Find("outputs");
  if (outputs) {
    PLINTH_ASSIGN_OR_RETURN(const std::vector<JsonField> fields, outputs->Elements(kMostTensors));
    for (const JsonField& field : fields) {
      PLINTH_RETURN_IF_ERROR(field.CheckKeys({"name", "parameters"}));
      PLINTH_ASSIGN_OR_RETURN(const JsonField name, field.Get("name"));
      PLINTH_ASSIGN_OR_RETURN(const std::string_view text, name.Text());
      bool binary = all_binary;
      if (const auto parameters = field.Find("parameters")) {
        PLINTH_RETURN_IF_ERROR(parameters->CheckKeys({"binary_data"}));
        if (const auto flag = parameters->Find("binary_data")) {
          PLINTH_ASSIGN_OR_RETURN(binary, flag->Flag());
        }
      }
      PLINTH_RETURN_IF_ERROR(AddOutput(field.path(), text, binary, request));
    }
  }
  if (!request->outputs.empty()) return absl::OkStatus();
  for (const TensorSpec& spec : OutputSpecs()) {
    PLINTH_RETURN_IF_ERROR(AddOutput("outputs", spec.name, all_binary, request));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<InferRequest> ParseInferRequest(std::string_view body, std::string_view header_length,
                                         const TensorLimits& limits) {
  Behind behind;
  if (!header_length.empty()) {
    PLINTH_ASSIGN_OR_RETURN(const size_t json, ReadHeaderLength(header_length, body.size()));
    behind = {body.substr(json), true};
    body = body.substr(0, json);
  }
  PLINTH_ASSIGN_OR_RETURN(const JsonBody parsed, JsonBody::Parse(body));
  const JsonField root = parsed.root();
  PLINTH_RETURN_IF_ERROR(root.CheckKeys({"id", "parameters", "inputs", "outputs"}));
  InferRequest request;
  if (const auto id = root.Find("id")) {
    PLINTH_ASSIGN_OR_RETURN(const std::string_view text, id->Text());
    if (text.size() > kMostId) return FieldError("id", StrCat("is longer than ", kMostId, " bytes"));
    request.id = std::string(text);
  }
  bool all_binary = false;
  if (const auto parameters = root.Find("parameters")) {
    PLINTH_RETURN_IF_ERROR(parameters->ExpectObject());
    for (const std::string& name : parameters->Keys()) {
      const auto field = parameters->Find(name);
      if (!field) continue;  // null is as good as not there
      if (name == "binary_data_output") {
        PLINTH_ASSIGN_OR_RETURN(all_binary, field->Flag());
        continue;
      }
      PLINTH_ASSIGN_OR_RETURN(Parameter parameter, ReadParameter(name, *field));
      request.parameters.push_back(std::move(parameter));
    }
  }
  PLINTH_RETURN_IF_ERROR(ReadOutputs(root, all_binary, &request));
  PLINTH_ASSIGN_OR_RETURN(const JsonField inputs, root.Get("inputs"));
  PLINTH_ASSIGN_OR_RETURN(const std::vector<JsonField> fields, inputs.Elements(kMostTensors));
  for (const JsonField& field : fields) {
    PLINTH_ASSIGN_OR_RETURN(Tensor tensor, ReadInput(field, limits, &behind));
    request.inputs.push_back(std::move(tensor));
  }
  if (!behind.left.empty()) {
    return FieldError(
        "inputs", StrCat(behind.left.size(), " bytes behind the JSON belong to no input's binary_data_size"));
  }
  return request;
}

namespace {

// Writes the JSON of an answer piece by piece; bytes of tensors are not its matter.
class Writer {
 public:
  explicit Writer(InferAnswer answer) : answer_(std::move(answer)), json_(&text_) {
    json_.BeginObject();
    json_.Key("model_name"), json_.String(answer_.model->name());
    json_.Key("model_version"), json_.String(kVersionName);
    if (!answer_.id.empty()) json_.Key("id"), json_.String(answer_.id);
    json_.Key("parameters"), json_.BeginObject();
    json_.Key("quantiles"), json_.String(Join(answer_.levels, ",", series::QuantileName));
    json_.EndObject();
    json_.Key("outputs"), json_.BeginArray();
    BeginOutput();
  }

  const InferAnswer& answer() const { return answer_; }

  // About as many bytes as the JSON will have.
  size_t Estimate() const {
    size_t values = 0;
    for (size_t i = 0; i < answer_.outputs.size(); ++i) {
      if (!answer_.binary[i]) values += answer_.outputs[i].count();
    }
    return values * 18;
  }

  // Appends the next part to `piece`; false once there is nothing more.
  bool Next(std::string* piece) {
    if (done_) return false;
    const Tensor& tensor = answer_.outputs[output_];
    constexpr size_t kAtOnce = 4096;
    const size_t end = answer_.binary[output_] ? 0 : std::min(tensor.count(), next_ + kAtOnce);
    for (; next_ < end; ++next_) Value(tensor, next_);
    if (answer_.binary[output_] || next_ == tensor.count()) {
      if (!answer_.binary[output_]) json_.EndArray();
      json_.EndObject();
      ++output_;
      BeginOutput();
    }
    *piece += text_;
    text_.clear();
    return true;
  }

 private:
  void BeginOutput() {
    if (output_ == answer_.outputs.size()) {
      json_.EndArray();
      json_.EndObject();
      done_ = true;
      return;
    }
    const Tensor& tensor = answer_.outputs[output_];
    next_ = 0;
    json_.BeginObject();
    json_.Key("name"), json_.String(tensor.name);
    json_.Key("datatype"), json_.String(DatatypeName(tensor.datatype));
    json_.Key("shape"), json_.BeginArray();
    for (const int64_t extent : tensor.shape) json_.Int(extent);
    json_.EndArray();
    if (answer_.binary[output_]) {
      json_.Key("parameters"), json_.BeginObject();
      json_.Key("binary_data_size"), json_.Int(static_cast<int64_t>(tensor.data.size()));
      json_.EndObject();
    } else {
      json_.Key("data"), json_.BeginArray();
    }
  }

  void Value(const Tensor& tensor, size_t i) {
    if (tensor.datatype == Datatype::kFp32) {
      float value = 0;
      std::memcpy(&value, tensor.data.data() + i * sizeof value, sizeof value);
      json_.Number(value);
    } else {
      double value = 0;
      std::memcpy(&value, tensor.data.data() + i * sizeof value, sizeof value);
      json_.Number(value);
    }
  }

  const InferAnswer answer_;
  std::string text_;
  formats::JsonWriter json_;
  size_t output_ = 0, next_ = 0;  // the output being written, and its next value
  bool done_ = false;
};

// The whole of it, with the bytes behind the JSON.
http::Response MakeResponse(Writer* writer, bool any_binary) {
  http::Response response;
  while (writer->Next(&response.body)) {
  }
  if (!any_binary) return response;
  response.content_type = "application/octet-stream";
  response.fields.emplace_back(kHeaderLength, StrCat(response.body.size()));
  const InferAnswer& answer = writer->answer();
  size_t bytes = response.body.size();
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    if (answer.binary[i]) bytes += answer.outputs[i].data.size();
  }
  response.body.reserve(bytes);
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    if (answer.binary[i]) response.body += answer.outputs[i].data;
  }
  return response;
}

}  // namespace

void SendInferAnswer(InferAnswer answer, http::Exchange& exchange) {
  const bool any_binary = std::find(answer.binary.begin(), answer.binary.end(), true) != answer.binary.end();
  const auto writer = std::make_shared<Writer>(std::move(answer));
  if (!any_binary && writer->Estimate() > kOnePiece) {
    exchange.Stream({}, [writer](std::string* piece) {
      while (piece->size() < kPiece) {
        if (!writer->Next(piece)) return Produced::kEnd;
      }
      return Produced::kPiece;
    });
    return;
  }
  http::Response response;
  try {
    response = MakeResponse(writer.get(), any_binary);
  } catch (const std::bad_alloc&) {
    response = ToResponse(OutOfMemory());
  }
  exchange.Send(std::move(response));
}

}  // namespace plinth::server::oip
