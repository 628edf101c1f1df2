// Stands between work that needs many forecasts and what makes them: a session, or a queue before one.
#pragma once

#include <span>
#include <vector>

#include "plinth/base/interrupt.h"
#include "plinth/engine/session.h"

namespace plinth::engine {

class Forecaster {
 public:
  virtual ~Forecaster() = default;
  virtual const models::ModelInfo& info() const = 0;
  // The most steps that one request may ask for and look back; no more than the model can.
  virtual int64_t most_horizon() const { return info().horizon; }
  virtual int64_t most_context() const { return info().context_length; }
  // For what else the caller has to compute.
  virtual Threads& threads() = 0;
  // As Session::Run, with its errors. Returns only when nothing looks at `groups` any more.
  virtual StatusOr<std::vector<Forecast>> Run(std::span<const Group> groups, const ForecastRequest& request,
                                              StopCheck cancelled) = 0;

  // The same for series that stand alone.
  StatusOr<std::vector<Forecast>> Run(std::span<const std::span<const double>> series,
                                      const ForecastRequest& request, StopCheck cancelled) {
    std::vector<Group> groups(series.size());
    for (size_t i = 0; i < series.size(); ++i) groups[i].rows = {{series[i], {}}};
    return Run(groups, request, cancelled);
  }
};

// A session by itself.
class SessionForecaster final : public Forecaster {
 public:
  explicit SessionForecaster(Session& session) : session_(session) {}
  const models::ModelInfo& info() const override { return session_.model().info(); }
  Threads& threads() override { return *session_.context().threads; }
  using Forecaster::Run;
  StatusOr<std::vector<Forecast>> Run(std::span<const Group> groups, const ForecastRequest& request,
                                      StopCheck cancelled) override {
    return session_.Run(groups, request, cancelled);
  }

 private:
  Session& session_;
};

}  // namespace plinth::engine
