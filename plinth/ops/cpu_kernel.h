// Declares what a CPU kernel is. Kernel sources (cpu.cc) are compiled once per instruction-set level
// and must stay free of library templates, so that no symbol of a higher level leaks into the rest.
#pragma once

#include <cstdint>

#include "plinth/tensor/view.h"

namespace plinth::ops {

// Where a kernel reports data it cannot work on (an index out of range). The first report wins.
struct KernelFault {
  const char* what = nullptr;  // a static sentence
  int64_t value = 0;           // the offending number
  int64_t position = 0;        // its element index
};

// Everything one launch sees.
struct CpuArgs {
  const View* in;        // one per input port; data is nullptr for an absent optional input
  const View* out;       // one per output
  const void* params;    // the kernel's own parameter struct, filled at plan time
  const void* prepared;  // what CpuKernel::prepare returned (packed weights), or nullptr
  std::byte* scratch;    // CpuKernel::scratch_bytes bytes, 64-byte aligned, this worker's own
  KernelFault* fault;    // never nullptr
};

// Elements in a piece of work that is cut by elements: enough to be worth a task, and a number that
// depends on nothing.
inline constexpr int64_t kPieceElements = 16384;

// Computes pieces [begin, end). Pieces are independent and may run on any thread in any order; their
// number depends on shapes alone. No allocation, lock or exception.
using CpuFn = void(const CpuArgs& args, int64_t begin, int64_t end);

// The same kernel compiled for x86-64-v2, v3 and v4.
struct CpuFns {
  CpuFn* at[3];
};

}  // namespace plinth::ops

// Names the level that this translation unit is compiled for; set by the build for cpu.cc files.
#ifdef PLINTH_KERNEL_LEVEL
#define PLINTH_KERNEL_NAMESPACE PLINTH_KERNEL_LEVEL
#endif

// Declares kernel `fn` at all levels (in namespace plinth::ops) and, with PLINTH_CPU_FNS, names them.
#define PLINTH_DECLARE_CPU(fn) \
  namespace v2 {               \
  ::plinth::ops::CpuFn fn;     \
  }                            \
  namespace v3 {               \
  ::plinth::ops::CpuFn fn;     \
  }                            \
  namespace v4 {               \
  ::plinth::ops::CpuFn fn;     \
  }
#define PLINTH_CPU_FNS(fn) \
  ::plinth::ops::CpuFns { &v2::fn, &v3::fn, &v4::fn }
