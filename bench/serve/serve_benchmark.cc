// Measures the service beside the engine itself, in one process and on one model: throughput at saturation,
// what HTTP adds to one request, latency at a rate, and how fast the health endpoint answers.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "CLI/CLI.hpp"
#include "bench/serve/load.h"
#include "plinth/engine/random_weights.h"
#include "plinth/models/shapes.h"
#include "plinth/server/http/listener.h"
#include "plinth/server/service.h"

namespace plinth::bench {
namespace {

struct Options {
  std::string shape = "chronos-bolt-small", model;
  int threads = 0, connections = 64, rounds = 5;
  int64_t context = 512, horizon = 64, batch = 32;
  double seconds = 6;
};

double Now() { return static_cast<double>(Clock::System().Monotonic()) / 1e9; }

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<double> Series(int64_t length, int seed) {
  std::vector<double> y(static_cast<size_t>(length));
  for (size_t t = 0; t < y.size(); ++t) {
    const double v =
        50 + 10 * std::sin(static_cast<double>(t) / (3 + seed % 17)) + (t * 7919 + seed * 104729) % 13;
    y[t] = std::round(v * 1000) / 1000;
  }
  return y;
}

std::string Request(const std::vector<double>& y, int64_t horizon) {
  std::string body = "{\"series\":{\"y\":[";
  char number[32];
  for (size_t t = 0; t < y.size(); ++t) {
    std::snprintf(number, sizeof number, "%s%.10g", t == 0 ? "" : ",", y[t]);
    body += number;
  }
  body += "]},\"horizon\":" + std::to_string(horizon) + "}";
  return "POST /v1/forecast HTTP/1.1\r\nhost: x\r\ncontent-length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

void Print(const char* what, const LoadResult& r) {
  std::printf("%-34s %8.1f/s  p50 %.3f ms  p90 %.3f  p99 %.3f  most %.3f  failed %lld\n", what,
              static_cast<double>(r.answered) / r.seconds, r.Quantile(0.5) * 1e3, r.Quantile(0.9) * 1e3,
              r.Quantile(0.99) * 1e3, r.Quantile(1) * 1e3, static_cast<long long>(r.failed));
}

// Series per second of the engine alone, and seconds of a run of one series.
double EngineRate(engine::Session& session, const Options& o, double seconds) {
  std::vector<std::vector<double>> data;
  for (int i = 0; i < o.batch; ++i) data.push_back(Series(o.context, i));
  const std::vector<std::span<const double>> views(data.begin(), data.end());
  const engine::ForecastRequest request{o.horizon, o.context, session.model().info().levels};
  const double began = Now();
  int64_t runs = 0;
  while (Now() - began < seconds) {
    if (!session.Run(views, request).ok()) return 0;
    ++runs;
  }
  return static_cast<double>(runs * o.batch) / (Now() - began);
}

double EngineLatency(engine::Session& session, const Options& o, double seconds) {
  const std::vector<double> y = Series(o.context, 1);
  const std::span<const double> view(y);
  const engine::ForecastRequest request{o.horizon, o.context, session.model().info().levels};
  std::vector<double> took;
  const double end = Now() + seconds;
  while (Now() < end) {
    const double began = Now();
    if (!session.Run({&view, 1}, request).ok()) return 0;
    took.push_back(Now() - began);
  }
  return Median(took);
}

// Seconds of one request in the engine, and how many more it takes through the service: medians over short
// turns of both, so that a machine whose speed drifts meets both alike.
std::pair<double, double> AddedLatency(engine::Session& session, const Options& o, LoadOptions load) {
  constexpr int kTurns = 9;
  load.connections = 1;
  load.seconds = o.seconds / (2 * kTurns);
  std::vector<double> alone, more;
  for (int turn = 0; turn < kTurns; ++turn) {
    alone.push_back(EngineLatency(session, o, load.seconds));
    more.push_back(RunLoad(load).Quantile(0.5) - alone.back());
  }
  return {Median(alone), Median(more)};
}

StatusOr<std::unique_ptr<engine::Session>> MakeSession(const Options& o, const Context& context) {
  if (!o.model.empty()) return engine::Session::Load(o.model, context);
  PLINTH_ASSIGN_OR_RETURN(const formats::Config config, models::ShapeConfig(o.shape));
  return engine::Session::Make(o.shape, config, std::make_shared<engine::RandomWeights>(), context);
}

Status Run(const Options& o) {
  Threads threads(o.threads);
  PLINTH_ASSIGN_OR_RETURN(const Isa isa, IsaFromEnvironment());
  const Context context{&threads, isa};
  server::Service::Parts parts;
  parts.settings.log_level = "off";
  parts.settings.allow_unproven = true;
  parts.context = context;
  PLINTH_ASSIGN_OR_RETURN(const auto service, server::Service::Make(std::move(parts)));
  auto model = std::make_shared<server::ServedModel>();
  model->setting.name = "m";
  PLINTH_ASSIGN_OR_RETURN(model->session, MakeSession(o, context));
  model->bounds = {256, model->info().context_length, 1 << 16};
  engine::Session& session = *model->session;
  service->models().Adopt(model);
  server::http::ListenOptions listen;
  PLINTH_ASSIGN_OR_RETURN(const auto listener, server::http::Listener::Start(listen, *service));

  LoadOptions load;
  load.port = listener->port();
  load.seconds = o.seconds;
  for (int i = 0; i < o.batch; ++i) load.requests.push_back(Request(Series(o.context, i), o.horizon));

  std::printf("model %s, context %lld, horizon %lld, %d threads of the engine\n",
              o.model.empty() ? o.shape.c_str() : o.model.c_str(), static_cast<long long>(o.context),
              static_cast<long long>(o.horizon), threads.count());
  static_cast<void>(EngineRate(session, o, 0.5));
  std::vector<double> ratios, added, rates, spreads;
  for (int r = 0; r < o.rounds; ++r) {
    const double alone = EngineRate(session, o, o.seconds);
    load.connections = o.connections;
    const LoadResult served = RunLoad(load);
    const double rate = static_cast<double>(served.answered) / served.seconds;
    ratios.push_back(rate / alone);
    rates.push_back(rate);
    const auto [one, more] = AddedLatency(session, o, load);
    added.push_back(more * 1e3);
    LoadOptions open = load;
    open.connections = 256;
    open.rate = 0.7 * rate;
    open.seconds = 2 * o.seconds;
    open.seed = static_cast<uint64_t>(r) + 1;
    const LoadResult poisson = RunLoad(open);
    spreads.push_back(poisson.Quantile(0.99) / poisson.Quantile(0.5));
    std::printf(
        "round %d: engine %.1f series/s, served %.1f (ratio %.3f); one request: engine %.3f ms, service adds "
        "%.3f ms\n",
        r + 1, alone, rate, ratios.back(), one * 1e3, added.back());
    Print("  70 % of that, Poisson arrivals", poisson);
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const auto [little, much] = std::minmax_element(added.begin(), added.end());
  std::printf(
      "saturation: median ratio %.3f [%.3f, %.3f]; one request adds %.3f ms at the median [%.3f, %.3f]\n",
      Median(ratios), *least, *most, Median(added), *little, *much);
  const auto [even, uneven] = std::minmax_element(spreads.begin(), spreads.end());
  std::printf("p99 / median at 70 %% load: %.2f at the median [%.2f, %.2f]\n", Median(spreads), *even,
              *uneven);
  load.requests = {"GET /v2/health/live HTTP/1.1\r\nhost: x\r\n\r\n"};
  load.rate = 0;
  load.connections = 16;
  load.seconds = o.seconds / 2;
  Print("health, 16 connections", RunLoad(load));
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App cli{"measures the service beside the engine itself"};
  Options o;
  cli.add_option("--shape", o.shape, "a published model's sizes with made-up weights")->capture_default_str();
  cli.add_option("--model", o.model, "a model folder instead");
  cli.add_option("-t,--threads", o.threads, "threads of the engine (default: one per processor)");
  cli.add_option("--connections", o.connections, "at saturation")->capture_default_str();
  cli.add_option("--context", o.context)->capture_default_str();
  cli.add_option("--horizon", o.horizon)->capture_default_str();
  cli.add_option("--batch", o.batch, "series of the engine's own runs")->capture_default_str();
  cli.add_option("--rounds", o.rounds)->capture_default_str();
  cli.add_option("--seconds", o.seconds, "of each measurement")->capture_default_str();
  CLI11_PARSE(cli, argc, argv);
  const Status status = Run(o);
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace plinth::bench

int main(int argc, char** argv) { return plinth::bench::Main(argc, argv); }
