// Runs Chronos-2 as plans and compares with an independent computation in double.
#include "plinth/models/chronos2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "plinth/base/allocations.h"
#include "plinth/graph/fuse_linear.h"
#include "plinth/graph/gather_early.h"
#include "plinth/models/chronos2_reference.h"
#include "plinth/plan/plan.h"

namespace plinth::engine {
namespace {

using models::Chronos2Reference;
using models::Chronos2TestSizes;
using models::Codec;
using models::Model;
using models::Origin;
using models::Row;
using models::Variant;
using testing::ElementsAre;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

// ---- Models with made weights -------------------------------------------------------------------------

// Weights made from their names, large enough that every term shows.
class MadeWeights : public plan::WeightSource {
 public:
  StatusOr<View> Load(const std::string& name, const ValueType& type) override {
    PLINTH_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, Resolve(type.shape, {}));
    auto [it, fresh] = tensors_.try_emplace(name, type.dtype, dims);
    if (fresh) {
      std::seed_seq seed(name.begin(), name.end());
      std::mt19937 random(seed);
      std::normal_distribution<float> normal;
      const bool norm = name.find("norm") != std::string::npos;
      const auto width = static_cast<float>(dims.back());
      for (int64_t i = 0; i < it->second.size(); ++i) {
        const float z = normal(random);
        it->second.data<float>()[i] = norm               ? 1 + 0.2f * z
                                      : dims.size() == 1 ? 0.2f * z
                                                         : z / std::sqrt(width);
      }
    }
    return it->second.view();
  }
  void Release(const std::string&) override {}
  std::vector<double> Doubles(const std::string& name) const {
    const Tensor& t = tensors_.at(name);
    return {t.data<float>(), t.data<float>() + t.size()};
  }

 private:
  std::map<std::string, Tensor> tensors_;
};

StatusOr<std::unique_ptr<Model>> Make(std::string_view json) {
  PLINTH_ASSIGN_OR_RETURN(const formats::Config config, formats::Config::Parse(json, "m/config.json"));
  return models::MakeChronos2(config);
}

struct Series {
  std::vector<double> past, future;
};
using Group = std::vector<Series>;

class Runner {
 public:
  explicit Runner(const Chronos2TestSizes& sizes) : sizes_(sizes), model_(*Make(sizes.Json())) {}

  const Model& model() const { return *model_; }

  graph::Graph BuildGraph(const Variant& variant) const {
    graph::GraphBuilder b;
    model_->Build(b, variant);
    auto graph = b.Finish();
    EXPECT_TRUE(graph.ok()) << graph.status();
    return *std::move(graph);
  }

  // [row][step * levels + level], rows of all groups one after another.
  std::vector<std::vector<double>> Forecast(const std::vector<Group>& groups, int64_t patches,
                                            const Variant& variant) {
    const int64_t steps = patches * sizes_.patch;
    int64_t rows = 0, tokens = 0;
    for (const Group& group : groups) {
      for (const Series& s : group) {
        ++rows;
        tokens += model_->Tokens(static_cast<int64_t>(s.past.size()), steps);
      }
    }
    graph::Graph graph = BuildGraph(variant);
    const Extents capacity = model_->Capacity(rows, tokens);
    if (!variant.published) graph = graph::GatherEarly(graph::FuseLinear(graph), capacity);
    auto plan = plan::Plan::Make(graph, std::make_shared<plan::Weights>(weights_),
                                 {.capacity = capacity, .isa = *IsaFromEnvironment()});
    EXPECT_TRUE(plan.ok()) << plan.status();
    auto workspace = *plan::Workspace::Make(*plan, 1);
    codec_ = model_->MakeCodec(rows, tokens, Isa::kV2);
    Fill(groups, steps, *workspace);
    EXPECT_TRUE(workspace->Run(nullptr).ok());
    const View outputs[] = {workspace->Output(0)};
    std::vector<std::vector<double>> out(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) {
      out[static_cast<size_t>(i)].resize(static_cast<size_t>(steps) * model_->info().levels.size());
      codec_->Read(outputs, i, out[static_cast<size_t>(i)]);
    }
    return out;
  }

  Chronos2Reference Reference(int64_t patches) const {
    return {.sizes = sizes_,
            .patches = static_cast<int>(patches),
            .levels = static_cast<int>(model_->info().levels.size()),
            .weight = [this](const std::string& name) { return weights_->Doubles(name); }};
  }

  const Codec& codec() const { return *codec_; }

 private:
  void Fill(const std::vector<Group>& groups, int64_t steps, plan::Workspace& workspace) {
    std::vector<View> inputs;
    for (size_t i = 0; i < workspace.plan().inputs().size(); ++i) inputs.push_back(workspace.Input(i));
    codec_->Begin(inputs, steps);
    std::vector<Row> rows;
    for (const Group& group : groups) {
      rows.clear();
      for (const Series& s : group) rows.push_back({s.past, s.future});
      codec_->Add(rows);
    }
    const std::vector<std::string> names = model_->dimensions();
    std::vector<int64_t> extents(names.size()), ordered;
    codec_->Finish(extents);
    for (const std::string& name : workspace.plan().dimensions()) {
      ordered.push_back(
          extents[static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin())]);
    }
    ASSERT_TRUE(workspace.SetExtents(ordered).ok());
  }

  const Chronos2TestSizes sizes_;
  std::unique_ptr<Model> model_;
  std::shared_ptr<MadeWeights> weights_ = std::make_shared<MadeWeights>();
  std::unique_ptr<Codec> codec_;
};

std::vector<double> Walk(size_t steps, unsigned seed, double level = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> y;
  for (size_t i = 0; i < steps; ++i) y.push_back((y.empty() ? level : y.back()) + normal(random));
  return y;
}

std::vector<double> WithGaps(std::vector<double> y, size_t begin, size_t end) {
  std::fill(y.begin() + static_cast<ptrdiff_t>(begin), y.begin() + static_cast<ptrdiff_t>(end), kGap);
  return y;
}

// Two rows with a covariate that is known ahead in part, lengths that differ, whole patches missing, a row
// of gaps, one without any past, and a constant.
std::vector<Group> Groups() {
  std::vector<double> partly = Walk(20, 4);
  partly[3] = partly[11] = kGap;
  return {{{Walk(61, 1), {}}, {WithGaps(Walk(45, 2, 100), 10, 33), {}}, {Walk(61, 3), Walk(32, 5)}},
          {{std::vector<double>(30, kGap), {}}, {Walk(17, 6), partly}},
          {{Walk(50, 7), {}}},
          {{{}, {}}},
          {{std::vector<double>(24, 7.5), {}}, {{4.0}, {5.0, 6.0}}}};
}

std::vector<Chronos2Reference::Series> Flat(const std::vector<Group>& groups) {
  std::vector<Chronos2Reference::Series> flat;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const Series& s : groups[g]) flat.push_back({s.past, s.future, static_cast<int>(g)});
  }
  return flat;
}

std::vector<Group> Alone(const std::vector<Group>& groups) {
  std::vector<Group> alone;
  for (const Group& group : groups) {
    for (const Series& s : group) alone.push_back({s});
  }
  return alone;
}

// A chain of sums of at most about 100 terms in float, each wrong by up to 100 * 2^-24 = 6e-6 of its terms:
// three times that of the largest value of a row.
void ExpectNear(const std::vector<std::vector<double>>& ours, const std::vector<std::vector<double>>& right) {
  ASSERT_EQ(ours.size(), right.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    ASSERT_EQ(ours[i].size(), right[i].size());
    double largest = 0, off = 0;
    for (size_t k = 0; k < right[i].size(); ++k) {
      largest = std::max(largest, std::abs(right[i][k]));
      off = std::max(off, std::isfinite(ours[i][k]) ? std::abs(ours[i][k] - right[i][k]) : INFINITY);
    }
    EXPECT_LE(off, 2e-5 * largest) << "row " << i;
  }
}

// ---- Against the reference ----------------------------------------------------------------------------

struct NamedSizes {
  const char* name;
  Chronos2TestSizes sizes;
};

class Chronos2SizesTest : public testing::TestWithParam<NamedSizes> {};

TEST_P(Chronos2SizesTest, AgreesWithTheReferenceInEveryVariant) {
  Runner runner(GetParam().sizes);
  const std::vector<Group> groups = Groups();
  for (const int64_t patches : {int64_t{1}, int64_t{3}}) {
    for (const bool grouped : {true, false}) {
      const std::vector<Group> run = grouped ? groups : Alone(groups);
      const auto published = runner.Forecast(run, patches, {.grouped = grouped, .published = true});
      ExpectNear(published, runner.Reference(patches).Forecast(Flat(run)));
      ExpectNear(runner.Forecast(run, patches, {.grouped = grouped}), published);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, Chronos2SizesTest,
    testing::Values(NamedSizes{"published_ratios", {}},
                    NamedSizes{"heads_wider_than_the_model", {.d = 10, .d_kv = 8, .heads = 3}},
                    NamedSizes{"overlapping_patches", {.stride = 4}},
                    NamedSizes{"patches_with_steps_between", {.patch = 4, .stride = 6, .future = 3}},
                    NamedSizes{"odd_patches", {.context = 61, .patch = 5, .stride = 5}},
                    NamedSizes{"patches_of_one_step", {.patch = 1, .stride = 1}},
                    NamedSizes{"no_arcsinh", {.arcsinh = false}},
                    NamedSizes{"one_level", {.levels = "[0.5]"}}, NamedSizes{"no_blocks", {.layers = 0}},
                    NamedSizes{"one_block", {.layers = 1}}, NamedSizes{"three_blocks", {.layers = 3}},
                    NamedSizes{"gelu", {.act = "gelu"}},
                    NamedSizes{"other_scales", {.time_scale = 7, .theta = 50}}),
    [](const auto& info) { return std::string(info.param.name); });

// ---- What a result may depend on ----------------------------------------------------------------------

TEST(Chronos2Test, AGroupOfOneHasTheSameBitsInEitherVariant) {
  Runner runner(Chronos2TestSizes{});
  const std::vector<Group> alone = Alone(Groups());
  EXPECT_EQ(runner.Forecast(alone, 3, {.grouped = true}), runner.Forecast(alone, 3, {.grouped = false}));
  // And beside groups of several.
  std::vector<Group> mixed = Groups();
  mixed.insert(mixed.begin(), alone[0]);
  EXPECT_EQ(runner.Forecast(mixed, 3, {.grouped = true})[0], runner.Forecast({alone[0]}, 3, {})[0]);
}

TEST(Chronos2Test, AGroupDoesNotFeelItsNeighbours) {
  Runner runner(Chronos2TestSizes{});
  const std::vector<Group> groups = Groups();
  const auto together = runner.Forecast(groups, 4, {.grouped = true});
  std::vector<std::vector<double>> alone, backwards;
  for (const Group& group : groups) {
    for (auto& row : runner.Forecast({group}, 4, {.grouped = true})) alone.push_back(row);
  }
  EXPECT_EQ(together, alone);
  const std::vector<Group> reversed(groups.rbegin(), groups.rend());
  const auto other = runner.Forecast(reversed, 4, {.grouped = true});
  size_t end = other.size();
  for (const Group& group : groups) {
    end -= group.size();
    for (size_t i = 0; i < group.size(); ++i) backwards.push_back(other[end + i]);
  }
  EXPECT_EQ(together, backwards);
}

TEST(Chronos2Test, TheOrderOfRowsInAGroupMattersUpToRounding) {
  Runner runner(Chronos2TestSizes{});
  Group group = Groups()[0];
  auto forward = runner.Forecast({group}, 2, {.grouped = true});
  std::reverse(group.begin(), group.end());
  const auto backward = runner.Forecast({group}, 2, {.grouped = true});
  std::reverse(forward.begin(), forward.end());
  ExpectNear(backward, forward);
}

TEST(Chronos2Test, RowsOfAGroupSeeEachOther) {
  Runner runner(Chronos2TestSizes{});
  const Group group = Groups()[0];
  const auto together = runner.Forecast({group}, 2, {.grouped = true});
  const auto alone = runner.Forecast({{group[0]}}, 2, {.grouped = true});
  EXPECT_NE(together[0], alone[0]);
  Group other = group;
  other[2].future[1] += 1;
  EXPECT_NE(runner.Forecast({other}, 2, {.grouped = true})[0], together[0]);
}

TEST(Chronos2Test, GapsInFrontAndBehindCountForNothing) {
  Runner runner(Chronos2TestSizes{});
  const Series plain{Walk(20, 1), {}};
  Series padded = plain;
  padded.past.insert(padded.past.begin(), 40, kGap);
  padded.future.assign(9, kGap);
  const auto expected = runner.Forecast({{plain}}, 3, {});
  EXPECT_EQ(runner.Forecast({{padded}}, 3, {}), expected);
  // Only the last steps of a long past are seen, only the first of a long future.
  Series longer{Walk(100, 2), Walk(100, 3)}, cut = longer;
  cut.past.erase(cut.past.begin(), cut.past.begin() + 36);
  cut.future.resize(16);
  EXPECT_EQ(runner.Forecast({{longer}}, 2, {}), runner.Forecast({{cut}}, 2, {}));
  // Nothing observed, and nothing at all.
  const std::vector<double> gaps(33, kGap);
  EXPECT_EQ(runner.Forecast({{{gaps, {}}}}, 2, {}), runner.Forecast({{{{}, {}}}}, 2, {}));
}

TEST(Chronos2Test, StaysFiniteAtTheEndsOfDouble) {
  for (const bool arcsinh : {true, false}) {
    Runner runner(Chronos2TestSizes{.arcsinh = arcsinh});
    std::vector<double> huge = Walk(30, 1);
    for (double& y : huge) y *= 1e300;
    const std::vector<double> level(30, 3.0), far{1e308, -1e308, std::numeric_limits<double>::infinity()};
    for (const Series& s : {Series{huge, huge}, Series{level, arcsinh ? far : level}}) {
      const auto forecast = runner.Forecast({{s}}, 1, {});
      for (const double y : forecast[0]) EXPECT_TRUE(std::isfinite(y)) << y;
    }
  }
}

TEST(Chronos2Test, SaysWhereItsTokensStandInThePaddedOriginal) {
  Runner runner(Chronos2TestSizes{});
  const Group group{{WithGaps(Walk(30, 1), 0, 9), {}}, {Walk(17, 2), {}}};  // 4 patches, the first empty; 3
  runner.Forecast({group}, 2, {.grouped = true});
  std::vector<std::pair<int64_t, int64_t>> got;
  for (const Origin& o : runner.codec().Origins()) got.emplace_back(o.row, o.position);
  using P = std::pair<int64_t, int64_t>;
  EXPECT_THAT(got, ElementsAre(P(0, 1), P(0, 2), P(0, 3), P(0, 4), P(0, 5), P(0, 6),  //
                               P(1, 1), P(1, 2), P(1, 3), P(1, 4), P(1, 5), P(1, 6)));
}

TEST(Chronos2Test, TheCodecAllocatesOnlyWhenItIsMade) {
  const auto model = *Make(Chronos2TestSizes{}.Json());
  const std::vector<Group> groups = Groups();
  std::vector<std::vector<Row>> rows;
  for (const Group& group : groups) {
    rows.emplace_back();
    for (const Series& s : group) rows.back().push_back({s.past, s.future});
  }
  const auto codec = model->MakeCodec(16, 200, Isa::kV2);
  graph::GraphBuilder b;
  model->Build(b, {.grouped = true});
  const graph::Graph graph = *b.Finish();
  auto plan = *plan::Plan::Make(graph, std::make_shared<plan::Weights>(std::make_shared<MadeWeights>()),
                                {.capacity = model->Capacity(16, 200)});
  auto workspace = *plan::Workspace::Make(plan, 1);
  std::vector<View> inputs;
  for (size_t i = 0; i < plan->inputs().size(); ++i) inputs.push_back(workspace->Input(i));
  const View outputs[] = {workspace->Output(0)};
  std::vector<int64_t> extents(model->dimensions().size());
  std::vector<double> quantiles(static_cast<size_t>(model->info().horizon) * 3);
  const AllocationCounter allocations;
  for (int run = 0; run < 2; ++run) {
    codec->Begin(inputs, model->info().horizon);
    for (const auto& group : rows) codec->Add(group);
    codec->Finish(extents);
    codec->Read(outputs, 0, quantiles);
  }
  EXPECT_LE(allocations.count(), 0);  // -1 where they cannot be counted
}

}  // namespace
}  // namespace plinth::engine
