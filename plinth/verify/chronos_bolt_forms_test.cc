// Holds both forms of Chronos-Bolt's network, at many sizes, against its definition in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "plinth/base/allocations.h"
#include "plinth/base/random.h"
#include "plinth/graph/fuse_linear.h"
#include "plinth/graph/gather_early.h"
#include "plinth/models/chronos_blocks.h"
#include "plinth/models/chronos_bolt.h"
#include "plinth/models/chronos_bolt_test_sizes.h"
#include "plinth/plan/plan.h"

namespace plinth::models {
namespace {

using Shape = BoltTestSizes;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
using Series = std::vector<double>;
using Matrix = std::vector<std::vector<double>>;

size_t At(int64_t i) { return static_cast<size_t>(i); }

Isa TestIsa() {
  const auto isa = IsaFromEnvironment();
  return isa.ok() ? *isa : Isa::kV2;
}

// Weights of any name and shape: the same numbers for the same name.
class RandomWeights : public plan::WeightSource {
 public:
  StatusOr<View> Load(const std::string& name, const ValueType& type) override {
    const auto dims = *Resolve(type.shape, {});
    const Tensor& tensor = Make(name, dims);
    return tensor.view();
  }
  void Release(const std::string&) override {}

  // The same as numbers: [rows][columns].
  Matrix Numbers(const std::string& name, int64_t rows, int64_t columns) {
    const float* data = Make(name, {rows, columns}).data<float>();
    Matrix m(At(rows));
    for (int64_t r = 0; r < rows; ++r) m[At(r)].assign(data + r * columns, data + (r + 1) * columns);
    return m;
  }

 private:
  const Tensor& Make(const std::string& name, const std::vector<int64_t>& dims) {
    const auto at = tensors_.find(name);
    if (at != tensors_.end()) return at->second;
    Tensor& tensor = tensors_.emplace(name, Tensor(DType::kF32, dims)).first->second;
    uint64_t seed = 14695981039346656037u;
    for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211u;
    Random random(seed);
    const bool norm = name.find("norm") != std::string::npos;
    const double spread = norm ? 0.2 : 1 / std::sqrt(static_cast<double>(dims.back()));
    for (int64_t i = 0; i < tensor.size(); ++i) {
      tensor.data<float>()[i] = static_cast<float>((norm ? 1 : 0) + spread * random.Normal());
    }
    return tensor;
  }
  std::map<std::string, Tensor> tensors_;
};

// The original's arithmetic for one series, in double and with every token of it, hidden ones too.
class Reference {
 public:
  Reference(const Shape& s, RandomWeights& w) : s_(s), w_(w) {}

  // [levels][steps].
  Series Forecast(const Series& y) {
    const auto [loc, scale] = Scale(y);
    Embed(y, loc, scale);
    Encode();
    Series out = Decode();
    for (double& v : out) v = loc + scale * v;
    return out;
  }

 private:
  static std::pair<double, double> Scale(const Series& y) {
    double sum = 0, squares = 0, n = 0;
    for (const double v : y) {
      if (std::isfinite(v)) sum += v, ++n;
    }
    if (n == 0) return {0, 1};
    for (const double v : y) {
      if (std::isfinite(v)) squares += (v - sum / n) * (v - sum / n);
    }
    return {sum / n, squares == 0 ? 1e-5 : std::sqrt(squares / n)};
  }

  Matrix Linear(const std::string& name, const Matrix& x, int64_t to) {
    const auto from = static_cast<int64_t>(x[0].size());
    const Matrix w = w_.Numbers(name + ".weight", to, from);
    Matrix y(x.size(), Series(At(to)));
    for (size_t r = 0; r < x.size(); ++r) {
      for (size_t n = 0; n < At(to); ++n) {
        for (size_t k = 0; k < At(from); ++k) y[r][n] += x[r][k] * w[n][k];
      }
    }
    return y;
  }
  Matrix Biased(const std::string& name, const Matrix& x, int64_t to) {
    Matrix y = Linear(name, x, to);
    const Matrix bias = w_.Numbers(name + ".bias", 1, to);
    return Plus(y, Matrix(y.size(), bias[0]));
  }
  static Matrix Plus(Matrix a, const Matrix& b) {
    for (size_t r = 0; r < a.size(); ++r) {
      for (size_t k = 0; k < a[r].size(); ++k) a[r][k] += b[r][k];
    }
    return a;
  }
  Matrix Act(Matrix x) const {
    const std::string name = s_.act.substr(s_.act.find('-') + 1);
    for (auto& row : x) {
      for (double& v : row) {
        if (name == "relu") v = std::max(v, 0.0);
        if (s_.act == "gelu") v = 0.5 * v * std::erfc(-v / std::sqrt(2.0));
        // T5's "gated-gelu" is the approximation by tanh.
        if (s_.act == "gated-gelu")
          v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
        if (name == "silu") v = v / (1 + std::exp(-v));
      }
    }
    return x;
  }
  Matrix Residual(const std::string& name, const Matrix& x, int64_t to) {
    const Matrix hidden = Act(Biased(name + ".hidden_layer", x, s_.d_ff));
    return Plus(Biased(name + ".output_layer", hidden, to), Biased(name + ".residual_layer", x, to));
  }
  Matrix Norm(const std::string& name, Matrix x) {
    const Matrix w = w_.Numbers(name + ".weight", 1, s_.d);
    for (auto& row : x) {
      double squares = 0;
      for (const double v : row) squares += v * v;
      for (size_t k = 0; k < row.size(); ++k) {
        row[k] *= w[0][k] / std::sqrt(squares / static_cast<double>(s_.d) + 1e-6);
      }
    }
    return x;
  }
  Matrix Dense(const std::string& layer, const Matrix& x) {
    const Matrix y = Norm(layer + ".layer_norm", x);
    const std::string name = layer + ".DenseReluDense";
    Matrix h;
    if (s_.act.rfind("gated", 0) == 0) {
      h = Act(Linear(name + ".wi_0", y, s_.d_ff));
      const Matrix gate = Linear(name + ".wi_1", y, s_.d_ff);
      for (size_t r = 0; r < h.size(); ++r) {
        for (size_t k = 0; k < h[r].size(); ++k) h[r][k] *= gate[r][k];
      }
    } else {
      h = Act(Linear(name + ".wi", y, s_.d_ff));
    }
    return Plus(x, Linear(name + ".wo", h, s_.d));
  }

  // bias(head, key - query) is added to the scores.
  template <typename Bias>
  Matrix Attention(const std::string& name, const Matrix& from, const Matrix& to,
                   const std::vector<bool>& seen, Bias bias) {
    const int64_t inner = s_.heads * s_.d_kv;
    const Matrix q = Linear(name + ".q", from, inner), k = Linear(name + ".k", to, inner),
                 v = Linear(name + ".v", to, inner);
    const bool none = std::count(seen.begin(), seen.end(), true) == 0;
    Matrix mixed(from.size(), Series(At(inner)));
    for (int64_t h = 0; h < s_.heads; ++h) {
      for (size_t i = 0; i < from.size(); ++i) {
        Series p(to.size());
        double sum = 0;
        for (size_t j = 0; j < to.size(); ++j) {
          double score = bias(h, static_cast<int64_t>(j) - static_cast<int64_t>(i));
          for (int64_t c = h * s_.d_kv; c < (h + 1) * s_.d_kv; ++c) score += q[i][At(c)] * k[j][At(c)];
          // All scores drown in the same large number where nothing is visible.
          p[j] = none ? 1 : seen[j] ? std::exp(score) : 0;
          sum += p[j];
        }
        for (size_t j = 0; j < to.size(); ++j) {
          for (int64_t c = h * s_.d_kv; c < (h + 1) * s_.d_kv; ++c)
            mixed[i][At(c)] += p[j] / sum * v[j][At(c)];
        }
      }
    }
    return Linear(name + ".o", mixed, s_.d);
  }

  void Embed(const Series& y, double loc, double scale) {
    const auto n = static_cast<int64_t>(y.size());
    Series padded(At((s_.patch - n % s_.patch) % s_.patch), kGap);
    padded.insert(padded.end(), y.begin(), y.end());
    Matrix patches;
    seen_.clear();
    for (int64_t b = 0; b + s_.patch <= static_cast<int64_t>(padded.size()); b += s_.stride) {
      Series row(At(2 * s_.patch));
      bool any = false;
      for (int64_t k = 0; k < s_.patch; ++k) {
        if (!std::isfinite(padded[At(b + k)])) continue;
        row[At(k)] = (padded[At(b + k)] - loc) / scale;
        row[At(s_.patch + k)] = 1;
        any = true;
      }
      patches.push_back(row);
      seen_.push_back(any);
    }
    x_ = Residual("input_patch_embedding", patches, s_.d);
    if (!s_.reg) return;
    x_.push_back(Shared(1));
    seen_.push_back(true);
  }
  Series Shared(int64_t id) { return w_.Numbers("shared.weight", s_.reg ? 2 : 1, s_.d)[At(id)]; }

  void Encode() {
    const auto length = static_cast<int64_t>(x_.size());
    const std::vector<int32_t> bucket = RelativeBuckets(length, s_.buckets, s_.most);
    const std::string first = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight";
    const Matrix table = w_.Numbers(first, s_.buckets, s_.heads);
    const auto bias = [&](int64_t h, int64_t distance) {
      return table[At(bucket[At(distance + length - 1)])][At(h)];
    };
    for (int64_t i = 0; i < s_.layers; ++i) {
      const std::string block = StrCat("encoder.block.", i);
      const Matrix y = Norm(block + ".layer.0.layer_norm", x_);
      x_ = Plus(x_, Attention(block + ".layer.0.SelfAttention", y, y, seen_, bias));
      x_ = Dense(block + ".layer.1", x_);
    }
    x_ = Norm("encoder.final_layer_norm", x_);
  }

  Series Decode() {
    const auto none = [](int64_t, int64_t) { return 0.0; };
    Matrix y = {Shared(s_.start)};
    for (int64_t i = 0; i < s_.decoder_layers; ++i) {
      const std::string block = StrCat("decoder.block.", i);
      Matrix z = Norm(block + ".layer.0.layer_norm", y);
      y = Plus(y, Attention(block + ".layer.0.SelfAttention", z, z, {true}, none));
      z = Norm(block + ".layer.1.layer_norm", y);
      y = Plus(y, Attention(block + ".layer.1.EncDecAttention", z, x_, seen_, none));
      y = Dense(block + ".layer.2", y);
    }
    return Residual("output_patch_embedding", Norm("decoder.final_layer_norm", y),
                    s_.quantiles * s_.horizon)[0];
  }

  const Shape& s_;
  RandomWeights& w_;
  Matrix x_;
  std::vector<bool> seen_;
};

StatusOr<std::unique_ptr<Model>> Make(const std::string& json) {
  const auto config = formats::Config::Parse(json, "m/config.json");
  EXPECT_TRUE(config.ok()) << config.status();
  return MakeModel(*config);
}

// A model with everything that runs it.
class Runs {
 public:
  Runs(const Shape& s, std::shared_ptr<RandomWeights> weights, bool published, bool rewritten = true) {
    model_ = *Make(s.Json());
    graph::GraphBuilder b;
    model_->Build(b, {.published = published});
    auto graph = b.Finish();
    EXPECT_TRUE(graph.ok()) << graph.status();
    const Extents capacity = model_->Capacity(kRows, Tokens());
    if (rewritten) *graph = graph::GatherEarly(graph::FuseLinear(*graph), capacity);
    auto plan = plan::Plan::Make(*graph, std::make_shared<plan::Weights>(std::move(weights)),
                                 {.capacity = capacity, .isa = TestIsa()});
    EXPECT_TRUE(plan.ok()) << plan.status();
    workspace_ = *plan::Workspace::Make(*plan, 1);
    codec_ = model_->MakeCodec(kRows, Tokens(), TestIsa());
    for (size_t i = 0; i < (*plan)->inputs().size(); ++i) inputs_.push_back(workspace_->Input(i));
  }

  // Allocations of encoding `batch` and of reading a forecast back.
  int64_t Allocations(const std::vector<Series>& batch) {
    std::vector<Row> rows;
    for (const Series& y : batch) rows.push_back({y, {}});
    std::vector<int64_t> extents(model_->dimensions().size());
    Series forecast(At(model_->info().horizon) * model_->info().levels.size());
    const View output = workspace_->Output(0);
    const AllocationCounter counter;
    codec_->Begin(inputs_, model_->info().horizon);
    for (const Row& row : rows) codec_->Add({&row, 1});
    codec_->Finish(extents);
    codec_->Read({&output, 1}, 0, forecast);
    return counter.count();
  }

  // [series][steps][levels].
  std::vector<Series> Forecast(const std::vector<Series>& batch) {
    const ModelInfo& info = model_->info();
    codec_->Begin(inputs_, info.horizon);
    int64_t tokens = 0;
    for (const Series& y : batch) {
      const Row row{std::span(y).last(std::min(y.size(), At(info.context_length))), {}};
      tokens += model_->Tokens(static_cast<int64_t>(row.past.size()), info.horizon);
      codec_->Add({&row, 1});
    }
    const std::vector<std::string> names = model_->dimensions();
    std::vector<int64_t> extents(names.size()), ordered;
    codec_->Finish(extents);
    EXPECT_LE(extents[0], tokens);
    for (const std::string& name : workspace_->plan().dimensions()) {
      ordered.push_back(extents[At(std::find(names.begin(), names.end(), name) - names.begin())]);
    }
    EXPECT_TRUE(workspace_->SetExtents(ordered).ok());
    const Status status = workspace_->Run(nullptr);
    EXPECT_TRUE(status.ok()) << status;
    const View output = workspace_->Output(0);
    std::vector<Series> forecasts(batch.size(), Series(At(info.horizon) * info.levels.size()));
    for (size_t i = 0; i < batch.size(); ++i) {
      codec_->Read({&output, 1}, static_cast<int64_t>(i), forecasts[i]);
    }
    return forecasts;
  }

 private:
  static constexpr int64_t kRows = 12;
  int64_t Tokens() const { return kRows * model_->Tokens(model_->info().context_length, 1); }

  std::unique_ptr<Model> model_;
  std::unique_ptr<plan::Workspace> workspace_;
  std::unique_ptr<Codec> codec_;
  std::vector<View> inputs_;
};

Series Wave(int64_t n, double level = 20) {
  Series y;
  for (int64_t t = 0; t < n; ++t) {
    y.push_back(level + 5 * std::sin(0.7 * static_cast<double>(t)) + 0.3 * static_cast<double>(t % 5));
  }
  return y;
}

Series With(Series y, int64_t begin, int64_t end) {
  std::fill(y.begin() + begin, y.begin() + end, kGap);
  return y;
}

std::vector<Series> Batch() {
  return {Wave(40),
          Wave(23, -7),
          With(Wave(40), 0, 17),                // whole patches are missing at the beginning
          With(With(Wave(40), 9, 21), 25, 26),  // inside
          With(Wave(37), 26, 37),               // at the end
          With(Wave(30), 0, 30),                // everything
          With(With(Wave(40), 0, 9), 10, 40),   // all but one
          {3.5},
          {1, kGap},
          Series(12, 0.125)};
}

// |a - b| / |b - level|: what the network is answerable for, without what scaling back adds.
double Distance(const Series& a, const Series& b, double level) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += (b[i] - level) * (b[i] - level);
  }
  return std::sqrt(difference / norm);
}

// [levels][steps] -> [steps][levels].
Series StepsFirst(const Series& x, const Shape& s) {
  Series y(x.size());
  for (int64_t q = 0; q < s.quantiles; ++q) {
    for (int64_t h = 0; h < s.horizon; ++h) y[At(h * s.quantiles + q)] = x[At(q * s.horizon + h)];
  }
  return y;
}

// Both forms of the network against the reference, at the relative error that a layer in float32 may have.
void ExpectRight(const Shape& s) {
  SCOPED_TRACE(s.Json());
  auto weights = std::make_shared<RandomWeights>();
  const std::vector<Series> batch = Batch();
  Reference reference(s, *weights);
  for (const bool published : {false, true}) {
    Runs runs(s, weights, published, /*rewritten=*/!published);
    const std::vector<Series> together = runs.Forecast(batch);
    for (size_t i = 0; i < batch.size(); ++i) {
      const Series& y = batch[i];
      const Series seen(y.end() - std::min<std::ptrdiff_t>(std::ssize(y), s.context), y.end());
      const Series right = StepsFirst(reference.Forecast(seen), s);
      EXPECT_LT(Distance(together[i], right, ChronosScale(seen).loc), 1e-5)
          << "series " << i << ", published " << published;
      // A row's bits depend on the row alone.
      const Series alone = runs.Forecast({y})[0];
      EXPECT_EQ(std::memcmp(alone.data(), together[i].data(), alone.size() * sizeof(double)), 0) << i;
    }
  }
}

TEST(ChronosBoltTest, BothFormsAgreeWithTheDefinition) { ExpectRight({}); }

TEST(ChronosBoltTest, PatchesMayOverlapOrLeaveStepsOut) {
  ExpectRight({.stride = 2});
  ExpectRight({.stride = 1});
  ExpectRight({.stride = 3});
  ExpectRight({.stride = 6});
  ExpectRight({.stride = 100});
  ExpectRight({.patch = 1, .stride = 1});
  ExpectRight({.context = 37, .patch = 5, .stride = 5});
  ExpectRight({.context = 3, .patch = 16, .stride = 16});
}

TEST(ChronosBoltTest, WithoutTheRegToken) {
  ExpectRight({.reg = false});
  ExpectRight({.stride = 2, .reg = false});
}

TEST(ChronosBoltTest, OtherSizes) {
  ExpectRight({.d_kv = 5, .heads = 2});
  ExpectRight({.d_kv = 3, .heads = 7});
  ExpectRight({.d_kv = 12, .heads = 1});
  ExpectRight({.layers = 1, .decoder_layers = 3});
  ExpectRight({.layers = 3, .decoder_layers = 1});
  ExpectRight({.buckets = 9, .most = 5});
  ExpectRight({.start = 1});
  ExpectRight({.horizon = 9, .levels = "0.5", .quantiles = 1});
  ExpectRight({.horizon = 1, .levels = "0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9", .quantiles = 9});
  ExpectRight({.levels = "0.05, 0.3, 0.6, 0.995", .quantiles = 4});
}

TEST(ChronosBoltTest, TheCodecAllocatesNothing) {
  for (const bool reg : {false, true}) {
    Runs runs({.reg = reg}, std::make_shared<RandomWeights>(), false);
    const int64_t count = runs.Allocations(Batch());
    if (count < 0) GTEST_SKIP() << "allocations cannot be counted here";
    EXPECT_EQ(count, 0);
  }
}

TEST(ChronosBoltTest, OtherActivations) {
  for (const char* act : {"gelu", "silu", "gated-relu", "gated-gelu", "gated-silu"})
    ExpectRight({.act = act});
}

TEST(ChronosBoltTest, ARowOfNothingIsForecastToo) {
  for (const bool reg : {false, true}) {
    const Shape s{.reg = reg};
    auto weights = std::make_shared<RandomWeights>();
    Runs runs(s, weights, false);
    // Nothing at all is what only gaps are.
    const auto forecasts = runs.Forecast({{}, Series(8, kGap), {1e300, -1e300, INFINITY}, {kGap}});
    EXPECT_EQ(forecasts[0], forecasts[1]);
    EXPECT_EQ(forecasts[0], forecasts[3]);
    for (const Series& f : forecasts) {
      for (const double v : f) EXPECT_TRUE(std::isfinite(v));
    }
  }
}

}  // namespace
}  // namespace plinth::models
