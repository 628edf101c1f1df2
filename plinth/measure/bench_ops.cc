#include "plinth/measure/bench_ops.h"

#include <algorithm>
#include <cmath>

namespace plinth::measure {
const std::vector<ProductShape>& ModelProducts() {
  static const std::vector<ProductShape> shapes = {
      {1056, 512, 2048}, {1056, 2048, 512},  {1056, 512, 512}, {33, 512, 2048},
      {33, 512, 512},    {4864, 128, 384},   {4864, 256, 128}, {38, 128, 384},
      {38, 128, 512},    {38, 256, 128},     {304, 128, 512},  {512, 768, 3072},
      {512, 3072, 768},  {2048, 2048, 2048}, {1, 512, 2048},   {6, 128, 240}};
  return shapes;
}

StatusOr<ProductBench> BenchProduct(const ProductShape& shape, Isa isa, const ProductOptions& options) {
  PLINTH_ASSIGN_OR_RETURN(Product product, Product::Make(shape, isa, options.kernel, 1));
  const std::function<void()> candidates[] = {[&] { product.RunOneDnn(); }, [&] { product.RunOwn(); }};
  const Race race = Alternate(candidates, {Clock::kThreadCpu, options.rounds, options.round_seconds});
  ProductBench bench;
  bench.shape = shape;
  bench.kernel = product.kernel();
  bench.referee = product.referee();
  bench.onednn_seconds = race.seconds[0];
  bench.own_seconds = race.seconds[1];
  bench.ratio = race.ratio[1];
  bench.gflops = 1e-9 * shape.flops() / bench.own_seconds.median;
  bench.onednn_gflops = 1e-9 * shape.flops() / bench.onednn_seconds.median;
  if (options.machine.matmul_gflops > 0) {
    bench.fraction_of_peak = 1e-9 * shape.flops() / bench.own_seconds.median / options.machine.matmul_gflops;
  }
  bench.difference = product.Difference();
  // Both sides are off by at most about 6 sqrt(K) u of the size of the terms.
  const double limit = 12 * std::sqrt(static_cast<double>(shape.depth)) * 0x1p-24;
  if (!(bench.difference <= limit)) {
    return absl::InternalError(StrCat("linear ", bench.kernel, " and oneDNN differ by ", bench.difference,
                                      " of the largest value at ", shape.rows, " x ", shape.depth, " x ",
                                      shape.columns, "; ", limit, " is the most that rounding explains"));
  }
  return bench;
}

StatusOr<std::vector<ProductBench>> BenchProducts(const std::vector<ProductShape>& shapes, Isa isa,
                                                  const ProductOptions& options,
                                                  const std::function<bool(const ProductBench&)>& done) {
  std::vector<ProductBench> rows;
  for (const ProductShape& shape : shapes) {
    PLINTH_ASSIGN_OR_RETURN(ProductBench row, BenchProduct(shape, isa, options));
    rows.push_back(std::move(row));
    if (done && !done(rows.back())) break;
  }
  return rows;
}

}  // namespace plinth::measure
