// Names quantile levels and computes levels that a model does not give from those that it does.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"

namespace plinth::series {

// Levels are kept to six decimals: 0.1 means the same whether it came from text, a float or a double, and
// equal numbers are equal bits.

// Rounds each level, sorts ascending and merges equal ones.
// Errors: InvalidArgument for an empty list and for levels not inside (0, 1) after rounding.
StatusOr<std::vector<double>> NormaliseQuantiles(std::span<const double> levels);

// Reads "0.1,0.5,0.9" (spaces allowed) and normalises. Errors: InvalidArgument, naming the item.
StatusOr<std::vector<double>> ParseQuantiles(std::string_view text);

// The shortest decimal of a normalised level: "0.1", "0.975".
std::string QuantileName(double level);

// The levels 0.1, 0.2, ... 0.9.
std::vector<double> Deciles();

// Turns the values at a model's levels into values at wanted levels: linear in the level between the
// model's two neighbours, beyond the outermost with the slope of the outermost pair (constant where the
// model has one level only). A level of the model passes through unchanged, bit for bit, also where the
// model's own levels cross each other. A level in between or beyond never crosses its neighbour towards 0.5:
// outwards, it is at least (at most) the one before it.
class QuantileMap {
 public:
  // Both lists normalised (NormaliseQuantiles).
  QuantileMap(std::span<const double> model_levels, std::span<const double> wanted);

  // model: values at the model's levels; out: values at the wanted ones. May not overlap. NaN stays NaN.
  void Apply(std::span<const double> model, std::span<double> out) const;

  size_t model_size() const { return model_size_; }
  size_t size() const { return steps_.size(); }

 private:
  struct Step {
    size_t from, to;  // value = model[from] + weight * (model[to] - model[from])
    double weight;
    bool own;  // a level of the model
  };
  std::vector<Step> steps_;
  size_t model_size_;
  size_t middle_ = 0;  // index of the wanted level nearest to 0.5
};

}  // namespace plinth::series
