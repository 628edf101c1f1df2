#include "plinth/models/chronos2_codec.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plinth/base/check.h"

namespace plinth::models {
namespace {

constexpr int64_t kRegisterSource = 0, kPatchSource = 1;  // where embedded tokens begin

size_t At(int64_t i) { return static_cast<size_t>(i); }

}  // namespace

Chronos2Codec::Chronos2Codec(const Chronos2Sizes& sizes, int64_t rows, int64_t tokens)
    : s_(sizes),
      cursors_(At(rows)),
      z_(At(std::max(s_.context, s_.future * s_.grid.size))),
      observed_(z_.size()) {
  rows_.reserve(At(rows));
  positions_.reserve(At(tokens));
}

void Chronos2Codec::Begin(absl::Span<const View> inputs, int64_t steps) {
  grouped_ = inputs.size() > kOrder;
  PLINTH_CHECK_EQ(inputs.size(), grouped_ ? size_t{kChronos2Inputs} : size_t{kOrder});
  PLINTH_CHECK_EQ(steps % s_.grid.size, 0);
  future_ = steps / s_.grid.size;
  PLINTH_CHECK_LE(future_, s_.future);
  std::copy(inputs.begin(), inputs.end(), inputs_);
  tokens_ = ordered_ = meetings_ = future_meetings_ = 0;
  rows_.clear();
  positions_.clear();
  Ints(kOffsets)[0] = Ints(kFutureOffsets)[0] = 0;
  if (grouped_) Ints(kMeetings)[0] = Ints(kFutureMeetings)[0] = 0;
}

void Chronos2Codec::Add(std::span<const Row> group) {
  PLINTH_CHECK(grouped_ || group.size() == 1);
  const auto first = static_cast<int64_t>(rows_.size());
  for (const Row& row : group) AddRow(row);
  if (!grouped_) return;
  OrderGroup(first);
  OrderFuture(first);
}

void Chronos2Codec::AddRow(const Row& row) {
  const auto keep = std::min(row.past.size(), At(s_.context));
  const std::span<const double> past = row.past.last(keep);
  const auto index = static_cast<int64_t>(rows_.size());
  PLINTH_CHECK_LT(rows_.size(), rows_.capacity());
  rows_.push_back({ChronosScale(past), tokens_, s_.grid.Count(static_cast<int64_t>(keep))});
  WritePast(past, rows_.back().scale);
  float* const features = inputs_[kFeatures].as<float>() + tokens_ * s_.features();
  std::fill_n(features, s_.features(), 0.0f);
  AppendToken(0, kRegisterSource);
  WriteFuture(row.future, rows_.back().scale);
  Ints(kOffsets)[index + 1] = static_cast<int32_t>(tokens_);
  Ints(kFutureOffsets)[index + 1] = static_cast<int32_t>((index + 1) * future_);
}

// A patch in which nothing is observed is hidden from every token and read by nobody: it gets none.
void Chronos2Codec::WritePast(std::span<const double> past, const series::Scale& scale) {
  const auto steps = static_cast<int64_t>(past.size());
  const std::span z = std::span(z_).first(past.size());
  const std::span observed = std::span(observed_).first(past.size());
  series::Standardise(past, scale, z, observed);
  const int64_t patches = s_.grid.Count(steps);
  for (int64_t i = 0; i < patches; ++i) {
    const int64_t begin = s_.grid.Begin(steps, i);
    const auto from = At(std::max<int64_t>(begin, 0)), count = At(begin + s_.grid.size) - from;
    const auto seen = observed.subspan(from, count);
    if (std::none_of(seen.begin(), seen.end(), [](uint8_t o) { return o != 0; })) continue;
    WriteToken((i - patches) * s_.grid.size, z.subspan(from, count), seen);
    AppendToken(i - patches, kPatchSource + tokens_);
  }
}

void Chronos2Codec::WriteFuture(std::span<const double> future, const series::Scale& scale) {
  const auto steps = At(future_ * s_.grid.size);
  const std::span z = std::span(z_).first(steps);
  const std::span observed = std::span(observed_).first(steps);
  const size_t known = std::min(future.size(), steps);
  series::Standardise(future.first(known), scale, z.first(known), observed.first(known));
  std::fill(z.begin() + static_cast<ptrdiff_t>(known), z.end(), 0.0);
  std::fill(observed.begin() + static_cast<ptrdiff_t>(known), observed.end(), uint8_t{0});
  const auto first = static_cast<int64_t>(rows_.size() - 1) * future_;
  for (int64_t j = 0; j < future_; ++j) {
    const auto from = At(j * s_.grid.size), count = At(s_.grid.size);
    WriteToken(j * s_.grid.size, z.subspan(from, count), observed.subspan(from, count));
    Ints(kFutureTokens)[first + j] = static_cast<int32_t>(AppendToken(j + 1, kPatchSource + tokens_));
    Ints(kFuturePositions)[first + j] = static_cast<int32_t>(j + 1);
  }
}

// Writes the features of the next token, whose first step is `time` steps behind the end of the past. Values
// that are fewer than a patch stand at its end.
void Chronos2Codec::WriteToken(int64_t time, std::span<const double> z, std::span<const uint8_t> observed) {
  const int64_t patch = s_.grid.size;
  float* const times = inputs_[kFeatures].as<float>() + tokens_ * s_.features();
  float* const values = times + patch;
  float* const mask = values + patch;
  for (int64_t t = 0; t < patch; ++t) {
    times[t] = static_cast<float>(static_cast<double>(time + t) / s_.time_scale);
  }
  const int64_t missing = patch - static_cast<int64_t>(z.size());
  std::fill_n(values, missing, 0.0f);
  std::fill_n(mask, missing, 0.0f);
  for (size_t t = 0; t < z.size(); ++t) {
    values[At(missing) + t] = Squash(z[t]);
    mask[At(missing) + t] = observed[t] != 0 ? 1.0f : 0.0f;
  }
}

// A known future can be further from the past than numbers reach; it stays finite.
float Chronos2Codec::Squash(double z) const {
  if (s_.arcsinh) {
    constexpr double kMost = std::numeric_limits<double>::max();
    return static_cast<float>(std::asinh(std::clamp(z, -kMost, kMost)));
  }
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(z, -kMost, kMost));
}

int64_t Chronos2Codec::AppendToken(int64_t position, int64_t source) {
  PLINTH_CHECK_LT(positions_.size(), positions_.capacity());
  positions_.push_back(static_cast<int32_t>(position));
  Ints(kPositions)[tokens_] = positions_.back();
  Ints(kSources)[tokens_] = static_cast<int32_t>(source);
  return tokens_++;
}

int64_t Chronos2Codec::EndOfTokens(int64_t row) const {
  return row + 1 == static_cast<int64_t>(rows_.size()) ? tokens_ : rows_[At(row + 1)].begin;
}

// Orders the tokens of the rows from `first` on by position, then by row.
void Chronos2Codec::OrderGroup(int64_t first) {
  const auto end = static_cast<int64_t>(rows_.size());
  int64_t position = 0;
  for (int64_t r = first; r < end; ++r) {
    cursors_[At(r)] = rows_[At(r)].begin;
    position = std::min<int64_t>(position, positions_[At(rows_[At(r)].begin)]);
  }
  for (; position <= future_; ++position) {
    const int64_t before = ordered_;
    for (int64_t r = first; r < end; ++r) {
      int64_t& token = cursors_[At(r)];
      if (token == EndOfTokens(r) || positions_[At(token)] != position) continue;
      Ints(kOrder)[ordered_] = static_cast<int32_t>(token);
      Ints(kPlaces)[token] = static_cast<int32_t>(ordered_);
      ++ordered_;
      ++token;
    }
    if (ordered_ > before) Ints(kMeetings)[++meetings_] = static_cast<int32_t>(ordered_);
  }
}

// The same for the future tokens, of which every row has equally many.
void Chronos2Codec::OrderFuture(int64_t first) {
  const auto end = static_cast<int64_t>(rows_.size());
  int64_t ordered = first * future_;
  for (int64_t j = 0; j < future_; ++j) {
    for (int64_t r = first; r < end; ++r) {
      const int64_t token = r * future_ + j;
      Ints(kFutureOrder)[ordered] = static_cast<int32_t>(token);
      Ints(kFuturePlaces)[token] = static_cast<int32_t>(ordered);
      ++ordered;
    }
    Ints(kFutureMeetings)[++future_meetings_] = static_cast<int32_t>(ordered);
  }
}

void Chronos2Codec::Finish(std::span<int64_t> extents) {
  const auto rows = static_cast<int64_t>(rows_.size());
  const int64_t all[] = {tokens_, rows, rows * future_, meetings_, future_meetings_};
  PLINTH_CHECK_EQ(extents.size(), std::size(all));
  std::copy(std::begin(all), std::end(all), extents.begin());
}

void Chronos2Codec::Read(absl::Span<const View> outputs, int64_t i, std::span<double> quantiles) const {
  const int64_t levels = s_.quantiles(), patch = s_.grid.size;
  PLINTH_CHECK_EQ(static_cast<int64_t>(quantiles.size()), future_ * s_.head());
  const series::Scale& scale = rows_[At(i)].scale;
  const float* from = outputs[0].as<float>() + i * future_ * s_.head();
  for (int64_t j = 0; j < future_; ++j) {
    for (int64_t q = 0; q < levels; ++q) {
      for (int64_t t = 0; t < patch; ++t) {
        const auto z = static_cast<double>(*from++);
        quantiles[At((j * patch + t) * levels + q)] =
            (s_.arcsinh ? std::sinh(z) : z) * scale.scale + scale.loc;
      }
    }
  }
}

std::vector<Origin> Chronos2Codec::Origins() const {
  int64_t longest = 0;
  for (const RowState& row : rows_) longest = std::max(longest, row.patches);
  std::vector<Origin> origins;
  for (int64_t r = 0; r < static_cast<int64_t>(rows_.size()); ++r) {
    for (int64_t t = rows_[At(r)].begin; t < EndOfTokens(r); ++t) {
      origins.push_back({r, longest + positions_[At(t)]});
    }
  }
  return origins;
}

}  // namespace plinth::models
