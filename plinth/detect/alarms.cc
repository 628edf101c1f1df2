#include "plinth/detect/alarms.h"

#include <algorithm>
#include <cmath>

#include "plinth/detect/tail.h"

namespace plinth::detect {
namespace {

constexpr size_t kMostContributions = 5;
constexpr double kLeastShare = 0.1;
// A drift moves the level by so many times the largest move of the calibration part, and that is at least so
// many spreads of the column.
constexpr double kMoved = 2, kLeastStep = 0.1;

double Known(double v) { return std::isnan(v) ? 0 : v; }

// Each score's columns count as much as the score does.
std::vector<Contribution> ContributionsAt(const Findings& findings, size_t columns, size_t row) {
  std::vector<double> share(columns, 0.0);
  double whole = 0;
  for (const auto& of : findings.scores) {
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += static_cast<double>(of.parts[c][row]);
    const double weight = Known(of.surprise[row]);
    if (!(sum > 0) || !(weight > 0)) continue;
    whole += weight;
    for (size_t c = 0; c < columns; ++c) share[c] += weight * static_cast<double>(of.parts[c][row]) / sum;
  }
  std::vector<Contribution> all;
  for (size_t c = 0; c < columns; ++c) {
    if (whole > 0 && share[c] >= kLeastShare * whole)
      all.push_back({static_cast<int64_t>(c), share[c] / whole});
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  if (all.size() > kMostContributions) all.resize(kMostContributions);
  return all;
}

Score LeadingAt(const Findings& findings, size_t row) {
  const auto* best = &findings.scores[0];
  for (const auto& of : findings.scores) {
    if (Known(of.surprise[row]) > Known(best->surprise[row])) best = &of;
  }
  return best->score;
}

double MeanOf(const Column& column, int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t t = begin; t < end; ++t) sum += column.calm[static_cast<size_t>(t)];
  return sum / static_cast<double>(end - begin);
}

// Whether the mean of the alarm's first column over its last window is another one than over the window
// before it, measured in what means of windows of the calibration part differ by.
bool Moved(std::span<const Column> columns, const Alarm& alarm, const AlarmRule& rule) {
  const int64_t window = rule.window;
  if (alarm.columns.empty() || alarm.begin < window || alarm.end < alarm.begin + window) return false;
  const Column& column = columns[static_cast<size_t>(alarm.columns[0].column)];
  const Column& normal = rule.normal[static_cast<size_t>(alarm.columns[0].column)];
  double usual = kLeastStep;
  for (int64_t t = 2 * window; t <= rule.calibration; ++t) {
    const double step = MeanOf(normal, t - window, t) - MeanOf(normal, t - 2 * window, t - window);
    usual = std::max(usual, std::fabs(step));
  }
  const double step =
      MeanOf(column, alarm.end - window, alarm.end) - MeanOf(column, alarm.begin - window, alarm.begin);
  return std::fabs(step) > kMoved * usual;
}

Reason ReasonOf(std::span<const Column> columns, const Alarm& alarm, const AlarmRule& rule) {
  const int64_t window = rule.window;
  const int64_t length = alarm.end - alarm.begin;
  if (Moved(columns, alarm, rule)) return Reason::kDrift;
  const bool rowwise = alarm.leading == Score::kResidual || alarm.leading == Score::kPca;
  if (length <= std::max<int64_t>(3, window / 8)) return Reason::kPoint;
  return rowwise && length <= window / 4 ? Reason::kPoint : Reason::kSubsequence;
}

}  // namespace

std::vector<Alarm> FindAlarms(std::span<const Column> columns, const Findings& findings,
                              const AlarmRule& rule, int64_t first) {
  const auto shown = std::span(findings.fused).subspan(static_cast<size_t>(first));
  std::vector<Alarm> alarms;
  for (const Event& event : EventsAbove(shown, rule.threshold, (rule.window + 1) / 2)) {
    Alarm alarm;
    alarm.begin = event.begin + first, alarm.end = event.end + first;
    alarm.peak_row = event.peak_row + first, alarm.peak = event.peak;
    const size_t row = static_cast<size_t>(alarm.peak_row);
    alarm.columns = ContributionsAt(findings, columns.size(), row);
    alarm.leading = LeadingAt(findings, row);
    alarm.reason = ReasonOf(columns, alarm, rule);
    alarms.push_back(std::move(alarm));
  }
  return alarms;
}

void AddCauses(std::span<const Column> columns, const Findings& findings, const Relations& relations,
               std::span<Alarm> alarms) {
  constexpr float kSurprising = 2;
  constexpr size_t kMostCauses = 3;
  constexpr int64_t kSlack = 2;
  // Of scores in the unit of surprise: those of single rows tell best when something moved.
  const Findings::OfScore* rows = nullptr;
  for (const auto& of : findings.scores) {
    if (of.score != Score::kPca && (rows == nullptr || of.score == Score::kResidual)) rows = &of;
  }
  if (rows == nullptr || columns.empty()) return;
  for (Alarm& alarm : alarms) {
    for (const Relation& relation : relations.found) {
      if (relation.lag < 1 || alarm.causes.size() == kMostCauses) continue;
      const bool concerns = std::any_of(alarm.columns.begin(), alarm.columns.end(),
                                        [&](const Contribution& c) { return c.column == relation.follower; });
      if (!concerns) continue;
      const auto& part = rows->parts[static_cast<size_t>(relation.leader)];
      int64_t moved = -1;
      for (int64_t t = std::max<int64_t>(0, alarm.begin - 2 * relation.lag - kSlack); t < alarm.peak_row;
           ++t) {
        const float surprise = part[static_cast<size_t>(t)];
        if (surprise >= kSurprising && (moved < 0 || surprise > part[static_cast<size_t>(moved)])) moved = t;
      }
      if (moved < 0) continue;
      alarm.causes.push_back(
          {relation.leader, relation.follower, relation.lag, relation.correlation, relation.p_value, moved});
    }
  }
}

}  // namespace plinth::detect
