#include "plinth/verify/error_places.h"

#include <algorithm>
#include <cmath>

namespace plinth::verify {
namespace {

constexpr int64_t kChunk = 4096;
constexpr int64_t kMostColumns = 1 << 20, kMostRows = 1 << 24;  // beyond, they are not told apart

struct Sums {
  double error = 0, value = 0, most = 0;
  int64_t count = 0;

  void Add(double d, double a) {
    error += d * d;
    value += a * a;
    most = std::max(most, d);
    ++count;
  }
  bool StandsOut(double times, double rms) const {
    const double least = static_cast<double>(count) * rms * rms / 64;
    // One element that carries all the error is a spike and no fault of the row or column.
    const bool alone = count > 1 && error - most * most < error / 10;
    return count > 0 && !alone && error > times * times * std::max(value, least);
  }
};

// Lanes of which all columns are bad while most others have none.
std::vector<int> BadLanes(const std::vector<int64_t>& bad_columns, int64_t columns) {
  if (columns < 64) return {};
  std::array<int64_t, 64> bad{};
  for (const int64_t c : bad_columns) ++bad[static_cast<size_t>(c % 64)];
  std::vector<int> lanes;
  for (int lane = 0; lane < 64; ++lane) {
    const int64_t all = (columns - lane + 63) / 64, found = bad[static_cast<size_t>(lane)];
    if (found == all) lanes.push_back(lane);
    // A lane that is bad in part is no fault of lanes.
    if (found != 0 && found != all) return {};
  }
  if (lanes.size() > 62 || (lanes.size() < 2 && columns < 128)) return {};
  return lanes;
}

}  // namespace

bool MayHavePlaces(const Difference& d, double limit) { return d.max_abs > kStandsOut * limit * d.a.rms / 8; }

ErrorPlaces PlacesOf(const formats::ConstTensorRef& a, const formats::ConstTensorRef& b, const Difference& d,
                     double limit) {
  ErrorPlaces places;
  places.limit = limit;
  const int64_t count = a.size();
  if (count == 0 || b.size() != count) return places;
  places.columns = a.dims.empty() ? 1 : std::max<int64_t>(1, a.dims.back());
  places.rows = count / places.columns;
  std::vector<Sums> columns(places.columns <= kMostColumns ? static_cast<size_t>(places.columns) : 0);
  const Element element_a = ElementOf(a), element_b = ElementOf(b);
  std::vector<double> x(kChunk), y(kChunk);
  const double most = kStandsOut * limit, rms = d.a.rms;
  Sums row;
  int64_t column = 0;
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t n = std::min(kChunk, count - begin);
    ReadValues(element_a, a.data, begin, n, x.data());
    ReadValues(element_b, b.data, begin, n, y.data());
    for (int64_t i = 0; i < n; ++i) {
      const double value = x[static_cast<size_t>(i)], error = std::abs(y[static_cast<size_t>(i)] - value);
      if (std::isfinite(error)) {
        if (error > most * std::max(std::abs(value), rms) && ++places.spikes == 1)
          places.first_spike = begin + i;
        row.Add(error, value);
        if (!columns.empty()) columns[static_cast<size_t>(column)].Add(error, value);
      }
      if (++column < places.columns) continue;
      column = 0;
      const int64_t index = (begin + i) / places.columns;
      if (index < kMostRows && row.StandsOut(most, rms)) places.bad_rows.push_back(index);
      row = Sums();
    }
  }
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].StandsOut(most, rms)) places.bad_columns.push_back(static_cast<int64_t>(c));
  }
  places.bad_lanes = BadLanes(places.bad_columns, places.columns);
  return places;
}

std::string RangesText(const std::vector<int64_t>& numbers) {
  constexpr size_t kShown = 4;
  std::string text;
  size_t shown = 0;
  for (size_t i = 0; i < numbers.size();) {
    size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (shown++ == kShown) return StrCat(text, " and ", numbers.size() - i, " more");
    StrAppend(&text, text.empty() ? "" : ", ", numbers[i]);
    if (j > i) StrAppend(&text, j == i + 1 ? ", " : "..", numbers[j]);
    i = j + 1;
  }
  return text;
}

std::string PositionText(std::span<const int64_t> dims, int64_t index) {
  std::vector<int64_t> at(dims.size());
  for (size_t k = dims.size(); k-- > 0;) {
    if (dims[k] == 0) return "[]";
    at[k] = index % dims[k];
    index /= dims[k];
  }
  return StrCat("[", Join(at, ", "), "]");
}

}  // namespace plinth::verify
