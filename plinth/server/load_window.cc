#include "plinth/server/load_window.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace plinth::server {
namespace {

// Class c holds (kLeast * 2^((c-1)/8), kLeast * 2^(c/8)]; the first also what is less, the last what is more.
constexpr double kLeast = 1e-5, kPerOctave = 8;

}  // namespace

LoadWindow::LoadWindow(const Clock& clock) : clock_(clock), began_(clock.Monotonic()) {}

size_t LoadWindow::ClassOf(double seconds) {
  if (!(seconds > kLeast)) return 0;
  const double at = std::ceil(std::log2(seconds / kLeast) * kPerOctave);
  return static_cast<size_t>(std::min(at, static_cast<double>(kClasses - 1)));
}

LoadWindow::Counts& LoadWindow::Current() {
  const int64_t number = Now();
  Counts& slot = slots_[static_cast<size_t>(number % kSlots)];
  if (slot.number != number) {
    slot = {};
    slot.number = number;
  }
  return slot;
}

void LoadWindow::Answered(int status, double seconds) {
  const size_t of = ClassOf(seconds);
  const std::lock_guard lock(mutex_);
  Counts& slot = Current();
  ++slot.requests;
  if (status == 429 || status == 503) {
    ++slot.refused;
  } else if (status >= 500) {
    ++slot.failed;
  } else if (status >= 400) {
    ++slot.wrong;
  }
  ++slot.seconds[of];
  slot.largest = std::max(slot.largest, seconds);
}

void LoadWindow::Computed(int64_t batch_series) {
  const auto width = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(batch_series, 1) - 1));
  const std::lock_guard lock(mutex_);
  Counts& slot = Current();
  ++slot.batched;
  slot.batch_series += batch_series;
  ++slot.batches[std::min(static_cast<size_t>(width), kBatchClasses - 1)];
}

double LoadWindow::Percentile(const std::array<uint64_t, kClasses>& counts, uint64_t all, double part) {
  const auto rank = static_cast<uint64_t>(std::ceil(part * static_cast<double>(all)));
  uint64_t seen = 0;
  for (size_t c = 0; c < kClasses; ++c) {
    seen += counts[c];
    if (seen >= rank && counts[c] > 0) return kLeast * std::exp2((static_cast<double>(c) - 0.5) / kPerOctave);
  }
  return 0;
}

void LoadWindow::Add(const Counts& counts, std::array<uint64_t, kClasses>* seconds, Slot* slot) {
  slot->requests += counts.requests;
  slot->wrong += counts.wrong;
  slot->refused += counts.refused;
  slot->failed += counts.failed;
  slot->largest = std::max(slot->largest, counts.largest);
  for (size_t c = 0; c < kClasses; ++c) (*seconds)[c] += counts.seconds[c];
}

void LoadWindow::Finish(const std::array<uint64_t, kClasses>& seconds, int64_t batched, int64_t series,
                        Slot* to) {
  if (batched > 0) to->batch_series = static_cast<double>(series) / static_cast<double>(batched);
  if (to->requests == 0) return;
  const auto all = static_cast<uint64_t>(to->requests);
  // The middle of a class may lie beyond the largest of all.
  to->median = std::min(Percentile(seconds, all, 0.5), to->largest);
  to->p90 = std::min(Percentile(seconds, all, 0.9), to->largest);
  to->p99 = std::min(Percentile(seconds, all, 0.99), to->largest);
}

LoadWindow::View LoadWindow::view() const {
  View view;
  view.slots.resize(kSlots);
  view.batches.resize(kBatchClasses);
  std::array<uint64_t, kClasses> all{};
  int64_t batched = 0, series = 0;
  const std::lock_guard lock(mutex_);
  const int64_t now = Now();
  for (int64_t back = 0; back < kSlots; ++back) {
    const int64_t number = now - kSlots + 1 + back;
    if (number < 0) continue;
    const Counts& counts = slots_[static_cast<size_t>(number % kSlots)];
    if (counts.number != number) continue;
    std::array<uint64_t, kClasses> seconds{};
    Slot& slot = view.slots[static_cast<size_t>(back)];
    Add(counts, &seconds, &slot);
    Finish(seconds, counts.batched, counts.batch_series, &slot);
    Add(counts, &all, &view.whole);
    batched += counts.batched;
    series += counts.batch_series;
    for (size_t b = 0; b < kBatchClasses; ++b) view.batches[b] += counts.batches[b];
  }
  Finish(all, batched, series, &view.whole);
  const double since = static_cast<double>(clock_.Monotonic() - began_) / 1e9;
  const double running = std::fmod(since, static_cast<double>(kSlotSeconds));
  view.seconds = std::min(since, running + static_cast<double>((kSlots - 1) * kSlotSeconds));
  return view;
}

void LoadWindow::WriteJson(formats::JsonWriter& w) const {
  const View v = view();
  w.BeginObject();
  w.Key("seconds"), w.Number(v.seconds);
  w.Key("requests"), w.Int(v.whole.requests);
  w.Key("wrong"), w.Int(v.whole.wrong);
  w.Key("refused"), w.Int(v.whole.refused);
  w.Key("failed"), w.Int(v.whole.failed);
  const auto number = [&](const char* key, double value, bool there) {
    w.Key(key);
    if (there) {
      w.Number(value);
    } else {
      w.Null();
    }
  };
  number("median_seconds", v.whole.median, v.whole.requests > 0);
  number("p90_seconds", v.whole.p90, v.whole.requests > 0);
  number("p99_seconds", v.whole.p99, v.whole.requests > 0);
  number("largest_seconds", v.whole.largest, v.whole.requests > 0);
  number("batch_series", v.whole.batch_series, v.whole.batch_series > 0);
  w.Key("batches"), w.BeginArray();
  for (const int64_t count : v.batches) w.Int(count);
  w.EndArray();
  w.Key("slot_seconds"), w.Int(kSlotSeconds);
  w.Key("slots"), w.BeginArray();
  for (const Slot& slot : v.slots) {
    w.BeginObject();
    w.Key("requests"), w.Int(slot.requests);
    w.Key("errors"), w.Int(slot.refused + slot.failed);
    number("median_seconds", slot.median, slot.requests > 0);
    number("p99_seconds", slot.p99, slot.requests > 0);
    number("batch_series", slot.batch_series, slot.batch_series > 0);
    w.EndObject();
  }
  w.EndArray();
  w.EndObject();
}

}  // namespace plinth::server
