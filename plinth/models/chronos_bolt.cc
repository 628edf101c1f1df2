// Chronos-Bolt in one file: sizes, network, and the way from a series to patches and back.
// docs/models/chronos-bolt.md defines it in words.
#include "plinth/models/chronos_bolt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "plinth/models/chronos_blocks.h"
#include "plinth/ops/attention/op.h"
#include "plinth/ops/binary/op.h"
#include "plinth/ops/concat/op.h"
#include "plinth/ops/gather/op.h"
#include "plinth/ops/linear/op.h"
#include "plinth/ops/matmul/op.h"
#include "plinth/ops/permute/op.h"
#include "plinth/ops/reshape/op.h"
#include "plinth/ops/slice/op.h"
#include "plinth/series/quantiles.h"

namespace plinth::models {
namespace {

using ops::Scope;
using ops::Value;

size_t At(int64_t i) { return static_cast<size_t>(i); }

struct Sizes {
  int64_t context, horizon, d, d_kv, d_ff, heads, layers, decoder_layers, buckets, most_distance, start_id;
  PatchGrid grid;
  double eps;
  bool reg;  // a token of its own behind the last patch
  ChronosActivation act;
  std::vector<double> levels;

  int64_t inner() const { return heads * d_kv; }
  int64_t vocabulary() const { return reg ? 2 : 1; }
  int64_t features() const { return 2 * grid.size; }
  int64_t quantiles() const { return static_cast<int64_t>(levels.size()); }
  // A row without a patch has one token all the same.
  int64_t tokens(int64_t steps) const {
    return std::max<int64_t>(grid.Count(std::min(steps, context)) + (reg ? 1 : 0), 1);
  }
};

// ---- The network --------------------------------------------------------------------------------------

constexpr int64_t kRegId = 1;

// Inputs in the order of the codec below.
enum Input : size_t {
  kPatches,       // f32 [patches, values and their mask]
  kTokenSources,  // i32 [tokens], 0 for REG, else a patch counted from 1; only with REG
  kVisible,       // u8 [tokens], 0 where nothing of the patch is observed
  kTokenOffsets,  // i32 [rows + 1], the tokens of each row
  kRowOffsets,    // i32 [rows + 1], 0, 1, 2, ...: the decoder's one token for each row
  kHeadOffsets,   // i32 [rows + 1], multiples of the heads
  kFirst,         // i32 [rows], zeros
  kInputs
};

class Network {
 public:
  Network(graph::GraphBuilder& b, const Sizes& s, bool published) : b_(b), s_(s), published_(published) {}

  void Build() {
    const Dim tokens = Dim::Named("tokens"), rows = Dim::Named("rows"), bounds = Dim::Named("rows", 1, 1);
    const Dim patches = s_.reg ? Dim::Named("patches") : tokens;
    const Value features = b_.Input("patches", {DType::kF32, {patches, s_.features()}});
    const Value sources = b_.Input("token_sources", {DType::kI32, {tokens}});
    visible_ = b_.Input("visible", {DType::kU8, {tokens}});
    token_offsets_ = b_.Input("token_offsets", {DType::kI32, {bounds}});
    row_offsets_ = b_.Input("row_offsets", {DType::kI32, {bounds}});
    head_offsets_ = b_.Input("head_offsets", {DType::kI32, {bounds}});
    first_ = b_.Input("first", {DType::kI32, {rows}});

    // For captures; nobody reads it.
    if (published_) b_.Name(ops::Slice(b_, features, 1, 0, s_.grid.size), "patch");
    Value x =
        ResidualBlock(b_, "input_patch_embedding", features, s_.features(), s_.d_ff, s_.d, s_.act.function);
    if (s_.reg) x = ops::Gather(b_, ops::Concat(b_, {Embedding(kRegId, true), x}, 0), sources);
    const Value y = Decode(Encode(x));
    const int64_t results = s_.quantiles() * s_.horizon;
    b_.Output("quantiles",
              ResidualBlock(b_, "output_patch_embedding", y, s_.d, s_.d_ff, results, s_.act.function));
  }

 private:
  // [1, d]. `named`: it is the one that the original embeds first.
  Value Embedding(int64_t id, bool named) {
    Scope scope(b_, "shared");
    const Value table = b_.Constant("weight", DType::kF32, {s_.vocabulary(), s_.d});
    const Value row = ops::Slice(b_, table, 0, id, id + 1);
    return named ? b_.Name(row) : row;
  }

  Value Norm(const char* name, Value x) { return RootMeanNorm(b_, name, x, s_.d, s_.eps); }
  Value In(const char* name, Value x) { return ProjectPlain(b_, name, x, s_.d, s_.inner()); }
  Value Out(Value x) { return ProjectPlain(b_, "o", x, s_.inner(), s_.d); }

  // [heads, 2 length - 1], by distance. The first block's table serves all blocks.
  Value PositionBias(int64_t length) {
    Scope block(b_, "block.0.layer.0.SelfAttention.relative_attention_bias");
    const Value table = b_.Constant("weight", DType::kF32, {s_.buckets, s_.heads});
    const Value rows =
        b_.LiteralI32("buckets", RelativeBuckets(length, s_.buckets, s_.most_distance), {2 * length - 1});
    return ops::Permute(b_, ops::Gather(b_, table, rows), {1, 0});
  }

  Value FeedForward(const char* layer, Value x) {
    Scope scope(b_, layer);
    const Value y = Norm("layer_norm", x);
    Scope inside(b_, "DenseReluDense");
    Value h;
    if (s_.act.gated) {
      h = Activate(b_, s_.act.function, ProjectPlain(b_, "wi_0", y, s_.d, s_.d_ff));
      h = ops::Mul(b_, h, ProjectPlain(b_, "wi_1", y, s_.d, s_.d_ff));
    } else {
      h = Activate(b_, s_.act.function, ProjectPlain(b_, "wi", y, s_.d, s_.d_ff));
    }
    return b_.Name(ProjectPlain(b_, "wo", h, s_.d_ff, s_.d));
  }

  // x [tokens, d]. Scores are not scaled anywhere: training has absorbed the factor into the weights.
  Value Encode(Value x) {
    Scope scope(b_, "encoder");
    const Value bias = PositionBias(s_.tokens(s_.context));
    for (int64_t i = 0; i < s_.layers; ++i) {
      Scope block(b_, StrCat("block.", i));
      x = Sum("layer.0", x, EncoderAttention(x, bias));
      x = Sum("layer.1", x, FeedForward("layer.1", x));
      b_.Name(x);
    }
    return b_.Name(Norm("final_layer_norm", x));
  }

  Value Sum(const char* layer, Value x, Value y) {
    Scope scope(b_, layer);
    return b_.Name(ops::Add(b_, x, y));
  }

  Value EncoderAttention(Value x, Value bias) {
    Scope layer(b_, "layer.0");
    const Value y = Norm("layer_norm", x);
    Scope scope(b_, "SelfAttention");
    const auto [q, k, v] = QueriesKeysValues(y);
    const Value mixed = ops::Attention(b_, q, k, v, token_offsets_, s_.heads,
                                       {.key_mask = visible_, .bias = bias, .scale = 1});
    return b_.Name(Out(mixed));
  }

  std::array<Value, 3> QueriesKeysValues(Value y) {
    if (published_) return {In("q", y), In("k", y), In("v", y)};
    const Value all = ProjectTogether(b_, {"q", "k", "v"}, y, s_.d, s_.inner());
    const auto part = [&](int64_t i) { return ops::Slice(b_, all, 1, i * s_.inner(), (i + 1) * s_.inner()); };
    return {part(0), part(1), part(2)};
  }

  // x [tokens, d] -> [rows, d].
  Value Decode(Value x) {
    const Value start = Embedding(s_.start_id, !s_.reg);
    Scope scope(b_, "decoder");
    // In the published form each row has its own copy from the start; else from where rows differ.
    Value y = published_ ? ops::Gather(b_, start, first_) : start;
    const Value bias = published_ ? PositionBias(1) : ops::kNone;
    for (int64_t i = 0; i < s_.decoder_layers; ++i) {
      Scope block(b_, StrCat("block.", i));
      y = Sum("layer.0", y, DecoderAttention(y, bias));
      const Value other = CrossAttention(y, x, /*one=*/i == 0);
      if (i == 0 && !published_) y = ops::Gather(b_, y, first_);
      y = Sum("layer.1", y, other);
      y = Sum("layer.2", y, FeedForward("layer.2", y));
      b_.Name(y);
    }
    return b_.Name(Norm("final_layer_norm", y));
  }

  // A token that sees nothing but itself has weight 1 there, whatever its score.
  Value DecoderAttention(Value x, Value bias) {
    Scope layer(b_, "layer.0");
    const Value y = Norm("layer_norm", x);
    Scope scope(b_, "SelfAttention");
    if (!published_) return b_.Name(Out(In("v", y)));
    const Value mixed = ops::Attention(b_, In("q", y), In("k", y), In("v", y), row_offsets_, s_.heads,
                                       {.bias = bias, .scale = 1});
    return b_.Name(Out(mixed));
  }

  // y [rows, d], or [1, d] where all rows are alike still; x [tokens, d].
  Value CrossAttention(Value y, Value x, bool one) {
    Scope layer(b_, "layer.1");
    y = Norm("layer_norm", y);
    Scope scope(b_, "EncDecAttention");
    const Value q = In("q", y);
    if (!published_) return b_.Name(Out(Absorbed(q, x, one)));
    const Value mixed = ops::Attention(b_, q, In("k", x), In("v", x), row_offsets_, s_.heads,
                                       {.kv_offsets = token_offsets_, .key_mask = visible_, .scale = 1});
    return b_.Name(Out(mixed));
  }

  // The same mix without keys and values: q . (x W_k^T) = (q W_k) . x and p (x W_v^T) = (p x) W_v^T, head by
  // head. There is one query for each row and many tokens, so that the weights meet far fewer numbers. The
  // heads of a row become its queries, and its tokens are their keys and values.
  Value Absorbed(Value q, Value x, bool one) {
    const auto by_head = [&](const char* name) {
      Scope scope(b_, name);
      const Value weight = b_.Constant("weight", DType::kF32, {s_.inner(), s_.d});
      return ops::Reshape(b_, weight, {s_.heads, s_.d_kv, s_.d});
    };
    q = ops::Permute(b_, ops::Reshape(b_, q, {0, s_.heads, s_.d_kv}), {1, 0, 2});
    q = ops::Permute(b_, ops::Matmul(b_, q, by_head("k")), {1, 0, 2});  // [rows, heads, d]
    if (one) q = ops::Gather(b_, ops::Reshape(b_, q, {0, s_.heads * s_.d}), first_);
    Value y = ops::Attention(b_, ops::Reshape(b_, q, {-1, s_.d}), x, x, head_offsets_, /*heads=*/1,
                             {.kv_offsets = token_offsets_, .key_mask = visible_, .scale = 1});
    y = ops::Permute(b_, ops::Reshape(b_, y, {-1, s_.heads, s_.d}), {1, 0, 2});
    y = ops::Permute(b_, ops::Matmul(b_, y, by_head("v"), {.transpose_b = true}), {1, 0, 2});
    return ops::Reshape(b_, y, {0, s_.inner()});
  }

  graph::GraphBuilder& b_;
  const Sizes& s_;
  const bool published_;
  Value visible_, token_offsets_, row_offsets_, head_offsets_, first_;
};

// ---- Rows to patches and back -------------------------------------------------------------------------

class ChronosBoltCodec : public Codec {
 public:
  ChronosBoltCodec(const Sizes& s, int64_t rows, int64_t tokens)
      : s_(s), z_(At(s.context)), observed_(At(s.context)) {
    scales_.reserve(At(rows));
    counts_.reserve(At(rows));
    origins_.reserve(At(tokens));
  }

  void Begin(absl::Span<const View> inputs, int64_t) override {
    std::copy(inputs.begin(), inputs.end(), inputs_);
    scales_.clear();
    counts_.clear();
    origins_.clear();
    patches_ = 0;
    for (const Input offsets : {kTokenOffsets, kRowOffsets, kHeadOffsets}) Ints(offsets)[0] = 0;
  }

  void Add(std::span<const Row> group) override {
    PLINTH_CHECK_EQ(group.size(), 1u);
    const std::span<const double> past = group[0].past;
    const series::Scale scale = ChronosScale(past);
    z_now_ = std::span(z_).first(past.size());
    observed_now_ = std::span(observed_).first(past.size());
    series::Standardise(past, scale, z_now_, observed_now_);

    const auto row = static_cast<int64_t>(scales_.size()), steps = static_cast<int64_t>(past.size());
    const int64_t patches = s_.grid.Count(steps);
    // Tokens are told apart by their distance from each other and hidden ones are seen by nobody, so the
    // first ones may be missing where they are hidden.
    int64_t first = 0;
    while (first < patches && !AnyObserved(s_.grid.Begin(steps, first))) ++first;
    for (int64_t i = first; i < patches; ++i) AddPatch(row, i, s_.grid.Begin(steps, i));
    if (s_.reg) {
      AddToken(row, patches, 0, true);
    } else if (first == patches) {
      // The original mixes all its hidden patches evenly then, and they are all the same.
      AddPatch(row, std::max<int64_t>(patches - 1, 0), -s_.grid.size);
      Visible(origins_.size() - 1) = 1;
    }
    scales_.push_back(scale);
    counts_.push_back(s_.tokens(steps));
    Ints(kFirst)[row] = 0;
    Ints(kTokenOffsets)[row + 1] = static_cast<int32_t>(origins_.size());
    Ints(kRowOffsets)[row + 1] = static_cast<int32_t>(row + 1);
    Ints(kHeadOffsets)[row + 1] = static_cast<int32_t>((row + 1) * s_.heads);
  }

  void Finish(std::span<int64_t> extents) override {
    extents[0] = static_cast<int64_t>(origins_.size());
    extents[1] = static_cast<int64_t>(scales_.size());
    if (s_.reg) extents[2] = patches_;
  }

  // The network gives all steps of one level after another.
  void Read(absl::Span<const View> outputs, int64_t i, std::span<double> quantiles) const override {
    const int64_t levels = s_.quantiles(), steps = s_.horizon;
    const float* from = outputs[0].as<float>() + i * levels * steps;
    const series::Scale& scale = scales_[At(i)];
    for (int64_t q = 0; q < levels; ++q) {
      for (int64_t h = 0; h < steps; ++h) {
        quantiles[At(h * levels + q)] = scale.loc + scale.scale * static_cast<double>(from[q * steps + h]);
      }
    }
  }

  std::vector<Origin> Origins() const override {
    const int64_t longest = counts_.empty() ? 0 : *std::max_element(counts_.begin(), counts_.end());
    std::vector<Origin> origins = origins_;
    for (Origin& o : origins) o.position += longest - counts_[At(o.row)];
    return origins;
  }

 private:
  int32_t* Ints(Input i) const { return inputs_[i].as<int32_t>(); }
  uint8_t& Visible(size_t token) const { return inputs_[kVisible].as<uint8_t>()[token]; }

  bool Observed(int64_t t) const {
    return t >= 0 && t < static_cast<int64_t>(observed_now_.size()) && observed_now_[At(t)] != 0;
  }
  bool AnyObserved(int64_t begin) const {
    for (int64_t t = begin; t < begin + s_.grid.size; ++t) {
      if (Observed(t)) return true;
    }
    return false;
  }

  void AddToken(int64_t row, int64_t position, int32_t source, bool visible) {
    Visible(origins_.size()) = visible ? 1 : 0;
    Ints(kTokenSources)[origins_.size()] = source;
    origins_.push_back({row, position});
  }

  // Patch `i` of the row, from step `begin` on: its values, 0 in gaps, then 1 for each that is observed.
  void AddPatch(int64_t row, int64_t i, int64_t begin) {
    float* const values = inputs_[kPatches].as<float>() + patches_ * s_.features();
    for (int64_t k = 0; k < s_.grid.size; ++k) {
      const bool seen = Observed(begin + k);
      values[k] = seen ? static_cast<float>(z_now_[At(begin + k)]) : 0.0f;
      values[s_.grid.size + k] = seen ? 1.0f : 0.0f;
    }
    AddToken(row, i, static_cast<int32_t>(++patches_), AnyObserved(begin));
  }

  const Sizes s_;
  View inputs_[kInputs];
  int64_t patches_ = 0;
  std::vector<series::Scale> scales_;
  std::vector<int64_t> counts_;  // tokens of each row, those left out too
  std::vector<Origin> origins_;  // positions within their row
  // The row being added.
  std::vector<double> z_;
  std::vector<uint8_t> observed_;
  std::span<double> z_now_;
  std::span<uint8_t> observed_now_;
};

// ---- The family ---------------------------------------------------------------------------------------

class ChronosBolt : public Model {
 public:
  explicit ChronosBolt(Sizes s) : s_(std::move(s)) {
    info_ = {.family = "chronos_bolt",
             .description = "T5 over patches of a series, all quantiles of all steps in one pass",
             .context_length = s_.context,
             .horizon = s_.horizon,
             .stride = s_.horizon,
             .levels = s_.levels,
             .sizes = {{"input_patch_size", s_.grid.size},
                       {"input_patch_stride", s_.grid.stride},
                       {"d_model", s_.d},
                       {"num_layers", s_.layers},
                       {"num_decoder_layers", s_.decoder_layers},
                       {"num_heads", s_.heads},
                       {"d_kv", s_.d_kv},
                       {"d_ff", s_.d_ff}},
             .continuation = {.paths = s_.levels, .weigh = Continuation::Weigh::kAlike}};
    // Not above: GCC 12 warns of a list that may be cut short by an exception.
    info_.licence = "Apache-2.0";
    info_.limits = {"each series by itself: no covariates, no joint targets",
                    StrCat("beyond ", s_.horizon, " steps its own quantiles are fed back: ", s_.levels.size(),
                           " times the work for each further pass, and bands that grow less sure")};
  }
  const ModelInfo& info() const override { return info_; }
  void Build(graph::GraphBuilder& b, const Variant& variant) const override {
    Network(b, s_, variant.published).Build();
  }
  std::vector<std::string> dimensions() const override {
    if (s_.reg) return {"tokens", "rows", "patches"};
    return {"tokens", "rows"};
  }
  plinth::Extents Capacity(int64_t rows, int64_t tokens) const override {
    return {{"tokens", tokens}, {"rows", rows}, {"patches", tokens}};
  }
  int64_t Tokens(int64_t past, int64_t) const override { return s_.tokens(past); }
  std::vector<std::string> IgnoredWeights() const override {
    return {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"};
  }
  std::unique_ptr<Codec> MakeCodec(int64_t rows, int64_t tokens, Isa) const override {
    return std::make_unique<ChronosBoltCodec>(s_, rows, tokens);
  }

 private:
  Sizes s_;
  ModelInfo info_;
};

constexpr int64_t kMostSteps = 1 << 20;

// What T5 itself defines; its defaults hold where a key is absent.
Status ReadT5(const formats::Config& config, Sizes* s) {
  PLINTH_ASSIGN_OR_RETURN(s->d, config.IntOr("d_model", 1, 65536, 512));
  PLINTH_ASSIGN_OR_RETURN(s->d_kv, config.IntOr("d_kv", 1, 65536, 64));
  PLINTH_ASSIGN_OR_RETURN(s->d_ff, config.IntOr("d_ff", 1, 1 << 20, 2048));
  PLINTH_ASSIGN_OR_RETURN(s->heads, config.IntOr("num_heads", 1, 1024, 8));
  PLINTH_ASSIGN_OR_RETURN(s->layers, config.IntOr("num_layers", 1, 1024, 6));
  PLINTH_ASSIGN_OR_RETURN(s->decoder_layers, config.IntOr("num_decoder_layers", 1, 1024, s->layers));
  PLINTH_ASSIGN_OR_RETURN(s->buckets, config.IntOr("relative_attention_num_buckets", 4, 65536, 32));
  PLINTH_ASSIGN_OR_RETURN(
      s->most_distance, config.IntOr("relative_attention_max_distance", s->buckets / 4 + 1, kMostSteps, 128));
  PLINTH_ASSIGN_OR_RETURN(s->eps, config.RealOr("layer_norm_epsilon", 0, 1, 1e-6));
  PLINTH_ASSIGN_OR_RETURN(s->act, ReadChronosActivation(config));
  return absl::OkStatus();
}

StatusOr<Sizes> ReadSizes(const formats::Config& config) {
  Sizes s{};
  PLINTH_RETURN_IF_ERROR(ReadT5(config, &s));
  PLINTH_ASSIGN_OR_RETURN(const formats::Config chronos, config.Section("chronos_config"));
  PLINTH_ASSIGN_OR_RETURN(s.context, chronos.Int("context_length", 1, kMostSteps));
  PLINTH_ASSIGN_OR_RETURN(s.horizon, chronos.Int("prediction_length", 1, 1 << 16));
  PLINTH_ASSIGN_OR_RETURN(s.grid.size, chronos.Int("input_patch_size", 1, 65536));
  PLINTH_ASSIGN_OR_RETURN(s.grid.stride, chronos.Int("input_patch_stride", 1, kMostSteps));
  PLINTH_ASSIGN_OR_RETURN(s.reg, chronos.FlagOr("use_reg_token", false));
  PLINTH_ASSIGN_OR_RETURN(s.levels, chronos.Reals("quantiles", 0, 1, 1000));
  PLINTH_ASSIGN_OR_RETURN(s.start_id, config.IntOr("decoder_start_token_id", 0, s.vocabulary() - 1, 0));
  const auto normal = series::NormaliseQuantiles(s.levels);
  if (!normal.ok()) return Prepend(normal.status(), StrCat(config.where(), ": \"quantiles\""));
  if (*normal != s.levels) {
    return absl::InvalidArgumentError(
        StrCat(config.where(), ": \"chronos_config.quantiles\" must be ascending levels, each once"));
  }
  return s;
}

}  // namespace

std::vector<int32_t> RelativeBuckets(int64_t length, int64_t buckets, int64_t most) {
  const int64_t half = buckets / 2, exact = half / 2;
  const auto widest = static_cast<float>(std::log(static_cast<double>(most) / static_cast<double>(exact)));
  std::vector<int32_t> rows;
  rows.reserve(At(2 * length - 1));
  for (int64_t distance = 1 - length; distance < length; ++distance) {
    int64_t bucket = std::abs(distance);
    if (bucket >= exact) {
      const float share = std::log(static_cast<float>(bucket) / static_cast<float>(exact)) / widest;
      const float beyond = share * static_cast<float>(half - exact);
      bucket = std::min(exact + static_cast<int64_t>(beyond), half - 1);
    }
    rows.push_back(static_cast<int32_t>(bucket + (distance > 0 ? half : 0)));
  }
  return rows;
}

StatusOr<std::unique_ptr<Model>> MakeChronosBolt(const formats::Config& config) {
  PLINTH_ASSIGN_OR_RETURN(Sizes sizes, ReadSizes(config));
  return std::unique_ptr<Model>(std::make_unique<ChronosBolt>(std::move(sizes)));
}

}  // namespace plinth::models
