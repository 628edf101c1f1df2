// Holds what capture and locate share: options of a forecast on Plinth, loaded once and captured many times.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/plinth/command.h"
#include "apps/plinth/series_options.h"
#include "plinth/engine/capture_job.h"
#include "plinth/engine/series_groups.h"

namespace plinth::app {

struct CandidateOptions : CommonOptions, ForecastOptions {
  std::string model;
  SeriesOptions series;
  std::vector<std::string> kernels;  // "op=kernel"
  bool fused = false;
};

// Adds what says which forecast is run. `data_required`: --data must be given.
void AddCandidateOptions(Program& program, CLI::App* command, CandidateOptions* options,
                         bool data_required = true);

class CandidateRun {
 public:
  // Errors: those of loading model and series.
  static StatusOr<std::unique_ptr<CandidateRun>> Load(const CandidateOptions& options);

  // Forecasts and writes a capture; fills the digests and the environment.
  Status Write(engine::CaptureJob job, const std::string& folder);
  void PrintNotes() const;

 private:
  CandidateRun() = default;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<engine::Session> session_;
  std::unique_ptr<engine::SeriesGroups> series_;
  engine::ForecastRequest request_;
  std::string model_digest_, environment_;
};

}  // namespace plinth::app
