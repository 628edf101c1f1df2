#include "plinth/measure/machine.h"

#include <algorithm>
#include <functional>

#include "plinth/measure/product.h"
#include "plinth/measure/timing.h"

namespace plinth::measure {
namespace {

constexpr int64_t kReadBytes = int64_t{256} << 20;
constexpr int64_t kReadPiece = int64_t{1} << 20;

// The sum of `words` 64-bit words; eight chains so that additions do not limit it.
uint64_t SumWords(const uint64_t* p, int64_t words) {
  uint64_t sum[8] = {};
  for (int64_t i = 0; i < words; i += 8) {
    __builtin_prefetch(p + i + 256);
    for (int j = 0; j < 8; ++j) sum[j] += p[i + j];
  }
  uint64_t total = 0;
  for (uint64_t s : sum) total += s;
  return total;
}

StatusOr<double> ReadGbPerSecond(Threads& threads) {
  const std::unique_ptr<std::byte, decltype(&std::free)> buffer(
      static_cast<std::byte*>(std::aligned_alloc(64, kReadBytes)), &std::free);
  if (buffer == nullptr) {
    return absl::ResourceExhaustedError(
        StrCat("no memory for the ", kReadBytes >> 20, " MiB that the read speed is measured on"));
  }
  const int64_t pieces = kReadBytes / kReadPiece;
  auto* words = reinterpret_cast<uint64_t*>(buffer.get());
  constexpr int64_t kWords = kReadPiece / 8;
  threads.For(pieces, [&](int64_t piece, int) { std::fill_n(words + piece * kWords, kWords, 1); });
  uint64_t check = 0;
  const std::function<void()> read = [&] {
    std::vector<uint64_t> sums(static_cast<size_t>(pieces));
    threads.For(pieces, [&](int64_t piece, int) {
      sums[static_cast<size_t>(piece)] = SumWords(words + piece * kWords, kWords);
    });
    check = 0;
    for (uint64_t s : sums) check += s;
  };
  const Race race = Alternate({&read, 1}, {Clock::kWall, 5, 0});
  PLINTH_CHECK_EQ(check, static_cast<uint64_t>(kReadBytes / 8));
  return 1e-9 * static_cast<double>(kReadBytes) / race.seconds[0].min;
}

}  // namespace

StatusOr<Machine> MeasureMachine(Threads& threads, Isa isa) {
  Machine machine;
  machine.threads = threads.count();
  machine.read_bytes = kReadBytes;
  PLINTH_ASSIGN_OR_RETURN(machine.read_gb_per_second, ReadGbPerSecond(threads));
  for (const ProductShape shape : {ProductShape{512, 768, 3072}, ProductShape{2048, 2048, 2048}}) {
    PLINTH_ASSIGN_OR_RETURN(Product product, Product::Make(shape, isa, "", threads.count()));
    const std::function<void()> candidates[] = {[&] { product.RunOwn(threads); },
                                                [&] { product.RunOneDnn(threads); }};
    const Race race = Alternate(candidates, {Clock::kWall, shape.rows > 1000 ? 4 : 9, 0.02});
    for (const Spread& s : race.seconds) {
      machine.matmul_gflops = std::max(machine.matmul_gflops, 1e-9 * shape.flops() / s.min);
    }
  }
  return machine;
}

}  // namespace plinth::measure
