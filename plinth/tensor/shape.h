// Describes shapes whose dimensions are constants or named quantities known only at run time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/tensor/dtype.h"
#include "plinth/tensor/view.h"

namespace plinth {

// scale * name + offset; a constant has no name. Examples: 128, tokens, 16*future, batch+1.
class Dim {
 public:
  Dim(int64_t value) : offset_(value) {}  // NOLINT: a number is a dimension
  static Dim Named(std::string name, int64_t scale = 1, int64_t offset = 0) {
    Dim d(offset);
    d.name_ = std::move(name);
    d.scale_ = scale;
    return d;
  }

  bool constant() const { return name_.empty(); }
  const std::string& name() const { return name_; }
  int64_t scale() const { return scale_; }
  int64_t offset() const { return offset_; }  // the value itself where constant()

  // The value when the name stands for `extent`.
  int64_t At(int64_t extent) const { return constant() ? offset_ : scale_ * extent + offset_; }
  std::string ToString() const;
  friend bool operator==(const Dim&, const Dim&) = default;

 private:
  std::string name_;
  int64_t scale_ = 0;
  int64_t offset_ = 0;
};

using Shape = std::vector<Dim>;

// "[tokens, 128]".
std::string ToString(const Shape& shape);
// The product of all dimensions. Error: InvalidArgument when more than one is named, or one is named
// with an offset, or the product does not fit 63 bits.
StatusOr<Dim> Product(const Shape& shape);

// Element type and shape of one value in a graph.
struct ValueType {
  DType dtype = DType::kF32;
  Shape shape;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};
// "f32[tokens, 128]".
std::string ToString(const ValueType& type);

// Extents of named dimensions: name -> number.
using Extents = std::vector<std::pair<std::string, int64_t>>;
// Error: InvalidArgument naming the dimension that `extents` lacks.
StatusOr<int64_t> Resolve(const Dim& dim, const Extents& extents);
StatusOr<std::vector<int64_t>> Resolve(const Shape& shape, const Extents& extents);

}  // namespace plinth
