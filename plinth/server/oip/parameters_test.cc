#include "plinth/server/oip/parameters.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/server/fields.h"

namespace plinth::server::oip {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Wrong(const Parameter& parameter) {
  const auto read = ReadParameters({&parameter, 1});
  EXPECT_FALSE(read.ok());
  EXPECT_EQ(FieldOf(read.status()).rfind("parameters.", 0), 0U);
  return std::string(read.status().message());
}

TEST(InferParameters, AreReadFromEveryFormThatClientsHave) {
  const std::vector<Parameter> given = {
      {"horizon", int64_t{12}}, {"context_length", 512.0},       {"quantiles", std::string("0.9, 0.1,0.9")},
      {"priority", int64_t{1}}, {"timeout", int64_t{2'500'000}}, {"seed", int64_t{7}}};
  const auto read = ReadParameters(given);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->horizon, 12);
  EXPECT_EQ(read->context_length, 512);
  EXPECT_THAT(read->levels, ElementsAre(0.1, 0.9));
  EXPECT_EQ(read->priority, 49);
  EXPECT_EQ(read->seconds, 2.5);
  const Parameter list{"quantiles", std::vector<double>{0.5, 0.25}}, one{"quantiles", 0.75};
  EXPECT_THAT(ReadParameters({&list, 1})->levels, ElementsAre(0.25, 0.5));
  EXPECT_THAT(ReadParameters({&one, 1})->levels, ElementsAre(0.75));
}

TEST(InferParameters, HaveDefaults) {
  const auto read = ReadParameters({});
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->horizon || read->context_length);
  EXPECT_EQ(read->levels.size(), 9U);
  EXPECT_EQ(read->priority, 0);
  EXPECT_EQ(read->seconds, 0);
}

// As Triton has it: 1 is the first, 0 is what those have who do not ask.
TEST(InferParameters, OrderPrioritiesAsTritonDoes) {
  const auto priority = [](int64_t level) {
    const Parameter parameter{"priority", level};
    return ReadParameters({&parameter, 1})->priority;
  };
  EXPECT_GT(priority(1), priority(2));
  EXPECT_GT(priority(49), priority(0));
  EXPECT_EQ(priority(50), priority(0));
  EXPECT_GT(priority(0), priority(100));
}

TEST(InferParameters, RefuseWhatIsOutOfRange) {
  EXPECT_EQ(Wrong({"horizon", int64_t{0}}),
            "parameters.horizon: is 0; an integer in [1, 1048576] is expected");
  EXPECT_THAT(Wrong({"horizon", int64_t{1} << 40}), HasSubstr("an integer in [1, 1048576] is expected"));
  EXPECT_THAT(Wrong({"horizon", 1.5}), HasSubstr("parameters.horizon: an integer in"));
  EXPECT_THAT(Wrong({"horizon", std::nan("")}), HasSubstr("parameters.horizon: an integer in"));
  EXPECT_THAT(Wrong({"horizon", HUGE_VAL}), HasSubstr("parameters.horizon: an integer in"));
  EXPECT_THAT(Wrong({"horizon", std::string("12")}), HasSubstr("parameters.horizon: an integer in"));
  EXPECT_THAT(Wrong({"horizon", true}), HasSubstr("parameters.horizon: an integer in"));
  EXPECT_THAT(Wrong({"context_length", int64_t{-1}}), HasSubstr("parameters.context_length: is -1"));
  EXPECT_THAT(Wrong({"priority", int64_t{101}}), HasSubstr("[0, 100]"));
  EXPECT_THAT(Wrong({"timeout", int64_t{-5}}), HasSubstr("parameters.timeout: is -5"));
  EXPECT_THAT(Wrong({"seed", int64_t{-1}}), HasSubstr("parameters.seed: is -1"));
  EXPECT_THAT(Wrong({"sequence_id", int64_t{3}}),
              HasSubstr("parameters.sequence_id: is not known; known are"));
  EXPECT_LT(Wrong({std::string(100000, 'x'), int64_t{3}}).size(), 200U);
}

TEST(InferParameters, RefuseLevelsThatAreNone) {
  EXPECT_THAT(Wrong({"quantiles", std::string("0.1,x")}), HasSubstr("parameters.quantiles: "));
  EXPECT_THAT(Wrong({"quantiles", std::string()}), HasSubstr("parameters.quantiles: "));
  EXPECT_THAT(Wrong({"quantiles", std::string(100000, '1')}), HasSubstr("longer than"));
  EXPECT_THAT(Wrong({"quantiles", std::vector<double>{}}), HasSubstr("parameters.quantiles: "));
  EXPECT_THAT(Wrong({"quantiles", std::vector<double>{0.5, std::nan("")}}),
              HasSubstr("parameters.quantiles: "));
  EXPECT_THAT(Wrong({"quantiles", 1.0}), HasSubstr("parameters.quantiles: "));
  EXPECT_THAT(Wrong({"quantiles", true}), HasSubstr("levels as text"));
  std::vector<double> many;
  for (int i = 1; i <= 1001; ++i) many.push_back(i / 2000.0);
  EXPECT_THAT(Wrong({"quantiles", many}), HasSubstr("has 1001 levels; at most 1000"));
}

TEST(InferParameters, RefuseOneGivenTwice) {
  const std::vector<Parameter> twice = {{"horizon", int64_t{1}}, {"horizon", int64_t{1}}};
  EXPECT_EQ(std::string(ReadParameters(twice).status().message()), "parameters.horizon: is given twice");
}

}  // namespace
}  // namespace plinth::server::oip
