// Lists the groups of endpoints, one per file.
#pragma once

#include <vector>

#include "plinth/server/http/router.h"

namespace plinth::server {

class Service;

std::vector<http::Route> HealthRoutes(Service& service);     // /v2, /v2/health/...
std::vector<http::Route> ModelRoutes(Service& service);      // /v1/models...
std::vector<http::Route> ForecastRoutes(Service& service);   // /v1/forecast
std::vector<http::Route> DetectRoutes(Service& service);     // /v1/detect
std::vector<http::Route> BacktestRoutes(Service& service);   // /v1/backtest
std::vector<http::Route> OipRoutes(Service& service);        // /v2/models...
std::vector<http::Route> ConfigRoutes(Service& service);     // /v1/config, /metrics
std::vector<http::Route> StatusRoutes(Service& service);     // /v1/status, /v1/recent, /v1/events
std::vector<http::Route> AlarmRoutes(Service& service);      // /v1/alarms
std::vector<http::Route> OpenApiRoutes(Service& service);    // /v1/openapi.json
std::vector<http::Route> DashboardRoutes(Service& service);  // /, /assets

}  // namespace plinth::server
