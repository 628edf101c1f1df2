// Counts what the service does, for Prometheus.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace plinth::server {

class Service;

// Thread-safe. Labels are bounded: routes by their patterns, models by those that are loaded.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  // One answered request. `route` is the pattern, or "other".
  void Answered(std::string_view protocol, std::string_view route, int status, double seconds);
  // One request that never became one.
  void Malformed(int status);
  // One batch result of one request.
  void Computed(std::string_view model, double queue_seconds, double compute_seconds, int64_t series,
                int64_t batch_series);
  // One finding of the input watch.
  void InputFound(std::string_view model, std::string_view kind);
  // The text format, with gauges as they stand now.
  std::string Text(Service& service) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plinth::server
