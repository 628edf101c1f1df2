// Customers' lines: read, decided, and reported with what they really admit.
#include "plinth/verify/requirements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace plinth::verify {
namespace {

using testing::HasSubstr;

class Floats {
 public:
  explicit Floats(std::vector<float> values)
      : values_(std::move(values)), dims_{static_cast<int64_t>(values_.size())} {}
  formats::ConstTensorRef ref() const {
    return {.name = "y",
            .dtype = DType::kF32,
            .dims = dims_,
            .data = reinterpret_cast<const std::byte*>(values_.data()),
            .bytes = static_cast<int64_t>(values_.size() * sizeof(float))};
  }

 private:
  std::vector<float> values_;
  std::vector<int64_t> dims_;
};

constexpr std::string_view kText = R"(
[[requirement]]
name = "4.2 allclose"
kind = "allclose"
tensor = "out*"
f32 = {atol = 1e-5, rtol = 1e-4}
bf16 = {atol = 1e-2, rtol = 1e-2}
[[requirement]]
name = "4.3 distance"
kind = "distance"
max_abs = 1e-2
cosine = 0.9999
[[requirement]]
name = "4.4 relative"
kind = "distance"
types = ["f32"]
max_rel = 1e-5
[[requirement]]
name = "5.1 accuracy"
kind = "task"
metric = "accuracy"
at_least = 0.92
)";

std::string Refusal(std::string_view from, std::string_view to) {
  std::string text(kText);
  text.replace(text.find(from), from.size(), to);
  return std::string(ParseRequirements(text, "q.toml").status().message());
}

TEST(Requirements, AreDecidedElementByElement) {
  const auto q = ParseRequirements(kText, "q.toml");
  ASSERT_TRUE(q.ok()) << q.status();
  const Floats x({1, 100, 0}), near({1.00001F, 100.005F, 0.000009F}), off({1, 100, 0.0001F}),
      nan({1, 100, NAN});
  const auto good = CheckRequirements(*q, "output", x.ref(), near.ref());
  ASSERT_TRUE(good.ok());
  ASSERT_EQ(good->size(), 3u);
  EXPECT_EQ((*good)[0].name, "4.2 allclose");
  EXPECT_EQ((*good)[0].status, "passed") << (*good)[0].detail;
  EXPECT_EQ((*good)[1].status, "passed") << (*good)[1].detail;
  EXPECT_THAT((*good)[1].detail, HasSubstr("a relative L2 error up to 0.0141 and any scale have it"));
  EXPECT_EQ((*good)[2].status, "failed");  // 1e-5 relative is less than was off
  const auto bad = CheckRequirements(*q, "output", x.ref(), off.ref());
  EXPECT_EQ((*bad)[0].status, "failed");
  EXPECT_THAT((*bad)[0].detail, HasSubstr("1 of 3 elements beyond atol 1e-05 + rtol 0.0001 x |reference|"));
  const auto gone = CheckRequirements(*q, "output", x.ref(), nan.ref());
  EXPECT_EQ((*gone)[0].status, "failed");
  EXPECT_EQ((*gone)[1].status, "failed");
  // Another name: the first does not speak of it.
  EXPECT_EQ(CheckRequirements(*q, "hidden", x.ref(), near.ref())->size(), 2u);
}

TEST(Requirements, OfTasksNeedTheirMetric) {
  const auto q = ParseRequirements(kText, "q.toml");
  ASSERT_TRUE(q.ok());
  EXPECT_EQ(CheckTaskRequirements(*q, {})[0].status, "unproven");
  EXPECT_EQ(CheckTaskRequirements(*q, {})[0].detail, "no accuracy was measured");
  EXPECT_EQ(CheckTaskRequirements(*q, {{"accuracy", 0.92}})[0].status, "passed");
  EXPECT_EQ(CheckTaskRequirements(*q, {{"accuracy", 0.91}})[0].status, "failed");
  EXPECT_EQ(CheckTaskRequirements(*q, {{"accuracy", 0.91}})[0].detail, "accuracy 0.91, at least 0.92");
  EXPECT_EQ(CheckTaskRequirements(*q, {{"accuracy", NAN}})[0].status, "failed");
}

TEST(Requirements, RefuseWithFileAndLine) {
  EXPECT_THAT(Refusal("atol = 1e-5", "atol = -1e-5"),
              HasSubstr("q.toml: line 6: \"requirement[0].f32.atol\" is -1e-0"));
  EXPECT_THAT(Refusal("atol = 1e-5, ", ""),
              HasSubstr("q.toml: line 6: \"requirement[0].f32.atol\" is missing"));
  EXPECT_THAT(Refusal("\"allclose\"", "\"close\""),
              HasSubstr("q.toml: line 4: \"requirement[0].kind\" is \"close\"; one of \"allclose\", "
                        "\"distance\", \"task\""));
  EXPECT_THAT(Refusal("cosine = 0.9999", "cosine = 1.5"),
              HasSubstr("\"requirement[1].cosine\" is 1.5; a number in [-1, 1]"));
  EXPECT_THAT(Refusal("max_abs = 1e-2\ncosine = 0.9999", ""),
              HasSubstr("one of max_abs, cosine, max_rel and rel_l2"));
  EXPECT_THAT(Refusal("at_least = 0.92", ""), HasSubstr("at_least or at_most beside it"));
  EXPECT_THAT(Refusal("at_least", "minimum"), HasSubstr("unknown key \"requirement[3].minimum\""));
  EXPECT_THAT(Refusal("4.3 distance", "4.2 allclose"), HasSubstr("a name that no other requirement has"));
  EXPECT_THAT(Refusal("[\"f32\"]", "[\"fp32\"]"), HasSubstr("a list of f64, f32, f16, bf16 and int"));
  EXPECT_THAT(Refusal("f32 = {atol = 1e-5, rtol = 1e-4}\nbf16 = {atol = 1e-2, rtol = 1e-2}", ""),
              HasSubstr("a type beside it, such as f32"));
  EXPECT_THAT(std::string(ParseRequirements("", "q.toml").status().message()),
              HasSubstr("q.toml: \"requirement\" is missing; 1 to 10000 records"));
}

TEST(Requirements, NothingFiniteIsNotWithinAnyLine) {
  const auto q = ParseRequirements(kText, "q.toml");
  ASSERT_TRUE(q.ok()) << q.status();
  for (const float x : {std::nanf(""), INFINITY}) {
    const Floats same({x, x});
    const auto results = CheckRequirements(*q, "out.0", same.ref(), same.ref(), nullptr);
    ASSERT_TRUE(results.ok()) << results.status();
    ASSERT_EQ(results->size(), 3u);
    for (const RequirementResult& r : *results) {
      EXPECT_EQ(r.status, "failed") << r.name;
      EXPECT_EQ(r.detail, "no element is finite on both sides: nothing was compared");
    }
  }
}

}  // namespace
}  // namespace plinth::verify
