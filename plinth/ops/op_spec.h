// Defines what an operator tells the rest of Plinth about itself: ports, attributes, type inference,
// cost, and the kernels that exist.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "plinth/base/cpu.h"
#include "plinth/base/status.h"
#include "plinth/ops/cpu_kernel.h"
#include "plinth/tensor/shape.h"
#include "plinth/tensor/view.h"

namespace plinth::ops {

// An attribute's value.
using Attribute = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>>;

// Attributes by name; a lookup of a missing one returns the given default.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, Attribute>> list) : list_(list) {}
  void Set(std::string name, Attribute value);
  const Attribute* Find(std::string_view name) const;
  int64_t Int(std::string_view name, int64_t otherwise = 0) const;
  double Real(std::string_view name, double otherwise = 0) const;
  bool Flag(std::string_view name, bool otherwise = false) const;
  std::string Text(std::string_view name, std::string_view otherwise = "") const;
  std::vector<int64_t> Ints(std::string_view name) const;
  const std::vector<std::pair<std::string, Attribute>>& list() const { return list_; }
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  std::vector<std::pair<std::string, Attribute>> list_;
};
std::string ToString(const Attributes& attributes);  // "axis=1 eps=1e-06"

struct OpSpec;

// One use of an operator: its types and attributes. An absent optional input is nullopt.
struct OpCall {
  const OpSpec* spec = nullptr;
  std::vector<std::optional<ValueType>> inputs;
  std::vector<ValueType> outputs;  // filled by type inference
  Attributes attributes;

  bool has(size_t input) const { return input < inputs.size() && inputs[input].has_value(); }
  const ValueType& in(size_t i) const { return *inputs[i]; }
};

// The memory layout that an input port accepts at least. What a port does not accept is copied first.
enum class Layout : uint8_t {
  kDense,  // row-major without gaps
  kRows,   // View::row_strided(): rows contiguous, one stride between them
  kAny,    // any strides
};

struct Port {
  const char* name;
  bool optional = false;
  Layout layout = Layout::kDense;
};

enum class AttrKind : uint8_t { kInt, kReal, kFlag, kText, kInts };
struct AttrSpec {
  const char* name;
  AttrKind kind;
  const char* about;  // range and default, in words
};

// Work of one call at given sizes. `flops` counts products and sums of the mathematics, not of the
// implementation; `product_flops` the part done by matrix products. Bytes are read plus written once.
struct Cost {
  double flops = 0;
  double product_flops = 0;
  double bytes = 0;
};

// What a kernel's POD parameter struct is copied into.
inline constexpr int kMaxParams = 256;
struct Params {
  alignas(16) std::byte bytes[kMaxParams] = {};
  template <typename T>
  static Params Of(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMaxParams);
    Params p;
    std::memcpy(p.bytes, &value, sizeof(T));
    return p;
  }
};

// One way to compute an operator on the CPU. The first kernel of a spec that does not refuse is used.
struct CpuKernel {
  const char* name;
  CpuFns run;

  // Why this kernel cannot take the call, as a sentence; empty when it can. Called at plan time.
  std::string (*refuse)(const OpCall& call, Isa isa);

  // Fills the parameter struct. nullptr: the kernel has none.
  Params (*params)(const OpCall& call) = nullptr;

  // How many independent pieces a launch has, from the run-time shapes alone. nullptr: one.
  int64_t (*pieces)(const View* in, const View* out, const Params& params) = nullptr;

  // Scratch memory of one worker in bytes, at the capacities of the call. nullptr: none.
  int64_t (*scratch_bytes)(const OpCall& call, const View* in, const View* out, Isa isa) = nullptr;

  // Prepares constant inputs once (packs weights). `constants[i].data` is nullptr where input i is
  // not constant. Returns what CpuArgs::prepared will point to and its size. Error: Unimplemented where
  // the constants show that the kernel cannot take the call. nullptr: nothing to do.
  struct Prepared {
    std::shared_ptr<const void> data;
    int64_t bytes = 0;
    uint32_t replaces = 0;  // bit i: the kernel no longer reads constant input i
  };
  StatusOr<Prepared> (*prepare)(const OpCall& call, const View* constants, Isa isa) = nullptr;

  // The kernel calls a library that may allocate or lock (oneDNN); `plan --explain` marks it.
  bool foreign = false;
};

// Describes how output 0 is a reinterpretation of input 0's memory (reshape, slice, permute).
// Fills `out->strides` and moves `out->data`; dims and dtype are set already. Returns false when the
// strides of `in` do not allow it, so that the copying kernel must run.
using MakeView = bool(const OpCall& call, const View& in, View* out);

struct OpSpec {
  const char* name;     // also the folder
  const char* summary;  // one line
  std::vector<Port> inputs;
  bool variadic = false;  // the last port may repeat
  std::vector<AttrSpec> attributes;

  // Checks inputs and attributes and returns the output types. Error: InvalidArgument, one sentence
  // with what was found and what would be right.
  StatusOr<std::vector<ValueType>> (*infer)(const OpCall& call);

  // Work at resolved sizes.
  Cost (*cost)(const OpCall& call, absl::Span<const View> in, absl::Span<const View> out);

  // Inputs (bit i) whose storage output 0 may take over element by element: same dtype and shape, each
  // element read before it is written.
  uint32_t in_place = 0;
  MakeView* view = nullptr;

  // Row r of output 0 depends only on row r of the inputs (rows along dimension 0), with constants and
  // broadcast inputs set aside. The bitwise mode of `verify ops` relies on it.
  bool rows_independent = false;

  std::vector<CpuKernel> cpu;
};

// Whether bit `i` of a port mask is set; ports beyond the mask (of a variadic operator) are not in it.
constexpr bool HasPort(uint32_t mask, size_t i) { return i < 32 && (mask >> i & 1) != 0; }

// Helpers for `infer`.
Status Refuse(const OpCall& call, std::string_view why);  // "softmax: why"
// axis in [-rank, rank) -> [0, rank). Error: InvalidArgument.
StatusOr<int64_t> NormalAxis(const OpCall& call, int64_t axis, size_t rank);
// Checks the number of inputs, that required ones are there, and that attributes are known and of the
// declared kind. Called by the builder before `infer`.
Status CheckPorts(const OpCall& call);
// Checks, then infers.
StatusOr<OpCall> MakeCall(const OpSpec& spec, std::vector<std::optional<ValueType>> inputs,
                          Attributes attributes);

// Bytes of all views, for `cost`.
double Bytes(absl::Span<const View> views);

// Pieces of `rows` rows of `row_cost` elements each: enough rows in a piece to be worth a task
// (kPieceElements), and a number that depends on the sizes alone.
constexpr int64_t RowsPerPiece(int64_t row_elements) {
  const int64_t rows = kPieceElements / (row_elements < 1 ? 1 : row_elements);
  return rows < 1 ? 1 : rows;
}
constexpr int64_t PiecesOf(int64_t count, int64_t per_piece) { return (count + per_piece - 1) / per_piece; }

}  // namespace plinth::ops
