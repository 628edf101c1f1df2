#include "plinth/verify/golden_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "plinth/base/files.h"

namespace plinth::verify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An array of a case; whole numbers are stored as i64.
struct Array {
  std::vector<int64_t> dims;
  std::vector<double> data;
  bool whole = false;
};

class GoldenQueryTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = StrCat(testing::TempDir(), "/query_", getpid(), "_",
                     testing::UnitTest::GetInstance()->current_test_info()->name());
    ASSERT_TRUE(MakeFolders(folder_).ok());
  }

  StatusOr<GoldenQuery> Make(const std::string& options, const std::map<std::string, Array>& inputs) {
    std::string listed;
    std::vector<formats::ConstTensorRef> tensors;
    std::map<std::string, std::vector<int64_t>> codes;
    std::map<std::string, std::string> names;
    for (const auto& [name, array] : inputs) {
      StrAppend(&listed, listed.empty() ? "" : ",", "\"", name, "\":[", Join(array.dims, ","), "]");
      names[name] = StrCat("a/in/", name);
      codes[name].assign(array.data.begin(), array.data.end());
      const void* data = array.whole ? static_cast<const void*>(codes[name].data()) : array.data.data();
      tensors.push_back({names[name], array.whole ? DType::kI64 : DType::kF64, array.dims,
                         static_cast<const std::byte*>(data), static_cast<int64_t>(8 * array.data.size())});
    }
    const std::string json = StrCat(R"({"cases":[{"name":"a","reference_error":"x","options":{)", options,
                                    R"(},"inputs":{)", listed, "}}]}");
    PLINTH_RETURN_IF_ERROR(WriteFile(folder_ + "/cases.json", json));
    PLINTH_RETURN_IF_ERROR(formats::WriteSafetensors(folder_ + "/cases.safetensors", tensors));
    PLINTH_ASSIGN_OR_RETURN(const GoldenFolder golden, GoldenFolder::Open(folder_ + "/cases.json"));
    models::ModelInfo info;
    info.horizon = 8, info.stride = 4;
    return MakeQuery(golden, golden.cases()[0], info);
  }
  std::string Message(const std::string& options, const std::map<std::string, Array>& inputs) {
    return std::string(Make(options, inputs).status().message());
  }

  std::string folder_;
};

std::vector<double> Past(const GoldenQuery& q, size_t group, size_t row) {
  const auto past = q.groups[group].rows[row].past;
  return {past.begin(), past.end()};
}
std::vector<double> Future(const GoldenQuery& q, size_t group, size_t row) {
  const auto future = q.groups[group].rows[row].future;
  return {future.begin(), future.end()};
}

TEST_F(GoldenQueryTest, OneSeries) {
  const auto q = Make(R"("horizon":3)", {{"context", {{2}, {1, 2}}}});
  ASSERT_TRUE(q.ok()) << q.status();
  EXPECT_EQ(q->horizon, 3);
  ASSERT_EQ(q->groups.size(), 1u);
  EXPECT_THAT(Past(*q, 0, 0), ElementsAre(1, 2));
  EXPECT_TRUE(Future(*q, 0, 0).empty());
  EXPECT_EQ(Make("", {{"context", {{2}, {1, 2}}}})->horizon, 8);
}

TEST_F(GoldenQueryTest, ARaggedBatchStandsAloneOrLearnsAcross) {
  const std::map<std::string, Array> inputs = {{"context0", {{1}, {1}}}, {"context1", {{2}, {2, 3}}}};
  const auto alone = Make(R"("cross_learning":false)", inputs);
  ASSERT_TRUE(alone.ok()) << alone.status();
  ASSERT_EQ(alone->groups.size(), 2u);
  EXPECT_THAT(Past(*alone, 1, 0), ElementsAre(2, 3));
  const auto across = Make(R"("cross_learning":true)", inputs);
  ASSERT_TRUE(across.ok()) << across.status();
  ASSERT_EQ(across->groups.size(), 1u);
  EXPECT_EQ(across->groups[0].targets, 2);
  EXPECT_EQ(across->groups[0].rows.size(), 2u);
}

TEST_F(GoldenQueryTest, CovariatesFollowTheTargetsThoseKnownAheadLast) {
  const auto q = Make(R"("horizon":1)", {{"target", {{2, 2}, {1, 2, 3, 4}}},
                                         {"past_covariates.known", {{2}, {5, 6}}},
                                         {"past_covariates.load", {{2}, {7, 8}}},
                                         {"future_covariates.known", {{1}, {9}}}});
  ASSERT_TRUE(q.ok()) << q.status();
  ASSERT_EQ(q->groups.size(), 1u);
  EXPECT_EQ(q->groups[0].targets, 2);
  ASSERT_EQ(q->groups[0].rows.size(), 4u);
  EXPECT_THAT(Past(*q, 0, 1), ElementsAre(3, 4));
  EXPECT_THAT(Past(*q, 0, 2), ElementsAre(7, 8));
  EXPECT_THAT(Past(*q, 0, 3), ElementsAre(5, 6));
  EXPECT_THAT(Future(*q, 0, 3), ElementsAre(9));
}

TEST_F(GoldenQueryTest, CodesAreEncodedByOneTargetAndByOrderForSeveral) {
  const Array kind{{3}, {1, 0, 1}, true}, ahead{{2}, {0, 2}, true};
  const std::string options = R"("horizon":2,"categories":["b","a","c"])";
  const auto one = Make(
      options, {{"target", {{3}, {2, 6, 4}}}, {"past_covariates.k", kind}, {"future_covariates.k", ahead}});
  ASSERT_TRUE(one.ok()) << one.status();
  // The mean is 4: (4 + 6) / 2 where it is 0, (4 + 2 + 4) / 3 where it is 1; 2 was never seen.
  EXPECT_THAT(Past(*one, 0, 1), ElementsAre(10.0 / 3, 5, 10.0 / 3));
  EXPECT_THAT(Future(*one, 0, 1), ElementsAre(5, 4));
  const auto two = Make(options, {{"target", {{2, 3}, {2, 6, 4, 1, 1, 1}}},
                                  {"past_covariates.k", kind},
                                  {"future_covariates.k", ahead}});
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_THAT(Past(*two, 0, 2), ElementsAre(0, 1, 0));  // "a" before "b"
  EXPECT_EQ(Future(*two, 0, 2)[0], 1);
  EXPECT_TRUE(std::isnan(Future(*two, 0, 2)[1]));
}

TEST_F(GoldenQueryTest, RowsOfOneIdAreAGroupWhereverTheyStand) {
  const auto q =
      Make(R"("api":"forward","num_output_patches":2)", {{"context", {{3, 2}, {1, 2, 3, 4, 5, 6}}},
                                                         {"group_ids", {{3}, {7, 4, 7}, true}},
                                                         {"future_covariates", {{3, 1}, {NAN, 8, 9}}}});
  ASSERT_TRUE(q.ok()) << q.status();
  EXPECT_EQ(q->horizon, 8);
  ASSERT_EQ(q->groups.size(), 2u);
  EXPECT_THAT(q->batch_rows, ElementsAre(1, 0, 2));
  EXPECT_THAT(Past(*q, 0, 0), ElementsAre(3, 4));
  EXPECT_EQ(q->groups[1].targets, 2);
  EXPECT_THAT(Future(*q, 1, 1), ElementsAre(9));
  // Forecasts of 2 steps and 2 levels, [step][level], come back in the order of the batch, [level][step].
  const std::vector<engine::Forecast> forecasts = {
      {2, {1, 2, 3, 4}}, {2, {5, 6, 7, 8}}, {2, {9, 10, 11, 12}}};
  EXPECT_THAT(q->Arrange(forecasts), ElementsAre(5, 7, 6, 8, 1, 3, 2, 4, 9, 11, 10, 12));
}

TEST_F(GoldenQueryTest, WhatDoesNotFitIsRefusedWithItsPlace) {
  const Array two{{2}, {1, 2}};
  EXPECT_EQ(Make("", {{"context", two}, {"noise", two}}).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Message("", {{"context", two}, {"noise", two}}), HasSubstr("takes the input \"noise\""));
  EXPECT_THAT(Message("", {{"context1", two}}), HasSubstr("takes the input \"context1\""));
  EXPECT_THAT(Message("", {{"target", two}, {"future_covariates.x", two}}), HasSubstr("future_covariates.x"));
  EXPECT_THAT(Message("", {{"context", {{1, 2}, {1, 2}}}}),
              HasSubstr("case a: input context is [1,2]; [steps] is expected"));
  EXPECT_THAT(Message("", {{"target", {{1, 1, 2}, {1, 2}}}}), HasSubstr("[rows, steps] is expected"));
  EXPECT_THAT(Message("", {{"target", {{0, 2}, {}}}}), HasSubstr("input target has no rows"));
  EXPECT_THAT(Message("", {{"target", two}, {"past_covariates.x", {{1}, {1}}}}),
              HasSubstr("covariate x has 1 steps and 0 known ahead; the target has 2 and the horizon is 8"));
  EXPECT_THAT(Message("", {{"target", two}, {"past_covariates.x", two}, {"future_covariates.x", two}}),
              HasSubstr("covariate x has 2 steps and 2 known ahead"));
  EXPECT_THAT(Message(R"("categories":["a"])", {{"target", two}, {"past_covariates.x", {{2}, {0, 1}, true}}}),
              HasSubstr("covariate x has the code 1; the option \"categories\" lists 1"));
  EXPECT_THAT(Message(R"("api":"forward","num_output_patches":3)", {{"context", {{1, 1}, {1}}}}),
              HasSubstr("the option num_output_patches is 3; one pass gives 1 to 2"));
  EXPECT_THAT(Message(R"("api":"forward")", {}), HasSubstr("has no input context"));
  EXPECT_THAT(Message(R"("api":"forward")", {{"context", {{2, 1}, {1, 2}}}, {"group_ids", {{1}, {0}}}}),
              HasSubstr("context has 2 rows, group_ids 1, future_covariates 2"));
}

}  // namespace
}  // namespace plinth::verify
