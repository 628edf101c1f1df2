#include "plinth/models/chronos2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "plinth/models/chronos2_reference.h"

namespace plinth::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

StatusOr<std::unique_ptr<Model>> Make(std::string_view json) {
  PLINTH_ASSIGN_OR_RETURN(const formats::Config config, formats::Config::Parse(json, "m/config.json"));
  return MakeChronos2(config);
}

graph::Graph BuildGraph(const Variant& variant) {
  graph::GraphBuilder b;
  (*Make(Chronos2TestSizes{}.Json()))->Build(b, variant);
  auto graph = b.Finish();
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// ---- Graphs -------------------------------------------------------------------------------------------

TEST(Chronos2Test, NamesWhatItComputesAndLeavesOutTheRest) {
  const std::string lean = BuildGraph({}).ToString();
  EXPECT_THAT(lean, HasSubstr("encoder.block.0.layer.1.self_attention.v"));
  EXPECT_THAT(lean, testing::Not(HasSubstr("encoder.block.0.layer.1.self_attention.q")));
  // Where rows are sorted by group, names would promise another order.
  EXPECT_LT(BuildGraph({.grouped = true}).FindValue("encoder.block.0.layer.1.self_attention.q"), 0);
  for (const bool grouped : {false, true}) {
    const graph::Graph published = BuildGraph({.grouped = grouped, .published = true});
    for (const char* name :
         {"input_patch_embedding.hidden_layer", "input_patch_embedding", "encoder",
          "encoder.final_layer_norm", "encoder.block.1.layer.0.layer_norm",
          "encoder.block.1.layer.0.self_attention.q", "encoder.block.1.layer.1.self_attention.k",
          "encoder.block.1.layer.1.self_attention.o", "encoder.block.1.layer.2.mlp.wi",
          "encoder.block.1.layer.2.mlp", "encoder.block.1.layer.2", "output_patch_embedding"}) {
      EXPECT_GE(published.FindValue(name), 0) << name;
    }
  }
}

TEST(Chronos2Test, InputsDependOnGroupingAlone) {
  for (const bool grouped : {false, true}) {
    const graph::Graph lean = BuildGraph({.grouped = grouped});
    const graph::Graph published = BuildGraph({.grouped = grouped, .published = true});
    ASSERT_EQ(lean.inputs.size(), published.inputs.size());
    for (size_t i = 0; i < lean.inputs.size(); ++i) {
      const auto& a = lean.values[static_cast<size_t>(lean.inputs[i])];
      const auto& b = published.values[static_cast<size_t>(published.inputs[i])];
      EXPECT_EQ(a.name, b.name);
      EXPECT_EQ(a.type, b.type);
    }
  }
}

TEST(Chronos2Test, DescribesItself) {
  const auto model = *Make(Chronos2TestSizes{.levels = "[0.05,0.1,0.25,0.5,0.9]"}.Json());
  const ModelInfo& info = model->info();
  EXPECT_EQ(info.family, "chronos2");
  EXPECT_EQ(info.context_length, 64);
  EXPECT_EQ(info.horizon, 32);
  EXPECT_EQ(info.stride, 8);
  EXPECT_TRUE(info.groups);
  EXPECT_THAT(info.continuation.paths, ElementsAre(0.1, 0.5, 0.9));
  EXPECT_EQ(info.continuation.weigh, Continuation::Weigh::kMass);
  EXPECT_EQ(model->Tokens(0, 8), 2);
  EXPECT_EQ(model->Tokens(17, 16), 6);
  EXPECT_EQ(model->Tokens(1000, 32), 13);
  EXPECT_THAT((*Make(Chronos2TestSizes{.levels = "[0.25,0.75]"}.Json()))->info().continuation.paths,
              ElementsAre(0.25, 0.75));
}

// ---- Configurations -----------------------------------------------------------------------------------

std::string Refusal(const std::string& json) {
  const auto model = Make(json);
  return model.ok() ? "accepted" : std::string(model.status().message());
}

std::string With(std::string_view found, std::string_view replacement) {
  std::string json = Chronos2TestSizes{}.Json();
  const size_t at = json.find(found);
  EXPECT_NE(at, std::string::npos) << found;
  return json.replace(at, found.size(), replacement);
}

TEST(Chronos2ConfigTest, FillsInWhatTheOriginalFillsIn) {
  const auto model = Make(R"({"chronos_config":{"context_length":512,"input_patch_size":16,
      "input_patch_stride":16,"output_patch_size":16,"quantiles":[0.5],"use_reg_token":true}})");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->info().horizon, 16);
  std::map<std::string, int64_t> sizes((*model)->info().sizes.begin(), (*model)->info().sizes.end());
  EXPECT_EQ(sizes["d_model"], 512);
  EXPECT_EQ(sizes["num_layers"], 6);
  EXPECT_EQ(sizes["num_heads"], 8);
  EXPECT_EQ(sizes["d_kv"], 64);
  EXPECT_EQ(sizes["d_ff"], 2048);
}

TEST(Chronos2ConfigTest, RefusesWhatTheOriginalCannotDo) {
  EXPECT_EQ(Refusal("{}"), "m/config.json: \"chronos_config\" is missing; an object is expected");
  EXPECT_EQ(Refusal(With("\"output_patch_size\":8", "\"output_patch_size\":16")),
            "m/config.json: \"chronos_config.output_patch_size\" is 16; 8 as \"input_patch_size\" (past and "
            "future go through one block) is expected");
  EXPECT_EQ(Refusal(With("\"use_reg_token\":true", "\"use_reg_token\":false")),
            "m/config.json: \"chronos_config.use_reg_token\" is false; true (the original cannot forecast "
            "without the register) is expected");
  EXPECT_THAT(Refusal(With("\"use_reg_token\":true,", "")), HasSubstr("use_reg_token\" is missing; true ("));
  EXPECT_EQ(Refusal(With("\"d_kv\":6", "\"d_kv\":7")),
            "m/config.json: \"d_kv\" is 7; an even number (the rotary embedding turns pairs) is expected");
  EXPECT_THAT(Refusal(With("[0.1,0.5,0.9]", "[0.5,0.1]")),
              HasSubstr("a list of ascending levels is expected"));
  EXPECT_THAT(Refusal(With("[0.1,0.5,0.9]", "[0,0.1]")),
              HasSubstr("m/config.json: \"chronos_config.quantiles\": quantile 0 is not a level"));
  EXPECT_EQ(Refusal(With("\"relu\"", "\"gated-gelu\"")),
            "m/config.json: the feed-forward part is gated; Chronos-2 has none that is");
  EXPECT_THAT(Refusal(With("\"relu\"", "\"mish\"")), HasSubstr("mish"));
  EXPECT_EQ(Refusal(With("\"use_arcsinh\"", "\"use_magic\"")),
            "m/config.json: \"chronos_config\" has the key \"use_magic\", which Chronos-2 does not know");
  EXPECT_THAT(Refusal(With("\"context_length\":64", "\"context_length\":0")),
              HasSubstr("\"chronos_config.context_length\" is 0; an integer in [1, 1048576] is expected"));
  EXPECT_THAT(
      Refusal(With("\"max_output_patches\":4", "\"max_output_patches\":131073")),
      HasSubstr("\"chronos_config.max_output_patches\" is 131073; an integer in [1, 131072] is expected"));
  EXPECT_THAT(Refusal(With("\"rope_theta\":10000", "\"rope_theta\":0.5")),
              HasSubstr("\"rope_theta\" is 0.5"));
}

}  // namespace
}  // namespace plinth::models
