// Makes configurations of Chronos-Bolt for tests.
#pragma once

#include <cstdint>
#include <string>

#include "plinth/base/text.h"

namespace plinth::models {

// What a configuration says.
struct BoltTestSizes {
  int64_t context = 40, horizon = 5, patch = 4, stride = 4, d = 12, d_kv = 4, heads = 3, d_ff = 20,
          layers = 2;
  int64_t decoder_layers = 2, buckets = 8, most = 20, start = 0;
  bool reg = true;
  std::string act = "relu", levels = "0.1, 0.5, 0.9";
  int64_t quantiles = 3;

  std::string Json() const {
    return StrCat(R"({"architectures":["ChronosBoltModelForForecasting"],"model_type":"t5","d_model":)", d,
                  R"(,"d_kv":)", d_kv, R"(,"num_heads":)", heads, R"(,"d_ff":)", d_ff, R"(,"num_layers":)",
                  layers, R"(,"num_decoder_layers":)", decoder_layers,
                  R"(,"relative_attention_num_buckets":)", buckets, R"(,"relative_attention_max_distance":)",
                  most, R"(,"decoder_start_token_id":)", start, R"(,"feed_forward_proj":")", act,
                  R"(","chronos_config":{"context_length":)", context, R"(,"prediction_length":)", horizon,
                  R"(,"input_patch_size":)", patch, R"(,"input_patch_stride":)", stride,
                  R"(,"use_reg_token":)", reg ? "true" : "false", R"(,"quantiles":[)", levels, "]}}");
  }
};

}  // namespace plinth::models
