#include <algorithm>
#include <chrono>

#include "plinth/verify/judge.h"
#include "plinth/verify/op_modes.h"

namespace plinth::verify {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSecondsPerCase = 0.2;
constexpr size_t kLeastRuns = 7;
constexpr size_t kMostRuns = 1000;

// Sorted times of single launches in seconds, after one launch to warm up.
std::vector<double> Times(OpLaunch& launch, const RunSetup& setup) {
  std::vector<double> times;
  double total = 0;
  launch.Launch(setup);
  while (times.size() < kLeastRuns || (total < kSecondsPerCase && times.size() < kMostRuns)) {
    const auto start = Clock::now();
    launch.Launch(setup);
    times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    total += times.back();
  }
  std::sort(times.begin(), times.end());
  return times;
}

double Quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

}  // namespace

ModeResult CheckSpeed(const OpCase& c, const std::string& kernel, const Context& context) {
  ModeResult finding = CheckCorrect(c, kernel, context);
  const bool bad = std::any_of(finding.rows.begin(), finding.rows.end(),
                               [](const CheckRow& r) { return r.status != CheckStatus::kPassed; });
  if (finding.skipped || bad || kernel == kViewKernel || finding.rows.empty()) return finding;
  RunSetup setup{.isa = context.isa, .kernel = kernel};
  if (context.threads != nullptr && context.threads->count() > 1) {
    setup.order = PieceOrder::kThreaded;
    setup.threads = context.threads;
  }
  StatusOr<OpLaunch> launch = OpLaunch::Make(c, setup);
  if (!launch.ok()) {
    finding.rows[0].status = CheckStatus::kFailed;
    finding.rows[0].detail = std::string(launch.status().message());
    return finding;
  }
  const std::vector<double> times = Times(*launch, setup);
  const ops::Cost work = launch->Work();
  finding.rows.resize(1);  // one time for all outputs
  CheckRow& row = finding.rows[0];
  row.ms = 1e3 * Quantile(times, 0.5);
  row.ms_low = 1e3 * Quantile(times, 0.1);
  row.ms_high = 1e3 * Quantile(times, 0.9);
  const double seconds = std::max(Quantile(times, 0.5), 1e-9);
  row.gb_per_second = work.bytes / seconds * 1e-9;
  row.gflops = work.flops / seconds * 1e-9;
  return finding;
}

}  // namespace plinth::verify
