// Computes Chronos-2 in double, straight from the page that defines it: padded rows, masks, no packing. For
// tests; shares nothing with the network and the codec.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace plinth::models {

// Sizes of a model made up for a test, and its config.json.
struct Chronos2TestSizes {
  int context = 64, patch = 8, stride = 8, future = 4, d = 24, d_kv = 6, heads = 4, d_ff = 40, layers = 2;
  std::string act = "relu", levels = "[0.1,0.5,0.9]";
  bool arcsinh = true;
  double time_scale = 64, theta = 10000;

  std::string Json() const {
    return StrCat(
        R"({"architectures":["Chronos2Model"],"d_model":)", d, R"(,"d_kv":)", d_kv, R"(,"num_heads":)", heads,
        R"(,"d_ff":)", d_ff, R"(,"num_layers":)", layers, R"(,"feed_forward_proj":")", act,
        R"(","rope_theta":)", theta, R"(,"chronos_config":{"context_length":)", context,
        R"(,"input_patch_size":)", patch, R"(,"input_patch_stride":)", stride, R"(,"output_patch_size":)",
        patch, R"(,"max_output_patches":)", future, R"(,"quantiles":)", levels, R"(,"time_encoding_scale":)",
        time_scale, R"(,"use_reg_token":true,"use_arcsinh":)", arcsinh ? "true" : "false", "}}");
  }
};

struct Chronos2Reference {
  using Vector = std::vector<double>;
  using Rows = std::vector<Vector>;
  struct Series {
    Vector past, future;
    int group = 0;
  };

  Chronos2TestSizes sizes;
  int patches = 0;  // forecast
  int levels = 0;
  // A weight by name, row after row.
  std::function<Vector(const std::string&)> weight;

  // [series][step * levels + level].
  Rows Forecast(const std::vector<Series>& series) const {
    const int count = static_cast<int>(series.size());
    std::vector<Rows> x(series.size());   // [series][token], padded on the left
    std::vector<std::vector<bool>> seen;  // [series][token]
    Vector loc(series.size()), scale(series.size());
    size_t longest = 0;
    for (const Series& s : series) longest = std::max(longest, Patches(s.past).size());
    for (int i = 0; i < count; ++i) {
      Scale(series[i].past, loc[i], scale[i]);
      Rows tokens = Patches(series[i].past);
      tokens.insert(tokens.begin(), longest - tokens.size(), Vector(sizes.patch, NAN));
      seen.emplace_back();
      for (size_t t = 0; t < tokens.size(); ++t) {
        const int time = (static_cast<int>(t) - static_cast<int>(longest)) * sizes.patch;
        seen[i].push_back(std::any_of(tokens[t].begin(), tokens[t].end(), Known));
        x[i].push_back(Embed(tokens[t], time, loc[i], scale[i]));
      }
      const Vector shared = weight("shared.weight");
      x[i].emplace_back(shared.begin() + sizes.d, shared.end());
      Vector ahead = series[i].future;
      ahead.resize(static_cast<size_t>(patches * sizes.patch), NAN);
      for (int j = 0; j < patches; ++j) {
        const Vector values(ahead.begin() + j * sizes.patch, ahead.begin() + (j + 1) * sizes.patch);
        x[i].push_back(Embed(values, j * sizes.patch, loc[i], scale[i]));
      }
      seen[i].resize(x[i].size(), true);
    }
    for (int layer = 0; layer < sizes.layers; ++layer) Block(layer, series, seen, x);
    Rows out;
    for (int i = 0; i < count; ++i) out.push_back(Head(x[i], loc[i], scale[i]));
    return out;
  }

 private:
  static bool Known(double v) { return !std::isnan(v); }

  static void Scale(const Vector& y, double& loc, double& scale) {
    double sum = 0, squares = 0, n = 0;
    for (double v : y) {
      if (Known(v)) sum += v, ++n;
    }
    loc = n > 0 ? sum / n : 0;
    for (double v : y) {
      if (Known(v)) squares += (v - loc) * (v - loc);
    }
    scale = n > 0 ? std::sqrt(squares / n) : 1;
    if (scale == 0) scale = 1e-5;
  }

  Rows Patches(Vector past) const {
    while (past.size() % static_cast<size_t>(sizes.patch) != 0) past.insert(past.begin(), NAN);
    Rows patches;
    for (size_t at = 0; at + static_cast<size_t>(sizes.patch) <= past.size();
         at += static_cast<size_t>(sizes.stride)) {
      patches.emplace_back(past.begin() + static_cast<long>(at),
                           past.begin() + static_cast<long>(at) + sizes.patch);
    }
    return patches;
  }

  Vector Embed(const Vector& values, int time, double loc, double scale) const {
    Vector f;
    for (int t = 0; t < sizes.patch; ++t) f.push_back((time + t) / sizes.time_scale);
    for (double v : values) {
      const double z = Known(v) ? (v - loc) / scale : 0;
      f.push_back(sizes.arcsinh ? std::asinh(z) : z);
    }
    for (double v : values) f.push_back(Known(v) ? 1 : 0);
    return Residual("input_patch_embedding", f);
  }

  double Act(double x) const {
    return sizes.act == "relu" ? std::max(x, 0.0) : x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
  }

  Vector Linear(const std::string& name, const Vector& x, bool bias) const {
    const Vector w = weight(name + ".weight");
    Vector y = bias ? weight(name + ".bias") : Vector(w.size() / x.size(), 0.0);
    for (size_t o = 0; o < y.size(); ++o) {
      for (size_t k = 0; k < x.size(); ++k) y[o] += w[o * x.size() + k] * x[k];
    }
    return y;
  }

  Vector Residual(const std::string& name, const Vector& x) const {
    Vector hidden = Linear(name + ".hidden_layer", x, true);
    for (double& h : hidden) h = Act(h);
    Vector y = Linear(name + ".output_layer", hidden, true);
    const Vector around = Linear(name + ".residual_layer", x, true);
    for (size_t i = 0; i < y.size(); ++i) y[i] += around[i];
    return y;
  }

  Vector Norm(const std::string& name, const Vector& x) const {
    const Vector w = weight(name + ".weight");
    double squares = 0;
    for (double v : x) squares += v * v;
    Vector y(x);
    for (size_t i = 0; i < x.size(); ++i) {
      y[i] = x[i] / std::sqrt(squares / static_cast<double>(x.size()) + 1e-6) * w[i];
    }
    return y;
  }

  void Turn(Vector& x, int position) const {
    for (int h = 0; h < sizes.heads; ++h) {
      for (int j = 0; j < sizes.d_kv / 2; ++j) {
        const double angle = position * std::pow(sizes.theta, -2.0 * j / sizes.d_kv);
        double &a = x[h * sizes.d_kv + j], &b = x[h * sizes.d_kv + j + sizes.d_kv / 2];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = turned;
      }
    }
  }

  // Adds to every token what it finds among its keys; key(i) tells which.
  void Attend(const std::string& layer, bool turn, Rows& x, const std::vector<int>& positions,
              const std::function<bool(size_t, size_t)>& sees) const {
    Rows q, k, v;
    for (size_t t = 0; t < x.size(); ++t) {
      const Vector n = Norm(layer + ".layer_norm", x[t]);
      q.push_back(Linear(layer + ".self_attention.q", n, false));
      k.push_back(Linear(layer + ".self_attention.k", n, false));
      v.push_back(Linear(layer + ".self_attention.v", n, false));
      if (turn) Turn(q[t], positions[t]), Turn(k[t], positions[t]);
    }
    for (size_t t = 0; t < x.size(); ++t) {
      Vector mixed(static_cast<size_t>(sizes.heads * sizes.d_kv), 0.0);
      for (int h = 0; h < sizes.heads; ++h) {
        Vector weights(x.size(), 0.0);
        double top = -std::numeric_limits<double>::infinity(), sum = 0;
        for (size_t s = 0; s < x.size(); ++s) {
          for (int j = h * sizes.d_kv; j < (h + 1) * sizes.d_kv; ++j) weights[s] += q[t][j] * k[s][j];
          if (sees(t, s)) top = std::max(top, weights[s]);
        }
        for (size_t s = 0; s < x.size(); ++s) {
          weights[s] = sees(t, s) ? std::exp(weights[s] - top) : 0;
          sum += weights[s];
        }
        for (size_t s = 0; s < x.size(); ++s) {
          for (int j = h * sizes.d_kv; j < (h + 1) * sizes.d_kv && sum > 0; ++j)
            mixed[j] += weights[s] / sum * v[s][j];
        }
      }
      const Vector o = Linear(layer + ".self_attention.o", mixed, false);
      for (int j = 0; j < sizes.d; ++j) x[t][j] += o[j];
    }
  }

  void Block(int layer, const std::vector<Series>& series, const std::vector<std::vector<bool>>& seen,
             std::vector<Rows>& x) const {
    const std::string block = "encoder.block." + std::to_string(layer) + ".layer.";
    for (size_t i = 0; i < x.size(); ++i) {
      std::vector<int> positions;
      for (size_t t = 0; t < x[i].size(); ++t) positions.push_back(static_cast<int>(t));
      Attend(block + "0", true, x[i], positions, [&](size_t, size_t s) { return bool{seen[i][s]}; });
    }
    for (size_t t = 0; t < x[0].size(); ++t) {
      Rows column;
      for (const Rows& row : x) column.push_back(row[t]);
      Attend(block + "1", false, column, {},
             [&](size_t a, size_t b) { return series[a].group == series[b].group && seen[b][t]; });
      for (size_t i = 0; i < x.size(); ++i) x[i][t] = column[i];
    }
    for (Rows& row : x) {
      for (Vector& token : row) {
        Vector inside = Linear(block + "2.mlp.wi", Norm(block + "2.layer_norm", token), false);
        for (double& v : inside) v = Act(v);
        const Vector out = Linear(block + "2.mlp.wo", inside, false);
        for (int j = 0; j < sizes.d; ++j) token[j] += out[j];
      }
    }
  }

  Vector Head(const Rows& x, double loc, double scale) const {
    Vector out(static_cast<size_t>(patches * sizes.patch * levels));
    for (int j = 0; j < patches; ++j) {
      const Vector& token = x[x.size() - static_cast<size_t>(patches - j)];
      const Vector y = Residual("output_patch_embedding", Norm("encoder.final_layer_norm", token));
      for (int q = 0; q < levels; ++q) {
        for (int t = 0; t < sizes.patch; ++t) {
          const double z = y[q * sizes.patch + t];
          out[(j * sizes.patch + t) * levels + q] = (sizes.arcsinh ? std::sinh(z) : z) * scale + loc;
        }
      }
    }
    return out;
  }
};

}  // namespace plinth::models
