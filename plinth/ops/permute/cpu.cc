#include "plinth/ops/permute/cpu.h"

#include "plinth/ops/strided_copy.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

void PermuteAny(const CpuArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const PermuteParams*>(args.params);
  CopyStrided(PermutedView(p, args.in[0], args.out[0]), args.out[0], begin, end);
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
