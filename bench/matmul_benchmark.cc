// Benchmarks the matrix kernels one by one: own/M/K/N and onednn/M/K/N, one thread. For a fair comparison of
// the two on a noisy machine use `plinth bench ops`, which alternates them; this program is for profilers and
// for looking at one shape while working on a kernel.
#include <cstdio>
#include <string>

#include "benchmark/benchmark.h"
#include "plinth/measure/bench_ops.h"

namespace plinth::measure {
namespace {

void Run(benchmark::State& state, const ProductShape& shape, Isa isa, bool own) {
  StatusOr<Product> product = Product::Make(shape, isa, "", 1);
  if (!product.ok()) {
    state.SkipWithError(product.status().ToString().c_str());
    return;
  }
  for (auto _ : state) {
    if (own) {
      product->RunOwn();
    } else {
      product->RunOneDnn();
    }
  }
  state.counters["GFLOP/s"] =
      benchmark::Counter(1e-9 * shape.flops(), benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace
}  // namespace plinth::measure

int main(int argc, char** argv) {
  using namespace plinth;
  const StatusOr<Isa> isa = IsaFromEnvironment();
  if (!isa.ok()) {
    std::fprintf(stderr, "matmul_benchmark: %s\n", isa.status().ToString().c_str());
    return 3;
  }
  const Threads single(1);  // also keeps oneDNN on this thread
  for (const measure::ProductShape& shape : measure::ModelProducts()) {
    for (const bool own : {true, false}) {
      const std::string name =
          StrCat(own ? "own/" : "onednn/", shape.rows, "/", shape.depth, "/", shape.columns);
      benchmark::RegisterBenchmark(name.c_str(), [shape, isa = *isa, own](benchmark::State& state) {
        measure::Run(state, shape, isa, own);
      });
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
