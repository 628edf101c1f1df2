#include "plinth/formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "plinth/tensor/half.h"

namespace plinth::formats {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

namespace {

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

float AsNumber(Half h) { return ToFloat(h); }
float AsNumber(BFloat16 h) { return ToFloat(h); }
template <typename T>
T AsNumber(T value) {
  return value;
}

struct BoolByte {
  uint8_t byte;
};
int AsNumber(BoolByte b) { return b.byte != 0; }

template <typename From, typename To>
void ConvertElements(const std::byte* from, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i) {
    const To value = static_cast<To>(AsNumber(Load<From>(from + i * static_cast<int64_t>(sizeof(From)))));
    std::memcpy(to + i * static_cast<int64_t>(sizeof(To)), &value, sizeof(To));
  }
}

template <typename To>
void ConvertAll(const ConstTensorRef& t, std::byte* out) {
  const int64_t n = t.size();
  switch (t.dtype) {
    case DType::kF64:
      return ConvertElements<double, To>(t.data, n, out);
    case DType::kF32:
      return ConvertElements<float, To>(t.data, n, out);
    case DType::kF16:
      return ConvertElements<Half, To>(t.data, n, out);
    case DType::kBF16:
      return ConvertElements<BFloat16, To>(t.data, n, out);
    case DType::kI64:
      return ConvertElements<int64_t, To>(t.data, n, out);
    case DType::kI32:
      return ConvertElements<int32_t, To>(t.data, n, out);
    case DType::kI16:
      return ConvertElements<int16_t, To>(t.data, n, out);
    case DType::kI8:
      return ConvertElements<int8_t, To>(t.data, n, out);
    case DType::kU8:
      return ConvertElements<uint8_t, To>(t.data, n, out);
    case DType::kBool:
      return ConvertElements<BoolByte, To>(t.data, n, out);
  }
}

}  // namespace

std::string ToString(DType dtype, std::span<const int64_t> dims) {
  return StrCat(DTypeName(dtype), "[", Join(dims, ", "), "]");
}

Status ConvertTo(const ConstTensorRef& tensor, DType dtype, void* out) {
  auto* to = static_cast<std::byte*>(out);
  if (tensor.bytes == 0) return absl::OkStatus();
  if (dtype == tensor.dtype) {
    std::memcpy(to, tensor.data, static_cast<size_t>(tensor.bytes));
  } else if (dtype == DType::kF32) {
    ConvertAll<float>(tensor, to);
  } else if (dtype == DType::kF64) {
    ConvertAll<double>(tensor, to);
  } else {
    return absl::UnimplementedError(StrCat("tensor \"", tensor.name, "\" is ", DTypeName(tensor.dtype),
                                           "; it can be read as that, f32 or f64, not as ",
                                           DTypeName(dtype)));
  }
  return absl::OkStatus();
}

StatusOr<Tensor> CopyTo(const ConstTensorRef& tensor, DType dtype) {
  if (tensor.dims.size() > static_cast<size_t>(kMaxRank)) {
    return absl::UnimplementedError(StrCat("tensor \"", tensor.name, "\" is ",
                                           ToString(tensor.dtype, tensor.dims), "; at most ", kMaxRank,
                                           " dimensions can be used"));
  }
  Tensor out(dtype, {tensor.dims.begin(), tensor.dims.end()});
  PLINTH_RETURN_IF_ERROR(ConvertTo(tensor, dtype, out.raw()));
  return out;
}

StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path, const SafetensorsOptions& options) {
  SafetensorsFile result;
  if (IsSealedName(path)) {
    PLINTH_ASSIGN_OR_RETURN(UnsealedFile unsealed, UnsealedFile::Open(path, CredentialInUse()));
    result.unsealed_ = std::make_unique<UnsealedFile>(std::move(unsealed));
  } else {
    PLINTH_ASSIGN_OR_RETURN(result.file_, MappedFile::Open(path));
  }
  auto header = ParseSafetensorsHeader(result.bytes(), options);
  if (!header.ok()) return Prepend(header.status(), path);
  result.header_ = *std::move(header);
  const auto& entries = result.header_.entries;
  result.tensors_.reserve(entries.size());
  for (const auto& e : entries) {
    result.tensors_.push_back(
        {e.name, e.dtype, e.dims, result.bytes().data() + e.begin, e.end - e.begin, e.stored});
  }
  result.by_name_.resize(entries.size());
  std::iota(result.by_name_.begin(), result.by_name_.end(), 0);
  std::sort(result.by_name_.begin(), result.by_name_.end(), [&](int32_t a, int32_t b) {
    return entries[static_cast<size_t>(a)].name < entries[static_cast<size_t>(b)].name;
  });
  return result;
}

const ConstTensorRef* SafetensorsFile::Find(std::string_view name) const {
  const auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](int32_t i, std::string_view wanted) { return tensors_[static_cast<size_t>(i)].name < wanted; });
  if (at == by_name_.end()) return nullptr;
  const ConstTensorRef& found = tensors_[static_cast<size_t>(*at)];
  return found.name == name ? &found : nullptr;
}

void SafetensorsFile::ReleasePages(const ConstTensorRef& tensor) const {
  if (!unsealed_) file_.Release(tensor.data - bytes().data(), tensor.bytes);
}

void SafetensorsFile::Forget(const ConstTensorRef& tensor) const {
  if (unsealed_) unsealed_->Release(tensor.data - bytes().data(), tensor.bytes);
}

Status SafetensorsFile::Fetch(const ConstTensorRef& tensor) const {
  if (!unsealed_) return absl::OkStatus();
  return unsealed_->Fetch(tensor.data - bytes().data(), tensor.bytes);
}

}  // namespace plinth::formats
