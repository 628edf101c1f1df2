// Clean pairs: 200 in all, over thread counts, instruction-set levels, batch sizes, seeds and orders of
// additions. None may fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "plinth/base/files.h"
#include "plinth/engine/session.h"
#include "plinth/verify/reference_network.h"
#include "tests/catalogue/scene.h"

namespace plinth::catalogue {
namespace {

using verify::TensorVerdict;
using verify::Verdict;

class Tally {
 public:
  Tally() : rules_(*verify::RuleSet::Builtin()) { EXPECT_EQ(verify::SelfTest(rules_), ""); }

  void Add(const verify::TensorsToJudge& tensors, const std::string& what) {
    const StatusOr<verify::JudgedTensor> judged = verify::JudgeTensors(rules_, tensors);
    ASSERT_TRUE(judged.ok()) << judged.status();
    ++pairs;
    EXPECT_NE(judged->verdict.verdict, Verdict::kFail) << what << ": " << judged->verdict.reason;
    EXPECT_TRUE(judged->verdict.judged()) << what;
    warnings += judged->verdict.verdict == Verdict::kWarn;
  }

  int64_t pairs = 0, warnings = 0;

 private:
  const verify::RuleSet rules_;
};

// A product of one seed and type, the candidate adding up in another order than the incumbent.
void AddProduct(Tally& tally, DType dtype, std::string_view arithmetic, int64_t terms, uint64_t seed) {
  const Numbers a = Rounded(dtype, Normal({24, terms}, seed)),
                b = Rounded(dtype, Normal({terms, 24}, seed + 1000));
  const std::function<float(float)> round =
      arithmetic == "tf32" ? std::function<float(float)>(ToTf32) : nullptr;
  const int orders[] = {16, 4, 8, 32, 1};
  std::vector<Stored> incumbents;
  for (const int lanes : orders) incumbents.emplace_back(dtype, ProductF32(a, b, lanes, round));
  std::vector<verify::BandRun> runs;
  for (const Stored& s : incumbents) runs.push_back({"kernel", {{"y", s.ref()}}});
  const auto band = verify::MakeBand(runs);
  ASSERT_TRUE(band.ok()) << band.status();
  const Stored truth(DType::kF64, Product(a, b)), candidate(dtype, ProductF32(a, b, 64, round));
  verify::TensorsToJudge t{.op = "matmul",
                           .class_name = "",
                           .candidate = candidate.ref(),
                           .truth = truth.ref(),
                           .incumbent = incumbents[0].ref(),
                           .band = band->Find("y"),
                           .structure = "",
                           .structure_kind = "",
                           .canary = {},
                           .arithmetic = arithmetic};
  t.cap.terms = static_cast<double>(terms);
  tally.Add(t, StrCat("product in ", arithmetic, ", K ", terms, ", seed ", seed));
}

TEST(FalseAlarms, OrdersOfAdditions) {
  Tally tally;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    for (const int64_t terms : {48, 256, 768}) {
      AddProduct(tally, DType::kF32, "f32", terms, seed);
      AddProduct(tally, DType::kF32, "tf32", terms, seed);
      AddProduct(tally, DType::kF16, "f16", terms, seed);
      AddProduct(tally, DType::kBF16, "bf16", terms, seed);
    }
  }
  EXPECT_EQ(tally.pairs, 144);
  // A warning is no failure; many would teach people to look away.
  EXPECT_LE(tally.warnings * 10, tally.pairs) << tally.warnings;
}

// Forecasts of one model at one instruction-set level.
class Forecasts {
 public:
  Forecasts(const std::string& folder, Isa isa, int threads) : threads_(threads) {
    context_.threads = &threads_, context_.isa = isa;
    const char* source = std::getenv("PLINTH_SOURCE_DIR");
    auto session = engine::Session::Load(JoinPath(source == nullptr ? "." : source, folder), context_);
    EXPECT_TRUE(session.ok()) << session.status();
    if (session.ok()) session_ = *std::move(session);
  }

  // `series` alone, or first in a batch with others.
  Stored Run(const std::vector<double>& series, int64_t batch) const {
    std::vector<std::vector<double>> all(static_cast<size_t>(batch), series);
    for (size_t i = 1; i < all.size(); ++i) {
      for (size_t k = 0; k < all[i].size(); ++k) all[i][k] = std::cos(0.3 * static_cast<double>(k * i));
    }
    const std::vector<std::span<const double>> views(all.begin(), all.end());
    auto forecasts = session_->Run(views, Request());
    EXPECT_TRUE(forecasts.ok()) << forecasts.status();
    return {DType::kF32, {{kSteps, kLevels}, (*forecasts)[0].values}};
  }

  // The same in double, by the operators' references.
  Stored Truth(const std::vector<double>& series) const {
    const auto network = verify::ReferenceNetwork::Make(*session_, false);
    EXPECT_TRUE(network.ok()) << network.status();
    const std::vector<engine::Group> groups = {{.rows = {models::Row{series, {}}}}};
    const auto forecasts = verify::ReferenceForecast(*network, *session_, groups, Request());
    EXPECT_TRUE(forecasts.ok()) << forecasts.status();
    return {DType::kF64, {{kSteps, kLevels}, (*forecasts)[0].values}};
  }

 private:
  static constexpr int64_t kSteps = 24, kLevels = 3;
  static engine::ForecastRequest Request() {
    return {.horizon = kSteps, .context = 0, .levels = {0.1, 0.5, 0.9}};
  }

  Threads threads_;
  Context context_;
  std::unique_ptr<engine::Session> session_;
};

std::vector<double> Series(uint64_t seed) {
  Random random(seed);
  std::vector<double> x(256);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] =
        static_cast<float>(10 + 3 * std::sin(2 * M_PI * static_cast<double>(i) / 24) + 0.3 * random.Normal());
  }
  return x;
}

// The incumbent runs at one level; its runs repeat bit by bit, so that its band comes from flipping last bits
// of the series. The candidates run at another level, with other threads and in another batch.
void AddForecasts(Tally& tally, const std::string& folder, uint64_t seeds) {
  const Isa best = *HardwareIsa();
  const Isa other = best == Isa::kV2 ? Isa::kV2 : static_cast<Isa>(static_cast<int>(best) - 1);
  const Forecasts incumbent(folder, best, 1), candidate(folder, other, 2), same(folder, best, 2);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::vector<double> series = Series(seed);
    const Stored n = incumbent.Run(series, 1), truth = incumbent.Truth(series);
    std::vector<Stored> neighbours;
    for (uint64_t k = 0; k < 4; ++k) {
      // The network reads f32: the last bit of that, not of a double.
      std::vector<float> moved(series.begin(), series.end());
      verify::FlipLastBits(DType::kF32, std::as_writable_bytes(std::span(moved)), seed * 10 + k);
      neighbours.push_back(incumbent.Run({moved.begin(), moved.end()}, 1));
    }
    std::vector<verify::BandRun> runs = {{"last-bit", {{"forecast", n.ref()}}}};
    for (const Stored& s : neighbours) runs.push_back({"last-bit", {{"forecast", s.ref()}}});
    const auto band = verify::MakeBand(runs);
    ASSERT_TRUE(band.ok()) << band.status();
    for (const auto& [who, batch] :
         {std::pair{&candidate, static_cast<int64_t>(1 + seed % 5)}, std::pair{&same, int64_t{3}}}) {
      const Stored d = who->Run(series, batch);
      tally.Add({.op = "module",
                 .class_name = "",
                 .candidate = d.ref(),
                 .truth = truth.ref(),
                 .incumbent = n.ref(),
                 .band = band->Find("forecast"),
                 .structure = "",
                 .structure_kind = "",
                 .canary = {},
                 .arithmetic = ""},
                StrCat(folder, ": forecast of seed ", seed, " in a batch of ", batch));
    }
  }
}

TEST(FalseAlarms, RealRunsOfModels) {
  Tally tally;
  AddForecasts(tally, "tests/golden/plinth_ts_rand", 16);
  AddForecasts(tally, "tests/golden/chronos_bolt_rand", 8);
  AddForecasts(tally, "models/plinth-ts-0", 4);
  EXPECT_EQ(tally.pairs, 56);
  EXPECT_LE(tally.warnings * 5, tally.pairs) << tally.warnings;
}

}  // namespace
}  // namespace plinth::catalogue
