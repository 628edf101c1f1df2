// Bands: pairwise maxima, what a file of one may hold, and neighbours of inputs.
#include "plinth/verify/band.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace plinth::verify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Values {
 public:
  Values(std::string source, std::vector<float> values)
      : source_(std::move(source)), values_(std::move(values)) {
    dims_ = {static_cast<int64_t>(values_.size())};
  }
  BandRun run(std::string key = "y") const {
    return {source_,
            {{std::move(key),
              {.name = "y",
               .dtype = DType::kF32,
               .dims = dims_,
               .data = reinterpret_cast<const std::byte*>(values_.data()),
               .bytes = static_cast<int64_t>(values_.size() * sizeof(float))}}}};
  }

 private:
  std::string source_;
  std::vector<float> values_;
  std::vector<int64_t> dims_;
};

TEST(Band, TakesTheLargestOverAllPairs) {
  // Run 1 and 2 err to opposite sides of run 0: the pair of both is the farthest.
  const Values a("repeat", {3, 4}), b("threads", {3.5F, 4}), c("repeat", {2.5F, 4});
  const auto band = MakeBand(std::vector{a.run(), b.run(), c.run()});
  ASSERT_TRUE(band.ok()) << band.status();
  EXPECT_EQ(band->runs, 3);
  EXPECT_THAT(band->sources, ElementsAre("repeat", "threads"));
  const TensorBand& y = *band->Find("y");
  EXPECT_EQ(y.max_abs, 1);
  EXPECT_EQ(y.mean_error, 0.5);
  EXPECT_DOUBLE_EQ(y.rmse, std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(y.rel_l2, 1 / std::sqrt(2.5 * 2.5 + 16));
  EXPECT_FALSE(y.bitwise);
  EXPECT_EQ(band->Find("z"), nullptr);
}

TEST(Band, OfEqualRunsIsBitwise) {
  const Values a("repeat", {3, NAN}), b("repeat", {3, NAN}), minus("repeat", {3, -0.0F}),
      plus("repeat", {3, 0.0F});
  EXPECT_TRUE(MakeBand(std::vector{a.run(), b.run()})->Find("y")->bitwise);
  EXPECT_FALSE(MakeBand(std::vector{minus.run(), plus.run()})->Find("y")->bitwise);
}

TEST(Band, RefusesWhatIsNoSetOfRuns) {
  const Values a("repeat", {1, 2}), three("repeat", {1, 2, 3}), odd("moon", {1, 2});
  const auto message = [](const std::vector<BandRun>& runs) {
    return std::string(MakeBand(runs).status().message());
  };
  EXPECT_EQ(message({a.run()}),
            "a band of 1 runs; at least 2 are expected, 5 for daily work, 59 for a signed acceptance");
  EXPECT_EQ(message({a.run(), odd.run()}),
            "run 1: source \"moon\"; one of repeat, batch, threads, kernel, isa, last-bit is expected");
  EXPECT_EQ(message({a.run(), three.run()}), "run 1 (repeat): y is f32[3]; f32[2] as in run 0 is expected");
  EXPECT_EQ(message({a.run("y"), a.run("z")}),
            "run 0 (repeat): lacks z; every run must hold the same tensors");
  EXPECT_EQ(message({a.run("y"), BandRun{"repeat", {}}}),
            "run 1 (repeat): lacks y; every run must hold the same tensors");
  BandRun twice = a.run();
  twice.tensors.push_back(twice.tensors[0]);
  EXPECT_EQ(message({twice, a.run()}), "run 0 (repeat): holds y twice; once is expected");
}

TEST(Band, GoesThroughItsFile) {
  const Values a("repeat", {3, 4}), b("isa", {3.25F, 4});
  const auto band = MakeBand(std::vector{a.run("layer \"1\""), b.run("layer \"1\"")});
  ASSERT_TRUE(band.ok());
  const auto again = ParseBand(ToJson(*band), "band.json");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ToJson(*again), ToJson(*band));
  EXPECT_EQ(again->Find("layer \"1\"")->max_abs, 0.25);
  EXPECT_EQ(again->Find("layer \"1\"")->runs, 2);
}

TEST(Band, RefusesABadFile) {
  const auto message = [](std::string_view text) {
    return std::string(ParseBand(text, "b.json").status().message());
  };
  EXPECT_THAT(message("{"), HasSubstr("b.json"));
  EXPECT_EQ(message("{}"), "b.json: \"schema\" is missing; one of \"plinth.band/1\" is expected");
  EXPECT_EQ(message(R"({"schema":"plinth.band/1","runs":1,"tensors":{}})"),
            "b.json: \"runs\" is 1; an integer in [2, 1000000] is expected");
  EXPECT_EQ(message(R"({"schema":"plinth.band/1","runs":5,"tensors":{"y":{"rel_l2":-1}}})"),
            StrCat("b.json: \"tensors.y.rel_l2\" is -1; a number in [0, ", std::numeric_limits<double>::max(),
                   "] is expected"));
  EXPECT_EQ(
      message(R"({"schema":"plinth.band/1","runs":5,"tensors":{"y":{"rel_l2":1,"max_abs":1,"mean_error":0,)"
              R"("rmse":0,"bitwise":true}}})"),
      "b.json: \"tensors.y.bitwise\" is true; false, as max_abs is above 0 is expected");
}

TEST(Band, SaysWhatSoManyRunsCover) {
  EXPECT_DOUBLE_EQ(ExceedChance(5), 1.0 / 6);
  EXPECT_GE(Coverage(59), 0.95);
  EXPECT_LT(Coverage(58), 0.95);
  EXPECT_EQ(CoverageText(5), "R = 5: the next run exceeds the largest seen with a chance of 16.7 %");
  EXPECT_EQ(CoverageText(59), "R = 59: the next run exceeds the largest seen with a chance of 1.67 %");
}

TEST(FlipLastBits, MakesNeighboursAndLeavesWhatHasNone) {
  const std::vector<float> before = {1,   -2,        0,         -0.0F,         INFINITY,
                                     NAN, 0x1p-149F, 0x1p-126F, 3.4028234e38F, 1e-39F};
  std::vector<float> after = before;
  const auto bytes = std::as_writable_bytes(std::span(after));
  EXPECT_EQ(FlipLastBits(DType::kF32, bytes, 7, 1), 5);
  for (size_t i = 0; i < before.size(); ++i) {
    const bool flipped = i == 0 || i == 1 || i >= 7;
    EXPECT_EQ(std::memcmp(&before[i], &after[i], 4) != 0, flipped) << i;
    EXPECT_EQ(std::isfinite(before[i]), std::isfinite(after[i])) << i;
    EXPECT_EQ(std::signbit(before[i]), std::signbit(after[i])) << i;
    EXPECT_EQ(before[i] == 0, after[i] == 0) << i;
  }
  EXPECT_EQ(after[0], std::nextafter(1.0F, 2.0F));
  // Flipping again gives back.
  FlipLastBits(DType::kF32, bytes, 7, 1);
  EXPECT_EQ(std::memcmp(before.data(), after.data(), before.size() * 4), 0);
}

TEST(FlipLastBits, IsSeededAndTakesAShare) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const size_t width = static_cast<size_t>(SizeOf(dtype));
    std::vector<std::byte> data(1000 * width + 1, std::byte{0x35});
    std::vector<std::byte> same = data, other = data;
    // Any alignment.
    const auto flip = [&](std::vector<std::byte>& d, uint64_t seed) {
      return FlipLastBits(dtype, std::span(d).subspan(1), seed, 0.25);
    };
    const int64_t flipped = flip(data, 1);
    EXPECT_GT(flipped, 200);
    EXPECT_LT(flipped, 300);
    EXPECT_EQ(flip(same, 1), flipped);
    flip(other, 2);
    EXPECT_EQ(data, same);
    EXPECT_NE(data, other);
  }
  std::vector<float> one = {0, 5};
  EXPECT_EQ(FlipLastBits(DType::kF32, std::as_writable_bytes(std::span(one)), 1, 1e-9), 1);
  EXPECT_NE(one[1], 5);
  std::vector<int32_t> whole = {1, 2};
  EXPECT_EQ(FlipLastBits(DType::kI32, std::as_writable_bytes(std::span(whole)), 1, 1), 0);
  EXPECT_EQ(FlipLastBits(DType::kF32, {}, 1, 1), 0);
}

}  // namespace
}  // namespace plinth::verify
