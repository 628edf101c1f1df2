// Sends HTTP requests over keep-alive connections from one thread, as fast as they are answered or at times
// that were fixed before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plinth::bench {

struct LoadOptions {
  uint16_t port = 0;
  int connections = 1;
  double seconds = 1;
  // Requests, sent in turn; whole, header and body.
  std::vector<std::string> requests;
  // Requests per second of a Poisson process; 0: closed loop, each connection sends when it has its answer.
  double rate = 0;
  uint64_t seed = 1;
};

struct LoadResult {
  int64_t answered = 0, failed = 0;  // failed: another status than 200, or a connection that broke
  double seconds = 0;
  // Of each answered request, sorted. At a rate: from the time at which it was due, whether or not a
  // connection was free, so that a server that stalls is charged for everyone who would have come meanwhile.
  std::vector<double> latencies;
  double Quantile(double q) const;
};

// Error: exits with a message; it is a bench.
LoadResult RunLoad(const LoadOptions& options);

}  // namespace plinth::bench
