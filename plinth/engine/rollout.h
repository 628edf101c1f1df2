// Carries a forecast beyond the steps of one pass: what each pass sees, and what becomes of its result.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "plinth/base/threads.h"
#include "plinth/models/model.h"
#include "plinth/series/quantiles.h"
#include "plinth/series/sample_quantiles.h"

namespace plinth::engine {

// A forecast that leaves the range of doubles stands at its end: results are finite.
// Every row of every group is forecast, covariates too, since later passes look back on them; values known
// ahead take the place of their forecasts.
class Rollout {
 public:
  // `info` must outlive the rollout. rows: all rows, group by group; group g owns
  // [group_begin[g], group_begin[g + 1]). Each past is cut to the most steps that a pass may see.
  // wanted: normalised levels of the result.
  Rollout(const models::ModelInfo& info, std::vector<models::Row> rows, std::vector<size_t> group_begin,
          std::span<const double> wanted, int64_t horizon);

  // Steps of the next pass; 0: done.
  int64_t steps() const { return steps_; }
  // Copies of each group in the next pass: 1, or the number of paths.
  size_t paths() const { return paths_; }
  // Rows of the next pass: group by group, for each its paths, for each path its rows.
  std::span<const models::Row> rows() const { return pass_rows_; }

  // Takes the result of that pass, [rows][steps][levels of the model]. results: where the forecast of each
  // row goes, [horizon][wanted levels]; empty for rows that nobody asked for.
  void Take(std::span<const double> quantiles, std::span<const std::span<double>> results, Threads& threads);

 private:
  // Reduces what all paths say about one row to the model's levels: [steps][levels].
  void Reduce(std::span<const double> quantiles, size_t row, std::span<double> native) const;
  // Appends path `p` of a forecast to the row's history in that path.
  void Extend(size_t row, size_t p, std::span<const double> native);
  // Where row `row` stands in the pass's rows on path p.
  size_t PassRow(size_t row, size_t p) const;
  void Advance();
  void MakePassRows();

  const models::ModelInfo& info_;
  std::vector<models::Row> rows_;
  std::vector<size_t> group_begin_, group_of_;
  series::QuantileMap to_wanted_;
  std::optional<series::SampleQuantiles> reduce_;  // where there are several paths
  std::vector<series::QuantileMap> to_path_;       // one level each
  int64_t horizon_, done_ = 0, steps_ = 0;
  size_t paths_ = 1, next_paths_ = 1;
  std::vector<models::Row> pass_rows_;
  std::vector<std::vector<double>> history_;  // [row * all paths + path], once there is a second pass
};

}  // namespace plinth::engine
