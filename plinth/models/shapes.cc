#include "plinth/models/shapes.h"

#include "plinth/base/text.h"

namespace plinth::models {
namespace {

enum class Kind { kBolt, kChronos2, kPlinthTs };

// The sizes in which published models of a family differ; zero where the family's text holds them.
struct Shape {
  const char* name;
  Kind kind;
  int d_model, d_ff, layers, heads;
};

// Sizes as their config.json files give them; those of chronos-2-small are the original configuration class's
// own, which make up its 28 million parameters.
constexpr Shape kShapes[] = {
    {"chronos-2", Kind::kChronos2, 768, 3072, 12, 12},
    {"chronos-2-small", Kind::kChronos2, 512, 2048, 6, 8},
    {"chronos-bolt-base", Kind::kBolt, 768, 3072, 12, 12},
    {"chronos-bolt-mini", Kind::kBolt, 384, 1536, 4, 8},
    {"chronos-bolt-small", Kind::kBolt, 512, 2048, 6, 8},
    {"chronos-bolt-tiny", Kind::kBolt, 256, 1024, 4, 4},
    {"plinth-ts-0", Kind::kPlinthTs, 0, 0, 0, 0},
};

// What both Chronos families say of their layers.
std::string StackText(const Shape& s) {
  return StrCat(R"("model_type": "t5", "d_model": )", s.d_model, R"(, "d_ff": )", s.d_ff,
                R"(, "d_kv": 64, "num_layers": )", s.layers, R"(, "num_heads": )", s.heads,
                R"(, "dense_act_fn": "relu", "feed_forward_proj": "relu", "is_gated_act": false,
                "layer_norm_epsilon": 1e-06, "pad_token_id": 0, "reg_token_id": 1, "vocab_size": 2,
                "dropout_rate": 0.1, "initializer_factor": 0.05, "torch_dtype": "float32")");
}

std::string BoltText(const Shape& s) {
  return StrCat(R"({"architectures": ["ChronosBoltModelForForecasting"],
                "chronos_config": {"context_length": 2048, "input_patch_size": 16, "input_patch_stride": 16,
                "prediction_length": 64, "quantiles": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
                "use_reg_token": true}, "chronos_pipeline_class": "ChronosBoltPipeline", )",
                StackText(s), R"(, "num_decoder_layers": )", s.layers,
                R"(, "decoder_start_token_id": 0, "eos_token_id": 1, "is_encoder_decoder": true,
                "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32,
                "n_positions": 512, "classifier_dropout": 0.0, "use_cache": true})");
}

std::string Chronos2Text(const Shape& s) {
  return StrCat(R"({"architectures": ["Chronos2Model"],
                "chronos_config": {"context_length": 8192, "input_patch_size": 16, "input_patch_stride": 16,
                "max_output_patches": 64, "output_patch_size": 16,
                "quantiles": [0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65,
                0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99], "time_encoding_scale": 8192, "use_arcsinh": true,
                "use_reg_token": true}, "chronos_pipeline_class": "Chronos2Pipeline", )",
                StackText(s), R"(, "rope_theta": 10000.0})");
}

std::string PlinthTsText() {
  return R"({"model_type": "plinth_ts", "version": 0, "context_length": 512, "horizon": 96,
         "patch_length": 16, "lags": 3, "d_model": 128, "num_layers": 4, "num_heads": 4, "d_ff": 256,
         "rope_theta": 1000.0, "rms_eps": 1e-06,
         "quantiles": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]})";
}

std::string Text(const Shape& s) {
  switch (s.kind) {
    case Kind::kBolt:
      return BoltText(s);
    case Kind::kChronos2:
      return Chronos2Text(s);
    case Kind::kPlinthTs:
      return PlinthTsText();
  }
  return "";
}

}  // namespace

StatusOr<formats::Config> ShapeConfig(std::string_view name) {
  for (const Shape& s : kShapes) {
    if (name == s.name) return formats::Config::Parse(Text(s), StrCat("shape ", name));
  }
  return absl::InvalidArgumentError(
      StrCat("shape \"", name, "\" is unknown; known shapes are ", Join(ShapeNames(), ", ")));
}

std::vector<std::string> ShapeNames() {
  std::vector<std::string> names;
  for (const Shape& s : kShapes) names.emplace_back(s.name);
  return names;
}

}  // namespace plinth::models
