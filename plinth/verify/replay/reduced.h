// Walks the elements that a reduction over some axes brings together.
#pragma once

#include <cstdint>
#include <vector>

#include "plinth/verify/replay/op_use.h"

namespace plinth::verify::replay {

// Output element o gathers the elements of x whose other coordinates are its own.
struct Reduced {
  struct Axis {
    int64_t length, stride;
  };
  std::vector<Axis> kept, gone;
  std::vector<int64_t> dims;  // of the output
  int64_t terms = 1, outputs = 1;

  // Where element i of what these axes span lies.
  static int64_t Offset(int64_t i, const std::vector<Axis>& axes);
  // Term t of output element o.
  int64_t At(int64_t o, int64_t t) const { return Offset(o, kept) + Offset(t, gone); }
};

// By the attributes "dim" (without it: all axes) and "keepdim". Errors: InvalidArgument for axes that x
// lacks.
StatusOr<Reduced> ReducedBy(const OpUse& use, const Values& x);

}  // namespace plinth::verify::replay
