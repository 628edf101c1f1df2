// Evaluates a model on all items of a file or a request, leaving out what is too short, and writes the
// result.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plinth/engine/backtest.h"
#include "plinth/formats/json_writer.h"

namespace plinth::engine {

class BacktestRun {
 public:
  // How messages speak of things.
  struct Words {
    std::string where;   // begins what is said about all
    std::string option;  // before the name of an option: "--"
    // An item, or items that are forecast together.
    std::function<std::string(std::span<const SeriesItem> unit)> name;
  };

  // A season of 0 is that of the items' frequency, which they must share. A horizon of 0 is the model's own.
  BacktestRun(std::shared_ptr<Forecaster> forecaster, BacktestOptions options, GroupMaker& maker,
              Words words);

  // Errors: InvalidArgument for options that make no sense, items of several seasons, and items of a group
  // that end apart; those of Session::Run.
  Status Add(std::span<const SeriesItem> unit, StopCheck cancelled);
  // To be called after the last one. Error: InvalidArgument where nothing was long enough.
  Status Finish() const;

  // Of what was added; at least one item.
  const Backtest& backtest() const { return *backtest_; }
  int64_t left_out() const { return left_out_; }
  // What was left out and why, a sentence each.
  std::vector<std::string> Notes() const;

 private:
  Status CheckSeason(const SeriesItem& item);
  void NoteUndefined(size_t report, std::vector<std::string>* notes) const;

  std::shared_ptr<Forecaster> forecaster_;
  BacktestOptions options_;
  GroupMaker& maker_;
  const Words words_;
  std::unique_ptr<Backtest> backtest_;
  bool season_given_ = false;
  int64_t left_out_ = 0, windows_ = 0, longest_ = 0;
  Status first_refusal_;  // of the first series left out
};

// {"series", "series_left_out", "windows", "horizon", "season", "mase", "wql", "mae", "rmse", "coverage_80",
// "seasonal_naive", "relative_mase", "relative_wql", "identity", "evidence"} of one entry of the report.
struct BacktestFacts {
  std::string identity;  // "sha256:..."
  std::string_view evidence;
};
void WriteBacktestJson(const BacktestRun& run, size_t report, const BacktestFacts& facts,
                       formats::JsonWriter& json);

}  // namespace plinth::engine
