#include "plinth/engine/rollout.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plinth::engine {
namespace {

// Rows that one piece of work reduces.
constexpr int64_t kRowsPerPiece = 16;

std::span<const double> Tail(std::span<const double> y, int64_t most) {
  return y.last(std::min(y.size(), static_cast<size_t>(most)));
}

double Finite(double x) {
  constexpr double kMost = std::numeric_limits<double>::max();
  return std::clamp(x, -kMost, kMost);
}

std::optional<series::SampleQuantiles> MakeReduction(const models::ModelInfo& info) {
  const std::vector<double>& paths = info.continuation.paths;
  if (paths.size() == 1) return std::nullopt;
  if (info.continuation.weigh == models::Continuation::Weigh::kMass) {
    return series::SampleQuantiles::ByMass(paths, info.levels, info.levels);
  }
  return series::SampleQuantiles::Alike(info.levels, paths.size() * info.levels.size());
}

}  // namespace

Rollout::Rollout(const models::ModelInfo& info, std::vector<models::Row> rows,
                 std::vector<size_t> group_begin, std::span<const double> wanted, int64_t horizon)
    : info_(info),
      rows_(std::move(rows)),
      group_begin_(std::move(group_begin)),
      to_wanted_(info.levels, wanted),
      reduce_(MakeReduction(info)),
      horizon_(horizon) {
  group_of_.reserve(rows_.size());
  for (size_t g = 0; g + 1 < group_begin_.size(); ++g) {
    group_of_.resize(group_begin_[g + 1], g);
  }
  for (const double& level : info.continuation.paths)
    to_path_.emplace_back(info.levels, std::span(&level, 1));
  Advance();
  pass_rows_ = rows_;
}

// The next pass forecasts what is left, in whole strides.
void Rollout::Advance() {
  const int64_t strides = (horizon_ - done_ + info_.stride - 1) / info_.stride;
  steps_ = std::max<int64_t>(std::min(strides * info_.stride, info_.horizon), 0);
}

size_t Rollout::PassRow(size_t row, size_t p) const {
  const size_t begin = group_begin_[group_of_[row]], count = group_begin_[group_of_[row] + 1] - begin;
  return begin * paths_ + p * count + (row - begin);
}

void Rollout::Reduce(std::span<const double> quantiles, size_t row, std::span<double> native) const {
  const size_t levels = info_.levels.size(), each = static_cast<size_t>(steps_) * levels;
  if (paths_ == 1) {
    const double* from = quantiles.data() + row * each;
    std::transform(from, from + each, native.begin(), Finite);
    return;
  }
  std::vector<double> samples(paths_ * levels);
  series::SampleQuantiles::Workspace workspace(*reduce_);
  for (size_t at = 0; at < each; at += levels) {
    for (size_t p = 0; p < paths_; ++p) {
      const double* from = quantiles.data() + PassRow(row, p) * each + at;
      std::transform(from, from + levels, samples.begin() + static_cast<std::ptrdiff_t>(p * levels), Finite);
    }
    reduce_->Apply(samples, workspace, native.subspan(at, levels));
  }
}

void Rollout::Extend(size_t row, size_t p, std::span<const double> native) {
  std::vector<double>& history = history_[row * next_paths_ + p];
  const size_t levels = info_.levels.size();
  for (size_t h = 0; h < static_cast<size_t>(steps_); ++h) {
    const size_t at = static_cast<size_t>(done_) + h;
    double value = at < rows_[row].future.size() ? rows_[row].future[at] : NAN;
    if (!std::isfinite(value)) to_path_[p].Apply(native.subspan(h * levels, levels), {&value, 1});
    history.push_back(value);
  }
  // What no pass will see any more is dropped now and then.
  const size_t seen = static_cast<size_t>(info_.context_length);
  if (history.size() > 2 * seen + static_cast<size_t>(steps_)) {
    history.erase(history.begin(), history.end() - static_cast<std::ptrdiff_t>(seen));
  }
}

void Rollout::Take(std::span<const double> quantiles, std::span<const std::span<double>> results,
                   Threads& threads) {
  const size_t levels = info_.levels.size(), wanted = to_wanted_.size();
  const bool more = done_ + steps_ < horizon_;
  if (more && history_.empty()) {
    next_paths_ = info_.continuation.paths.size();
    history_.resize(rows_.size() * next_paths_);
    for (size_t i = 0; i < history_.size(); ++i) {
      const std::span<const double> past = rows_[i / next_paths_].past;
      history_[i].assign(past.begin(), past.end());
    }
  }
  const int64_t count = static_cast<int64_t>(rows_.size());
  threads.For((count + kRowsPerPiece - 1) / kRowsPerPiece, [&](int64_t piece, int) {
    std::vector<double> native(static_cast<size_t>(steps_) * levels);
    const int64_t end = std::min(count, (piece + 1) * kRowsPerPiece);
    for (size_t row = static_cast<size_t>(piece * kRowsPerPiece); row < static_cast<size_t>(end); ++row) {
      if (results[row].empty() && !more) continue;
      Reduce(quantiles, row, native);
      for (int64_t h = 0; h < steps_ && done_ + h < horizon_ && !results[row].empty(); ++h) {
        const std::span<double> result =
            results[row].subspan(static_cast<size_t>(done_ + h) * wanted, wanted);
        to_wanted_.Apply(std::span(native).subspan(static_cast<size_t>(h) * levels, levels), result);
        std::transform(result.begin(), result.end(), result.begin(), Finite);
      }
      for (size_t p = 0; more && p < next_paths_; ++p) Extend(row, p, native);
    }
  });
  done_ += steps_;
  paths_ = next_paths_;
  Advance();
  if (steps_ > 0) MakePassRows();
}

void Rollout::MakePassRows() {
  pass_rows_.resize(rows_.size() * paths_);
  for (size_t row = 0; row < rows_.size(); ++row) {
    const std::span<const double> future = rows_[row].future;
    const size_t known = std::min(future.size(), static_cast<size_t>(done_));
    for (size_t p = 0; p < paths_; ++p) {
      pass_rows_[PassRow(row, p)] = {Tail(history_[row * paths_ + p], info_.context_length),
                                     future.subspan(known)};
    }
  }
}

}  // namespace plinth::engine
