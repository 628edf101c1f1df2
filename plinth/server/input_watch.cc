#include "plinth/server/input_watch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "plinth/base/text.h"

namespace plinth::server {
namespace {

constexpr size_t kRows = 512;        // the newest rows of a series are looked at
constexpr size_t kShapeRows = 256;   // of a window whose shape is judged
constexpr int64_t kSeenRows = 64;    // before a range means something
constexpr double kBeyondSeen = 0.5;  // widths of the range
constexpr double kBeyondOwn = 1;     // the same where a request stands by itself
constexpr int64_t kLeastFlat = 16;   // rows
constexpr int64_t kFlatTimes = 2;    // longer than the longest seen
constexpr size_t kReplayRows = 16;   // of one window that is recognised
constexpr size_t kReplayDistinct = 12;
constexpr int kReplayWindows = 3;  // found again at one distance
constexpr int64_t kLeastClipped = 8;
constexpr size_t kMostModels = 64;

uint64_t Mix(uint64_t x) {  // the finaliser of splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::string Number(double value) { return StrCat(value); }

}  // namespace

// The newest rows of one series.
struct InputWatch::Window {
  const engine::SeriesItem& item;
  std::span<const double> values;
  int64_t first_row;  // of values[0] in the item
  size_t fresh;       // values from here on were not there before

  int64_t TimeAt(size_t i) const { return item.TimeMs(first_row + static_cast<int64_t>(i)); }
  std::string TimeText(size_t i) const { return item.TimeText(first_row + static_cast<int64_t>(i)); }
};

namespace {

// A run of equal values, gaps passed over.
struct Flat {
  int64_t longest = 0;  // of the runs that are over
  int64_t now = 0;      // of the one at the end
  size_t since = 0;     // where that one begins
  bool others = false;  // whether there are other values
};

Flat FlatOf(std::span<const double> values) {
  Flat flat;
  double before = NAN;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    if (values[i] != before) {
      flat.longest = std::max(flat.longest, flat.now);
      flat.others = flat.others || !std::isnan(before);
      flat.now = 0, flat.since = i;
    }
    before = values[i];
    ++flat.now;
  }
  return flat;
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  int64_t count = 0;

  void Take(double value) {
    if (std::isnan(value)) return;
    low = std::min(low, value), high = std::max(high, value);
    ++count;
  }
};

Range RangeOf(std::span<const double> values) {
  Range range;
  for (const double value : values) range.Take(value);
  return range;
}

// The row furthest beyond `margin` widths of the range, or -1.
int64_t FurthestBeyond(std::span<const double> values, const Range& seen, double margin) {
  const double width = seen.high - seen.low;
  if (!(width > 0)) return -1;
  double most = margin * width;
  int64_t at = -1;
  for (size_t i = 0; i < values.size(); ++i) {
    const double beyond = std::max(values[i] - seen.high, seen.low - values[i]);
    if (beyond > most) most = beyond, at = static_cast<int64_t>(i);
  }
  return at;
}

// Whether the newest quarter often stands exactly at its own end (its largest value, or with sign -1 its
// smallest), in several runs, and the rows before hardly ever stood there.
bool Clipped(std::span<const double> values, double sign, double* end) {
  const size_t recent = std::min<size_t>(values.size() / 4, 64);
  const auto late = values.last(recent), early = values.first(values.size() - recent);
  double most = -std::numeric_limits<double>::infinity();
  for (const double v : late) {
    if (sign * v > most) most = sign * v;
  }
  *end = sign * most;
  // Where quantities end by nature.
  if (*end == 0 || *end == 1 || *end == 100) return false;
  int64_t at_end = 0, runs = 0, others = 0, before = 0;
  bool inside = false;
  for (const double v : late) {
    if (std::isnan(v)) continue;
    const bool here = v == *end;
    at_end += here ? 1 : 0, others += here ? 0 : 1;
    runs += here && !inside ? 1 : 0;
    inside = here;
  }
  if (at_end < kLeastClipped || runs < 2 || others < at_end) return false;
  for (const double v : early) before += v == *end ? 1 : 0;
  return before * 100 <= static_cast<int64_t>(early.size());
}

}  // namespace

std::string_view InputKindName(InputKind kind) {
  constexpr std::array<std::string_view, kInputKinds> kNames = {"range", "flat", "replay",
                                                                "shape", "gaps", "clipped"};
  return kNames[static_cast<size_t>(kind)];
}

InputWatch::InputWatch(Options options, const Clock& clock) : options_(options), clock_(clock) {}

InputWatch::Series* InputWatch::StateOf(const Seen& seen, const engine::SeriesItem& item,
                                        std::string_view target, bool* first) {
  *first = true;
  const int64_t now = clock_.Monotonic();
  while (!series_.empty() && now - series_.front().used > options_.idle_nanoseconds) {
    by_id_.erase(series_.front().id);
    series_.pop_front();
  }
  if (item.item.empty() || options_.series == 0) return nullptr;
  std::string id;
  for (const std::string_view part : {seen.model, seen.source, std::string_view(item.item), target}) {
    StrAppend(&id, part.size(), ":");
    id += part;
  }
  const auto found = by_id_.find(id);
  if (found != by_id_.end()) {
    *first = false;
    series_.splice(series_.end(), series_, found->second);
  } else {
    if (series_.size() >= options_.series) {
      by_id_.erase(series_.front().id);
      series_.pop_front();
    }
    Series& made = series_.emplace_back();
    made.id = std::move(id);
    by_id_.emplace(made.id, std::prev(series_.end()));
  }
  series_.back().used = now;
  return &series_.back();
}

// Recognises windows of values that were there at another time. Of all windows a quarter is kept, chosen by
// their contents, so that a replay meets the same ones wherever it begins (winnowing).
void InputWatch::Replay(const Window& window, Series* state, bool first, double* rows_back) {
  constexpr uint64_t kBase = 0x9e3779b97f4a7c15u;
  uint64_t leaving = 1;
  for (size_t i = 0; i < kReplayRows; ++i) leaving *= kBase;
  const auto& values = window.values;
  const auto code = [&](size_t i) { return Mix(std::bit_cast<uint64_t>(values[i])); };
  uint64_t hash = 0;
  size_t length = 0;
  *rows_back = 0;
  const size_t from = window.fresh >= kReplayRows ? window.fresh - kReplayRows + 1 : 0;
  for (size_t i = from; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      hash = 0, length = 0;
      continue;
    }
    hash = hash * kBase + code(i);
    if (++length > kReplayRows) hash -= leaving * code(i - kReplayRows);
    if (length < kReplayRows || i < window.fresh) continue;
    const uint64_t mixed = Mix(hash);
    if ((mixed & 3) != 0) continue;
    const Mark mark{static_cast<uint32_t>(mixed >> 32), window.TimeAt(i)};
    const auto same = std::find_if(state->marks.begin(), state->marks.end(), [&](const Mark& m) {
      return m.hash == mark.hash && m.time != 0 && m.time < mark.time;
    });
    std::array<double, kReplayRows> sorted;
    std::copy_n(values.begin() + static_cast<int64_t>(i + 1 - kReplayRows), kReplayRows, sorted.begin());
    std::sort(sorted.begin(), sorted.end());
    const size_t distinct = static_cast<size_t>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
    if (same != state->marks.end() && distinct >= kReplayDistinct) {
      const int64_t shift = mark.time - same->time;
      state->matches = shift == state->shift ? state->matches + 1 : 1;
      state->shift = shift;
    } else {
      state->matches = 0;
    }
    if (state->matches >= kReplayWindows) {
      if (first) state->repeats = true;
      const int64_t step = window.TimeAt(i) - window.TimeAt(i - 1);
      *rows_back = static_cast<double>(state->shift) / static_cast<double>(std::max<int64_t>(step, 1));
    }
    state->marks[state->next_mark++ % state->marks.size()] = mark;
  }
}

void InputWatch::Learn(const Window& window, int64_t longest_flat, Series* state) {
  const Range range = RangeOf(window.values.subspan(state->rows == 0 ? 0 : window.fresh));
  if (range.count > 0) {
    state->low = state->rows == 0 ? range.low : std::min(state->low, range.low);
    state->high = state->rows == 0 ? range.high : std::max(state->high, range.high);
    state->rows += range.count;
  }
  state->longest_flat = std::max(state->longest_flat, longest_flat);
  state->last = window.TimeAt(window.values.size() - 1);
}

void InputWatch::LookAt(const Seen& seen, size_t i, size_t target, Result* result) {
  const engine::SeriesItem& item = seen.items[i];
  const std::vector<double>& all = item.values[target];
  if (all.empty()) return;
  const std::span<const double> values = std::span(all).last(std::min(all.size(), kRows));
  Window window{item, values, static_cast<int64_t>(all.size() - values.size()), 0};
  const std::lock_guard lock(mutex_);
  ++counts_.windows;
  bool first = true;
  Series* const state = StateOf(seen, item, seen.targets[target], &first);
  // Rows without time stamps may all be new.
  if (!first && !item.numbered) {
    size_t old = 0, fresh = values.size();  // times ascend: values[old - 1] is old, values[fresh] is not
    while (old < fresh) {
      const size_t middle = (old + fresh) / 2;
      window.TimeAt(middle) <= state->last ? old = middle + 1 : fresh = middle;
    }
    window.fresh = fresh;
  }
  uint32_t bits = 0;
  const auto find = [&](InputKind kind, std::string message, double score) {
    bits |= 1u << static_cast<uint32_t>(kind);
    ++counts_.found[static_cast<size_t>(kind)];
    if (result->findings.size() < kMostFindings)
      result->findings.push_back({i, target, kind, std::move(message), score});
  };

  // Range: of the rows seen before, else the newest eighth beside the request's other rows.
  const size_t own = values.size() - std::max<size_t>(values.size() / 8, 1);
  Range before = RangeOf(values.first(first ? own : state->rows > 0 ? 0 : window.fresh));
  size_t judged = own;
  if (!first) {
    judged = window.fresh;
    if (state->rows > 0) before = {state->low, state->high, state->rows};
  }
  if (before.count >= (first ? kSeenRows / 2 : kSeenRows)) {
    const int64_t at = FurthestBeyond(values.subspan(judged), before, first ? kBeyondOwn : kBeyondSeen);
    if (at >= 0) {
      const size_t row = judged + static_cast<size_t>(at);
      find(InputKind::kRange,
           StrCat(Number(values[row]), " at ", window.TimeText(row), " lies far outside of the range seen, ",
                  Number(before.low), " to ", Number(before.high)),
           std::max(values[row] - before.high, before.low - values[row]) / (before.high - before.low));
    }
  }

  const Flat flat = FlatOf(values);
  const int64_t longest = std::max(flat.longest, first ? 0 : state->longest_flat);
  const bool others = flat.others || (!first && state->rows > 0 && state->low < state->high);
  const bool is_flat = flat.now >= kLeastFlat && flat.now > kFlatTimes * longest && others;
  if (is_flat) {
    find(InputKind::kFlat,
         StrCat(Number(values[flat.since]), " without change for ", flat.now, " rows since ",
                window.TimeText(flat.since), "; the longest before was ", longest),
         static_cast<double>(flat.now));
  }

  const auto newest = values.last(std::min(values.size(), kShapeRows));
  const auto gaps = std::count_if(newest.begin(), newest.end(), [](double v) { return std::isnan(v); });
  if (gaps >= 8 && static_cast<double>(gaps) > options_.gap_share * static_cast<double>(newest.size())) {
    find(InputKind::kGaps, StrCat(gaps, " of the newest ", newest.size(), " rows are gaps"),
         static_cast<double>(gaps) / static_cast<double>(newest.size()));
  }

  if (double end = 0; values.size() >= 64 && !is_flat) {
    for (const double sign : {1.0, -1.0}) {
      if (!Clipped(values, sign, &end)) continue;
      find(InputKind::kClipped,
           StrCat("the newest rows stand at ", Number(end), " again and again, as if values ",
                  sign > 0 ? "above" : "below", " were cut off"),
           end);
      break;
    }
  }

  if (state != nullptr && !item.numbered && values.size() > 1) {
    double rows_back = 0;
    Replay(window, state, first, &rows_back);
    if (rows_back > 0 && !state->repeats) {
      find(InputKind::kReplay,
           StrCat("the newest rows are exactly those of ", Number(rows_back), " rows before"), rows_back);
    }
  }

  if (const auto shape = ShapeOf(newest)) {
    if (shapes_.size() >= kMostModels && !shapes_.contains(std::string(seen.model))) shapes_.clear();
    ShapeReference& reference = shapes_[std::string(seen.model)];
    const double distance = reference.Distance(*shape);
    if (reference.ready() && distance > reference.limit()) {
      find(InputKind::kShape,
           StrCat("the shape of the newest ", newest.size(), " rows is unlike the first that ", seen.model,
                  " was asked about (squared distance ", Number(std::round(distance)), ", limit ",
                  Number(std::round(reference.limit())), ")"),
           distance);
    }
    // What looks wrong otherwise teaches nothing, nor do the same rows twice.
    const int64_t step = values.size() > 1 ? window.TimeAt(1) - window.TimeAt(0) : 1;
    const bool news =
        first || item.numbered ||
        window.TimeAt(values.size() - 1) - state->learned >= step * static_cast<int64_t>(newest.size()) / 4;
    if (bits == 0 && news) {
      reference.Learn(*shape);
      if (state != nullptr) state->learned = window.TimeAt(values.size() - 1);
    }
  }

  if (state == nullptr) return;
  for (size_t kind = 0; kind < kInputKinds; ++kind) {
    if ((state->lasting & ~bits & (1u << kind)) != 0)
      result->over.push_back({i, target, static_cast<InputKind>(kind)});
  }
  state->lasting = bits;
  Learn(window, flat.longest, state);
}

InputWatch::Result InputWatch::Look(const Seen& seen) {
  Result result;
  if (!options_.enabled) return result;
  for (size_t i = 0; i < seen.items.size(); ++i) {
    for (size_t t = 0; t < seen.targets.size(); ++t) LookAt(seen, i, t, &result);
  }
  return result;
}

InputWatch::Counts InputWatch::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.series = static_cast<int64_t>(series_.size());
  return counts;
}

void InputWatch::WriteJson(formats::JsonWriter& json) const {
  const Counts c = counts();
  json.BeginObject();
  json.Key("enabled"), json.Bool(options_.enabled);
  json.Key("series"), json.Int(c.series);
  json.Key("windows"), json.Int(c.windows);
  json.Key("found"), json.BeginObject();
  for (size_t kind = 0; kind < kInputKinds; ++kind)
    json.Key(InputKindName(static_cast<InputKind>(kind))), json.Int(c.found[kind]);
  json.EndObject();
  json.EndObject();
}

void WriteFindings(std::span<const InputFinding> findings, std::span<const engine::SeriesItem> items,
                   std::span<const std::string> targets, formats::JsonWriter& json) {
  json.BeginArray();
  for (const InputFinding& finding : findings) {
    json.BeginObject();
    json.Key("item"), json.String(items[finding.item].item);
    json.Key("target"), json.String(targets[finding.target]);
    json.Key("kind"), json.String(InputKindName(finding.kind));
    json.Key("message"), json.String(finding.message);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace plinth::server
