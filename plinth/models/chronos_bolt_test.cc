#include "plinth/models/chronos_bolt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "plinth/models/chronos_bolt_test_sizes.h"

namespace plinth::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
using Series = std::vector<double>;

size_t At(int64_t i) { return static_cast<size_t>(i); }

StatusOr<std::unique_ptr<Model>> Make(const std::string& json) {
  const auto config = formats::Config::Parse(json, "m/config.json");
  EXPECT_TRUE(config.ok()) << config.status();
  return MakeModel(*config);
}

// A codec with inputs of its own.
class Encoded {
 public:
  Encoded(const BoltTestSizes& s, const std::vector<Series>& rows) : model_(*Make(s.Json())) {
    const auto count = static_cast<int64_t>(rows.size());
    const int64_t tokens = count * model_->Tokens(s.context, s.horizon);
    graph::GraphBuilder b;
    model_->Build(b, {});
    const auto graph = b.Finish();
    EXPECT_TRUE(graph.ok()) << graph.status();
    std::vector<View> views;
    for (const int v : graph->inputs) {
      const ValueType& type = graph->values[At(v)].type;
      inputs_.emplace_back(type.dtype, *Resolve(type.shape, model_->Capacity(count, tokens)));
      views.push_back(inputs_.back().view());
      names_.push_back(graph->values[At(v)].name);
    }
    codec_ = model_->MakeCodec(count, tokens, Isa::kV2);
    codec_->Begin(views, s.horizon);
    for (const Series& y : rows) {
      const Row row{y, {}};
      codec_->Add({&row, 1});
    }
    extents_.resize(model_->dimensions().size());
    codec_->Finish(extents_);
  }

  template <typename T>
  std::vector<T> Input(std::string_view name, int64_t count) const {
    const auto at = std::find(names_.begin(), names_.end(), name);
    EXPECT_NE(at, names_.end()) << name;
    const T* data = inputs_[At(at - names_.begin())].template data<T>();
    return {data, data + count};
  }
  std::vector<std::pair<int64_t, int64_t>> Places() const {
    std::vector<std::pair<int64_t, int64_t>> places;
    for (const Origin& o : codec_->Origins()) places.emplace_back(o.row, o.position);
    return places;
  }
  const std::vector<int64_t>& extents() const { return extents_; }

 private:
  std::unique_ptr<Model> model_;
  std::vector<Tensor> inputs_;
  std::vector<std::string> names_;
  std::unique_ptr<Codec> codec_;
  std::vector<int64_t> extents_;
};

// Two rows of patches of two steps: 1 3 | gap 5 and gap gap | 7.
TEST(ChronosBoltCodecTest, WritesPatchesWithTheirMasksAndWhereEachTokenIs) {
  const Encoded e({.context = 8, .patch = 2, .stride = 2}, {{1, 3, kGap, 5}, {kGap, kGap, 7}});
  EXPECT_THAT(e.extents(), ElementsAre(5, 2, 3));  // tokens, rows, patches
  const float z = static_cast<float>(2 / std::sqrt(8.0 / 3));
  EXPECT_THAT(e.Input<float>("patches", 12), ElementsAre(-z, 0, 1, 1, 0, z, 0, 1,  //
                                                         0, 0, 0, 1));
  EXPECT_THAT(e.Input<int32_t>("token_sources", 5), ElementsAre(1, 2, 0, 3, 0));
  EXPECT_THAT(e.Input<uint8_t>("visible", 5), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(e.Input<int32_t>("token_offsets", 3), ElementsAre(0, 3, 5));
  EXPECT_THAT(e.Input<int32_t>("row_offsets", 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(e.Input<int32_t>("head_offsets", 3), ElementsAre(0, 3, 6));
  EXPECT_THAT(e.Input<int32_t>("first", 2), ElementsAre(0, 0));
}

TEST(ChronosBoltCodecTest, HidesGapsInsideAndLeavesOutThoseAtTheBeginning) {
  const Encoded e({.context = 12, .patch = 2, .stride = 2, .reg = false},
                  {{kGap, kGap, 1, 2, kGap, kGap, 3, 4, kGap, kGap}, {kGap, kGap, kGap}, {}});
  EXPECT_THAT(e.extents(), ElementsAre(6, 3));
  EXPECT_THAT(e.Input<uint8_t>("visible", 6), ElementsAre(1, 0, 1, 0, 1, 1));
  EXPECT_THAT(e.Input<int32_t>("token_offsets", 4), ElementsAre(0, 4, 5, 6));
  EXPECT_THAT(e.Input<float>("patches", 24).back(), 0);
}

TEST(ChronosBoltCodecTest, TokensKnowTheirPlaceInTheOriginal) {
  Series gaps(12, 1), inside(20, 2);
  std::fill_n(gaps.begin(), 5, kGap);
  std::fill_n(inside.begin() + 8, 4, kGap);
  const Encoded e({}, {gaps, inside, {kGap}});
  using P = std::pair<int64_t, int64_t>;
  // The longest has 5 patches and REG: 0 ... 5. The first one's 3 patches are 2 ... 4, and the first is left
  // out.
  EXPECT_THAT(e.Places(), ElementsAre(P(0, 3), P(0, 4), P(0, 5), P(1, 0), P(1, 1), P(1, 2), P(1, 3), P(1, 4),
                                      P(1, 5), P(2, 5)));
}

TEST(ChronosBoltTest, ItsDescription) {
  const BoltTestSizes s;
  const auto model = *Make(s.Json());
  const ModelInfo& info = model->info();
  EXPECT_EQ(info.family, "chronos_bolt");
  EXPECT_EQ(info.context_length, 40);
  EXPECT_EQ(info.horizon, 5);
  EXPECT_EQ(info.stride, 5);
  EXPECT_FALSE(info.groups);
  EXPECT_THAT(info.levels, ElementsAre(0.1, 0.5, 0.9));
  EXPECT_EQ(info.continuation.paths, info.levels);
  EXPECT_EQ(info.continuation.weigh, Continuation::Weigh::kAlike);
  EXPECT_EQ(model->Tokens(0, 5), 1);
  EXPECT_EQ(model->Tokens(5, 5), 3);
  EXPECT_EQ(model->Tokens(40, 5), 11);
  EXPECT_THAT(model->IgnoredWeights(), testing::Contains("lm_head.weight"));
}

// By hand from the definition: 8 buckets are 4 for each side, 0 and 1 exact, then halves of log(20 / 2).
TEST(RelativeBucketsTest, AreExactNearAndLogarithmicFar) {
  const std::vector<int32_t> rows = RelativeBuckets(30, 8, 20);
  ASSERT_EQ(rows.size(), 59u);
  const auto at = [&](int64_t distance) { return rows[At(distance + 29)]; };
  EXPECT_EQ(at(0), 0);
  EXPECT_EQ(at(-1), 1);
  EXPECT_EQ(at(1), 5);
  EXPECT_EQ(at(-2), 2);
  EXPECT_EQ(at(-6), 2);  // 2 sqrt(10) = 6.3
  EXPECT_EQ(at(-7), 3);
  EXPECT_EQ(at(7), 7);
  EXPECT_EQ(at(29), 7);
  // The published sizes: powers of two lie on the edges, 8 * 2^(k/2).
  const std::vector<int32_t> published = RelativeBuckets(200, 32, 128);
  for (const auto& [distance, bucket] : std::map<int, int>{{7, 7},
                                                           {8, 8},
                                                           {11, 8},
                                                           {12, 9},
                                                           {15, 9},
                                                           {16, 10},
                                                           {31, 11},
                                                           {32, 12},
                                                           {63, 13},
                                                           {64, 14},
                                                           {127, 15},
                                                           {199, 15}}) {
    EXPECT_EQ(published[At(199 - distance)], bucket) << distance;
    EXPECT_EQ(published[At(199 + distance)], 16 + bucket) << distance;
  }
}

TEST(ChronosBoltConfigTest, WhatItCannotBeIsRefused) {
  const auto message = [](const std::string& from, const std::string& to) {
    std::string json = BoltTestSizes{}.Json();
    const size_t at = json.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    json.replace(at, from.size(), to);
    return std::string(Make(json).status().message());
  };
  EXPECT_THAT(message("\"input_patch_size\":4", "\"input_patch_size\":0"),
              HasSubstr("m/config.json: \"chronos_config.input_patch_size\" is 0; an integer in [1, "));
  EXPECT_THAT(message("\"input_patch_stride\":4", "\"other\":4"),
              HasSubstr("\"chronos_config.input_patch_stride\" is missing"));
  EXPECT_THAT(message("\"chronos_config\"", "\"config\""), HasSubstr("\"chronos_config\" is missing"));
  EXPECT_THAT(message("0.1, 0.5", "0.5, 0.1"), HasSubstr("\"chronos_config.quantiles\" must be ascending"));
  EXPECT_THAT(message("0.1, 0.5", "0.0, 0.5"), HasSubstr("quantiles"));
  EXPECT_THAT(message("_num_buckets\":8", "_num_buckets\":3"), HasSubstr("an integer in [4, "));
  EXPECT_THAT(message("_max_distance\":20", "_max_distance\":2"), HasSubstr("an integer in [3, "));
  EXPECT_THAT(message("start_token_id\":0", "start_token_id\":2"), HasSubstr("an integer in [0, 1]"));
  EXPECT_THAT(message("\"relu\"", "\"gated-mish\""), HasSubstr("the activation is \"mish\""));
  EXPECT_THAT(message("\"num_layers\":2", "\"num_layers\":0"), HasSubstr("\"num_layers\" is 0"));
  EXPECT_THAT(message("ChronosBoltModelForForecasting", "T5ForConditionalGeneration"),
              HasSubstr("\"model_type\" is \"t5\" and the architecture \"T5ForConditionalGeneration\"; known "
                        "families are chronos2, chronos_bolt, "));
}

}  // namespace
}  // namespace plinth::models
