#include "plinth/ops/slice/cpu.h"

#include "plinth/ops/strided_copy.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

void SliceAny(const CpuArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const SliceParams*>(args.params);
  CopyStrided(SlicedView(p, args.in[0], args.out[0]), args.out[0], begin, end);
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
