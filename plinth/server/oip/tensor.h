// Describes the tensors of the Open Inference Protocol that every time-series model has, whatever carried
// them here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"

namespace plinth::server::oip {

enum class Datatype : uint8_t { kBool, kInt64, kFp32, kFp64 };
std::string_view DatatypeName(Datatype datatype);  // "FP64"
size_t BytesOf(Datatype datatype);

// What a model takes or gives; -1 is any extent.
struct TensorSpec {
  std::string_view name;
  std::vector<Datatype> datatypes;  // the first one is what metadata name
  std::vector<int64_t> shape;
  bool optional = false;
};
std::span<const TensorSpec> InputSpecs();   // context, lengths, mask
std::span<const TensorSpec> OutputSpecs();  // quantiles, mean

struct Tensor {
  std::string name;
  Datatype datatype = Datatype::kFp64;
  std::vector<int64_t> shape;         // extents from 1 on, whose product cannot overflow
  std::string_view data;              // row-major, little-endian, bytes() of them
  std::shared_ptr<const void> owner;  // of the data, where nobody else keeps them

  size_t count() const;
  size_t bytes() const { return count() * BytesOf(datatype); }
};

// Bounds of one request.
struct TensorLimits {
  int64_t series = 10000, values = 20'000'000;
};

// Checks what is said about an input before anything is made for its data, which the tensor then lacks.
// Errors: InvalidArgument with the field below `path` ("inputs[0]").
StatusOr<Tensor> MakeInput(std::string_view path, std::string_view name, std::string_view datatype,
                           std::vector<int64_t> shape, const TensorLimits& limits);
// Gives it its data. Error: InvalidArgument for another number of bytes than the shape says.
Status SetData(std::string_view path, std::string_view data, Tensor* tensor);

}  // namespace plinth::server::oip
