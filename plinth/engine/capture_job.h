// Runs a forecast once and keeps what it computed as a capture folder.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plinth/base/clock.h"
#include "plinth/base/interrupt.h"
#include "plinth/engine/recorder.h"
#include "plinth/engine/session.h"

namespace plinth::engine {

struct CaptureJob {
  RecordOptions record;
  bool fused = false;       // the graph as runs have it, else the network as published
  bool full_output = true;  // the forecast itself too, as entry "output" [targets, horizon, levels]
  std::string run_id;       // one for all repeats of a run
  int64_t repeat = 0, seed = 0;
  std::string model_digest;   // ModelFolder::Digest(), or empty
  std::string inputs_digest;  // SeriesGroups::digest(), or empty
  std::string environment;    // text of environment.json; empty: none
  // Refuse a capture that forces the run and is of another model or of other inputs.
  bool check_reference = false;
};

// Forecasts `groups` and writes the capture `folder`. `watch` (optional) sees every step after the recorder
// did, so that a test can plant a fault. Errors: those of Session::RunObserved, Recorder and CaptureWriter;
// InvalidArgument for a reference that does not fit; nothing is left behind then.
Status WriteCapture(Session& session, std::span<const Group> groups, const ForecastRequest& request,
                    const CaptureJob& job, const std::string& folder, StopCheck cancelled = {},
                    RunObserver* watch = nullptr);

// A name for a run that no other run has: the time and the process.
std::string NewRunId(const Clock& clock);

}  // namespace plinth::engine
