// Measures what this machine can do at most: matrix products and memory reads, in the same run as what is
// compared with it.
#pragma once

#include <cstdint>

#include "plinth/base/cpu.h"
#include "plinth/base/status.h"
#include "plinth/base/threads.h"

namespace plinth::measure {

struct Machine {
  double matmul_gflops = 0;       // best packed f32 product, ours or oneDNN's, on all threads
  double read_gb_per_second = 0;  // reading memory in order, on all threads
  int64_t read_bytes = 0;         // size of the buffer read; part of it may lie in a shared cache
  int threads = 0;
};

// Takes about two seconds. Products are 512 x 768 x 3072 and 2048^3.
// Errors: ResourceExhausted without the memory for the buffers (384 MiB), and what oneDNN reports.
StatusOr<Machine> MeasureMachine(Threads& threads, Isa isa);

}  // namespace plinth::measure
