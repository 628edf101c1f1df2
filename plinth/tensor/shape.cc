#include "plinth/tensor/shape.h"

namespace plinth {

std::string Dim::ToString() const {
  if (constant()) return StrCat(offset_);
  std::string s = scale_ == 1 ? name_ : StrCat(scale_, "*", name_);
  if (offset_ != 0) StrAppend(&s, offset_ > 0 ? "+" : "", offset_);
  return s;
}

std::string ToString(const Shape& shape) {
  return StrCat("[", Join(shape, ", ", [](const Dim& d) { return d.ToString(); }), "]");
}

StatusOr<Dim> Product(const Shape& shape) {
  int64_t factor = 1;
  const Dim* named = nullptr;
  for (const Dim& d : shape) {
    if (!d.constant()) {
      if (named != nullptr || d.offset() != 0) {
        return absl::InvalidArgumentError(
            StrCat("the product of ", ToString(shape), " is not a multiple of one named dimension"));
      }
      named = &d;
      if (__builtin_mul_overflow(factor, d.scale(), &factor)) factor = -1;
    } else if (__builtin_mul_overflow(factor, d.offset(), &factor)) {
      factor = -1;
    }
    if (factor < 0) {
      return absl::InvalidArgumentError(StrCat("the product of ", ToString(shape), " is too large"));
    }
  }
  if (named == nullptr || factor == 0) return Dim(factor);
  return Dim::Named(named->name(), factor);
}

std::string ToString(const ValueType& type) { return StrCat(DTypeName(type.dtype), ToString(type.shape)); }

StatusOr<int64_t> Resolve(const Dim& dim, const Extents& extents) {
  if (dim.constant()) return dim.offset();
  for (const auto& [name, extent] : extents) {
    if (name == dim.name()) return dim.At(extent);
  }
  return absl::InvalidArgumentError(StrCat("no extent is given for dimension \"", dim.name(), "\""));
}

StatusOr<std::vector<int64_t>> Resolve(const Shape& shape, const Extents& extents) {
  std::vector<int64_t> dims;
  dims.reserve(shape.size());
  for (const Dim& d : shape) {
    PLINTH_ASSIGN_OR_RETURN(const int64_t n, Resolve(d, extents));
    dims.push_back(n);
  }
  return dims;
}

}  // namespace plinth
