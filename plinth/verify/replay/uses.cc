#include "plinth/verify/replay/uses.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace plinth::verify::replay {
namespace {

using formats::CaptureEntry;
using formats::JsonValue;

constexpr int64_t kMaxPorts = 1024;

UsePort PortOf(const formats::Capture& capture, const CaptureEntry& entry) {
  UsePort port;
  port.recorded = true;
  port.key = entry.Key();
  const formats::ConstTensorRef* tensor = capture.Tensor(entry);
  const NumberFormat* format = FindFormat(entry.dtype);
  if (tensor != nullptr && format != nullptr && SizeOf(format->storage) == SizeOf(tensor->dtype)) {
    port.values.emplace(*format, entry.dims, tensor->data);
  }
  return port;
}

bool IsTrue(const JsonValue& precision, std::string_view key) {
  const JsonValue* value = precision.Find(key);
  return value != nullptr && value->flag() != nullptr && *value->flag();
}

}  // namespace

StatusOr<std::vector<OpUse>> UsesOf(const formats::Capture& capture) {
  std::vector<OpUse> uses;
  std::map<std::pair<std::string, int64_t>, size_t> at;
  for (const CaptureEntry& entry : capture.entries()) {
    const auto [found, fresh] = at.try_emplace({entry.name, entry.step}, uses.size());
    if (fresh) {
      uses.push_back({.name = entry.name, .op = entry.op, .step = entry.step, .index = entry.index});
    }
    OpUse& use = uses[found->second];
    const auto refuse = [&](std::string_view why) {
      return absl::InvalidArgumentError(
          StrCat(capture.folder(), ": entry ", formats::QuotedShort(entry.Key()), why));
    };
    if (use.op != entry.op)
      return refuse(StrCat(" is of operator ", formats::QuotedShort(entry.op), ", an entry before it of ",
                           formats::QuotedShort(use.op)));
    if (entry.port < 0 || entry.port >= kMaxPorts)
      return refuse(StrCat(" has port ", entry.port, "; 0 to ", kMaxPorts - 1, " is expected"));
    auto& ports = entry.direction == formats::CaptureDirection::kInput ? use.inputs : use.outputs;
    const auto port = static_cast<size_t>(entry.port);
    if (ports.size() <= port) ports.resize(port + 1);
    ports[port] = PortOf(capture, entry);
    if (use.attributes.empty() && entry.attributes.object() != nullptr)
      use.attributes = *entry.attributes.object();
  }
  return uses;
}

bool SameInputs(const OpUse& a, const OpUse& b) {
  for (size_t i = 0; i < std::min(a.inputs.size(), b.inputs.size()); ++i) {
    if (!a.has(i) || !b.has(i)) continue;
    if (!a.inputs[i].values.has_value() || !b.inputs[i].values.has_value()) return false;
    const Values &x = a.in(i), &y = b.in(i);
    if (x.dims() != y.dims() || x.format().name != y.format().name) return false;
    const auto bytes = static_cast<size_t>(x.size() * SizeOf(x.format().storage));
    if (bytes > 0 && std::memcmp(x.at(0), y.at(0), bytes) != 0) return false;
  }
  return true;
}

std::string ProducerOf(const formats::Capture& capture) {
  std::string out;
  for (const std::string_view key : {"framework", "name"}) {
    const JsonValue* value = capture.info().producer.Find(key);
    if (value == nullptr || value->text() == nullptr) continue;
    out = *value->text();
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
    break;
  }
  return out;
}

Arithmetic ArithmeticOf(const JsonValue& precision, const OpUse& use, size_t port) {
  Arithmetic a;
  const NumberFormat& format = use.out(port).format();
  if (format.storage == DType::kF64) {
    a.accumulate = 0x1p-53, a.name = "f64";
    return a;
  }
  const bool convolution = use.op == "conv1d" || use.op == "conv2d";
  const bool product = convolution || use.op == "linear" || use.op == "matmul" || use.op == "attention";
  if (!product) return a;
  const auto text = [&](std::string_view key) -> std::string_view {
    const JsonValue* value = precision.Find(key);
    return value != nullptr && value->text() != nullptr ? std::string_view(*value->text()) : "";
  };
  // PyTorch's switches are on by default even where only a CPU is in use, which has none of this.
  const bool cpu = text("device") == "cpu";
  if (format.storage == DType::kF32) {
    const bool tf32 = convolution ? IsTrue(precision, "tf32_convolution")
                                  : IsTrue(precision, "tf32_matmul") || text("float32_matmul") == "high";
    if (tf32 && !cpu) a.operand = 0x1p-11, a.name = "tf32";
    if (!convolution && text("float32_matmul") == "medium") a.operand = 0x1p-8, a.name = "bf16 operands";
  } else if (!cpu &&
             IsTrue(precision, format.name == "bf16" ? "bf16_reduced_reduction" : "fp16_reduced_reduction")) {
    a.partial = format.roundoff(), a.name = StrCat("f32, partial sums ", format.name);
  }
  return a;
}

}  // namespace plinth::verify::replay
