// Holds what the Chronos families share: parts of their networks, how they standardise a row and how they cut
// it into patches.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "plinth/formats/config.h"
#include "plinth/ops/builder.h"
#include "plinth/ops/linear/activation.h"
#include "plinth/series/scaling.h"

namespace plinth::models {

// The feed-forward part of a T5 configuration.
struct ChronosActivation {
  ops::Activation function = ops::Activation::kRelu;
  bool gated = false;  // act(a x) * (b x) in place of act(a x)
};

// Reads "dense_act_fn" and "is_gated_act"; where they are absent, "feed_forward_proj" says both ("relu",
// "gated-gelu"); relu where nothing is said. Errors: InvalidArgument for an activation that Plinth does not
// compute (lists those it does).
StatusOr<ChronosActivation> ReadChronosActivation(const formats::Config& config);

// ---- Parts of the network. `name` is the module's path below the current scope, and names the result ----

// x / sqrt(mean(x^2) + eps) * weight: no mean is taken off, nothing is added. x: f32 [..., width].
ops::Value RootMeanNorm(ops::Builder& b, std::string_view name, ops::Value x, int64_t width, double eps);

// x W^T with W [to, from]; no bias. x: f32 [..., from].
ops::Value ProjectPlain(ops::Builder& b, std::string_view name, ops::Value x, int64_t from, int64_t to);

// ProjectPlain of one x by several weights [to, from], as one product: [..., names * to], which slices take
// apart. A row is read once, and one large product is cut among threads better than small ones.
ops::Value ProjectTogether(ops::Builder& b, const std::vector<std::string_view>& names, ops::Value x,
                           int64_t from, int64_t to);

// output_layer(act(hidden_layer(x))) + residual_layer(x), each with a bias. x: f32 [rows, from].
ops::Value ResidualBlock(ops::Builder& b, std::string_view name, ops::Value x, int64_t from, int64_t hidden,
                         int64_t to, ops::Activation act);

// act(x), as an operator of its own.
ops::Value Activate(ops::Builder& b, ops::Activation act, ops::Value x);

// ---- Rows ---------------------------------------------------------------------------------------------

// Mean and population standard deviation of the finite values of y; the others are gaps. Where all values are
// equal, loc is that value exactly and scale 1e-5; loc 0 and scale 1 where there is none.
series::Scale ChronosScale(std::span<const double> y);

// Patches of a row: it is filled up with gaps at its beginning to a multiple of `size` steps, and from there
// on patch follows patch at every `stride` steps as long as they are whole. They touch or overlap (stride <
// size) or leave steps out; where `stride` divides `size` the last patch ends with the row.
struct PatchGrid {
  int64_t size = 1, stride = 1;

  // Patches of a row of `steps` steps.
  int64_t Count(int64_t steps) const;
  // The step at which patch i begins; negative where it begins before the row.
  int64_t Begin(int64_t steps, int64_t i) const;
};

}  // namespace plinth::models
