#include "plinth/ops/concat/cpu.h"

#include "plinth/ops/strided_copy.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

// The pieces of the first input come first, then those of the second, and so on.
void ConcatAny(const CpuArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ConcatParams*>(args.params);
  int64_t before = 0, first = 0;
  for (int32_t i = 0; i < p.count && first < end; ++i) {
    const View& x = args.in[i];
    const View target = TargetOf(p, x, args.out[0], before);
    const int64_t pieces = PlanCopy(x, target).pieces;
    const int64_t from = begin > first ? begin - first : 0;
    const int64_t to = end - first < pieces ? end - first : pieces;
    if (from < to) CopyStrided(x, target, from, to);
    first += pieces;
    before += x.dims[p.axis];
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
