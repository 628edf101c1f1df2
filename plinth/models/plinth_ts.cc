// plinth-ts in one file: sizes, features, network, and the way back. docs/models/plinth-ts.md defines it
// in words; section numbers below are that page's.
#include "plinth/models/plinth_ts.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "plinth/ops/attention/op.h"
#include "plinth/ops/binary/op.h"
#include "plinth/ops/concat/op.h"
#include "plinth/ops/cumsum/op.h"
#include "plinth/ops/gather/op.h"
#include "plinth/ops/linear/op.h"
#include "plinth/ops/reduce/op.h"
#include "plinth/ops/reshape/op.h"
#include "plinth/ops/rms_norm/op.h"
#include "plinth/ops/rotary/op.h"
#include "plinth/ops/slice/op.h"
#include "plinth/ops/softmax/op.h"
#include "plinth/ops/unary/op.h"
#include "plinth/series/lags.h"
#include "plinth/series/quantiles.h"
#include "plinth/series/scaling.h"
#include "plinth/series/windows.h"

namespace plinth::models {
namespace {

using ops::Scope;
using ops::Value;

struct Sizes {
  int64_t context, horizon, patch, lags, d, layers, heads, d_ff;
  double theta, eps;
  std::vector<double> levels;

  int64_t context_patches() const { return context / patch; }
  int64_t future_patches() const { return horizon / patch; }
  int64_t tokens() const { return context_patches() + future_patches(); }
  int64_t head_dim() const { return d / heads; }
  int64_t channels() const { return 2 + 2 * lags; }
  int64_t features() const { return patch * channels() + 3 + 2 * lags + 2; }
  int64_t bases() const { return lags + 3; }
  int64_t quantiles() const { return static_cast<int64_t>(levels.size()); }
};

// ---- The network (sections 5 and 6) -------------------------------------------------------------------

Value Norm(ops::Builder& b, const Sizes& s, const char* name, Value x) {
  Scope scope(b, name);
  return b.Name(ops::RmsNorm(b, x, b.Constant("weight", DType::kF32, {s.d}), s.eps));
}

Value Project(ops::Builder& b, const char* name, Value x, int64_t from, int64_t to, bool bias = false) {
  Scope scope(b, name);
  const Value weight = b.Constant("weight", DType::kF32, {to, from});
  const Value shift = bias ? b.Constant("bias", DType::kF32, {to}) : ops::kNone;
  return b.Name(ops::Linear(b, x, weight, shift));
}

// x [tokens, d] -> [tokens, d]; each series attends to all of its own tokens.
Value Attention(ops::Builder& b, const Sizes& s, Value x, Value positions, Value offsets) {
  Scope scope(b, "attention");
  Value qkv = Project(b, "qkv", x, s.d, 3 * s.d);
  // Queries and keys turn, values pass through: 2 * heads of the 3 * heads heads.
  qkv = ops::Rotary(b, qkv, positions, {.heads = 2 * s.heads, .head_dim = s.head_dim(), .theta = s.theta});
  const Value q = ops::Slice(b, qkv, 1, 0, s.d);
  const Value k = ops::Slice(b, qkv, 1, s.d, 2 * s.d);
  const Value v = ops::Slice(b, qkv, 1, 2 * s.d, 3 * s.d);
  const Value y = ops::Attention(b, q, k, v, offsets, s.heads);
  return b.Name(Project(b, "o", y, s.d, s.d));
}

Value SwiGlu(ops::Builder& b, const Sizes& s, Value x) {
  Scope scope(b, "mlp");
  const Value up = Project(b, "up", x, s.d, 2 * s.d_ff);
  const Value gate = ops::Silu(b, ops::Slice(b, up, 1, 0, s.d_ff));
  const Value y = ops::Mul(b, gate, ops::Slice(b, up, 1, s.d_ff, 2 * s.d_ff));
  return b.Name(Project(b, "down", y, s.d_ff, s.d));
}

// Mixes what the bases say; base, valid and shift are [steps, bases], w and q come from the head.
Value Mix(ops::Builder& b, const Sizes& s, Value head, Value base, Value valid, Value shift) {
  const int64_t nq = s.quantiles(), half = nq / 2;
  const Value q = ops::Reshape(b, ops::Slice(b, head, 1, 0, s.patch * nq), {-1, nq});
  Value w = ops::Reshape(b, ops::SliceFrom(b, head, 1, s.patch * nq), {-1, s.bases()});
  w = ops::Softmax(b, ops::Add(b, ops::Mul(b, w, valid), shift));
  Value middle = ops::ReduceSum(b, ops::Mul(b, w, base), {1}, /*keep=*/true);
  middle = ops::Add(b, middle, ops::Slice(b, q, 1, half, half + 1));
  if (half == 0) return middle;
  const Value spread = ops::Softplus(b, ops::Sub(b, q, b.Literal("softplus_shift", {1.5f}, {1})));
  const Value up = ops::Cumsum(b, ops::SliceFrom(b, spread, 1, half + 1), 1);
  const Value down = ops::Cumsum(b, ops::Slice(b, spread, 1, 0, half), 1, /*reverse=*/true);
  return ops::Concat(b, {ops::Sub(b, middle, down), middle, ops::Add(b, middle, up)}, 1);
}

// Inputs in the order of the codec below.
enum Input : size_t { kTokens, kPositions, kOffsets, kFutureRows, kBase, kValid, kShift, kInputs };

void BuildNetwork(graph::GraphBuilder& b, const Sizes& s) {
  const Dim tokens = Dim::Named("tokens");
  const Dim steps = Dim::Named("series", s.horizon);
  const Value features = b.Input("features", {DType::kF32, {tokens, s.features()}});
  const Value positions = b.Input("positions", {DType::kI32, {tokens}});
  const Value offsets = b.Input("offsets", {DType::kI32, {Dim::Named("series", 1, 1)}});
  const Value future = b.Input("future_rows", {DType::kI32, {Dim::Named("series", s.future_patches())}});
  const Value base = b.Input("base", {DType::kF32, {steps, s.bases()}});
  const Value valid = b.Input("valid", {DType::kF32, {steps, s.bases()}});
  const Value shift = b.Input("shift", {DType::kF32, {steps, s.bases()}});

  Value x = Project(b, "input", features, s.features(), s.d, /*bias=*/true);
  for (int64_t layer = 0; layer < s.layers; ++layer) {
    Scope block(b, StrCat("blocks.", layer));
    x = ops::Add(b, x, Attention(b, s, Norm(b, s, "norm1", x), positions, offsets));
    x = b.Name(ops::Add(b, x, SwiGlu(b, s, Norm(b, s, "norm2", x))));
  }
  const Value ends = Norm(b, s, "norm", ops::Gather(b, x, future));
  const Value head = Project(b, "head", ends, s.d, s.patch * (s.quantiles() + s.bases()), /*bias=*/true);
  b.Output("quantiles", Mix(b, s, head, base, valid, shift));
}

// ---- Features (sections 1 to 4) -----------------------------------------------------------------------

constexpr double kFirstBaseShift = 2.0;  // the network starts from the strongest lag
constexpr double kInvalidShift = -30.0;  // replaces the weight of a base that is not there

class PlinthTsCodec : public Codec {
 public:
  PlinthTsCodec(const Sizes& s, int64_t rows, int64_t tokens, Isa isa)
      : s_(s),
        isa_(isa),
        window_(At(s.context)),
        z_(At(s.context)),
        asinh_z_(At(s.context)),
        observed_(At(s.context)),
        lags_(At(s.lags)) {
    scales_.reserve(At(rows));
    origins_.reserve(At(tokens));
  }

  void Begin(absl::Span<const View> inputs, int64_t) override {
    std::copy(inputs.begin(), inputs.end(), inputs_);
    scales_.clear();
    origins_.clear();
    rows_ = 0;
    inputs_[kOffsets].as<int32_t>()[0] = 0;
  }

  void Add(std::span<const Row> group) override {
    PLINTH_CHECK_EQ(group.size(), 1u);
    series::LastWindow(group[0].past, window_);
    const series::Scale scale = series::MeanStd(window_);
    series::Standardise(window_, scale, z_, observed_);
    series::StrongestLags(z_, observed_, isa_, workspace_, lags_);
    for (size_t t = 0; t < z_.size(); ++t) asinh_z_[t] = static_cast<float>(std::asinh(z_[t]));
    const int64_t series = static_cast<int64_t>(scales_.size());
    WriteBases(series);
    WriteTokens(series);
    scales_.push_back(scale);
    inputs_[kOffsets].as<int32_t>()[series + 1] = static_cast<int32_t>(rows_);
  }

  void Finish(std::span<int64_t> extents) override {
    extents[0] = rows_;
    extents[1] = static_cast<int64_t>(scales_.size());
  }

  void Read(absl::Span<const View> outputs, int64_t i, std::span<double> quantiles) const override {
    const size_t count = At(s_.horizon * s_.quantiles());
    const float* from = outputs[0].as<float>() + At(i) * count;
    const series::Scale& scale = scales_[At(i)];
    for (size_t k = 0; k < count; ++k) quantiles[k] = scale.loc + scale.scale * static_cast<double>(from[k]);
  }

  std::vector<Origin> Origins() const override { return origins_; }

 private:
  static size_t At(int64_t i) { return static_cast<size_t>(i); }

  // Where step t (0 is the first of the context) looks for its value one or more lags ago, so that beyond
  // the context the last season repeats; -1 where there is none.
  int64_t Source(int64_t t, int64_t lag) const {
    if (lag == 0) return -1;
    const int64_t seasons = t < s_.context ? 1 : (t - s_.context + lag) / lag;
    const int64_t source = t - lag * seasons;
    return source >= 0 && observed_[At(source)] ? source : -1;
  }

  double Last() const {
    for (int64_t t = s_.context - 1; t >= 0; --t) {
      if (observed_[At(t)]) return z_[At(t)];
    }
    return 0;
  }

  // The mean of the `lag` steps that end `back` steps before the end; more than half must be observed.
  bool SeasonMean(int64_t lag, int64_t back, double* mean) const {
    double sum = 0;
    int64_t count = 0;
    const int64_t end = s_.context - back;
    for (int64_t t = std::max<int64_t>(0, end - lag); t < end; ++t) {
      sum += z_[At(t)];
      count += observed_[At(t)];
    }
    *mean = count > 0 ? sum / static_cast<double>(count) : 0;
    return 2 * count > lag;
  }

  void WriteBases(int64_t series) {
    const int64_t nb = s_.bases(), lag = lags_[0].lag;
    last_ = Last();
    double now = 0, before = 0;
    const bool drifts = lag > 0 && SeasonMean(lag, 0, &now) && SeasonMean(lag, lag, &before);
    drift_ = drifts ? now - before : 0;
    float* base = inputs_[kBase].as<float>() + series * s_.horizon * nb;
    float* valid = inputs_[kValid].as<float>() + series * s_.horizon * nb;
    float* shift = inputs_[kShift].as<float>() + series * s_.horizon * nb;
    for (int64_t h = 0; h < s_.horizon; ++h, base += nb, valid += nb, shift += nb) {
      const auto put = [&](int64_t k, bool there, double value) {
        base[k] = static_cast<float>(there ? value : 0);
        valid[k] = there ? 1.0f : 0.0f;
        shift[k] = static_cast<float>(there ? (k == 0 ? kFirstBaseShift : 0.0) : kInvalidShift);
      };
      double strongest = 0;
      bool there = false;
      for (int64_t k = 0; k < s_.lags; ++k) {
        const int64_t source = Source(s_.context + h, lags_[At(k)].lag);
        const double value = source >= 0 ? z_[At(source)] : 0;
        put(k, source >= 0, value);
        if (k == 0) strongest = value, there = source >= 0;
      }
      put(s_.lags, true, last_);
      put(s_.lags + 1, true, 0);
      const int64_t season = std::max<int64_t>(lag, 1);
      const double grown = strongest + drift_ * static_cast<double>((h + season) / season);
      put(s_.lags + 2, there && drifts, grown);
      // An invalid base counts as its value all the same where its weight is not quite zero.
      base[s_.lags + 2] = static_cast<float>(grown);
    }
  }

  // Writes the tokens of the patches that can be seen: context patches with an observed value, and all
  // future ones. Others would be masked as keys and their own outputs are never read.
  void WriteTokens(int64_t series) {
    float* const rows = inputs_[kTokens].as<float>();
    int32_t* const positions = inputs_[kPositions].as<int32_t>();
    int32_t* const future = inputs_[kFutureRows].as<int32_t>() + series * s_.future_patches();
    const int64_t patches = s_.context_patches();
    for (int64_t i = 0; i < s_.tokens(); ++i) {
      if (i < patches && !AnyObserved(i)) continue;
      WriteToken(i, rows + rows_ * s_.features());
      positions[rows_] = static_cast<int32_t>(i);
      origins_.push_back({series, i});
      if (i >= patches) future[i - patches] = static_cast<int32_t>(rows_);
      ++rows_;
    }
  }

  bool AnyObserved(int64_t patch) const {
    const uint8_t* o = observed_.data() + patch * s_.patch;
    return std::any_of(o, o + s_.patch, [](uint8_t seen) { return seen != 0; });
  }

  // Step by step, and for each step channel by channel: z, observed, then value and presence of each lag.
  void WriteToken(int64_t patch, float* to) const {
    const int64_t first = patch * s_.patch;
    const bool past = first < s_.context;
    for (int64_t t = first; t < first + s_.patch; ++t) {
      *to++ = past ? asinh_z_[At(t)] : 0;
      *to++ = past && observed_[At(t)] ? 1.0f : 0.0f;
      for (const series::Lag& lag : lags_) {
        const int64_t source = Source(t, lag.lag);
        *to++ = source >= 0 ? asinh_z_[At(source)] : 0;
        *to++ = source >= 0 ? 1.0f : 0.0f;
      }
    }
    *to++ = 0;
    *to++ = past ? 0.0f : 1.0f;
    *to++ = static_cast<float>(static_cast<double>(patch) / static_cast<double>(s_.tokens()));
    for (const series::Lag& lag : lags_) *to++ = static_cast<float>(lag.r);
    for (const series::Lag& lag : lags_) {
      *to++ = static_cast<float>(std::log2(static_cast<double>(std::max<int64_t>(lag.lag, 1))) / 9);
    }
    *to++ = static_cast<float>(std::asinh(last_));
    *to++ = static_cast<float>(std::asinh(drift_));
  }

  const Sizes s_;
  const Isa isa_;
  View inputs_[kInputs];
  int64_t rows_ = 0;
  std::vector<series::Scale> scales_;
  std::vector<Origin> origins_;
  // The series being added.
  std::vector<double> window_, z_;
  std::vector<float> asinh_z_;
  std::vector<uint8_t> observed_;
  std::vector<series::Lag> lags_;
  series::LagWorkspace workspace_;
  double last_ = 0, drift_ = 0;
};

// ---- The family ---------------------------------------------------------------------------------------

class PlinthTs : public Model {
 public:
  explicit PlinthTs(Sizes s) : s_(std::move(s)) {
    info_ = {.family = "plinth_ts",
             .description = "patch encoder with seasonal-lag channels, quantile forecasts",
             .context_length = s_.context,
             .horizon = s_.horizon,
             .stride = s_.horizon,
             .levels = s_.levels,
             .sizes = {{"patch_length", s_.patch},
                       {"lags", s_.lags},
                       {"d_model", s_.d},
                       {"num_layers", s_.layers},
                       {"num_heads", s_.heads},
                       {"d_ff", s_.d_ff}}};
    // Not above: GCC 12 warns of a list that may be cut short by an exception.
    info_.licence = "Apache-2.0";
    info_.limits = {"each series by itself: no covariates, no joint targets"};
  }
  const ModelInfo& info() const override { return info_; }
  void Build(graph::GraphBuilder& b, const Variant&) const override { BuildNetwork(b, s_); }
  std::vector<std::string> dimensions() const override { return {"tokens", "series"}; }
  plinth::Extents Capacity(int64_t rows, int64_t tokens) const override {
    return {{"tokens", tokens}, {"series", rows}};
  }
  int64_t Tokens(int64_t past, int64_t) const override {
    return std::min(s_.context_patches(), (past + s_.patch - 1) / s_.patch) + s_.future_patches();
  }
  std::unique_ptr<Codec> MakeCodec(int64_t rows, int64_t tokens, Isa isa) const override {
    return std::make_unique<PlinthTsCodec>(s_, rows, tokens, isa);
  }

 private:
  Sizes s_;
  ModelInfo info_;
};

StatusOr<Sizes> ReadSizes(const formats::Config& config) {
  Sizes s{};
  // Another version would be another network.
  PLINTH_RETURN_IF_ERROR(config.IntOr("version", 0, 0, 0).status());
  PLINTH_ASSIGN_OR_RETURN(s.context, config.Int("context_length", 1, 1 << 20));
  PLINTH_ASSIGN_OR_RETURN(s.horizon, config.Int("horizon", 1, 1 << 16));
  PLINTH_ASSIGN_OR_RETURN(s.patch, config.Int("patch_length", 1, 4096));
  PLINTH_ASSIGN_OR_RETURN(s.lags, config.Int("lags", 1, 64));
  PLINTH_ASSIGN_OR_RETURN(s.d, config.Int("d_model", 1, 65536));
  PLINTH_ASSIGN_OR_RETURN(s.layers, config.Int("num_layers", 0, 1024));
  PLINTH_ASSIGN_OR_RETURN(s.heads, config.Int("num_heads", 1, 1024));
  PLINTH_ASSIGN_OR_RETURN(s.d_ff, config.Int("d_ff", 1, 1 << 20));
  PLINTH_ASSIGN_OR_RETURN(s.theta, config.Real("rope_theta", 1, 1e12));
  PLINTH_ASSIGN_OR_RETURN(s.eps, config.Real("rms_eps", 0, 1));
  PLINTH_ASSIGN_OR_RETURN(s.levels, config.Reals("quantiles", 0, 1, 1000));
  return s;
}

Status CheckSizes(const formats::Config& config, const Sizes& s) {
  const auto refuse = [&](std::string why) {
    return absl::InvalidArgumentError(StrCat(config.where(), ": ", why));
  };
  if (s.context % s.patch != 0 || s.horizon % s.patch != 0) {
    return refuse(StrCat("\"context_length\" ", s.context, " and \"horizon\" ", s.horizon,
                         " must be multiples of \"patch_length\" ", s.patch));
  }
  if (s.d % s.heads != 0 || s.head_dim() % 2 != 0) {
    return refuse(StrCat("\"d_model\" ", s.d, " must be \"num_heads\" ", s.heads, " times an even number"));
  }
  const auto normal = series::NormaliseQuantiles(s.levels);
  if (!normal.ok()) return Prepend(normal.status(), StrCat(config.where(), ": \"quantiles\""));
  if (*normal != s.levels || s.levels.size() % 2 == 0 || s.levels[s.levels.size() / 2] != 0.5) {
    return refuse("\"quantiles\" must be ascending levels, an odd number of them, with 0.5 in the middle");
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<Model>> MakePlinthTs(const formats::Config& config) {
  PLINTH_ASSIGN_OR_RETURN(Sizes sizes, ReadSizes(config));
  PLINTH_RETURN_IF_ERROR(CheckSizes(config, sizes));
  return std::unique_ptr<Model>(std::make_unique<PlinthTs>(std::move(sizes)));
}

}  // namespace plinth::models
