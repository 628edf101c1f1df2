#include "plinth/server/oip/tensor.h"

#include <algorithm>

#include "plinth/base/text.h"
#include "plinth/server/fields.h"

namespace plinth::server::oip {
namespace {

constexpr size_t kShown = 60;

std::string ShapeText(std::span<const int64_t> shape) { return StrCat("[", Join(shape, ", "), "]"); }

const TensorSpec* Find(std::span<const TensorSpec> specs, std::string_view name) {
  const auto at =
      std::find_if(specs.begin(), specs.end(), [&](const TensorSpec& s) { return s.name == name; });
  return at == specs.end() ? nullptr : &*at;
}

}  // namespace

std::string_view DatatypeName(Datatype datatype) {
  switch (datatype) {
    case Datatype::kBool:
      return "BOOL";
    case Datatype::kInt64:
      return "INT64";
    case Datatype::kFp32:
      return "FP32";
    case Datatype::kFp64:
      return "FP64";
  }
  return "";
}

size_t BytesOf(Datatype datatype) {
  switch (datatype) {
    case Datatype::kBool:
      return 1;
    case Datatype::kFp32:
      return 4;
    case Datatype::kInt64:
    case Datatype::kFp64:
      return 8;
  }
  return 8;
}

std::span<const TensorSpec> InputSpecs() {
  static const std::vector<TensorSpec> specs = {
      {"context", {Datatype::kFp64, Datatype::kFp32}, {-1, -1}},
      {"lengths", {Datatype::kInt64}, {-1}, true},
      {"mask", {Datatype::kBool}, {-1, -1}, true},
  };
  return specs;
}

std::span<const TensorSpec> OutputSpecs() {
  static const std::vector<TensorSpec> specs = {
      {"quantiles", {Datatype::kFp64, Datatype::kFp32}, {-1, -1, -1}},
      {"mean", {Datatype::kFp64, Datatype::kFp32}, {-1, -1}},
  };
  return specs;
}

size_t Tensor::count() const {
  size_t product = 1;
  for (const int64_t extent : shape) product *= static_cast<size_t>(extent);
  return product;
}

StatusOr<Tensor> MakeInput(std::string_view path, std::string_view name, std::string_view datatype,
                           std::vector<int64_t> shape, const TensorLimits& limits) {
  const TensorSpec* spec = Find(InputSpecs(), name);
  if (spec == nullptr) {
    return FieldError(StrCat(path, ".name"),
                      StrCat("no input is named \"", name.substr(0, kShown), "\"; inputs are ",
                             Join(InputSpecs(), ", ", [](const TensorSpec& s) { return s.name; })));
  }
  const auto type = std::find_if(spec->datatypes.begin(), spec->datatypes.end(),
                                 [&](Datatype d) { return DatatypeName(d) == datatype; });
  if (type == spec->datatypes.end()) {
    return FieldError(StrCat(path, ".datatype"),
                      StrCat("is \"", datatype.substr(0, kShown), "\"; ", name, " is ",
                             Join(spec->datatypes, " or ", [](Datatype d) { return DatatypeName(d); })));
  }
  const std::string field = StrCat(path, ".shape");
  if (shape.size() != spec->shape.size()) {
    return FieldError(field, StrCat("has ", shape.size(), " extents; ", name, " has ",
                                    spec->shape.size() == 1 ? "one: [series]" : "two: [series, steps]"));
  }
  for (const int64_t extent : shape) {
    if (extent < 1) return FieldError(field, StrCat("is ", ShapeText(shape), "; extents begin at 1"));
  }
  if (shape[0] > limits.series) {
    return FieldError(field, StrCat("is ", ShapeText(shape), "; ", limits.series,
                                    " series are the most in one request (limits.series)"));
  }
  // A division, since the product may not be a number any more.
  if (shape.size() == 2 && shape[1] > limits.values / shape[0]) {
    return FieldError(field, StrCat("is ", ShapeText(shape), "; ", limits.values,
                                    " values are the most in one request (limits.values)"));
  }
  return Tensor{std::string(name), *type, std::move(shape), {}, nullptr};
}

Status SetData(std::string_view path, std::string_view data, Tensor* tensor) {
  if (data.size() != tensor->bytes()) {
    return FieldError(path, StrCat("has ", data.size(), " bytes of data; ", DatatypeName(tensor->datatype),
                                   " ", ShapeText(tensor->shape), " has ", tensor->bytes()));
  }
  tensor->data = data;
  return absl::OkStatus();
}

}  // namespace plinth::server::oip
