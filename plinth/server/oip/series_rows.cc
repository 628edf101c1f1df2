#include "plinth/server/oip/series_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "plinth/base/text.h"
#include "plinth/server/fields.h"

namespace plinth::server::oip {
namespace {

// Data stand wherever the request put them, on no boundary.
template <typename T>
T Load(std::string_view data, size_t index) {
  T value;
  std::memcpy(&value, data.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Append(std::string_view data, size_t begin, size_t end, std::vector<double>* to) {
  for (size_t i = begin; i < end; ++i) to->push_back(static_cast<double>(Load<T>(data, i)));
}

struct Inputs {
  const Tensor *context = nullptr, *lengths = nullptr, *mask = nullptr;
  std::string context_path, lengths_path, mask_path;
};

StatusOr<Inputs> Sort(std::span<const Tensor> tensors) {
  Inputs inputs;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    const std::string path = StrCat("inputs[", i, "]");
    const Tensor*& place = tensor.name == "context"   ? inputs.context
                           : tensor.name == "lengths" ? inputs.lengths
                                                      : inputs.mask;
    if (place != nullptr) return FieldError(StrCat(path, ".name"), StrCat(tensor.name, " is given twice"));
    place = &tensor;
    if (tensor.name == "context") inputs.context_path = path;
    if (tensor.name == "lengths") inputs.lengths_path = path;
    if (tensor.name == "mask") inputs.mask_path = path;
  }
  if (inputs.context == nullptr) return FieldError("inputs", "the input context is missing");
  const std::vector<int64_t>& shape = inputs.context->shape;
  if (inputs.lengths != nullptr && inputs.lengths->shape[0] != shape[0]) {
    return FieldError(
        StrCat(inputs.lengths_path, ".shape"),
        StrCat("has ", inputs.lengths->shape[0], " lengths for ", shape[0], " series of context"));
  }
  if (inputs.mask != nullptr && inputs.mask->shape != shape) {
    return FieldError(StrCat(inputs.mask_path, ".shape"), StrCat("is [", Join(inputs.mask->shape, ", "),
                                                                 "]; context has [", Join(shape, ", "), "]"));
  }
  return inputs;
}

}  // namespace

StatusOr<SeriesRows> ReadRows(std::span<const Tensor> tensors, int64_t context) {
  PLINTH_ASSIGN_OR_RETURN(const Inputs inputs, Sort(tensors));
  const auto count = static_cast<size_t>(inputs.context->shape[0]);
  const auto steps = static_cast<size_t>(inputs.context->shape[1]);
  const auto most = static_cast<size_t>(context);
  SeriesRows read;
  read.values.reserve(count * std::min(steps, most));
  std::vector<size_t> begins;
  begins.reserve(count + 1);
  for (size_t r = 0; r < count; ++r) {
    size_t length = steps;
    if (inputs.lengths != nullptr) {
      const auto said = Load<int64_t>(inputs.lengths->data, r);
      if (said < 1 || said > static_cast<int64_t>(steps)) {
        return FieldError(StrCat(inputs.lengths_path, ".data[", r, "]"),
                          StrCat("is ", said, "; an integer in [1, ", steps, "] is expected"));
      }
      length = static_cast<size_t>(said);
    }
    const size_t begin = r * steps + length - std::min(length, most), end = r * steps + length;
    begins.push_back(read.values.size());
    if (inputs.context->datatype == Datatype::kFp32) {
      Append<float>(inputs.context->data, begin, end, &read.values);
    } else {
      Append<double>(inputs.context->data, begin, end, &read.values);
    }
    for (size_t i = begin; i < end; ++i) {
      if (std::isinf(read.values[begins.back() + i - begin])) {
        return FieldError(StrCat(inputs.context_path, ".data[", i, "]"),
                          "is infinite; a finite number, or NaN for a gap, is expected");
      }
    }
    for (size_t i = begin; inputs.mask != nullptr && i < end; ++i) {
      const auto flag = static_cast<uint8_t>(inputs.mask->data[i]);
      if (flag > 1) {
        return FieldError(StrCat(inputs.mask_path, ".data[", i, "]"),
                          StrCat("is the byte ", flag, "; BOOL is 0 or 1"));
      }
      if (flag == 0) read.values[begins.back() + i - begin] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  begins.push_back(read.values.size());
  read.rows.reserve(count);
  for (size_t r = 0; r < count; ++r) {
    read.rows.emplace_back(read.values.data() + begins[r], begins[r + 1] - begins[r]);
  }
  return read;
}

}  // namespace plinth::server::oip
