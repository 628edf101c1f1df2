#include "plinth/verify/replay/op_use.h"

#include <cstring>
#include <limits>

#include "plinth/tensor/half.h"

namespace plinth::verify::replay {
namespace {

using formats::JsonValue;

template <typename T, typename Convert>
void LoadAs(const std::byte* from, int64_t count, int64_t stride_bytes, double* out, Convert convert) {
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * stride_bytes, sizeof(T));
    out[i] = static_cast<double>(convert(value));
  }
}

Status WrongKind(std::string_view name, const JsonValue& value, std::string_view wanted) {
  return absl::InvalidArgumentError(
      StrCat("attribute \"", name, "\" is ", formats::ShortText(value), "; ", wanted, " is expected"));
}

}  // namespace

Values::Values(const NumberFormat& format, std::vector<int64_t> dims, const std::byte* data)
    : format_(&format), dims_(std::move(dims)), data_(data), element_(SizeOf(format.storage)) {
  size_ = ProductOf(dims_, 0, dims_.size());
}

void Values::Load(int64_t begin, int64_t count, int64_t stride, double* out) const {
  const std::byte* from = at(begin);
  const int64_t step = stride * element_;
  switch (format_->storage) {
    case DType::kF32:
      return LoadAs<float>(from, count, step, out, [](float v) { return v; });
    case DType::kF64:
      return LoadAs<double>(from, count, step, out, [](double v) { return v; });
    case DType::kBF16:
      return LoadAs<BFloat16>(from, count, step, out, [](BFloat16 v) { return ToFloat(v); });
    case DType::kF16:
      return LoadAs<Half>(from, count, step, out, [](Half v) { return ToFloat(v); });
    default:
      for (int64_t i = 0; i < count; ++i) out[i] = LoadNumber(*format_, from + i * step);
  }
}

std::vector<double> Values::All() const {
  std::vector<double> out(static_cast<size_t>(size_));
  Load(0, size_, 1, out.data());
  return out;
}

std::string Values::ToString() const { return StrCat(format_->name, "[", Join(dims_, ", "), "]"); }

const JsonValue* OpUse::Find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return value.is_null() ? nullptr : &value;
  }
  return nullptr;
}

void OpUse::Set(std::string_view name, JsonValue value) {
  for (auto& [key, old] : attributes) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  attributes.emplace_back(std::string(name), std::move(value));
}

StatusOr<int64_t> OpUse::Int(std::string_view name, int64_t otherwise) const {
  const JsonValue* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->integer() != nullptr) return *value->integer();
  if (value->flag() != nullptr) return *value->flag() ? 1 : 0;
  return WrongKind(name, *value, "a whole number");
}

StatusOr<double> OpUse::Real(std::string_view name, double otherwise) const {
  const JsonValue* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->real() != nullptr) return *value->real();
  if (value->integer() != nullptr) return static_cast<double>(*value->integer());
  return WrongKind(name, *value, "a number");
}

StatusOr<bool> OpUse::Flag(std::string_view name, bool otherwise) const {
  const JsonValue* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->flag() != nullptr) return *value->flag();
  if (value->integer() != nullptr) return *value->integer() != 0;
  return WrongKind(name, *value, "true or false");
}

StatusOr<std::string> OpUse::Text(std::string_view name, std::string_view otherwise) const {
  const JsonValue* value = Find(name);
  if (value == nullptr) return std::string(otherwise);
  if (value->text() != nullptr) return *value->text();
  return WrongKind(name, *value, "a text");
}

StatusOr<std::vector<int64_t>> OpUse::Ints(std::string_view name, std::vector<int64_t> otherwise,
                                           size_t count) const {
  const JsonValue* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->integer() != nullptr) {
    return std::vector<int64_t>(count == 0 ? 1 : count, *value->integer());
  }
  if (value->array() == nullptr) return WrongKind(name, *value, "a list of whole numbers");
  std::vector<int64_t> out;
  for (const JsonValue& item : *value->array()) {
    if (item.integer() == nullptr) return WrongKind(name, *value, "a list of whole numbers");
    out.push_back(*item.integer());
  }
  if (count != 0 && out.size() == 1) out.assign(count, out[0]);
  if (count != 0 && out.size() != count) {
    return absl::InvalidArgumentError(
        StrCat("attribute \"", name, "\" has ", out.size(), " numbers; ", count, " are expected"));
  }
  return out;
}

Status OpUse::Need(size_t input, std::string_view what) const {
  if (has(input) && inputs[input].values.has_value()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      has(input)
          ? StrCat("input ", input, " (", what, ") was taken as statistics only; capture it in full")
          : StrCat("input ", input, " (", what, ") was not recorded; capture the operator's inputs in full"));
}

StatusOr<int64_t> AxisOf(int64_t axis, size_t rank) {
  const auto n = static_cast<int64_t>(rank == 0 ? 1 : rank);
  if (axis < -n || axis >= n) {
    return absl::InvalidArgumentError(StrCat("axis ", axis, " is outside [", -n, ", ", n, ")"));
  }
  return axis < 0 ? axis + n : axis;
}

int64_t ProductOf(const std::vector<int64_t>& dims, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t i = begin; i < end; ++i) {
    if (dims[i] == 0) return 0;
  }
  for (size_t i = begin; i < end; ++i) {
    if (__builtin_mul_overflow(n, dims[i], &n)) return std::numeric_limits<int64_t>::max();
  }
  return n;
}

}  // namespace plinth::verify::replay
