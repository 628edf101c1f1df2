#include "plinth/detect/expectation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plinth::detect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kBatch = 1024;  // forecasts at once: enough for all threads, little memory

std::vector<Expectation> Empty(std::span<const Column> columns) {
  std::vector<Expectation> all(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    for (auto* v : {&all[c].middle, &all[c].lower, &all[c].upper}) v->assign(columns[c].value.size(), kNan);
  }
  return all;
}

// A column, or its reverse, as forecasts see it: spikes are gaps, or a seasonal model would expect them again
// a cycle later. Whether a row is one is told by two rows on either side, so the last two before an origin
// stay as they are: what lies behind an origin never has a say.
class History {
 public:
  History(const Column& column, bool reversed) : seen_(column.value) {
    for (size_t t = 0; t < seen_.size(); ++t)
      hidden_.push_back(column.calm[t] == column.z[t] ? seen_[t] : kNan);
    if (!reversed) return;
    std::reverse(seen_.begin(), seen_.end());
    std::reverse(hidden_.begin(), hidden_.end());
  }
  std::vector<double> Before(int64_t row, int64_t context) const {
    const int64_t from = std::max<int64_t>(0, row - context), open = std::max(from, row - 2);
    std::vector<double> past(hidden_.begin() + from, hidden_.begin() + open);
    past.insert(past.end(), seen_.begin() + open, seen_.begin() + row);
    return past;
  }

 private:
  std::vector<double> seen_, hidden_;
};

// One forecast: of rows [row, row + step) of a column, or of its reverse.
struct Origin {
  size_t column;
  int64_t row;
};

// Runs forecasts in batches and writes their quantiles into the expectations.
class Roller {
 public:
  Roller(engine::Forecaster& forecaster, const ForecastPlan& plan, StopCheck cancelled)
      : forecaster_(forecaster), cancelled_(cancelled) {
    request_.horizon = plan.step;
    request_.levels = {0.1, 0.5, 0.9};
    const int64_t most = forecaster.most_context();
    request_.context = plan.context == 0 ? most : std::min(plan.context, most);
  }

  Status Run(std::span<const History> histories, std::span<const Origin> origins,
             std::vector<Expectation>& out) {
    std::vector<std::vector<double>> pasts;
    for (size_t begin = 0; begin < origins.size(); begin += kBatch) {
      const auto batch = origins.subspan(begin, std::min(kBatch, origins.size() - begin));
      pasts.clear();
      for (const Origin& o : batch) pasts.push_back(histories[o.column].Before(o.row, request_.context));
      const std::vector<std::span<const double>> spans(pasts.begin(), pasts.end());
      PLINTH_ASSIGN_OR_RETURN(const auto forecasts, forecaster_.Run(spans, request_, cancelled_));
      for (size_t i = 0; i < batch.size(); ++i) Write(batch[i], forecasts[i], out[batch[i].column]);
    }
    return absl::OkStatus();
  }

 private:
  void Write(const Origin& o, const engine::Forecast& forecast, Expectation& out) const {
    const size_t row = static_cast<size_t>(o.row);
    const size_t steps = std::min(static_cast<size_t>(request_.horizon), out.middle.size() - row);
    for (size_t h = 0; h < steps; ++h) {
      const double* q = &forecast.values[h * 3];
      out.lower[row + h] = std::min(q[0], q[1]);
      out.middle[row + h] = q[1];
      out.upper[row + h] = std::max(q[2], q[1]);
    }
  }
  engine::Forecaster& forecaster_;
  engine::ForecastRequest request_;
  StopCheck cancelled_;
};

std::vector<History> Histories(std::span<const Column> columns, bool reversed) {
  std::vector<History> histories;
  for (const Column& column : columns) histories.emplace_back(column, reversed);
  return histories;
}

// A side of a band, its square kept away from 0 and overflow.
double Width(double lower, double upper, double scale) { return std::max((upper - lower) / scale, 1e-6); }

// Joins what both sides say about one row.
void Blend(const Expectation& back, size_t r, double scale, Expectation& out, size_t t) {
  if (!std::isfinite(back.middle[r])) return;
  if (!std::isfinite(out.middle[t])) {
    out.middle[t] = back.middle[r], out.lower[t] = back.lower[r], out.upper[t] = back.upper[r];
    return;
  }
  const double wf = std::pow(Width(out.lower[t], out.upper[t], scale), -2);
  const double wb = std::pow(Width(back.lower[r], back.upper[r], scale), -2);
  const double share = wb / (wf + wb);
  const auto mix = [&](double a, double b) { return a + share * (b - a); };
  // Of the average of two independent errors: root of the weighted squares of the half bands.
  const auto side = [&](double a, double b) { return std::hypot((1 - share) * a, share * b); };
  const double middle = mix(out.middle[t], back.middle[r]);
  const double down = side(out.middle[t] - out.lower[t], back.middle[r] - back.lower[r]);
  const double up = side(out.upper[t] - out.middle[t], back.upper[r] - back.middle[r]);
  out.middle[t] = middle, out.lower[t] = middle - down, out.upper[t] = middle + up;
}

// The value that `coverage` of n exchangeable numbers do not exceed, by the conformal rule.
double ConformalQuantile(std::vector<double> numbers, double coverage) {
  if (numbers.empty()) return 1;
  const double n = static_cast<double>(numbers.size());
  const double rank = std::ceil((n + 1) * coverage);
  const size_t at = static_cast<size_t>(std::clamp(rank, 1.0, n)) - 1;
  const auto place = numbers.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(numbers.begin(), place, numbers.end());
  return *place;
}

}  // namespace

StatusOr<std::vector<Expectation>> ForecastRows(engine::Forecaster& forecaster,
                                                std::span<const Column> columns, const ForecastPlan& plan,
                                                StopCheck cancelled) {
  std::vector<Expectation> all = Empty(columns);
  std::vector<Origin> origins;
  for (size_t c = 0; c < columns.size(); ++c) {
    for (int64_t row = plan.first; row < columns[c].rows(); row += plan.step) origins.push_back({c, row});
  }
  PLINTH_RETURN_IF_ERROR(Roller(forecaster, plan, cancelled).Run(Histories(columns, false), origins, all));
  return all;
}

StatusOr<std::vector<Expectation>> FillRows(engine::Forecaster& forecaster, std::span<const Column> columns,
                                            const ForecastPlan& plan, StopCheck cancelled) {
  PLINTH_ASSIGN_OR_RETURN(std::vector<Expectation> all, ForecastRows(forecaster, columns, plan, cancelled));
  // The same segments seen from behind: segment [row, row + step) of the series is [n - row - step, n - row)
  // of its reverse.
  std::vector<Origin> origins;
  for (size_t c = 0; c < columns.size(); ++c) {
    const int64_t n = columns[c].rows();
    // Also the rows before the first that is forecast, as far as whole segments fit.
    for (int64_t row = plan.first % plan.step; row + plan.step < n; row += plan.step)
      origins.push_back({c, n - row - plan.step});
  }
  std::vector<Expectation> back = Empty(columns);
  PLINTH_RETURN_IF_ERROR(Roller(forecaster, plan, cancelled).Run(Histories(columns, true), origins, back));
  for (size_t c = 0; c < columns.size(); ++c) {
    const size_t n = columns[c].value.size();
    for (size_t t = 0; t < n; ++t) Blend(back[c], n - 1 - t, columns[c].spread.scale, all[c], t);
  }
  return all;
}

namespace {

// Half bands of at least `floor`, and how many of them each row is off.
void Measure(const Column& column, double floor, Expectation& e) {
  const size_t n = column.value.size();
  e.off.assign(n, kNan);
  for (size_t t = 0; t < n; ++t) {
    e.lower[t] = std::min(e.lower[t], e.middle[t] - floor);
    e.upper[t] = std::max(e.upper[t], e.middle[t] + floor);
    const double over = column.value[t] - e.middle[t];
    const double off = std::fabs(over) / (over > 0 ? e.upper[t] - e.middle[t] : e.middle[t] - e.lower[t]);
    // A row at the largest doubles may overflow; it is as far off as can be.
    e.off[t] = std::isinf(off) ? std::numeric_limits<float>::max() : off;
  }
}

void Stretch(double factor, Expectation& e) {
  for (size_t t = 0; t < e.middle.size(); ++t) {
    e.lower[t] = e.middle[t] - factor * (e.middle[t] - e.lower[t]);
    e.upper[t] = e.middle[t] + factor * (e.upper[t] - e.middle[t]);
  }
}

}  // namespace

Band Calibrate(const Column& column, int64_t calibration, double coverage, Expectation& e) {
  const size_t learn = static_cast<size_t>(calibration);
  std::vector<double> errors;
  for (size_t t = 0; t < learn; ++t) errors.push_back(std::fabs(column.value[t] - e.middle[t]));
  const double error = Median(errors);
  Band band;
  band.floor = std::max(0.05 * column.spread.scale, std::isfinite(error) ? 0.25 * error : 0);
  Measure(column, band.floor, e);
  std::vector<double> known;
  for (size_t t = 0; t < learn; ++t) {
    if (std::isfinite(e.off[t])) known.push_back(e.off[t]);
  }
  band.factor = ConformalQuantile(std::move(known), coverage);
  Stretch(band.factor, e);
  return band;
}

void Apply(const Column& column, const Band& band, Expectation& e) {
  Measure(column, band.floor, e);
  Stretch(band.factor, e);
}

}  // namespace plinth::detect
