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

// How a forecast goes on beyond the steps of one pass. Every level in `paths` becomes a path of its own: a
// copy of the history that its forecast is appended to, and the next pass runs on all of them. The samples it
// gives, one per path and level, are reduced to the model's levels again. A single path is followed as it is:
// the levels of its next pass are the forecast.
struct Continuation {
  std::vector<double> paths = {0.5};  // ascending; interpolated between the model's levels
  enum class Weigh : uint8_t {
    kAlike,  // every sample counts the same: order statistics, linear between neighbours
    kMass,   // a sample counts the probability mass around the levels of its path and its own
  } weigh = Weigh::kAlike;
};

struct ModelInfo {
  std::string family;                                  // name of the family, as in the registry
  std::string description;                             // one line for `models show`
  int64_t context_length = 0;                          // the most steps of history it looks at
  int64_t horizon = 0;                                 // the most steps it forecasts in one pass
  int64_t stride = 0;                                  // a pass forecasts a multiple of this; divides horizon
  std::vector<double> levels;                          // quantile levels it gives, ascending
  std::vector<std::pair<std::string, int64_t>> sizes;  // further sizes, for `models show`
  Continuation continuation;
  std::string licence;  // SPDX, under which the family's authors publish weights; a folder may differ
  std::vector<std::string> limits;  // a sentence each, for `models show`
  bool groups = false;  // rows of a group see each other, so covariates and joint targets have an effect
};

// A series, or a covariate that goes with one. What is not finite is a gap, or unknown.
struct Row {
  std::span<const double> past;    // oldest first, at most context_length steps
  std::span<const double> future;  // values known ahead, from the first step on; what is behind is unknown
};

// Where a row of tokens stands in the original's padded batch.
struct Origin {
  int64_t row = 0;       // among all rows of the run
  int64_t position = 0;  // token, when the run's rows are padded on the left to the longest
};

// Translates between rows and one plan's inputs and outputs. Used by one thread at a time; allocates
// when it is made and never again.
class Codec {
 public:
  virtual ~Codec() = default;

  // Begins a run that forecasts `steps` steps (a multiple of ModelInfo::stride, at most its horizon).
  // `inputs`: the plan's inputs at full capacity, in the order the model declared them. Their rows are
  // written one after another from their beginnings.
  virtual void Begin(absl::Span<const View> inputs, int64_t steps) = 0;

  // Adds the next group. One row, unless ModelInfo::groups.
  virtual void Add(std::span<const Row> group) = 0;

  // To be called after the last Add. Extents of what was added, in the order of Model::dimensions().
  virtual void Finish(std::span<int64_t> extents) = 0;

  // Writes the forecast of row `i` of this run as [steps][levels], in the row's own units.
  virtual void Read(absl::Span<const View> outputs, int64_t i, std::span<double> quantiles) const = 0;

  // For captures: the origin of each row of tokens of the finished run.
  virtual std::vector<Origin> Origins() const = 0;
};

// Which form of the network a plan computes. All give the same numbers up to rounding.
struct Variant {
  bool grouped = false;    // for groups of several rows; else every group has one row
  bool published = false;  // every layer of the original is there, for captures and comparison. Else what
                           // nobody reads is left out and products are associated in the cheapest way.
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;

  // Declares inputs, the network and outputs; the same inputs for every variant of equal `grouped`.
  // Errors stay in the builder.
  virtual void Build(graph::GraphBuilder& b, const Variant& variant) const = 0;

  // Names of the dimensions whose extents depend on the run.
  virtual std::vector<std::string> dimensions() const = 0;
  // Their largest extents for runs of at most that many rows and tokens.
  virtual Extents Capacity(int64_t rows, int64_t tokens) const = 0;

  // The most tokens that a row takes whose past has `past` steps (at most context_length) when `steps` steps
  // are forecast. Grows with both.
  virtual int64_t Tokens(int64_t past, int64_t steps) const = 0;

  // Tensors of published files that the network does not read, such as tied copies.
  virtual std::vector<std::string> IgnoredWeights() const { return {}; }

  // A codec for runs of at most that many rows and tokens.
  virtual std::unique_ptr<Codec> MakeCodec(int64_t rows, int64_t tokens, Isa isa) const = 0;
};

// Makes the model that `config` describes. Errors: InvalidArgument for an unknown family (lists the
// known ones) and for sizes the family cannot have.
StatusOr<std::unique_ptr<Model>> MakeModel(const formats::Config& config);

// Names of all families, alphabetically.
std::vector<std::string> Families();

}  // namespace plinth::models
