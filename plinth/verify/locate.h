// Finds the first module, then the first operator, where two runs of one model part: what `plinth locate`
// does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/formats/capture.h"
#include "plinth/formats/capture_plan.h"
#include "plinth/verify/capture_pairs.h"

namespace plinth::verify {

// A layer in the order of execution: a module of a stack ("encoder.block.3"), or one that belongs to none.
struct LayerDrift {
  std::string module;
  std::string name;                     // the entry that stands for it: its output
  std::optional<int64_t> layer;         // its number in the stack
  int64_t step = 0;                     // generation step or pass
  std::optional<Drift> free, local;     // of the running model; with reference inputs fed to it
  std::optional<double> amplification;  // free drift out over free drift in; empty where nothing came in
};

// One comparison that the search needed.
struct Explored {
  std::string name;
  enum class What : uint8_t { kLayer, kLocal, kOperator, kReplacement } what = What::kLayer;
  Drift drift;
};

struct FirstDrift {
  std::string name, op;
  std::string module;            // its layer
  std::optional<int64_t> layer;  // number in the stack
  int64_t step = 0, rank = 0;
  std::optional<double> local, free, amplification;  // relative L2; amplification of the layer
  double limit = 0;
  Drift::By by = Drift::By::kTensors;
  std::string note;  // what is broken in the structure, or that its inputs differ already
  // No layer is wrong by itself: many small differences add up, and this is where they exceed the limit.
  bool accumulated = false;
};

enum class Confirmation : uint8_t {
  kNotTried,
  kRepaired,     // with the reference put back there, all that follows agrees
  kNotRepaired,  // something else is wrong too
  kNotSeenHere,  // the run made here does not show the drift at all
};

struct LocateResult {
  std::optional<FirstDrift> first_drift;
  std::vector<Explored> explored;
  std::vector<LayerDrift> layers;  // of the rank in first_drift, for the picture
  int64_t looks = 0;               // layers compared to find the first one
  Confirmation confirmation = Confirmation::kNotTried;
  std::string confirmation_text;   // one sentence; empty where it was not tried
  std::vector<std::string> notes;  // sentences
  int64_t compared = 0;            // outputs that both sides have
  formats::CapturePlan next;       // what to capture to know more; empty: nothing

  bool good() const { return !first_drift.has_value(); }
  std::string_view verdict() const { return good() ? "pass" : "fail"; }
};

// Runs the candidate again and writes a capture of all module outputs in full.
struct Rerun {
  const formats::Capture* forced_by = nullptr;  // teacher-forced by this capture
  std::string replaced;  // this module's output replaced by the reference's; empty: none
  const formats::Capture* reference = nullptr;
};
using RerunCandidate = std::function<Status(const Rerun& rerun, const std::string& folder)>;

struct LocateOptions {
  std::string reference, output;  // captures, or folders of captures (repeats, ranks, free and forced)
  std::string map;                // names and layouts of the candidate's, see TensorMap::Load; empty: none
  bool any_model = false, any_inputs = false;  // compare although the digests differ
  // Recorded tensors are held against their digests before anything else, as long as there are no more bytes
  // of them; of larger captures those that are compared.
  int64_t verified_bytes = int64_t{4} << 30;
  int64_t stride = 8;  // summaries are compared at every so many layers first
  DriftLines lines;
  RerunCandidate rerun;  // empty: no confirmation
};

// Method: layers are compared at their outputs, the last one first, then by bisection over every `stride`th
// and over those between, about log2(layers) looks; statistics and digests, which cost nothing, are held
// against what bisection assumes. Where a forced capture is there, the first layer whose own error is
// significant counts. Inside the layer all recorded values are compared in the order of execution. Errors: as
// formats::OpenCaptures; InvalidArgument for captures of different models, inputs or worlds, and where
// nothing can be compared; DataLoss for a tensor that is not the one whose digest was recorded; those of
// TensorMap::Load and `rerun`.
StatusOr<LocateResult> Locate(const LocateOptions& options);

// The object of the contract, with more keys.
std::string ToJson(const LocateResult& result);
// Several lines: the sentence, drift over depth on a logarithmic scale, what was explored.
std::string ToText(const LocateResult& result, int width, bool ascii);

}  // namespace plinth::verify
