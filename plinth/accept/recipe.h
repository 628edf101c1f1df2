// Reads what an acceptance shall do: one TOML file, or what follows from a model folder alone.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plinth/base/status.h"

namespace plinth::accept {

// One side of a comparison of captures: what another framework recorded.
struct Side {
  std::vector<std::string> captures;  // repeats of one run; the first one is held against the other side
  std::string predictions;            // JSON lines for the task
  std::string performance;            // JSON of `plinth bench model --json`, or {"series_per_second": X}
};

struct Recipe {
  std::string path;   // of the file; empty: defaults
  std::string model;  // model folder; empty: only captures are compared
  std::string cases;  // cases.json of the original implementation; empty: none

  // Held-out series. Without a file: made ones from a fixed seed.
  struct Data {
    std::string file, time, item;
    std::vector<std::string> targets;
    int64_t windows = 12;  // origins, over all series
    int64_t season = 0;    // 0: from the frequency
  } data;

  // The largest sizes that the evidence shall cover; 0: the model's own, and batches as such models are
  // served.
  struct Sizes {
    int64_t batch = 0, context = 0, horizon = 0;
  } envelope;

  int64_t repeats = 5;
  std::string precision = "f32";

  // What is needed of the task's metrics: "mase" -> "1%" or "0.02".
  struct Task {
    std::string kind = "forecasting";
    std::string labels;    // JSON lines
    std::string required;  // list of business samples
    std::string rules;     // format, refusal and citation rules
    std::vector<std::pair<std::string, std::string>> bands;
  } task;

  struct Performance {
    std::vector<int64_t> batches = {1, 32};
    double at_least = 0.9;  // of the incumbent's speed
    double seconds = 1;     // each measurement
  } performance;

  Side incumbent, candidate;
  std::string truth;         // a capture in double
  std::string rules;         // rule set; empty: the built-in one
  std::string waivers;       // records
  std::string requirements;  // lines of the customer's own contract

  // "METRIC=BAND": those above, or for a model what is asked where nobody declared a band.
  std::vector<std::string> Bands() const;

  // Everything above in one canonical text, whose digest ties a journal and a statement to it.
  std::string Canonical() const;
};

// `where` begins every message; relative paths are taken from the folder of the file. Errors: InvalidArgument
// for bad syntax, unknown keys, values out of range, and sections that contradict each other.
StatusOr<Recipe> ParseRecipe(std::string_view text, const std::string& where);
// Errors: FileError too.
StatusOr<Recipe> LoadRecipe(const std::string& path);

}  // namespace plinth::accept
