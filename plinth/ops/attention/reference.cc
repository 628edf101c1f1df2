#include <cmath>

#include "plinth/ops/attention/checks.h"

namespace plinth::ops {

namespace {

// The bias of query i and key j of a sequence, for head h.
double BiasOf(const RefTensor& bias, int64_t h, int64_t i, int64_t j) {
  const int64_t own = bias.dims[0] == 1 ? 0 : h;
  if (bias.dims.size() == 2) {
    const int64_t longest = (bias.dims[1] + 1) / 2;
    return bias.data[own * bias.dims[1] + j - i + longest - 1];
  }
  return bias.data[(own * bias.dims[1] + i) * bias.dims[2] + j];
}

}  // namespace

// Plain loops over the definition; visible keys alone enter maximum, sum and mix.
void AttentionReference(const OpCall& call, RefIo& io) {
  const RefTensor &q = io.in[0], &k = io.in[1], &v = io.in[2];
  const int64_t heads = call.attributes.Int("heads", 1);
  const int64_t kv_asked = call.attributes.Int("kv_heads", 0);
  const int64_t kv_heads = kv_asked == 0 ? heads : kv_asked;
  const int64_t d = q.dims[1] / heads, dv = v.dims[1] / kv_heads;
  const double asked = call.attributes.Real("scale", 0);
  const double scale = asked == 0 ? 1 / std::sqrt(static_cast<double>(d)) : asked;
  const std::vector<double>& q_at = io.in[3].data;
  const std::vector<double>& kv_at = call.has(4) ? io.in[4].data : q_at;
  for (size_t b = 0; b + 1 < q_at.size(); ++b) {
    const int64_t q0 = static_cast<int64_t>(q_at[b]), lq = static_cast<int64_t>(q_at[b + 1]) - q0;
    const int64_t k0 = static_cast<int64_t>(kv_at[b]), lk = static_cast<int64_t>(kv_at[b + 1]) - k0;
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t g = h / (heads / kv_heads);
      for (int64_t i = 0; i < lq; ++i) {
        std::vector<int64_t> visible;
        std::vector<double> weights;
        double top = -INFINITY, sum = 0;
        for (int64_t j = 0; j < lk; ++j) {
          if (call.has(5) && io.in[5].data[k0 + j] == 0) continue;
          if (call.attributes.Flag("causal") && j > i + lk - lq) continue;
          double score = 0;
          for (int64_t c = 0; c < d; ++c) {
            score += q.data[(q0 + i) * q.dims[1] + h * d + c] * k.data[(k0 + j) * k.dims[1] + g * d + c];
          }
          score *= scale;
          if (call.has(6)) score += BiasOf(io.in[6], h, i, j);
          visible.push_back(j);
          weights.push_back(score);
          if (score > top) top = score;
        }
        for (double& w : weights) sum += (w = std::exp(w - top));
        for (int64_t c = 0; c < dv; ++c) {
          double mixed = 0;
          for (size_t t = 0; t < visible.size(); ++t) {
            mixed += weights[t] / sum * v.data[(k0 + visible[t]) * v.dims[1] + g * dv + c];
          }
          io.out[0].data[(q0 + i) * heads * dv + h * dv + c] = mixed;
        }
      }
    }
  }
}

}  // namespace plinth::ops
