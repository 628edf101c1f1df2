// Forecasts through the batcher for work beside it: a few series at a time, between the batches of others.
#pragma once

#include "plinth/engine/forecaster.h"
#include "plinth/server/batcher.h"

namespace plinth::server {

class QueueForecaster final : public engine::Forecaster {
 public:
  struct Options {
    int64_t most_series = 32;  // in one request to the batcher: so long others wait at most
    int priority = 0;
    int64_t deadline = 0;  // Clock::Monotonic; 0: none
  };
  QueueForecaster(Batcher& batcher, ModelPtr model, Threads& threads, Options options)
      : batcher_(batcher), model_(std::move(model)), threads_(threads), options_(options) {}

  const models::ModelInfo& info() const override { return model_->info(); }
  // Inside what the model's evidence covers.
  int64_t most_horizon() const override;
  int64_t most_context() const override;
  Threads& threads() override { return threads_; }
  using Forecaster::Run;
  // Errors: those of Session::Run; DeadlineExceeded; Cancelled; Unavailable when the service stops. Where the
  // queue is full it waits for a place.
  StatusOr<std::vector<engine::Forecast>> Run(std::span<const engine::Group> groups,
                                              const engine::ForecastRequest& request,
                                              StopCheck cancelled) override;

  // Of all that ran: in the queue, in the engine, and series.
  const Work::Timing& timing() const { return timing_; }

 private:
  StatusOr<std::vector<engine::Forecast>> RunPart(std::span<const engine::Group> groups,
                                                  const engine::ForecastRequest& request,
                                                  StopCheck cancelled);
  Status Submit(std::unique_ptr<Work> work, StopCheck cancelled);

  Batcher& batcher_;
  const ModelPtr model_;
  Threads& threads_;
  const Options options_;
  Work::Timing timing_;
};

}  // namespace plinth::server
