// Measures the matrix peak again and again, to compare work with it at the same moment.
#pragma once

#include <vector>

#include "plinth/base/cpu.h"
#include "plinth/base/threads.h"
#include "plinth/measure/product.h"

namespace plinth::measure {

// Processor seconds of all threads of this process.
double ProcessCpuSeconds();

// The products of MeasureMachine, ours and oneDNN's, on all threads.
class MatrixPeak {
 public:
  // Errors: as Product::Make.
  static StatusOr<MatrixPeak> Make(Threads& threads, Isa isa);

  // The best rate of one run of each, in floating-point operations per processor second. Takes about half a
  // second of processor time.
  double FlopsPerCpuSecond();

 private:
  explicit MatrixPeak(Threads& threads) : threads_(&threads) {}

  Threads* threads_;
  std::vector<std::pair<double, Product>> products_;  // with their operations
};

}  // namespace plinth::measure
