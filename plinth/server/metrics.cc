#include "plinth/server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <sstream>

#include "plinth/base/memory.h"
#include "plinth/base/text.h"
#include "plinth/server/service.h"

namespace plinth::server {
namespace {

// Seconds: from a tenth of a millisecond to half a minute.
const prometheus::Histogram::BucketBoundaries kSeconds = {
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30};
const prometheus::Histogram::BucketBoundaries kSeries = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

}  // namespace

struct Metrics::State {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests =
      prometheus::BuildCounter()
          .Name("plinth_requests_total")
          .Help("Answered requests by protocol, route and status.")
          .Register(registry);
  prometheus::Family<prometheus::Histogram>& seconds =
      prometheus::BuildHistogram()
          .Name("plinth_request_duration_seconds")
          .Help("Time from the last byte of a request to its answer.")
          .Register(registry);
  prometheus::Family<prometheus::Counter>& malformed =
      prometheus::BuildCounter()
          .Name("plinth_malformed_requests_total")
          .Help("What came over a connection and was no request, by the status it got.")
          .Register(registry);
  prometheus::Family<prometheus::Histogram>& queue =
      prometheus::BuildHistogram()
          .Name("plinth_queue_duration_seconds")
          .Help("Time of a request in the queue of the engine.")
          .Register(registry);
  prometheus::Family<prometheus::Histogram>& compute =
      prometheus::BuildHistogram()
          .Name("plinth_compute_duration_seconds")
          .Help("Time of a request in the engine, with its batch.")
          .Register(registry);
  prometheus::Family<prometheus::Counter>& series = prometheus::BuildCounter()
                                                        .Name("plinth_series_total")
                                                        .Help("Series that were computed.")
                                                        .Register(registry);
  prometheus::Family<prometheus::Histogram>& batch = prometheus::BuildHistogram()
                                                         .Name("plinth_batch_series")
                                                         .Help("Series of the batch that a request ran in.")
                                                         .Register(registry);
  prometheus::Family<prometheus::Counter>& input =
      prometheus::BuildCounter()
          .Name("plinth_input_findings_total")
          .Help("What the input watch found in requests, by model and kind.")
          .Register(registry);
};

Metrics::Metrics() : state_(std::make_unique<State>()) {}
Metrics::~Metrics() = default;

void Metrics::Answered(std::string_view protocol, std::string_view route, int status, double seconds) {
  const std::string of(protocol), where(route);
  state_->requests.Add({{"protocol", of}, {"route", where}, {"status", StrCat(status)}}).Increment();
  state_->seconds.Add({{"protocol", of}, {"route", where}}, kSeconds).Observe(seconds);
}

void Metrics::Malformed(int status) { state_->malformed.Add({{"status", StrCat(status)}}).Increment(); }

void Metrics::Computed(std::string_view model, double queue_seconds, double compute_seconds, int64_t series,
                       int64_t batch_series) {
  const prometheus::Labels labels = {{"model", std::string(model)}};
  state_->queue.Add(labels, kSeconds).Observe(queue_seconds);
  state_->compute.Add(labels, kSeconds).Observe(compute_seconds);
  state_->series.Add(labels).Increment(static_cast<double>(series));
  state_->batch.Add(labels, kSeries).Observe(static_cast<double>(batch_series));
}

void Metrics::InputFound(std::string_view model, std::string_view kind) {
  state_->input.Add({{"model", std::string(model)}, {"kind", std::string(kind)}}).Increment();
}

std::string Metrics::Text(Service& service) const {
  // Gauges are read as they are asked for.
  prometheus::Registry now;
  const auto gauge = [&](const char* name, const char* help, double value) {
    prometheus::BuildGauge().Name(name).Help(help).Register(now).Add({}).Set(value);
  };
  const Batcher::State batcher = service.batcher().state();
  gauge("plinth_queue_requests", "Requests that wait for the engine.", static_cast<double>(batcher.waiting));
  gauge("plinth_running_requests", "Requests that the engine works on.",
        static_cast<double>(batcher.running));
  gauge("plinth_ready", "1 where new work is taken.", service.readiness().ready ? 1 : 0);
  gauge("process_resident_memory_bytes", "Resident memory of the process.",
        static_cast<double>(ResidentBytes()));
  gauge("plinth_input_series", "Series that the input watch remembers.",
        static_cast<double>(service.input().counts().series));
  auto& proven = prometheus::BuildGauge()
                     .Name("plinth_model_proven")
                     .Help("1 where valid evidence covers the loaded model.")
                     .Register(now);
  auto& weights = prometheus::BuildGauge()
                      .Name("plinth_model_weight_bytes")
                      .Help("Memory of a model's weights.")
                      .Register(now);
  for (const ModelPtr& model : service.models().All()) {
    proven.Add({{"model", model->name()}}).Set(model->proven() ? 1 : 0);
    weights.Add({{"model", model->name()}}).Set(static_cast<double>(model->session->weight_bytes()));
  }
  auto families = state_->registry.Collect();
  for (auto& family : now.Collect()) families.push_back(std::move(family));
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

}  // namespace plinth::server
