#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "plinth/base/utf8.h"
#include "plinth/formats/json_writer.h"
#include "plinth/formats/safetensors.h"

namespace plinth::formats {
namespace {

std::string UpperName(DType dtype) {
  std::string name(DTypeName(dtype));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

Status CheckTensor(const ConstTensorRef& tensor, std::set<std::string_view>* names) {
  if (tensor.name.empty() || tensor.name == "__metadata__" || !IsUtf8(tensor.name)) {
    return absl::InvalidArgumentError(
        StrCat("a tensor cannot be named \"", IsUtf8(tensor.name) ? tensor.name : "(not UTF-8)", "\""));
  }
  if (!names->insert(tensor.name).second) {
    return absl::InvalidArgumentError(StrCat("tensor \"", tensor.name, "\" is given twice"));
  }
  if (!tensor.stored.empty() && StandInFor(tensor.stored) != tensor.dtype) {
    return absl::InvalidArgumentError(StrCat("tensor \"", tensor.name, "\": ", DTypeName(tensor.dtype),
                                             " cannot stand in for \"", tensor.stored, "\""));
  }
  int64_t bytes = SizeOf(tensor.dtype);
  bool fits = true;
  for (int64_t d : tensor.dims) fits = fits && d >= 0 && !__builtin_mul_overflow(bytes, d, &bytes);
  if (!fits || bytes != tensor.bytes) {
    return absl::InvalidArgumentError(StrCat("tensor \"", tensor.name, "\" is ",
                                             ToString(tensor.dtype, tensor.dims), " but has ", tensor.bytes,
                                             " bytes"));
  }
  return absl::OkStatus();
}

// The header, padded with spaces so that the data begin at a multiple of 8 bytes in the file.
std::string HeaderOf(const std::vector<const ConstTensorRef*>& tensors,
                     const std::map<std::string, std::string>& metadata) {
  std::string text;
  JsonWriter json(&text);
  json.BeginObject();
  if (!metadata.empty()) {
    json.Key("__metadata__");
    json.BeginObject();
    for (const auto& [key, value] : metadata) {
      json.Key(key);
      json.String(value);
    }
    json.EndObject();
  }
  int64_t at = 0;
  for (const ConstTensorRef* t : tensors) {
    json.Key(t->name);
    json.BeginObject();
    json.Key("dtype");
    json.String(t->stored.empty() ? UpperName(t->dtype) : std::string(t->stored));
    json.Key("shape");
    json.BeginArray();
    for (int64_t d : t->dims) json.Int(d);
    json.EndArray();
    json.Key("data_offsets");
    json.BeginArray();
    json.Int(at);
    json.Int(at += t->bytes);
    json.EndArray();
    json.EndObject();
  }
  json.EndObject();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

Status WriteSafetensors(const std::string& path, std::span<const ConstTensorRef> tensors,
                        const std::map<std::string, std::string>& metadata) {
  std::set<std::string_view> names;
  std::vector<const ConstTensorRef*> order;
  for (const auto& t : tensors) {
    if (const Status status = CheckTensor(t, &names); !status.ok()) return Prepend(status, path);
    order.push_back(&t);
  }
  for (const auto& [key, value] : metadata) {
    if (!IsUtf8(key) || !IsUtf8(value)) {
      return absl::InvalidArgumentError(StrCat(path, ": the metadata are not UTF-8"));
    }
  }
  // Wide elements first: with sizes that are powers of two, every tensor is then aligned to its type.
  std::stable_sort(order.begin(), order.end(), [](const ConstTensorRef* a, const ConstTensorRef* b) {
    return SizeOf(a->dtype) > SizeOf(b->dtype);
  });
  const std::string header = HeaderOf(order, metadata);
  if (static_cast<int64_t>(header.size()) > kMaxSafetensorsHeader) {
    return absl::InvalidArgumentError(StrCat(path, ": the header would have ", header.size(),
                                             " bytes; readers take at most ", kMaxSafetensorsHeader));
  }
  const uint64_t length = header.size();
  PLINTH_ASSIGN_OR_RETURN(AtomicWriter writer, AtomicWriter::Create(path));
  PLINTH_RETURN_IF_ERROR(writer.Write(std::as_bytes(std::span(&length, 1))));
  PLINTH_RETURN_IF_ERROR(writer.Write(header));
  for (const ConstTensorRef* t : order) {
    PLINTH_RETURN_IF_ERROR(writer.Write(std::span(t->data, static_cast<size_t>(t->bytes))));
  }
  return writer.Commit();
}

}  // namespace plinth::formats
