#include "plinth/measure/matrix_peak.h"

#include <time.h>

#include <algorithm>

namespace plinth::measure {

double ProcessCpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

StatusOr<MatrixPeak> MatrixPeak::Make(Threads& threads, Isa isa) {
  MatrixPeak peak(threads);
  for (const ProductShape shape : {ProductShape{512, 768, 3072}, ProductShape{2048, 2048, 2048}}) {
    PLINTH_ASSIGN_OR_RETURN(Product product, Product::Make(shape, isa, "", threads.count()));
    peak.products_.emplace_back(shape.flops(), std::move(product));
  }
  return peak;
}

double MatrixPeak::FlopsPerCpuSecond() {
  double best = 0;
  const auto time = [&](double flops, auto&& run) {
    const double begin = ProcessCpuSeconds();
    run();
    best = std::max(best, flops / (ProcessCpuSeconds() - begin));
  };
  for (auto& [flops, product] : products_) {
    time(flops, [&p = product, this] { p.RunOwn(*threads_); });
    time(flops, [&p = product, this] { p.RunOneDnn(*threads_); });
  }
  return best;
}

}  // namespace plinth::measure
