#include "plinth/series/lags.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "plinth/series/scaling.h"

namespace plinth::series {
namespace {

const double kNan = std::nan("");

struct Standardised {
  std::vector<double> z;
  std::vector<uint8_t> observed;
};

Standardised From(const std::vector<double>& y) {
  Standardised s{std::vector<double>(y.size()), std::vector<uint8_t>(y.size())};
  Standardise(y, MeanStd(y), s.z, s.observed);
  return s;
}

// The definition word for word, in long double, with nothing cut short: every lag from 0 to n - 1,
// neighbours that wrap around, scores of -9 for what is no peak or was removed.
std::vector<Lag> Reference(const Standardised& s, int k) {
  const int64_t n = static_cast<int64_t>(s.z.size());
  std::vector<double> r(n), score(n, -9.0);
  for (int64_t lag = 0; lag < n; ++lag) {
    long double product = 0, here = 0, there = 0;
    int64_t pairs = 0;
    for (int64_t t = lag; t < n; ++t) {
      if (!s.observed[t] || !s.observed[t - lag]) continue;
      ++pairs;
      const long double a = s.z[t], b = s.z[t - lag];
      product += a * b;
      here += a * a;
      there += b * b;
    }
    const long double raw = product / std::sqrt(std::max(here * there, 1e-9L));
    r[lag] = pairs < 24 || lag < 2 ? -1.0 : static_cast<double>(std::nearbyint(raw * 0x1p30L) * 0x1p-30L);
  }
  for (int64_t lag = 1; lag + 1 < n; ++lag) {
    const double left = r[(lag + n - 1) % n], right = r[(lag + 1) % n];
    if (r[lag] > 0.1 && r[lag] > left && r[lag] >= right) {
      score[lag] = r[lag] - 0.05 * std::log2(static_cast<double>(lag)) / 9;
    }
  }
  std::vector<Lag> out(k);
  for (Lag& chosen : out) {
    const int64_t best = std::max_element(score.begin(), score.end()) - score.begin();
    if (n == 0 || score[best] <= -5) continue;
    chosen = {best, r[best]};
    for (int64_t lag = 0; lag < n; ++lag) {
      if (std::abs(lag - best) <= std::max<int64_t>(2, best / 16)) score[lag] = -9;
    }
  }
  return out;
}

std::vector<Lag> Ours(const Standardised& s, int k, Isa isa) {
  std::vector<Lag> out(k);
  LagWorkspace workspace;
  StrongestLags(s.z, s.observed, isa, workspace, out);
  return out;
}

std::string Text(const std::vector<Lag>& lags) {
  std::string out;
  for (const Lag& l : lags) out += std::to_string(l.lag) + ":" + std::to_string(l.r) + " ";
  return out;
}

// Same lags as the reference and r within one rounding step; the same bits at every level.
void Check(const std::vector<double>& y, const std::string& what, int k = 3) {
  const Standardised s = From(y);
  const std::vector<Lag> want = Reference(s, k), got = Ours(s, k, Isa::kV2);
  for (int i = 0; i < k; ++i) {
    EXPECT_EQ(got[i].lag, want[i].lag) << what << ": " << Text(got) << "wanted " << Text(want);
    EXPECT_NEAR(got[i].r, want[i].r, 0x1p-30) << what;
  }
  for (Isa isa = Isa::kV3; isa <= *HardwareIsa(); isa = static_cast<Isa>(static_cast<int>(isa) + 1)) {
    EXPECT_EQ(Ours(s, k, isa), got) << what << " at " << IsaName(isa);
    if (isa == Isa::kV4) break;
  }
}

std::vector<double> Seasonal(int n, double period, double noise, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> y;
  y.reserve(n);
  for (int t = 0; t < n; ++t) {
    y.push_back(std::sin(2 * M_PI * t / period) + noise * (random() * 0x1p-32 - 0.5));
  }
  return y;
}

TEST(StrongestLags, FindsASeason) {
  const std::vector<Lag> lags = Ours(From(Seasonal(512, 48, 0.2, 1)), 3, Isa::kV2);
  EXPECT_EQ(lags[0].lag, 48);
  EXPECT_GT(lags[0].r, 0.9);
}

TEST(StrongestLags, OfAPureRhythmTakesTheShortestPeriodFirst) {
  std::vector<double> y(240);
  for (int t = 0; t < 240; ++t) y[t] = t % 12 == 0;
  // Every multiple of 12 has r = 1 exactly up to the pairs' mean; the penalty on long lags decides.
  const std::vector<Lag> lags = Ours(From(y), 3, Isa::kV2);
  EXPECT_EQ(lags[0].lag, 12);
  EXPECT_EQ(lags[1].lag, 24);
  EXPECT_EQ(lags[2].lag, 36);
}

TEST(StrongestLags, EqualNeighboursAndEqualBits) {
  // z of +1 and -1 only: all sums are whole numbers, so r is exact and ties are ties.
  std::vector<double> y(512);
  for (int t = 0; t < 512; ++t) y[t] = t / 4 % 2 ? 1 : -1;
  Check(y, "square wave");
  for (int t = 0; t < 512; ++t) y[t] = t % 2 ? 1 : -1;
  Check(y, "alternating");
  EXPECT_EQ(Ours(From(y), 1, Isa::kV2)[0], (Lag{2, 1.0}));
}

TEST(StrongestLags, AgreesWithTheReferenceOnEveryLength) {
  for (int n = 0; n < 200; ++n) Check(Seasonal(n, 7, 0.5, n), "n " + std::to_string(n));
  for (int n : {255, 256, 257, 511, 512, 513, 1000}) {
    Check(Seasonal(n, 24, 1.0, n), "n " + std::to_string(n), 5);
  }
}

TEST(StrongestLags, AgreesWithTheReferenceOnNoise) {
  for (uint32_t seed = 0; seed < 40; ++seed)
    Check(Seasonal(512, 31, 20, seed), "noise " + std::to_string(seed));
}

TEST(StrongestLags, AgreesWithTheReferenceOnGaps) {
  std::mt19937 random(7);
  for (double share : {0.01, 0.2, 0.5, 0.9, 0.95}) {
    for (uint32_t seed = 0; seed < 10; ++seed) {
      std::vector<double> y = Seasonal(512, 24, 1.0, seed);
      for (double& v : y) {
        if (random() * 0x1p-32 < share) v = kNan;
      }
      Check(y, "gaps " + std::to_string(share));
    }
  }
  for (auto [from, to] : {std::pair{0, 200}, {300, 512}, {100, 400}, {1, 2}, {510, 511}, {0, 1}}) {
    std::vector<double> y = Seasonal(512, 24, 1.0, 3);
    std::fill(y.begin() + from, y.begin() + to, kNan);
    Check(y, "gap from " + std::to_string(from));
  }
}

TEST(StrongestLags, NothingToFind) {
  const std::vector<Lag> none(3);
  for (Isa isa : {Isa::kV2, *HardwareIsa()}) {
    EXPECT_EQ(Ours(From(std::vector<double>(512, 5.0)), 3, isa), none);
    EXPECT_EQ(Ours(From(std::vector<double>(512, kNan)), 3, isa), none);
    EXPECT_EQ(Ours(From({}), 3, isa), none);
    EXPECT_EQ(Ours(From({1.0}), 3, isa), none);
    std::vector<double> one(512, kNan);
    one[100] = 3;
    EXPECT_EQ(Ours(From(one), 3, isa), none);
    EXPECT_TRUE(Ours(From(one), 0, isa).empty());
  }
}

TEST(StrongestLags, TwentyFourPairsAreEnoughAndTwentyThreeAreNot) {
  // Period 10 over n values: lag 10 has n - 10 pairs.
  const std::vector<double> y = Seasonal(34, 10, 0, 0);
  EXPECT_EQ(Ours(From(y), 1, Isa::kV2)[0].lag, 10);
  const std::vector<double> fewer(y.begin(), y.end() - 1);
  EXPECT_NE(Ours(From(fewer), 1, Isa::kV2)[0].lag, 10);
  Check(y, "24 pairs");
  Check(fewer, "23 pairs");
}

TEST(StrongestLags, OutliersAndTrendsAndLevels) {
  std::vector<double> y = Seasonal(512, 24, 0.3, 5);
  y[77] = 1e9;
  Check(y, "outlier");
  y[77] = kNan;
  y[300] = -1e6;
  Check(y, "outlier and gap");
  y = Seasonal(512, 24, 0.3, 6);
  for (int t = 0; t < 512; ++t) y[t] += 0.1 * t;
  Check(y, "trend");
  for (int t = 0; t < 512; ++t) y[t] = 1e6 + 1e-3 * std::sin(t * 0.3);
  Check(y, "level 1e6");
}

TEST(StrongestLags, TheWorkspaceServesAnyOrderOfLengths) {
  LagWorkspace workspace;
  for (int n : {600, 40, 512, 100, 600}) {
    for (bool gap : {false, true}) {
      std::vector<double> y = Seasonal(n, 9, 0.7, n);
      if (gap) y[n / 2] = kNan;
      const Standardised s = From(y);
      std::vector<Lag> out(3);
      StrongestLags(s.z, s.observed, Isa::kV2, workspace, out);
      EXPECT_EQ(out, Ours(s, 3, Isa::kV2)) << n;
    }
  }
}

TEST(StrongestLags, LongSeries) {
  Check(Seasonal(5000, 1440, 0, 2), "long");
  std::vector<double> y = Seasonal(5000, 288, 0.1, 2);
  std::fill(y.begin() + 1000, y.begin() + 1900, kNan);
  Check(y, "long with a gap");
}

}  // namespace
}  // namespace plinth::series
