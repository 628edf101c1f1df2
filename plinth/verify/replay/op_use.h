// Holds one use of an operator in a capture: its name, attributes, and recorded inputs and outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/formats/json.h"
#include "plinth/verify/replay/number_format.h"

namespace plinth::verify::replay {

// A recorded tensor, dense and row-major, read element by element as double. Borrows its bytes, which may
// begin anywhere.
class Values {
 public:
  Values() = default;
  Values(const NumberFormat& format, std::vector<int64_t> dims, const std::byte* data);

  const NumberFormat& format() const { return *format_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  size_t rank() const { return dims_.size(); }
  // Dimension i; negative ones count from the end.
  int64_t dim(int i) const {
    return dims_[i < 0 ? dims_.size() - static_cast<size_t>(-i) : static_cast<size_t>(i)];
  }
  int64_t size() const { return size_; }
  const std::byte* at(int64_t i) const { return data_ + i * element_; }

  double operator[](int64_t i) const { return LoadNumber(*format_, at(i)); }
  int64_t integer(int64_t i) const { return LoadInteger(*format_, at(i)); }
  // Element i, cut to an integer where it is a floating number.
  int64_t index(int64_t i) const { return format_->floating ? static_cast<int64_t>((*this)[i]) : integer(i); }
  // `count` elements from `begin` on, `stride` apart, to `out`.
  void Load(int64_t begin, int64_t count, int64_t stride, double* out) const;
  std::vector<double> All() const;
  // "f32[2, 3]".
  std::string ToString() const;

 private:
  const NumberFormat* format_ = nullptr;
  std::vector<int64_t> dims_;
  const std::byte* data_ = nullptr;
  int64_t size_ = 0, element_ = 1;
};

// One input or output.
struct UsePort {
  bool recorded = false;         // the capture has an entry for it
  std::string key;               // the entry's
  std::optional<Values> values;  // where the tensor was taken in full
};

struct OpUse {
  std::string name;
  std::string op;
  int64_t step = 0, index = 0;
  // Members of the entry's attributes.
  formats::JsonValue::Object attributes;
  std::vector<UsePort> inputs, outputs;

  bool has(size_t input) const { return input < inputs.size() && inputs[input].recorded; }
  const Values& in(size_t input) const { return *inputs[input].values; }
  const Values& out(size_t output) const { return *outputs[output].values; }

  // Null where there is none, or it is null.
  const formats::JsonValue* Find(std::string_view name) const;
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  void Set(std::string_view name, formats::JsonValue value);
  // Errors: InvalidArgument where the attribute is of another kind. A missing one is `otherwise`.
  StatusOr<int64_t> Int(std::string_view name, int64_t otherwise) const;
  StatusOr<double> Real(std::string_view name, double otherwise) const;
  StatusOr<bool> Flag(std::string_view name, bool otherwise) const;
  StatusOr<std::string> Text(std::string_view name, std::string_view otherwise) const;
  // A number counts as `count` equal ones, unless count is 0.
  StatusOr<std::vector<int64_t>> Ints(std::string_view name, std::vector<int64_t> otherwise,
                                      size_t count = 0) const;
  // Error: FailedPrecondition that names the port where the input was not recorded in full.
  Status Need(size_t input, std::string_view what) const;
};

// axis in [-rank, rank) as one in [0, rank). Error: InvalidArgument.
StatusOr<int64_t> AxisOf(int64_t axis, size_t rank);
// Product of dims[begin, end); what does not fit 63 bits, beside a dimension of zero elsewhere, is the
// largest number.
int64_t ProductOf(const std::vector<int64_t>& dims, size_t begin, size_t end);

}  // namespace plinth::verify::replay
