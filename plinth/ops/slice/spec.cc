#include <algorithm>

#include "plinth/ops/copy_plan.h"
#include "plinth/ops/slice/cpu.h"
#include "plinth/ops/slice/op.h"

namespace plinth::ops {
namespace {

// The range that a call takes along its axis.
struct Range {
  SliceParams params;
  Dim length = 0;
};

Range RangeOfConstant(int64_t n, int64_t begin, int64_t end, int64_t step) {
  begin = std::clamp(begin < 0 ? std::max(begin, -n) + n : begin, int64_t{0}, n);
  end = std::clamp(end < 0 ? std::max(end, -n) + n : end, int64_t{0}, n);
  const int64_t length = end <= begin ? 0 : (end - begin - 1) / step + 1;
  return {{0, begin, step, false}, Dim(length)};
}

// A named dimension scale*e + offset has at least `offset` elements; only what those cover is there at
// every extent.
StatusOr<Range> RangeOfNamed(const OpCall& call, const Dim& n, int64_t begin, std::optional<int64_t> end,
                             int64_t step) {
  const int64_t sure = n.offset();
  // A range counts from the start where begin >= 0; its end counts from the end where negative or absent.
  const bool end_from_end = !end.has_value() || *end < 0;
  const int64_t tail =
      end_from_end ? -std::max(end.value_or(0), -INT64_MAX) : 0;  // elements left out at the end
  const bool reachable = begin >= -sure && begin <= sure && (end_from_end ? tail <= sure : *end <= sure);
  if (reachable && begin >= 0 && end_from_end && begin + tail <= sure && step == 1) {
    return Range{{0, begin, 1, false}, Dim::Named(n.name(), n.scale(), n.offset() - begin - tail)};
  }
  if (reachable && (begin < 0) == end_from_end) {  // both from the same side: a constant length
    const int64_t span = begin < 0 ? -begin - tail : *end - begin;
    return Range{{0, begin, step, begin < 0}, Dim(span <= 0 ? 0 : (span - 1) / step + 1)};
  }
  return Refuse(call, StrCat("[", begin, ":", end.has_value() ? StrCat(*end) : "", ":", step,
                             "] is not the same range at every extent of the named dimension ", n.ToString(),
                             "; take the whole dimension or at most ", sure, " elements at one side"));
}

StatusOr<Range> RangeOf(const OpCall& call) {
  const Shape& shape = call.in(0).shape;
  if (shape.empty()) return Refuse(call, "x is a scalar; it needs at least one dimension");
  PLINTH_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(call, call.attributes.Int("axis"), shape.size()));
  const int64_t step = call.attributes.Int("step", 1);
  if (step < 1) return Refuse(call, StrCat("step is ", step, "; it is at least 1"));
  const int64_t begin = call.attributes.Int("begin");
  std::optional<int64_t> end;
  if (call.attributes.Find("end") != nullptr) end = call.attributes.Int("end");
  const Dim& n = shape[axis];
  Range range;
  if (n.constant()) {
    range = RangeOfConstant(n.offset(), begin, end.value_or(n.offset()), step);
  } else {
    PLINTH_ASSIGN_OR_RETURN(range, RangeOfNamed(call, n, begin, end, step));
  }
  range.params.axis = axis;
  return range;
}

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  PLINTH_ASSIGN_OR_RETURN(const Range range, RangeOf(call));
  ValueType y = call.in(0);
  y.shape[range.params.axis] = range.length;
  return std::vector<ValueType>{y};
}

Cost CostOf(const OpCall&, absl::Span<const View>, absl::Span<const View> out) {
  return {0, 0, 2 * Bytes(out)};
}

bool ViewOf(const OpCall& call, const View& in, View* out) {
  *out = SlicedView(RangeOf(call)->params, in, *out);
  return true;
}

Params ParamsOf(const OpCall& call) { return Params::Of(RangeOf(call)->params); }

int64_t Pieces(const View* in, const View* out, const Params& params) {
  SliceParams p;
  std::memcpy(&p, params.bytes, sizeof(p));
  return PlanCopy(SlicedView(p, in[0], out[0]), out[0]).pieces;
}

}  // namespace

const OpSpec& SliceSpec() {
  static const OpSpec spec{
      .name = "slice",
      .summary = "every step-th element of a range along one axis",
      .inputs = {{"x", false, Layout::kAny}},
      .attributes = {{"axis", AttrKind::kInt, "an integer in [-rank, rank), default 0"},
                     {"begin", AttrKind::kInt, "an integer, negative from the end, default 0"},
                     {"end", AttrKind::kInt, "an integer, negative from the end, default the end"},
                     {"step", AttrKind::kInt, "an integer of at least 1, default 1"}},
      .infer = Infer,
      .cost = CostOf,
      .view = ViewOf,
      .cpu = {{.name = "copy",
               .run = PLINTH_CPU_FNS(SliceAny),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces}},
  };
  return spec;
}

}  // namespace plinth::ops
