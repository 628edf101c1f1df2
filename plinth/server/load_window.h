// Remembers what the last five minutes asked of the service, for people who look at it now.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "plinth/base/clock.h"
#include "plinth/formats/json_writer.h"

namespace plinth::server {

// Requests for work by their time of answer, in slots of kSlotSeconds. Thread-safe, of fixed size; an entry
// costs two additions. Times of answer are counted in classes of 9 % width, so that percentiles are within
// 4.5 % of the true ones.
class LoadWindow {
 public:
  static constexpr int64_t kSlotSeconds = 5, kSlots = 60;
  explicit LoadWindow(const Clock& clock = Clock::System());

  // One answered request; a status of 429 or 503 is refused, another from 500 on failed, from 400 on wrong.
  void Answered(int status, double seconds);
  // One request's batch.
  void Computed(int64_t batch_series);

  // Sums over the window, and for each slot, oldest first; the last slot is the one that runs.
  struct Slot {
    int64_t requests = 0, wrong = 0, refused = 0, failed = 0;
    double median = 0, p90 = 0, p99 = 0, largest = 0;  // seconds; 0: no request
    double batch_series = 0;                           // mean over requests; 0: none
  };
  struct View {
    Slot whole;
    double seconds = 0;  // that it covers: less than the window after a start
    std::vector<Slot> slots;
    std::vector<int64_t> batches;  // requests by the size of their batch: 1, 2, 3-4, 5-8, ... > 1024
  };
  View view() const;
  void WriteJson(formats::JsonWriter& json) const;

 private:
  static constexpr size_t kClasses = 200, kBatchClasses = 12;
  struct Counts {
    int64_t number = -1;  // of the slot since the clock's start; -1: empty
    int64_t requests = 0, wrong = 0, refused = 0, failed = 0;
    double largest = 0;
    int64_t batched = 0, batch_series = 0;
    std::array<uint32_t, kClasses> seconds{};
    std::array<uint32_t, kBatchClasses> batches{};
  };
  static size_t ClassOf(double seconds);
  static double Percentile(const std::array<uint64_t, kClasses>& counts, uint64_t all, double part);
  static void Add(const Counts& counts, std::array<uint64_t, kClasses>* seconds, Slot* slot);
  static void Finish(const std::array<uint64_t, kClasses>& seconds, int64_t batched, int64_t series,
                     Slot* to);
  int64_t Now() const { return (clock_.Monotonic() - began_) / (kSlotSeconds * 1'000'000'000); }
  Counts& Current();

  const Clock& clock_;
  const int64_t began_;
  mutable std::mutex mutex_;
  std::array<Counts, kSlots> slots_;
};

}  // namespace plinth::server
