// Bounds what a client may cost before anything is known about it.
#pragma once

#include <atomic>
#include <cstdint>

namespace plinth::server::http {

struct Limits {
  int64_t connections = 4096;          // at once; beyond, the one that has waited longest for a request goes
  int64_t header_bytes = 32 << 10;     // of one request
  int64_t body_bytes = 64 << 20;       // of one request
  int64_t all_body_bytes = 256 << 20;  // of all requests that are being received or answered
  int64_t header_seconds = 10;         // from the first byte of a request to the end of its header
  int64_t idle_seconds = 75;           // between requests
  int64_t least_bytes_per_second =
      4096;  // of a body that comes, or an answer that goes, beyond header_seconds
};

// Bytes that all connections share.
class Budget {
 public:
  explicit Budget(int64_t all) : left_(all) {}
  bool Take(int64_t bytes) {
    if (left_.fetch_sub(bytes, std::memory_order_relaxed) >= bytes) return true;
    Return(bytes);
    return false;
  }
  void Return(int64_t bytes) { left_.fetch_add(bytes, std::memory_order_relaxed); }
  int64_t left() const { return left_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> left_;
};

}  // namespace plinth::server::http
