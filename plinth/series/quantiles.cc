#include "plinth/series/quantiles.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "plinth/base/check.h"

namespace plinth::series {
namespace {

constexpr double kParts = 1e6;

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The nearest multiple of 1e-6: dividing whole numbers rounds to the double nearest to the decimal.
double Rounded(double level) { return std::round(level * kParts) / kParts; }

Status Refusal(std::string_view item) {
  return absl::InvalidArgumentError(StrCat("quantile ", item,
                                           " is not a level: levels lie between 0 and 1 and are kept to six "
                                           "decimals, for example 0.1,0.5,0.9"));
}

}  // namespace

StatusOr<std::vector<double>> NormaliseQuantiles(std::span<const double> levels) {
  if (levels.empty()) {
    return absl::InvalidArgumentError("the list of quantiles is empty; give levels such as 0.1,0.5,0.9");
  }
  std::vector<double> out;
  out.reserve(levels.size());
  for (double level : levels) {
    const double rounded = Rounded(level);
    if (!(rounded > 0 && rounded < 1)) return Refusal(StrCat(level));
    out.push_back(rounded);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

StatusOr<std::vector<double>> ParseQuantiles(std::string_view text) {
  std::vector<double> levels;
  if (!Trim(text).empty()) {
    for (std::string_view rest = text;;) {
      const size_t comma = rest.find(',');
      const std::string_view item = Trim(rest.substr(0, comma));
      double level = 0;
      const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), level);
      if (error != std::errc() || end != item.data() + item.size() ||
          !(Rounded(level) > 0 && Rounded(level) < 1)) {
        return Refusal(StrCat("\"", item, "\""));
      }
      levels.push_back(level);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return NormaliseQuantiles(levels);
}

std::string QuantileName(double level) {
  const int64_t parts = std::llround(level * kParts);
  std::string digits = std::to_string(parts % static_cast<int64_t>(kParts));
  digits.insert(0, 6 - digits.size(), '0');
  digits.erase(std::max<size_t>(digits.find_last_not_of('0') + 1, 1));
  return StrCat(parts / static_cast<int64_t>(kParts), ".", digits);
}

std::vector<double> Deciles() { return {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}; }

QuantileMap::QuantileMap(std::span<const double> model_levels, std::span<const double> wanted)
    : model_size_(model_levels.size()) {
  PLINTH_CHECK(!model_levels.empty());
  const size_t last = model_levels.size() - 1;
  for (double level : wanted) {
    const size_t above = static_cast<size_t>(
        std::lower_bound(model_levels.begin(), model_levels.end(), level) - model_levels.begin());
    if (last == 0 || (above <= last && model_levels[above] == level)) {
      const size_t at = std::min(above, last);
      steps_.push_back({at, at, 0, model_levels[at] == level});
      continue;
    }
    const size_t from = std::clamp<size_t>(above, 1, last) - 1;
    steps_.push_back({from, from + 1,
                      (level - model_levels[from]) / (model_levels[from + 1] - model_levels[from]), false});
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::abs(wanted[i] - 0.5) < std::abs(wanted[middle_] - 0.5)) middle_ = i;
  }
}

void QuantileMap::Apply(std::span<const double> model, std::span<double> out) const {
  PLINTH_CHECK_EQ(model.size(), model_size_);
  PLINTH_CHECK_EQ(out.size(), steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const double from = model[step.from], to = model[step.to];
    out[i] = step.own ? from : from + step.weight * (to - from);
    const bool between = step.weight > 0 && step.weight < 1;
    if (between)
      out[i] = std::clamp(out[i], std::min(from, to), std::max(from, to));  // whatever rounding did
  }
  for (size_t i = middle_ + 1; i < out.size(); ++i) {
    if (!steps_[i].own && out[i] < out[i - 1]) out[i] = out[i - 1];
  }
  for (size_t i = middle_; i-- > 0;) {
    if (!steps_[i].own && out[i] > out[i + 1]) out[i] = out[i + 1];
  }
}

}  // namespace plinth::series
