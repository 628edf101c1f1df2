// Reads recipes and refuses what contradicts itself.
#include "plinth/accept/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plinth/base/text.h"

namespace plinth::accept {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Refused(std::string_view text) {
  const auto recipe = ParseRecipe(text, "dir/accept.toml");
  EXPECT_EQ(recipe.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(recipe.status().message());
}

TEST(Recipe, GivesEverySectionWithPathsFromItsFolder) {
  const auto r = ParseRecipe(R"(
[model]
path = "m"
cases = "/golden/cases.json"
[data]
file = "d.csv"
targets = ["a", "b"]
windows = 7
season = 48
[envelope]
batch = 4
context = 100
horizon = 24
[run]
repeats = 59
[task]
band = { mase = "1%", wql = "0.01" }
[performance]
batches = [1, 8]
at_least = 0.95
[incumbent]
performance = "speed.json"
[rules]
waivers = "w.toml"
)",
                             "dir/accept.toml");
  ASSERT_TRUE(r.ok()) << r.status();
  EXPECT_EQ(r->model, "dir/m");
  EXPECT_EQ(r->cases, "/golden/cases.json");
  EXPECT_EQ(r->data.file, "dir/d.csv");
  EXPECT_THAT(r->data.targets, ElementsAre("a", "b"));
  EXPECT_EQ(r->data.windows, 7);
  EXPECT_EQ(r->envelope.context, 100);
  EXPECT_EQ(r->repeats, 59);
  EXPECT_THAT(r->task.bands, ElementsAre(std::pair("mase", "1%"), std::pair("wql", "0.01")));
  EXPECT_THAT(r->performance.batches, ElementsAre(1, 8));
  EXPECT_EQ(r->incumbent.performance, "dir/speed.json");
  EXPECT_EQ(r->waivers, "dir/w.toml");
}

TEST(Recipe, TakesCapturesOfAnotherFramework) {
  const auto r =
      ParseRecipe("[incumbent]\ncaptures = ['a']\n[candidate]\ncaptures = ['b', '/c']\n", "accept.toml");
  ASSERT_TRUE(r.ok()) << r.status();
  EXPECT_THAT(r->incumbent.captures, ElementsAre("a"));
  EXPECT_THAT(r->candidate.captures, ElementsAre("b", "/c"));
}

TEST(Recipe, SaysWhatIsWrong) {
  EXPECT_THAT(Refused("[modle]\npath = 'm'\n"), HasSubstr("unknown key \"modle\""));
  EXPECT_THAT(Refused("[run]\nrepeats = 0\n"), HasSubstr("\"run.repeats\" is 0; an integer in [1, 100000]"));
  EXPECT_THAT(Refused("[task]\nband = { mase = 1 }\n"), HasSubstr("\"task.band.mase\" is 1; text as \"1%\""));
  EXPECT_THAT(Refused("[candidate]\ncaptures = ['b']\n"), HasSubstr("\"incumbent\" is missing"));
  EXPECT_THAT(Refused("[model]\npath = 'm'\n[candidate]\ncaptures = ['b']\n[incumbent]\ncaptures = ['a']\n"),
              HasSubstr("not both"));
  EXPECT_THAT(Refused("[model]\nprecision = 'f16'\n"), HasSubstr("\"model.precision\" is \"f16\""));
  EXPECT_THAT(Refused("[model\n"), HasSubstr("line 1"));
}

TEST(Recipe, RefusesWhatItWouldPassOver) {
  const std::string both = "[incumbent]\ncaptures = ['a']\n[candidate]\ncaptures = ['b']\n";
  EXPECT_EQ(
      Refused("[incumbent]\npredictions = 'p.jsonl'\n"),
      "dir/accept.toml: line 2: \"incumbent.predictions\" is \"p.jsonl\"; predictions belong to captures; a "
      "model's are held against its network in double: nothing is expected");
  EXPECT_THAT(Refused("[task]\nlabels = 'x'\n"), HasSubstr("line 2: \"task.labels\""));
  EXPECT_THAT(Refused("[task]\nrules = 'x'\n"),
              HasSubstr("rules belong to captures of kind asr or generation"));
  EXPECT_THAT(Refused("[data]\ntargets = ['x']\n"), HasSubstr("columns need data.file"));
  EXPECT_THAT(Refused("[performance]\nat_least = 1\n"), HasSubstr("needs incumbent.performance"));
  EXPECT_THAT(Refused(both + "[data]\nwindows = 3\n"), HasSubstr("line 5: \"data\""));
  EXPECT_THAT(Refused(both + "[model]\ncases = 'c.json'\n"), HasSubstr("not both"));
  EXPECT_THAT(Refused(both + "[run]\nrepeats = 59\n"), HasSubstr("line 6: \"run.repeats\" is 59"));
  EXPECT_THAT(Refused(both + "[performance]\nbatches = [1]\n"), HasSubstr("captures are not timed here"));
  EXPECT_THAT(Refused(both + "predictions = 'p'\n"),
              HasSubstr("\"incumbent.predictions\" is missing; predictions of this side too"));
  EXPECT_THAT(Refused(both + "performance = 'p'\n"),
              HasSubstr("\"incumbent.performance\" is missing; measurements of this side too"));
  EXPECT_THAT(Refused(both + "[task]\nband = { f1 = '1%' }\n"), HasSubstr("a task needs predictions"));
  const std::string predicted =
      "[incumbent]\ncaptures = ['a']\npredictions = 'p'\n[candidate]\ncaptures = ['b']\npredictions = "
      "'q'\n[task]\n";
  EXPECT_THAT(Refused(predicted + "kind = 'classification'\nrules = 'r.toml'\n"),
              HasSubstr("rules belong to asr and generation; for classification"));
  EXPECT_TRUE(ParseRecipe(predicted + "kind = 'asr'\nrules = 'r.toml'\nlabels = 'l'\n", "a.toml").ok());
}

TEST(Recipe, ItsCanonicalTextTellsRecipesApart) {
  Recipe a;
  const std::string text = a.Canonical();
  EXPECT_EQ(Recipe().Canonical(), text);
  Recipe b;
  b.data.windows = 13;
  EXPECT_NE(b.Canonical(), text);
  Recipe c;
  c.task.bands = {{"mase", "1%"}};
  EXPECT_NE(c.Canonical(), text);
}

}  // namespace
}  // namespace plinth::accept
