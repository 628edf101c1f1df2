// Races our matrix kernel against oneDNN on the products that the models consist of.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plinth/measure/machine.h"
#include "plinth/measure/product.h"
#include "plinth/measure/timing.h"

namespace plinth::measure {

// The products of the shipped models at batch 1 and 32, and three large ones.
const std::vector<ProductShape>& ModelProducts();

struct ProductBench {
  ProductShape shape{};
  std::string kernel;                  // of linear, as a plan would choose it
  std::string referee;                 // oneDNN's implementation
  Spread own_seconds, onednn_seconds;  // processor time of one call on one thread
  Spread ratio;                        // oneDNN's time / ours, neighbours in time; above 1 ours is faster
  double gflops = 0;                   // at our median
  double onednn_gflops = 0;            // at oneDNN's median
  double fraction_of_peak = 0;         // our median rate, of options.machine.matmul_gflops
  double difference = 0;               // of the results, relative
};

struct ProductOptions {
  std::string kernel;  // empty: as a plan would choose
  int rounds = 21;
  double round_seconds = 0.01;
  // The limits that fractions refer to, measured with one thread; all zero leaves fractions zero.
  Machine machine;
};

// Times one product on the calling thread. Errors: Unimplemented where a side refuses the shape, Internal
// where the results differ by more than rounding.
StatusOr<ProductBench> BenchProduct(const ProductShape& shape, Isa isa, const ProductOptions& options);

// Times all, calling `done` after each, which may return false to stop early.
StatusOr<std::vector<ProductBench>> BenchProducts(const std::vector<ProductShape>& shapes, Isa isa,
                                                  const ProductOptions& options,
                                                  const std::function<bool(const ProductBench&)>& done = {});

}  // namespace plinth::measure
