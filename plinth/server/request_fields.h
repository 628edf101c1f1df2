// Reads what the bodies of /v1/forecast, /v1/detect and /v1/backtest have in common.
#pragma once

#include <string>
#include <string_view>

#include "plinth/server/fields.h"
#include "plinth/server/http/message.h"
#include "plinth/server/model_host.h"
#include "plinth/server/series_body.h"

namespace plinth::server {

class Service;

// "model", "freq", "priority" (-100 to 100) and "timeout_seconds".
struct CommonFields {
  ModelPtr model;
  std::string frequency;
  int priority = 0;
  double seconds = 0;  // 0: the service's own limit
};
// Errors: InvalidArgument with the field; NotFound for the model.
StatusOr<CommonFields> ReadCommon(const Service& service, const JsonField& root);

// What is told apart by session: the caller's key, the session, the item.
std::string SessionId(const http::Request& request, std::string_view session, std::string_view item);

// The name of a session whose items are `body`'s. Errors: InvalidArgument for another kind of name,
// covariates, and items that are named twice.
StatusOr<std::string> ReadSessionName(const JsonField& session, const SeriesBody& body);

}  // namespace plinth::server
