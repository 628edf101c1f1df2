#include "plinth/verify/placed.h"

#include <cstring>

#include "plinth/tensor/half.h"

namespace plinth::verify {
namespace {

using ops::Place;

// Enough for the widest vector load past either end, and a line more.
constexpr int64_t kGuard = 192;

template <typename T>
double LoadAs(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return static_cast<double>(value);
}

template <typename T>
void StoreAs(void* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

// Strides in elements; returns the number of elements that the layout spans.
int64_t Strides(const std::vector<int64_t>& dims, Place place, View* view) {
  const int rank = static_cast<int>(dims.size());
  *view = DenseView(view->data, view->dtype, dims.data(), rank);
  int64_t span = view->size();
  if (place == Place::kRowStrided && rank >= 2) {
    int64_t stride = dims[rank - 1] + 3;
    for (int i = rank - 2; i >= 0; --i) {
      view->strides[i] = stride;
      stride *= dims[i];
    }
    span = stride;
  } else if (place == Place::kTransposed && rank >= 2) {
    // Dense in the order of dimensions with the first and the last one swapped.
    int64_t stride = 1;
    for (int k = rank - 1; k >= 0; --k) {
      const int d = k == rank - 1 ? 0 : (k == 0 ? rank - 1 : k);
      view->strides[d] = stride;
      stride *= dims[d];
    }
  }
  return span;
}

std::string Where(int64_t byte, int64_t first, int64_t last) {
  if (byte < first) return StrCat("byte ", first - byte, " before the tensor");
  if (byte >= last) return StrCat("byte ", byte - last, " after the tensor");
  return StrCat("byte ", byte - first, " in a gap between rows");
}

}  // namespace

double LoadElement(DType dtype, const void* at) {
  switch (dtype) {
    case DType::kF64:
      return LoadAs<double>(at);
    case DType::kF32:
      return LoadAs<float>(at);
    case DType::kF16: {
      Half h;
      std::memcpy(&h, at, sizeof(h));
      return ToFloat(h);
    }
    case DType::kBF16: {
      BFloat16 h;
      std::memcpy(&h, at, sizeof(h));
      return ToFloat(h);
    }
    case DType::kI64:
      return LoadAs<int64_t>(at);
    case DType::kI32:
      return LoadAs<int32_t>(at);
    case DType::kI16:
      return LoadAs<int16_t>(at);
    case DType::kI8:
      return LoadAs<int8_t>(at);
    case DType::kU8:
    case DType::kBool:
      return LoadAs<uint8_t>(at);
  }
  return 0;
}

void StoreElement(DType dtype, void* at, double value) {
  if (dtype == DType::kF32) return StoreAs(at, static_cast<float>(value));
  const double v = ops::RoundTo(dtype, value);
  switch (dtype) {
    case DType::kF64:
      return StoreAs(at, v);
    case DType::kF32:
      break;
    case DType::kF16:
      return StoreAs(at, ToHalf(static_cast<float>(v)));
    case DType::kBF16:
      return StoreAs(at, ToBFloat16(static_cast<float>(v)));
    case DType::kI64:
      return StoreAs(at, static_cast<int64_t>(v));
    case DType::kI32:
      return StoreAs(at, static_cast<int32_t>(v));
    case DType::kI16:
      return StoreAs(at, static_cast<int16_t>(v));
    case DType::kI8:
      return StoreAs(at, static_cast<int8_t>(v));
    case DType::kU8:
    case DType::kBool:
      return StoreAs(at, static_cast<uint8_t>(v));
  }
}

void Placed::Allocate(DType dtype, const std::vector<int64_t>& dims, Place place, uint8_t guard) {
  view_.dtype = dtype;
  const int64_t size = SizeOf(dtype);
  const int64_t bytes = Strides(dims, place, &view_) * size;
  first_ = kGuard + (place == Place::kMisaligned ? size : 0);
  last_ = first_ + bytes;
  storage_bytes_ = last_ + kGuard;
  storage_ = AllocateAligned(storage_bytes_);
  std::memset(storage_.get(), guard, static_cast<size_t>(storage_bytes_));
  guard_ = guard;
  view_.data = storage_.get() + first_;
  if (view_.size() * size == bytes) return;
  owned_.assign(static_cast<size_t>(bytes), false);
  ForEachElement(view_, [&](int64_t, int64_t offset) {
    for (int64_t b = 0; b < size; ++b) owned_[static_cast<size_t>(offset * size + b)] = true;
  });
}

Placed::Placed(DType dtype, const std::vector<int64_t>& dims, Place place, uint8_t fill, uint8_t guard)
    : storage_(nullptr, &std::free) {
  Allocate(dtype, dims, place, guard);
  Poison(fill);
}

Placed::Placed(DType dtype, const ops::RefTensor& source, Place place, uint8_t guard)
    : storage_(nullptr, &std::free) {
  Allocate(dtype, source.dims, place, guard);
  ForEachElement(view_, [&](int64_t i, int64_t offset) {
    StoreElement(dtype, element(offset), source.data[static_cast<size_t>(i)]);
  });
  original_.assign(storage_.get(), storage_.get() + storage_bytes_);
}

std::string Placed::Damage() const {
  for (int64_t b = 0; b < storage_bytes_; ++b) {
    if (owned_.empty() && b == first_) b = last_;
    if (b >= first_ && b < last_ && owned_[static_cast<size_t>(b - first_)]) continue;
    if (storage_[static_cast<size_t>(b)] != std::byte{guard_}) {
      return StrCat("wrote outside: ", Where(b, first_, last_));
    }
  }
  return "";
}

std::string Placed::Change() const {
  if (original_.empty() || std::memcmp(original_.data(), storage_.get(), original_.size()) == 0) return "";
  for (int64_t b = 0; b < storage_bytes_; ++b) {
    if (storage_[static_cast<size_t>(b)] == original_[static_cast<size_t>(b)]) continue;
    const bool inside = b >= first_ && b < last_;
    if (inside && (owned_.empty() || owned_[static_cast<size_t>(b - first_)])) {
      return StrCat("changed an input at byte ", b - first_);
    }
    return StrCat("wrote around an input: ", Where(b, first_, last_));
  }
  return "";
}

void Placed::Poison(uint8_t fill) {
  const auto size = static_cast<size_t>(SizeOf(view_.dtype));
  if (owned_.empty()) {
    std::memset(view_.data, fill, static_cast<size_t>(last_ - first_));
  } else {
    ForEachElement(view_, [&](int64_t, int64_t offset) { std::memset(element(offset), fill, size); });
  }
  original_.clear();
}

}  // namespace plinth::verify
