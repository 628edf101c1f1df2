// Chronos-2: sizes and network. docs/models/chronos-2.md defines it in words; section numbers are that
// page's.
#include "plinth/models/chronos2.h"

#include <algorithm>

#include "plinth/models/chronos2_codec.h"
#include "plinth/ops/attention/op.h"
#include "plinth/ops/binary/op.h"
#include "plinth/ops/concat/op.h"
#include "plinth/ops/gather/op.h"
#include "plinth/ops/linear/op.h"
#include "plinth/ops/rotary/op.h"
#include "plinth/ops/slice/op.h"
#include "plinth/series/quantiles.h"

namespace plinth::models {
namespace {

using ops::Scope;
using ops::Value;
using Sizes = Chronos2Sizes;

constexpr int64_t kSharedRows = 2;  // of shared.weight: padding, register
constexpr int64_t kRegisterRow = 1;

// ---- The network (section 3) --------------------------------------------------------------------------

class Network {
 public:
  Network(graph::GraphBuilder& b, const Sizes& s, const Variant& variant)
      : b_(b), s_(s), v_(variant), inputs_(kChronos2Inputs) {}

  void Build() {
    DeclareInputs();
    Value x = Tokens();
    Scope encoder(b_, "encoder");
    bool future_only = false;  // x holds the future tokens alone
    for (int64_t i = 0; i < s_.layers; ++i) {
      Scope block(b_, StrCat("block.", i));
      // Of the last block nobody reads more; the keys and values of its time attention still are all tokens'.
      future_only = !v_.published && i + 1 == s_.layers;
      x = TimeLayer(x, future_only);
      x = GroupLayer(x, future_only);
      x = FeedForward(x);
    }
    if (!v_.published && !future_only) x = ops::Gather(b_, x, in(kFutureTokens));
    x = b_.Name(RootMeanNorm(b_, "final_layer_norm", x, s_.d, s_.eps));
    if (v_.published) x = ops::Gather(b_, x, in(kFutureTokens));
    head_ = x;
  }

  void BuildHead() {
    b_.Output("quantiles",
              ResidualBlock(b_, "output_patch_embedding", head_, s_.d, s_.d_ff, s_.head(), s_.act));
  }

 private:
  Value in(Chronos2Input input) const { return inputs_[input]; }

  void DeclareInputs() {
    const Dim tokens = Dim::Named("tokens"), future = Dim::Named("future");
    const auto ints = [&](Chronos2Input input, const char* name, const Dim& count) {
      inputs_[input] = b_.Input(name, {DType::kI32, {count}});
    };
    inputs_[kFeatures] = b_.Input("features", {DType::kF32, {tokens, s_.features()}});
    ints(kSources, "sources", tokens);
    ints(kPositions, "positions", tokens);
    ints(kOffsets, "offsets", Dim::Named("rows", 1, 1));
    ints(kFutureTokens, "future_tokens", future);
    ints(kFuturePositions, "future_positions", future);
    ints(kFutureOffsets, "future_offsets", Dim::Named("rows", 1, 1));
    if (!v_.grouped) return;
    ints(kOrder, "order", tokens);
    ints(kPlaces, "places", tokens);
    ints(kMeetings, "meetings", Dim::Named("meetings", 1, 1));
    ints(kFutureOrder, "future_order", future);
    ints(kFuturePlaces, "future_places", future);
    ints(kFutureMeetings, "future_meetings", Dim::Named("future_meetings", 1, 1));
  }

  // [tokens, d]: patches through the input block; the register is a row of `shared`.
  Value Tokens() {
    const int64_t patch = s_.grid.size;
    // For captures; nobody reads it.
    if (v_.published) b_.Name(ops::Slice(b_, in(kFeatures), 1, patch, 2 * patch), "patch");
    const Value patches =
        ResidualBlock(b_, "input_patch_embedding", in(kFeatures), s_.features(), s_.d_ff, s_.d, s_.act);
    return ops::Gather(b_, ops::Concat(b_, {Register(), patches}, 0), in(kSources));
  }

  // [1, d]
  Value Register() {
    Scope scope(b_, "shared");
    const Value shared = b_.Constant("weight", DType::kF32, {kSharedRows, s_.d});
    return b_.Name(ops::Slice(b_, shared, 0, kRegisterRow, kRegisterRow + 1));
  }

  Value Norm(Value x) { return RootMeanNorm(b_, "layer_norm", x, s_.d, s_.eps); }
  Value Inward(const char* name, Value x) { return ProjectPlain(b_, name, x, s_.d, s_.inner()); }
  Value Unnamed(const char* name, Value x) {
    Scope scope(b_, name);
    return ops::Linear(b_, x, b_.Constant("weight", DType::kF32, {s_.inner(), s_.d}));
  }
  Value Outward(Value x) { return ProjectPlain(b_, "o", x, s_.inner(), s_.d); }
  Value Turn(Value x, Value positions) {
    return ops::Rotary(b_, x, positions, {.heads = s_.heads, .head_dim = s_.d_kv, .theta = s_.theta});
  }

  // [tokens, 3 inner]: values pass through.
  Value TurnQueriesAndKeys(Value qkv) {
    return ops::Rotary(b_, qkv, in(kPositions),
                       {.heads = 2 * s_.heads, .head_dim = s_.d_kv, .theta = s_.theta});
  }
  Value Part(Value qkv, int64_t i) { return ops::Slice(b_, qkv, 1, i * s_.inner(), (i + 1) * s_.inner()); }

  // Every token of a row attends to all tokens of the row, by their distance in patches.
  Value TimeLayer(Value x, bool future_only) {
    Scope layer(b_, "layer.0");
    const Value all = Norm(x);
    Value asking = all, positions = in(kPositions), offsets = in(kOffsets);
    if (future_only) {
      asking = ops::Gather(b_, all, in(kFutureTokens));
      x = ops::Gather(b_, x, in(kFutureTokens));
      positions = in(kFuturePositions), offsets = in(kFutureOffsets);
    }
    Scope attention(b_, "self_attention");
    Value q, k, v;
    if (v_.published || future_only) {
      q = Turn(Inward("q", asking), positions);
      k = Turn(Inward("k", all), in(kPositions));
      v = Inward("v", all);
    } else {
      const Value qkv = TurnQueriesAndKeys(ProjectTogether(b_, {"q", "k", "v"}, all, s_.d, s_.inner()));
      q = Part(qkv, 0), k = Part(qkv, 1), v = Part(qkv, 2);
    }
    const Value y = ops::Attention(b_, q, k, v, offsets, s_.heads,
                                   {.kv_offsets = future_only ? in(kOffsets) : ops::kNone, .scale = 1});
    return ops::Add(b_, x, Outward(y));
  }

  // Tokens at one position of the rows of one group attend to each other.
  Value GroupLayer(Value x, bool future_only) {
    Scope layer(b_, "layer.1");
    const Value all = Norm(x);
    Scope attention(b_, "self_attention");
    if (v_.grouped) return ops::Add(b_, x, Outward(Meet(all, future_only)));
    if (v_.published) {
      // For captures; one key has all the weight, whatever its score.
      Inward("q", all);
      Inward("k", all);
    }
    return ops::Add(b_, x, Outward(Inward("v", all)));
  }

  Value Meet(Value x, bool future_only) {
    const Value order = in(future_only ? kFutureOrder : kOrder);
    const Value places = in(future_only ? kFuturePlaces : kPlaces);
    const Value meetings = in(future_only ? kFutureMeetings : kMeetings);
    Value q, k, v;
    if (v_.published) {
      q = ops::Gather(b_, Inward("q", x), order);
      k = ops::Gather(b_, Inward("k", x), order);
      v = ops::Gather(b_, Inward("v", x), order);
    } else {
      // Reordered before the projections, one copy does instead of three. Their results stand in another
      // order than tokens do and go without the names that captures look for.
      x = ops::Gather(b_, x, order);
      q = Unnamed("q", x), k = Unnamed("k", x), v = Unnamed("v", x);
    }
    return ops::Gather(b_, ops::Attention(b_, q, k, v, meetings, s_.heads, {.scale = 1}), places);
  }

  Value FeedForward(Value x) {
    Scope layer(b_, "layer.2");
    return b_.Name(ops::Add(b_, x, Mlp(Norm(x))));
  }

  Value Mlp(Value x) {
    Scope mlp(b_, "mlp");
    const Value inside = Activate(b_, s_.act, ProjectPlain(b_, "wi", x, s_.d, s_.d_ff));
    return b_.Name(ProjectPlain(b_, "wo", inside, s_.d_ff, s_.d));
  }

  graph::GraphBuilder& b_;
  const Sizes& s_;
  const Variant& v_;
  std::vector<Value> inputs_;
  Value head_;
};

// ---- The family ---------------------------------------------------------------------------------------

// Levels whose paths are followed beyond the horizon. The original asks for nine and refuses a model that
// lacks one; here a model follows those that it has, and all of its own where it has none.
std::vector<double> PathLevels(const std::vector<double>& levels) {
  std::vector<double> paths;
  const std::vector<double> deciles = series::Deciles();
  std::set_intersection(levels.begin(), levels.end(), deciles.begin(), deciles.end(),
                        std::back_inserter(paths));
  return paths.empty() ? levels : paths;
}

class Chronos2 : public Model {
 public:
  explicit Chronos2(Sizes s) : s_(std::move(s)) {
    const int64_t horizon = s_.future * s_.grid.size;
    const std::vector<double> paths = PathLevels(s_.levels);
    info_ = {.family = "chronos2",
             .description = "patch encoder over a series and its covariates, quantile forecasts",
             .context_length = s_.context,
             .horizon = horizon,
             .stride = s_.grid.size,
             .levels = s_.levels,
             .sizes = {{"input_patch_size", s_.grid.size},
                       {"input_patch_stride", s_.grid.stride},
                       {"d_model", s_.d},
                       {"num_layers", s_.layers},
                       {"num_heads", s_.heads},
                       {"d_kv", s_.d_kv},
                       {"d_ff", s_.d_ff}},
             .continuation = {.paths = paths, .weigh = Continuation::Weigh::kMass},
             .groups = true};
    // Not above: GCC 12 warns of a list that may be cut short by an exception.
    info_.licence = "Apache-2.0";
    info_.limits = {"every covariate and joint target is a row of its own: as much work as a series",
                    StrCat("beyond ", horizon, " steps its own quantiles are fed back: ", paths.size(),
                           " times the work for each further pass, and bands that grow less sure")};
  }

  const ModelInfo& info() const override { return info_; }
  void Build(graph::GraphBuilder& b, const Variant& variant) const override {
    Network network(b, s_, variant);
    network.Build();
    network.BuildHead();
  }
  std::vector<std::string> dimensions() const override {
    return {std::begin(kChronos2Dimensions), std::end(kChronos2Dimensions)};
  }
  Extents Capacity(int64_t rows, int64_t tokens) const override {
    const int64_t future = std::min(rows * s_.future, tokens);
    return {{"tokens", tokens},
            {"rows", rows},
            {"future", future},
            {"meetings", tokens},
            {"future_meetings", future}};
  }
  int64_t Tokens(int64_t past, int64_t steps) const override {
    return s_.grid.Count(std::min(past, s_.context)) + 1 + steps / s_.grid.size;
  }
  std::unique_ptr<Codec> MakeCodec(int64_t rows, int64_t tokens, Isa) const override {
    return std::make_unique<Chronos2Codec>(s_, rows, tokens);
  }

 private:
  Sizes s_;
  ModelInfo info_;
};

// ---- Configuration ------------------------------------------------------------------------------------

constexpr int64_t kMostSteps = 1 << 20;  // of history, and of one pass's forecast

Status ReadForecasting(const formats::Config& config, Sizes& s) {
  const std::vector<std::string> unknown = config.UnknownKeys(
      {"context_length", "output_patch_size", "input_patch_size", "input_patch_stride", "quantiles",
       "use_reg_token", "use_arcsinh", "max_output_patches", "time_encoding_scale"});
  if (!unknown.empty()) {
    return absl::InvalidArgumentError(StrCat(config.where(), ": \"chronos_config\" has the key \"",
                                             unknown[0], "\", which Chronos-2 does not know"));
  }
  PLINTH_ASSIGN_OR_RETURN(s.context, config.Int("context_length", 1, kMostSteps));
  PLINTH_ASSIGN_OR_RETURN(s.grid.size, config.Int("input_patch_size", 1, 4096));
  PLINTH_ASSIGN_OR_RETURN(s.grid.stride, config.Int("input_patch_stride", 1, 4096));
  PLINTH_ASSIGN_OR_RETURN(const int64_t output, config.Int("output_patch_size", 1, 4096));
  PLINTH_ASSIGN_OR_RETURN(s.future, config.IntOr("max_output_patches", 1, kMostSteps / s.grid.size, 1));
  PLINTH_ASSIGN_OR_RETURN(s.levels, config.Reals("quantiles", 0, 1, 1000));
  PLINTH_ASSIGN_OR_RETURN(const bool has_register, config.FlagOr("use_reg_token", false));
  PLINTH_ASSIGN_OR_RETURN(s.arcsinh, config.FlagOr("use_arcsinh", false));
  PLINTH_ASSIGN_OR_RETURN(s.time_scale,
                          config.RealOr("time_encoding_scale", 1e-3, 1e12, static_cast<double>(s.context)));
  if (output != s.grid.size) {
    return config.Refuse(
        "output_patch_size",
        StrCat(s.grid.size, " as \"input_patch_size\" (past and future go through one block)"));
  }
  if (!has_register) {
    return config.Refuse("use_reg_token", "true (the original cannot forecast without the register)");
  }
  const auto normal = series::NormaliseQuantiles(s.levels);
  if (!normal.ok()) return Prepend(normal.status(), StrCat(config.where(), ": \"chronos_config.quantiles\""));
  if (*normal != s.levels) return config.Refuse("quantiles", "a list of ascending levels");
  return absl::OkStatus();
}

StatusOr<Sizes> ReadSizes(const formats::Config& config) {
  Sizes s;
  PLINTH_ASSIGN_OR_RETURN(const formats::Config forecasting, config.Section("chronos_config"));
  PLINTH_RETURN_IF_ERROR(ReadForecasting(forecasting, s));
  PLINTH_ASSIGN_OR_RETURN(s.d, config.IntOr("d_model", 1, 65536, 512));
  PLINTH_ASSIGN_OR_RETURN(s.d_kv, config.IntOr("d_kv", 2, 65536, 64));
  PLINTH_ASSIGN_OR_RETURN(s.d_ff, config.IntOr("d_ff", 1, 1 << 20, 2048));
  PLINTH_ASSIGN_OR_RETURN(s.layers, config.IntOr("num_layers", 0, 1024, 6));
  PLINTH_ASSIGN_OR_RETURN(s.heads, config.IntOr("num_heads", 1, 1024, 8));
  PLINTH_ASSIGN_OR_RETURN(s.eps, config.RealOr("layer_norm_epsilon", 0, 1, 1e-6));
  PLINTH_ASSIGN_OR_RETURN(s.theta, config.RealOr("rope_theta", 1, 1e12, 10000));
  PLINTH_ASSIGN_OR_RETURN(const ChronosActivation act, ReadChronosActivation(config));
  s.act = act.function;
  if (act.gated) {
    return absl::InvalidArgumentError(
        StrCat(config.where(), ": the feed-forward part is gated; Chronos-2 has none that is"));
  }
  if (s.d_kv % 2 != 0) {
    return config.Refuse("d_kv", "an even number (the rotary embedding turns pairs)");
  }
  return s;
}

}  // namespace

StatusOr<std::unique_ptr<Model>> MakeChronos2(const formats::Config& config) {
  PLINTH_ASSIGN_OR_RETURN(Sizes sizes, ReadSizes(config));
  return std::unique_ptr<Model>(std::make_unique<Chronos2>(std::move(sizes)));
}

}  // namespace plinth::models
