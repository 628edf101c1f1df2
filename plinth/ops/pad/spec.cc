#include <cmath>

#include "plinth/ops/pad/cpu.h"
#include "plinth/ops/pad/op.h"
#include "plinth/tensor/half.h"

namespace plinth::ops {
namespace {

constexpr std::string_view kModes[] = {"constant", "edge", "reflect"};

template <typename T>
uint64_t BitsOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));  // little-endian: the low end
  return bits;
}

// The integers that a type holds: [low, high).
template <typename T>
StatusOr<uint64_t> IntegerBits(const OpCall& call, double value) {
  const double low = std::is_signed_v<T> ? -std::ldexp(1.0, 8 * sizeof(T) - 1) : 0;
  const double high = std::ldexp(1.0, 8 * sizeof(T) - (std::is_signed_v<T> ? 1 : 0));
  if (!(value >= low && value < high && value == std::trunc(value))) {
    return Refuse(call,
                  StrCat("value ", value, " is not an integer that ", DTypeName(call.in(0).dtype), " holds"));
  }
  return BitsOf(static_cast<T>(value));
}

StatusOr<uint64_t> ValueBits(const OpCall& call) {
  const double value = call.attributes.Real("value");
  switch (call.in(0).dtype) {
    case DType::kF64:
      return BitsOf(value);
    case DType::kF32:
      return BitsOf(static_cast<float>(value));
    case DType::kF16:
      return BitsOf(ToHalf(static_cast<float>(value)));
    case DType::kBF16:
      return BitsOf(ToBFloat16(static_cast<float>(value)));
    case DType::kI64:
      return IntegerBits<int64_t>(call, value);
    case DType::kI32:
      return IntegerBits<int32_t>(call, value);
    case DType::kI16:
      return IntegerBits<int16_t>(call, value);
    case DType::kI8:
      return IntegerBits<int8_t>(call, value);
    case DType::kU8:
      return IntegerBits<uint8_t>(call, value);
    case DType::kBool:
      if (value == 0 || value == 1) return BitsOf(static_cast<uint8_t>(value));
      return Refuse(call, StrCat("value ", value, " is neither 0 nor 1, which are all that bool holds"));
  }
  return Refuse(call, "the element type is unknown");
}

// Checks one dimension and returns what it becomes. A named one has at least `offset` elements.
StatusOr<Dim> PaddedDim(const OpCall& call, PadMode mode, size_t d, int64_t before, int64_t after) {
  const Dim& n = call.in(0).shape[d];
  if (before < 0 || after < 0) {
    return Refuse(call, StrCat("before and after of dimension ", d, " are ", before, " and ", after,
                               "; they are at least 0 (slice takes elements away)"));
  }
  const int64_t most = before > after ? before : after, sure = n.offset();
  if (mode == PadMode::kEdge && most > 0 && sure < 1) {
    return Refuse(call, StrCat("edge needs an element to repeat; dimension ", d, " is ", n.ToString()));
  }
  if (mode == PadMode::kReflect && most > 0 && most > sure - 1) {
    return Refuse(call, StrCat("reflect by ", most, " needs at least ", most, " + 1 elements; dimension ", d,
                               " is ", n.ToString()));
  }
  int64_t offset = 0;
  if (__builtin_add_overflow(n.offset(), before, &offset) || __builtin_add_overflow(offset, after, &offset)) {
    return Refuse(call, StrCat("dimension ", d, " does not fit 63 bits"));
  }
  return n.constant() ? Dim(offset) : Dim::Named(n.name(), n.scale(), offset);
}

struct PadCall {
  PadParams params;
  Shape shape;
};

StatusOr<PadCall> Resolve(const OpCall& call) {
  const ValueType& x = call.in(0);
  if (x.shape.empty()) return Refuse(call, "x is a scalar; it needs at least one dimension");
  const std::vector<int64_t> before = call.attributes.Ints("before"), after = call.attributes.Ints("after");
  if (before.size() != x.shape.size() || after.size() != x.shape.size()) {
    return Refuse(call, StrCat("before has ", before.size(), " and after ", after.size(), " entries; x ",
                               ToString(x.shape), " needs ", x.shape.size(), " each"));
  }
  const std::string mode = call.attributes.Text("mode", "constant");
  int index = 0;
  while (index < 3 && mode != kModes[index]) ++index;
  if (index == 3) {
    return Refuse(call, StrCat("mode \"", mode, "\" is unknown; there are ", Join(kModes, ", ")));
  }
  PadCall result;
  result.params.mode = static_cast<PadMode>(index);
  PLINTH_ASSIGN_OR_RETURN(result.params.value, ValueBits(call));
  for (size_t d = 0; d < x.shape.size(); ++d) {
    PLINTH_ASSIGN_OR_RETURN(const Dim n, PaddedDim(call, result.params.mode, d, before[d], after[d]));
    result.shape.push_back(n);
    result.params.before[d] = before[d];
  }
  return result;
}

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  PLINTH_ASSIGN_OR_RETURN(PadCall result, Resolve(call));
  return std::vector<ValueType>{{call.in(0).dtype, std::move(result.shape)}};
}

Cost CostOf(const OpCall&, absl::Span<const View> in, absl::Span<const View> out) {
  return {0, 0, Bytes(in) + Bytes(out)};
}

Params ParamsOf(const OpCall& call) { return Params::Of(Resolve(call)->params); }

int64_t Pieces(const View*, const View* out, const Params&) {
  return PiecesOf(out[0].rows(), RowsPerPiece(out[0].last()));
}

}  // namespace

const OpSpec& PadSpec() {
  static const OpSpec spec{
      .name = "pad",
      .summary = "elements before and after each dimension",
      .inputs = {{"x", false, Layout::kAny}},
      .attributes = {{"before", AttrKind::kInts, "an integer of at least 0 per dimension"},
                     {"after", AttrKind::kInts, "an integer of at least 0 per dimension"},
                     {"value", AttrKind::kReal, "what constant padding holds, default 0"},
                     {"mode", AttrKind::kText, "constant (default), edge or reflect"}},
      .infer = Infer,
      .cost = CostOf,
      .cpu = {{.name = "copy",
               .run = PLINTH_CPU_FNS(PadAny),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces}},
  };
  return spec;
}

}  // namespace plinth::ops
