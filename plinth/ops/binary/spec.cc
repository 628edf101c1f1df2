#include "plinth/ops/binary/cpu.h"
#include "plinth/ops/binary/op.h"

namespace plinth::ops {
namespace {

constexpr std::string_view kNames[kBinaryFunctions] = {"add", "sub", "mul", "min", "max", "div", "pow"};

// How many functions, from the first, exist for a type.
int FunctionsFor(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return kBinaryFunctions;
    case DType::kF64:
      return 6;
    case DType::kI32:
    case DType::kI64:
      return 5;
    default:
      return 0;
  }
}

// The index of the call's function, or -1.
int FunctionOf(const OpCall& call) {
  const std::string function = call.attributes.Text("function");
  for (int i = 0; i < kBinaryFunctions; ++i) {
    if (function == kNames[i]) return i;
  }
  return -1;
}

std::string NamesUpTo(int count) { return Join(absl::MakeSpan(kNames, count), ", "); }

StatusOr<Shape> Broadcast(const OpCall& call) {
  const Shape &a = call.in(0).shape, &b = call.in(1).shape;
  const size_t rank = std::max(a.size(), b.size());
  Shape y(rank, Dim(1));
  for (size_t i = 1; i <= rank; ++i) {
    const Dim from_a = i <= a.size() ? a[a.size() - i] : Dim(1);
    const Dim from_b = i <= b.size() ? b[b.size() - i] : Dim(1);
    if (from_a != from_b && from_a != Dim(1) && from_b != Dim(1)) {
      return Refuse(
          call, StrCat("a ", ToString(a), " and b ", ToString(b), " do not broadcast: ", from_a.ToString(),
                       " against ", from_b.ToString(), "; dimensions are equal or one of them is 1"));
    }
    y[rank - i] = from_a == Dim(1) ? from_b : from_a;
  }
  return y;
}

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  const DType dtype = call.in(0).dtype;
  if (dtype != call.in(1).dtype) {
    return Refuse(call, StrCat("a is ", DTypeName(dtype), " and b is ", DTypeName(call.in(1).dtype),
                               "; cast one of them"));
  }
  const int count = FunctionsFor(dtype), function = FunctionOf(call);
  if (count == 0) {
    return Refuse(call, StrCat("a is ", DTypeName(dtype), "; f32, f64, i32 and i64 are supported"));
  }
  if (function < 0 || function >= count) {
    return Refuse(call, StrCat("function \"", call.attributes.Text("function"), "\" does not exist for ",
                               DTypeName(dtype), "; there are ", NamesUpTo(count)));
  }
  PLINTH_ASSIGN_OR_RETURN(Shape shape, Broadcast(call));
  return std::vector<ValueType>{{dtype, std::move(shape)}};
}

// A power is a logarithm, a product and an exponential, each of the first and last counted as 8.
Cost CostOf(const OpCall& call, absl::Span<const View> in, absl::Span<const View> out) {
  const double each = FunctionOf(call) == static_cast<int>(BinaryFunction::kPow) ? 17 : 1;
  return {each * static_cast<double>(out[0].size()), 0, Bytes(in) + Bytes(out)};
}

template <DType dtype>
std::string RefuseUnless(const OpCall& call, Isa) {
  const DType have = call.in(0).dtype;
  return have == dtype ? "" : StrCat("takes ", DTypeName(dtype), ", not ", DTypeName(have));
}

Params ParamsOf(const OpCall& call) {
  return Params::Of(BinaryParams{static_cast<BinaryFunction>(FunctionOf(call))});
}

int64_t Pieces(const View*, const View* out, const Params&) {
  return PiecesOf(out[0].size(), kPieceElements);
}

template <DType dtype>
CpuKernel Kernel(const char* name, CpuFns run) {
  return {.name = name, .run = run, .refuse = RefuseUnless<dtype>, .params = ParamsOf, .pieces = Pieces};
}

}  // namespace

const OpSpec& BinarySpec() {
  static const OpSpec spec{
      .name = "binary",
      .summary = "a function of two elements, with broadcasting",
      .inputs = {{"a", false, Layout::kAny}, {"b", false, Layout::kAny}},
      .attributes = {{"function", AttrKind::kText, "one of add, sub, mul, min, max, div, pow"}},
      .infer = Infer,
      .cost = CostOf,
      .in_place = 3,
      .rows_independent = true,
      .cpu = {Kernel<DType::kF32>("f32", PLINTH_CPU_FNS(BinaryF32)),
              Kernel<DType::kF64>("f64", PLINTH_CPU_FNS(BinaryF64)),
              Kernel<DType::kI32>("i32", PLINTH_CPU_FNS(BinaryI32)),
              Kernel<DType::kI64>("i64", PLINTH_CPU_FNS(BinaryI64))},
  };
  return spec;
}

}  // namespace plinth::ops
