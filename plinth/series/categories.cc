#include "plinth/series/categories.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "plinth/base/check.h"

namespace plinth::series {
namespace {

struct Sum {
  double value = 0;
  int64_t count = 0;
  void Add(double v) { value += v, ++count; }
};

// All of the text, as the shortest decimals are written.
bool ReadsAsNumber(const std::string& text, double* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(*value);
}

}  // namespace

EncodedCategories TargetEncode(std::span<const int32_t> past, std::span<const double> target,
                               std::span<const int32_t> future, double smoothing) {
  PLINTH_CHECK_EQ(past.size(), target.size());
  PLINTH_CHECK_LT(0, smoothing);
  const int32_t most = past.empty() ? kMissingCategory : *std::max_element(past.begin(), past.end());
  std::vector<Sum> sums(static_cast<size_t>(most + 2));  // by code + 1, so that the missing one comes first
  Sum all;
  for (size_t i = 0; i < past.size(); ++i) {
    PLINTH_CHECK_LE(kMissingCategory, past[i]);
    if (!std::isfinite(target[i])) continue;
    all.Add(target[i]);
    sums[static_cast<size_t>(past[i] + 1)].Add(target[i]);
  }
  const double mean = all.count == 0 ? 0 : all.value / static_cast<double>(all.count);
  const auto encode = [&](int32_t code) {
    const size_t at = static_cast<size_t>(code + 1);
    if (at >= sums.size()) return mean;
    return (smoothing * mean + sums[at].value) / (smoothing + static_cast<double>(sums[at].count));
  };
  EncodedCategories encoded;
  std::transform(past.begin(), past.end(), std::back_inserter(encoded.past), encode);
  std::transform(future.begin(), future.end(), std::back_inserter(encoded.future), encode);
  return encoded;
}

CategoryOrder CategoryOrder::Of(std::span<const std::string> labels, const std::vector<bool>& known) {
  PLINTH_CHECK_EQ(labels.size(), known.size());
  std::vector<double> numbers(labels.size());
  std::vector<size_t> sorted;
  bool numeric = true;
  for (size_t code = 0; code < labels.size(); ++code) {
    if (!known[code]) continue;
    sorted.push_back(code);
    numeric = numeric && ReadsAsNumber(labels[code], &numbers[code]);
  }
  std::sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) {
    if (numeric && numbers[a] != numbers[b]) return numbers[a] < numbers[b];
    return labels[a] < labels[b];
  });
  CategoryOrder order;
  order.places.assign(labels.size(), -1);
  for (const size_t code : sorted) order.places[code] = order.count++;
  return order;
}

std::vector<double> OrdinalEncode(std::span<const int32_t> codes, const CategoryOrder& order) {
  std::vector<double> encoded;
  encoded.reserve(codes.size());
  for (const int32_t code : codes) {
    const size_t at = static_cast<size_t>(code);
    const int32_t place = code == kMissingCategory   ? order.count
                          : at < order.places.size() ? order.places[at]
                                                     : -1;
    encoded.push_back(place < 0 ? std::numeric_limits<double>::quiet_NaN() : place);
  }
  return encoded;
}

}  // namespace plinth::series
