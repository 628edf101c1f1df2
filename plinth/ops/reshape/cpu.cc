#include "plinth/ops/reshape/cpu.h"

#include "plinth/ops/strided_copy.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

void ReshapeAny(const CpuArgs& args, int64_t begin, int64_t end) {
  CopyStrided(args.in[0], DenseLike(args.in[0], args.out[0]), begin, end);
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
