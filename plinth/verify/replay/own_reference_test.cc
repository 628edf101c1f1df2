// Operators with Plinth's own inputs and attributes, and data that their references must never see.
#include "plinth/verify/replay/own_reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plinth/verify/replay/use_fixture.h"

namespace plinth::verify::replay {
namespace {

Way JudgeOwn(const UseFixture& f) {
  Threads threads(2);
  const auto reference = MakeOwnReference(f.use(), 0, {});
  EXPECT_TRUE(reference.ok()) << reference.status();
  return Judge(**reference, f.use().out(0), {}, {}, threads);
}
std::string Refusal(const UseFixture& f) {
  const auto reference = MakeOwnReference(f.use(), 0, {});
  return reference.ok() ? "accepted" : std::string(reference.status().message());
}

TEST(OwnReference, LinearWithActivationGoesBlockByBlock) {
  const auto x = Normals(40 * 3, 1), w = Normals(2 * 3, 2);
  std::vector<double> y;
  for (size_t i = 0; i < 40; ++i) {
    for (size_t n = 0; n < 2; ++n) {
      double s = 0;
      for (size_t k = 0; k < 3; ++k) s += x[i * 3 + k] * w[n * 3 + k];
      y.push_back(std::max(0.0, s));
    }
  }
  UseFixture f("linear");
  f.In("f32", {40, 3}, x).In("f32", {2, 3}, w).Out("f32", {40, 2}, y).Set("activation", std::string("relu"));
  Way way = JudgeOwn(f);
  EXPECT_TRUE(way.holds()) << way.problem;
  EXPECT_EQ(way.stats.judged, 80);
  f.Put(79, y[79] + 1e-3);
  way = JudgeOwn(f);
  EXPECT_EQ(way.stats.outside, 1);
  EXPECT_EQ(way.stats.worst, 79);
}

UseFixture Gather(const std::vector<double>& index) {
  UseFixture f("gather");
  f.In("f32", {3, 2}, {1, 2, 3, 4, 5, 6}).In("i32", {2}, index).Out("f32", {2, 2}, {5, 6, 1, 2});
  return f;
}

TEST(OwnReference, GatherRefusesIndicesOutside) {
  EXPECT_TRUE(JudgeOwn(Gather({2, 0})).holds());
  EXPECT_FALSE(JudgeOwn(Gather({2, 1})).holds());
  EXPECT_EQ(Refusal(Gather({2, 3})), "index 3 at 1 is outside [0, 3)");
  EXPECT_EQ(Refusal(Gather({-1, 0})), "index -1 at 0 is outside [0, 3)");
}

UseFixture Attention(const std::vector<double>& offsets, const std::vector<double>& bias = {}) {
  UseFixture f("attention");
  const std::vector<double> rows = {1, 2, 3};
  f.In("f32", {3, 1}, rows).In("f32", {3, 1}, rows).In("f32", {3, 1}, rows);
  f.In("i32", {static_cast<int64_t>(offsets.size())}, offsets).NoInput().NoInput();
  if (!bias.empty()) f.In("f32", {1, 1, 1}, bias);
  f.Out("f32", {3, 1}, rows).Set("heads", int64_t{1});
  return f;
}

TEST(OwnReference, AttentionRefusesOffsetsThatLeadOutside) {
  EXPECT_TRUE(JudgeOwn(Attention({0, 1, 2, 3})).holds());  // each row sees itself alone
  EXPECT_FALSE(JudgeOwn(Attention({0, 3})).holds());
  EXPECT_EQ(Refusal(Attention({0, 4})),
            "q_offsets[1] is 4 after 0; offsets begin at 0, do not fall and end at most at 3");
  EXPECT_EQ(Refusal(Attention({0, 2, 1})),
            "q_offsets[2] is 1 after 2; offsets begin at 0, do not fall and end at most at 3");
  EXPECT_EQ(Refusal(Attention({1, 3})),
            "q_offsets[0] is 1 after 0; offsets begin at 0, do not fall and end at most at 3");
  EXPECT_EQ(Refusal(Attention({0, 3}, {0})),
            "sequence 0 has 3 queries and 3 keys; bias f32[1, 1, 1] is for 1 and 1");
}

TEST(OwnReference, AttributesOfAnotherKindAreRefused) {
  UseFixture f("unary");
  f.In("f32", {1}, {1}).Out("f32", {1}, {1}).Set("function", int64_t{3});
  EXPECT_EQ(Refusal(f), "attribute \"function\" is 3; a text is expected");
}

}  // namespace
}  // namespace plinth::verify::replay
