// Defines what a model family gives to the engine: its network as a graph, and the way from series to the
// network's inputs and back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "plinth/base/cpu.h"
#include "plinth/formats/config.h"
#include "plinth/graph/graph.h"

namespace plinth::models {

struct ModelInfo {
  std::string family;                                  // model_type of config.json
  std::string description;                             // one line for `models show`
  int64_t context_length = 0;                          // the most steps of history it looks at
  int64_t horizon = 0;                                 // steps it forecasts in one pass
  std::vector<double> levels;                          // quantile levels it gives, ascending
  std::vector<std::pair<std::string, int64_t>> sizes;  // further sizes, for `models show`
};

// Translates between series and one plan's inputs and outputs. Used by one thread at a time; allocates
// when it is made and never again.
class Codec {
 public:
  virtual ~Codec() = default;

  // Begins a batch. `inputs`: the plan's inputs at full capacity, in the order the model declared them.
  // Rows are written one series after another from their beginnings.
  virtual void Begin(absl::Span<const View> inputs) = 0;

  // Adds the next series: its last steps, oldest first, at most context_length; NaN is a gap.
  virtual void Add(std::span<const double> window) = 0;

  // Extents of what was added, in the order of Model::dimensions().
  virtual void Extents(std::span<int64_t> extents) const = 0;

  // Writes the forecast of series `i` of this batch as [horizon][levels], in the series' own units.
  virtual void Read(absl::Span<const View> outputs, int64_t i, std::span<double> quantiles) const = 0;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;

  // Declares inputs, the network and outputs. Errors stay in the builder.
  virtual void Build(graph::GraphBuilder& b) const = 0;

  // Names of the dimensions whose extents depend on the batch.
  virtual std::vector<std::string> dimensions() const = 0;
  // Their largest extents for `series` series of any length.
  virtual Extents Capacity(int64_t series) const = 0;

  // A codec for batches of at most `series` series.
  virtual std::unique_ptr<Codec> MakeCodec(int64_t series, Isa isa) const = 0;
};

// Makes the model that `config` describes. Errors: InvalidArgument for an unknown model_type (lists the
// known ones) and for sizes the family cannot have.
StatusOr<std::unique_ptr<Model>> MakeModel(const formats::Config& config);

// model_type of all families, alphabetically.
std::vector<std::string> Families();

}  // namespace plinth::models
