#include "plinth/verify/metrics/judgement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "plinth/base/random.h"
#include "plinth/verify/metrics/paired.h"
#include "plinth/verify/metrics/test_files.h"

namespace plinth::verify::metrics {
namespace {

using ::testing::HasSubstr;

MetricRow Judged(Better better, double reference, double candidate,
                 std::optional<std::pair<double, double>> interval, std::optional<Band> band,
                 int64_t samples = 100) {
  MetricRow row{.metric = "m",
                .better = better,
                .reference = reference,
                .candidate = candidate,
                .difference = candidate - reference,
                .interval = interval,
                .samples = samples,
                .band = band};
  if (interval.has_value()) row.method = "x";
  JudgeRow(&row);
  return row;
}
Band Absolute(double amount) { return {amount, false, StrCat(amount)}; }

TEST(Judgement, WithoutBandNothingIsProven) {
  const MetricRow row = Judged(Better::kHigher, 0.9, 0.9, std::pair(0.0, 0.0), std::nullopt);
  EXPECT_EQ(row.status, CheckStatus::kUnproven);
  EXPECT_EQ(row.reason, "no band was declared before the run");
}

TEST(Judgement, FailsBeyondTheBand) {
  MetricRow row = Judged(Better::kHigher, 0.9, 0.8, std::pair(-0.2, 0.0), Absolute(0.05));
  EXPECT_EQ(row.status, CheckStatus::kFailed);
  EXPECT_THAT(row.reason, HasSubstr("is worse by 0.1"));
  EXPECT_THAT(row.reason, HasSubstr("beyond the band of 0.05; 95 % interval of the difference [-0.2, 0]"));
  EXPECT_EQ(Judged(Better::kLower, 0.1, 0.2, std::pair(0.0, 0.2), Absolute(0.05)).status,
            CheckStatus::kFailed);
  row = Judged(Better::kNeither, 0.8, 0.9, std::pair(0.09, 0.11), Absolute(0.05));
  EXPECT_EQ(row.status, CheckStatus::kFailed);
  EXPECT_THAT(row.reason, HasSubstr("differs by 0.1"));
  EXPECT_EQ(Judged(Better::kNeither, 0.8, 0.7, std::pair(-0.11, -0.09), Absolute(0.05)).status,
            CheckStatus::kFailed);
}

TEST(Judgement, ADifferenceThatEqualsTheBandPasses) {
  // 0.95 - 0.94 is a rounding above 0.01.
  ASSERT_GT(0.95 - 0.94, 0.01);
  EXPECT_EQ(Judged(Better::kHigher, 0.95, 0.94, std::pair(0.94 - 0.95, 0.94 - 0.95), Absolute(0.01)).status,
            CheckStatus::kPassed);
  EXPECT_EQ(Judged(Better::kHigher, 0.95, 0.94, std::pair(-0.01, -0.01), Absolute(0.0099)).status,
            CheckStatus::kFailed);
}

TEST(Judgement, WarnsWhereTheIntervalReachesBeyondAndSaysHowManyAreNeeded) {
  // Half-width 0.04 on 100 samples; 0.01 is left to the band: (0.04 / 0.01)^2 times as many.
  const MetricRow row = Judged(Better::kHigher, 0.9, 0.9, std::pair(-0.04, 0.04), Absolute(0.01));
  EXPECT_EQ(row.status, CheckStatus::kWarned);
  EXPECT_EQ(row.samples_needed, 1600);
  EXPECT_THAT(row.reason,
              HasSubstr("with 100 samples the candidate may be worse by up to 0.04, beyond the band of 0.01; "
                        "about 1600 samples would exclude that"));
}

TEST(Judgement, SamplesNeededFollowTangoWhereNothingDiffers) {
  MetricRow row{.metric = "m",
                .reference = 1,
                .candidate = 1,
                .difference = 0,
                .interval = TangoInterval(0, 0, 20),
                .method = "x",
                .samples = 20,
                .band = Absolute(0.01),
                .discordant = std::pair<int64_t, int64_t>(0, 0)};
  JudgeRow(&row);
  EXPECT_EQ(row.status, CheckStatus::kWarned);
  // z^2 / (n + z^2) <= 0.01.
  const double z2 = kNormal95 * kNormal95;
  EXPECT_NEAR(static_cast<double>(row.samples_needed), z2 * 99, 1.5);
}

TEST(Judgement, BetterThanTheBandIsSuspicious) {
  MetricRow row = Judged(Better::kHigher, 0.8, 0.9, std::pair(0.05, 0.15), Absolute(0.05));
  EXPECT_EQ(row.status, CheckStatus::kWarned);
  EXPECT_THAT(row.reason, HasSubstr("suspicious"));
  row = Judged(Better::kLower, 0.3, 0.1, std::pair(-0.25, -0.15), Absolute(0.05));
  EXPECT_EQ(row.status, CheckStatus::kWarned);
  EXPECT_THAT(row.reason, HasSubstr("is better by 0.2"));
}

TEST(Judgement, RelativeBandsAreSharesOfTheReference) {
  const Band two_percent{0.02, true, "2%"};
  EXPECT_EQ(Judged(Better::kLower, 10, 10.19, std::pair(10.0 - 10, 0.2), two_percent).status,
            CheckStatus::kPassed);
  const MetricRow row = Judged(Better::kLower, 10, 10.21, std::pair(0.0, 0.2), two_percent);
  EXPECT_EQ(row.status, CheckStatus::kFailed);
  EXPECT_THAT(row.reason, HasSubstr("the band of 2% (0.2)"));
}

TEST(Judgement, WhatIsNotDefinedFails) {
  const MetricRow row = Judged(Better::kHigher, std::nan(""), 0.5, std::nullopt, Absolute(0.1));
  EXPECT_EQ(row.status, CheckStatus::kFailed);
  EXPECT_EQ(row.reason, "a band was declared, but the metric is not defined for these samples");
  const MetricRow few = Judged(Better::kHigher, 0.5, 0.5, std::nullopt, Absolute(0.1), 1);
  EXPECT_EQ(few.status, CheckStatus::kWarned);
  EXPECT_THAT(few.reason, HasSubstr("1 sample gives no interval"));
}

// A task of one mean over given differences.
class OneMean : public Task {
 public:
  explicit OneMean(const std::vector<double>& differences) {
    Mean("m", Better::kLower);
    for (size_t i = 0; i < differences.size(); ++i) metrics[0].Set(i, 1, 1 + differences[i]);
  }
  Status Add(const Sample&) override { return absl::OkStatus(); }
};

MetricRow RowOf(const std::vector<double>& differences, uint64_t seed = 0) {
  const OneMean task(differences);
  MetricsOptions options;
  options.seed = seed;
  const auto rows = JudgeMetrics(task, static_cast<int64_t>(differences.size()), {}, options);
  EXPECT_TRUE(rows.ok());
  return (*rows)[0];
}

std::vector<double> Normals(int64_t n, uint64_t seed) {
  Random random(seed);
  std::vector<double> x(static_cast<size_t>(n));
  for (double& v : x) v = 0.5 + random.Normal();
  return x;
}

TEST(Judgement, BootstrapAgreesWithStudentAndRepeats) {
  const std::vector<double> x = Normals(400, 1);
  double mean = 0, squares = 0;
  for (const double v : x) mean += v / 400;
  for (const double v : x) squares += (v - mean) * (v - mean);
  const double half = StudentQuantile(0.975, 399) * std::sqrt(squares / 399 / 400);
  const MetricRow row = RowOf(x);
  EXPECT_NEAR(row.difference, mean, 1e-12);
  // The ends of 2000 resamples scatter by about 3 % of the half-width; five of these.
  EXPECT_NEAR(row.interval->first, mean - half, 0.15 * half);
  EXPECT_NEAR(row.interval->second, mean + half, 0.15 * half);
  EXPECT_EQ(row.interval, RowOf(x).interval);
  EXPECT_NE(row.interval, RowOf(x, 7).interval);
}

TEST(Judgement, FewSamplesAreCoveredAsOften) {
  // 95 % intervals of 8 samples must hold the truth in about 95 of 100; plain percentiles reach 88.
  int covered = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto interval = *RowOf(Normals(8, 100 + seed)).interval;
    covered += interval.first <= 0.5 && 0.5 <= interval.second;
  }
  EXPECT_GE(covered, 180);
}

TEST(Judgement, ManySamplesGoByStudent) {
  const MetricRow row = RowOf(Normals(kBootstrapSamples, 3));
  EXPECT_EQ(row.method, "Student's t of the linearised mean");
  // Standard deviation 1: half-width 1.96 / sqrt(n), known to sqrt(1 / 2n).
  EXPECT_NEAR(row.interval->second - row.difference, 1.96 / std::sqrt(kBootstrapSamples), 3e-4);
  EXPECT_NEAR(row.difference, 0.5, 0.03);
}

TEST(Judgement, BandsOfUnknownMetricsAreRefused) {
  const OneMean task({0.1, 0.2});
  MetricsOptions options;
  options.task = "asr";
  const Bands unknown = {{"wr", Absolute(1)}};
  EXPECT_EQ(JudgeMetrics(task, 2, unknown, options).status().message(),
            "the band of \"wr\": asr has no such metric here; there are m");
}

TEST(Bands, AreReadStrictly) {
  const auto band = ParseBand("wer=2%");
  ASSERT_TRUE(band.ok());
  EXPECT_EQ(band->first, "wer");
  EXPECT_TRUE(band->second.relative);
  EXPECT_DOUBLE_EQ(band->second.amount, 0.02);
  EXPECT_EQ(ParseBand("crossings@0.5=0")->second.amount, 0);
  for (const char* text :
       {"wer", "=1", "wer=", "wer=-1", "wer=x", "wer=1x", "wer=nan", "wer=inf", "wer=%", "wer= 1"}) {
    const auto bad = ParseBand(text);
    ASSERT_FALSE(bad.ok()) << text;
    EXPECT_THAT(std::string(bad.status().message()), HasSubstr("METRIC=AMOUNT is expected"));
  }
}

TEST(Bands, ComeFromAFileWithItsDigest) {
  const TestFiles files;
  Bands bands;
  const std::string path = files.Write(
      "b.toml", "schema = \"plinth.bands/1\"\n[bands]\nwer = \"2%\"\n\"crossings@0.5\" = 0\ncer = 0.01\n");
  const auto digest = LoadBands(path, &bands);
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_EQ(digest->size(), 64u);
  EXPECT_EQ(bands.size(), 3u);
  EXPECT_TRUE(bands["wer"].relative);
  EXPECT_EQ(bands["cer"].text, "0.01");
  const auto error = [&](const char* text) {
    Bands none;
    return std::string(LoadBands(files.Write("bad.toml", text), &none).status().message());
  };
  EXPECT_THAT(error("[bands]\nwer = 1\n"), HasSubstr("\"schema\""));
  EXPECT_THAT(error("schema = \"plinth.bands/1\"\n[bands]\nwer = -1\n"), HasSubstr("a number of at least 0"));
  EXPECT_THAT(error("schema = \"plinth.bands/1\"\n[bands]\nwer = \"x\"\n"),
              HasSubstr("a number of at least 0"));
  EXPECT_THAT(error("schema = \"plinth.bands/1\"\nband = 1\n"), HasSubstr("\"band\""));
  EXPECT_THAT(error("schema = \"plinth.bands/1\"\n"), HasSubstr("\"bands\" is missing"));
}

}  // namespace
}  // namespace plinth::verify::metrics
