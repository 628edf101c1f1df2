// Orders what two runs have in common into layers, the units in which drift is looked for. Internal to the
// search for drift.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/verify/capture_pairs.h"

namespace plinth::verify {

// Where an entry belongs: the module path up to its first number ("encoder.block.3" of
// "encoder.block.3.layer.0.q/linear.0"), or all of it where it has none.
struct LayerName {
  std::string module;
  std::optional<int64_t> layer;  // that number
};
LayerName LayerOf(std::string_view name, std::string_view op);
// The module that an entry belongs to: what stands before "/" in an operator's name.
std::string_view ModulePath(std::string_view name);

struct Layer {
  std::string module;
  std::optional<int64_t> layer;
  int64_t step = 0;
  std::vector<size_t> pairs;  // in the order of execution
  size_t output = 0;          // the pair that stands for it
};

// Layers with a comparable output, in the order in which these come to be.
std::vector<Layer> LayersOf(const PairedRuns& runs);

}  // namespace plinth::verify
