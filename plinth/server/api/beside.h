// Runs what an endpoint computes beside the batches of forecasts, and answers for what goes wrong.
#pragma once

#include <functional>

#include "plinth/base/interrupt.h"
#include "plinth/formats/json_writer.h"
#include "plinth/server/http/exchange.h"
#include "plinth/server/queue_forecaster.h"
#include "plinth/server/request_fields.h"

namespace plinth::server {

class Service;

struct BesideRequest {
  CommonFields common;
  bool brief = false;  // SideJob
  http::ExchangePtr exchange;
  // On a thread of the side jobs. Answers, unless it gives an error.
  std::function<Status(QueueForecaster&, StopCheck)> run;
};

// A client that goes drops it; a full queue (429), a time that has run out (504) and errors are answered
// here.
void RunBeside(Service& service, BesideRequest request);

// {"queue_seconds", "compute_seconds", "series"}: what the engine did for it.
void WriteTiming(const Work::Timing& timing, formats::JsonWriter& json);

}  // namespace plinth::server
