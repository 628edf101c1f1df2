#include "plinth/server/detect_sessions.h"

#include <algorithm>
#include <limits>

#include "plinth/base/text.h"
#include "plinth/detect/detect_json.h"
#include "plinth/series/frequency.h"
#include "plinth/server/fields.h"

namespace plinth::server {
namespace {

// Rows that are kept: those of a request, and what a row looks back at. The longest context of a model here
// is 8192.
constexpr int64_t kKeptRows = DetectSessions::kMostRows + 8192 + 1024;
// Findings that are kept for alarms that go on.
constexpr int64_t kMostFindings = 4096, kBeforeAlarm = 128;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 2;

std::string OptionsText(const detect::Options& o) {
  return StrCat(o.calibration, " ", o.window, " ", o.step, " ", o.context, " ", o.coverage, " ",
                o.false_alarms_per_day, " ", o.relate, " ",
                Join(o.scores, ",", [](detect::Score s) { return detect::ScoreName(s); }));
}

template <typename T>
void CopyRows(const std::vector<T>& from, int64_t begin, int64_t end, std::vector<T>& to, int64_t at) {
  std::copy(from.begin() + begin, from.begin() + end, to.begin() + at);
}

// Rows [begin, end) of what covers both, from where they stand in `from` to where in `to`.
void CopyFindings(const detect::Findings& from, int64_t begin, int64_t end, detect::Findings& to,
                  int64_t at) {
  CopyRows(from.fused, begin, end, to.fused, at);
  for (size_t s = 0; s < from.scores.size(); ++s) {
    CopyRows(from.scores[s].surprise, begin, end, to.scores[s].surprise, at);
    for (size_t c = 0; c < from.scores[s].parts.size(); ++c)
      CopyRows(from.scores[s].parts[c], begin, end, to.scores[s].parts[c], at);
  }
}

// The rows from `first` on.
detect::Findings Cut(const detect::Findings& findings, int64_t first) {
  detect::Findings cut = findings;
  const auto from = [&](auto& rows) { rows.erase(rows.begin(), rows.begin() + first); };
  from(cut.fused);
  for (auto& of : cut.scores) {
    from(of.surprise);
    for (auto& part : of.parts) from(part);
  }
  return cut;
}

void Shift(detect::Alarm* alarm, int64_t rows) {
  for (int64_t* row : {&alarm->begin, &alarm->end, &alarm->peak_row}) *row += rows;
  for (detect::Cause& cause : alarm->causes) cause.moved_row += rows;
}

}  // namespace

DetectSessions::DetectSessions(Options options, const Clock& clock)
    : options_(options), clock_(clock), rows_({kNever, kNever, kKeptRows}, clock) {}

std::shared_ptr<DetectSessions::State> DetectSessions::Find(const std::string& id) {
  const int64_t now = clock_.Monotonic();
  const std::lock_guard lock(mutex_);
  const auto known = by_id_.find(id);
  const bool idle = known != by_id_.end() && now - known->second->used > options_.idle_nanoseconds;
  if (known != by_id_.end() && !idle) {
    known->second->used = now;
    entries_.splice(entries_.end(), entries_, known->second);
    return entries_.back().state;
  }
  while (!entries_.empty() && (static_cast<int64_t>(entries_.size()) >= options_.most ||
                               now - entries_.front().used > options_.idle_nanoseconds)) {
    rows_.Drop(entries_.front().id);
    by_id_.erase(entries_.front().id);
    entries_.pop_front();
  }
  entries_.push_back({id, std::make_shared<State>(), now});
  by_id_[id] = std::prev(entries_.end());
  return entries_.back().state;
}

DetectSessions::Place DetectSessions::Locate(State& state, const engine::SeriesItem& given,
                                             const engine::SeriesItem& whole) {
  if (!state.begun) {
    state.begun = true;
    state.origin = whole.origin;
  }
  Place place;
  if (whole.numbered) {
    place.at = state.total;
    place.base = state.total + given.length() - whole.length();
  } else {
    place.base = series::StepsUpTo(state.origin, whole.frequency, whole.origin);
    place.at = place.base + series::StepsUpTo(whole.origin, whole.frequency, given.origin);
  }
  state.total = place.base + whole.length();
  return place;
}

Status DetectSessions::Learn(State& state, engine::Forecaster& forecaster, const Request& request,
                             const engine::SeriesItem& item, StopCheck cancelled) {
  detect::Series normal = detect::SeriesOf(item);
  for (auto& column : normal.columns) column = column.first(static_cast<size_t>(request.options.calibration));
  PLINTH_ASSIGN_OR_RETURN(state.fitted,
                          detect::Fitted::Make(forecaster, normal, 0, request.options, cancelled));
  state.generation = request.generation;
  state.scored = state.kept = request.options.calibration;
  state.findings = {};
  state.lasting.reset();
  return absl::OkStatus();
}

// Alarms from `state.kept` on, in rows since row 0; keeps what the next request needs to go on with them.
std::vector<detect::Alarm> DetectSessions::TakeAlarms(State& state,
                                                      std::span<const std::span<const double>> tail,
                                                      detect::Findings findings, int64_t base) {
  std::vector<detect::Alarm> alarms = state.fitted->Alarms(tail, findings, state.kept - base);
  for (detect::Alarm& alarm : alarms) Shift(&alarm, base);
  if (state.lasting && !alarms.empty() && alarms[0].begin == state.kept) {
    detect::Alarm& alarm = alarms[0];
    if (state.lasting->peak > alarm.peak) {
      alarm.peak = state.lasting->peak, alarm.peak_row = state.lasting->peak_row;
      alarm.leading = state.lasting->leading;
      alarm.columns = state.lasting->columns, alarm.causes = state.lasting->causes;
    }
    alarm.begin = state.lasting->begin;
  }
  const int64_t window = state.fitted->sizes().window;
  int64_t first = state.total - 2 * window;
  const bool goes_on = !alarms.empty() && state.total - alarms.back().end < (window + 1) / 2;
  if (goes_on) first = std::min(first, alarms.back().begin - kBeforeAlarm);
  first = std::clamp(first, std::max(state.kept, state.total - kMostFindings), state.total);
  state.lasting.reset();
  if (goes_on && alarms.back().begin < first) state.lasting = alarms.back();
  state.findings = Cut(findings, first - base);
  state.kept = first;
  return alarms;
}

StatusOr<detect::Detection> DetectSessions::ScoreRows(State& state, engine::Forecaster& forecaster,
                                                      const engine::SeriesItem& item, const Place& place,
                                                      StopCheck cancelled) {
  const detect::Fitted& fitted = *state.fitted;
  const int64_t calibration = fitted.calibration(), lookback = fitted.lookback();
  // Rows that were left out are gaps; near the request's rows they, too, may be in an alarm.
  int64_t from = std::max(std::min(place.at, state.scored), place.at - 2 * fitted.sizes().window);
  from = std::max(from, calibration);
  if (place.base > 0) from = std::max(from, place.base + lookback);
  from = std::min(from, state.total);
  if (from < state.kept || from > state.scored) state.kept = from, state.lasting.reset(), state.findings = {};
  const int64_t begin = std::max(place.base, std::min(from - lookback, state.kept - fitted.sizes().window));
  std::vector<std::span<const double>> tail;
  for (const auto& column : item.values)
    tail.push_back(std::span(column).subspan(static_cast<size_t>(begin - place.base)));
  PLINTH_ASSIGN_OR_RETURN(detect::Scored scored,
                          fitted.Score(forecaster, tail, begin, from - begin, cancelled));
  if (!state.findings.fused.empty())
    CopyFindings(state.findings, 0, from - state.kept, scored.findings, state.kept - begin);
  detect::Detection d;
  const int64_t shown = std::clamp(place.at, from, state.total);
  const auto rows = [&](const std::vector<double>& all) {
    return std::vector<double>(all.begin() + (shown - begin), all.end());
  };
  d.first = shown - place.base;
  for (const detect::Expectation& e : scored.expectation) {
    d.expected.push_back(rows(e.middle));
    d.lower.push_back(rows(e.lower));
    d.upper.push_back(rows(e.upper));
  }
  d.score = rows(scored.findings.fused);
  d.scores = fitted.scores();
  for (const auto& of : scored.findings.scores) d.surprise.push_back(rows(of.surprise));
  d.alarm.assign(d.score.size(), -1);
  for (detect::Alarm& alarm : TakeAlarms(state, tail, std::move(scored.findings), begin)) {
    if (alarm.end <= shown) continue;
    const int64_t first = std::max(alarm.begin, shown) - shown;
    std::fill(d.alarm.begin() + first, d.alarm.begin() + (alarm.end - shown),
              static_cast<int32_t>(d.alarms.size()));
    Shift(&alarm, -place.base);
    d.alarms.push_back(std::move(alarm));
  }
  state.scored = state.total;
  d.threshold = fitted.threshold();
  d.calibration = calibration;
  d.window = fitted.sizes().window, d.period = fitted.sizes().period, d.step = fitted.sizes().step;
  return d;
}

StatusOr<DetectSessions::Answer> DetectSessions::Score(engine::Forecaster& forecaster, const Request& request,
                                                       engine::SeriesItem* item, StopCheck cancelled) {
  if (options_.most == 0) return absl::ResourceExhaustedError("sessions are turned off (sessions.most is 0)");
  if (item->length() > kMostRows) {
    return FieldError("series", StrCat("holds ", item->length(), " rows of one item; with a session ",
                                       kMostRows, " are the most at once"));
  }
  const std::shared_ptr<State> state = Find(request.id);
  const std::lock_guard lock(state->mutex);
  const std::string options = OptionsText(request.options);
  if (state->begun && state->options != options) {
    return FieldError("session",
                      "began with other options, by which it was calibrated; send the same, or name "
                      "another session");
  }
  const engine::SeriesItem given = *item;
  PLINTH_RETURN_IF_ERROR(rows_.Extend(request.id, *request.targets, item));
  state->options = options;
  Place place = Locate(*state, given, *item);
  const bool stale = state->fitted != nullptr && state->generation != request.generation;
  if (stale || (state->fitted == nullptr && place.base > 0)) {
    // Row 0 is from now on the oldest that is kept.
    state->fitted.reset();
    state->before += place.base, state->total -= place.base, place.at -= place.base, place.base = 0;
    state->origin = item->origin;
  }
  Answer answer;
  answer.before = state->before + place.base;
  if (state->fitted == nullptr) {
    answer.missing = std::max<int64_t>(0, request.options.calibration - state->total);
    if (answer.missing > 0) {
      detect::Detection& d = answer.detection;
      d.first = answer.fresh = item->length();
      d.threshold = std::numeric_limits<double>::quiet_NaN();
      d.scores = request.options.scores, d.surprise.resize(d.scores.size());
      for (auto* v : {&d.expected, &d.lower, &d.upper}) v->resize(item->values.size());
      return answer;
    }
    PLINTH_RETURN_IF_ERROR(Learn(*state, forecaster, request, *item, cancelled));
  }
  answer.fresh = state->scored - place.base;
  PLINTH_ASSIGN_OR_RETURN(answer.detection, ScoreRows(*state, forecaster, *item, place, cancelled));
  return answer;
}

int64_t DetectSessions::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(entries_.size());
}

}  // namespace plinth::server
