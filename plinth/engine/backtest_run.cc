#include "plinth/engine/backtest_run.h"

#include <algorithm>
#include <utility>

#include "plinth/base/text.h"

namespace plinth::engine {
namespace {

void Write(const series::Scores& s, formats::JsonWriter& w) {
  w.Key("mase"), w.Number(s.mase);
  w.Key("wql"), w.Number(s.wql);
  w.Key("mae"), w.Number(s.mae);
  w.Key("rmse"), w.Number(s.rmse);
  w.Key("coverage_80"), w.Number(s.coverage_80);
}

}  // namespace

BacktestRun::BacktestRun(std::shared_ptr<Forecaster> forecaster, BacktestOptions options, GroupMaker& maker,
                         Words words)
    : forecaster_(std::move(forecaster)),
      options_(std::move(options)),
      maker_(maker),
      words_(std::move(words)) {
  if (options_.horizon == 0) options_.horizon = forecaster_->most_horizon();
}

// Makes the backtest when the first item tells the season, and sees that all items share it.
Status BacktestRun::CheckSeason(const SeriesItem& item) {
  if (backtest_ == nullptr) {
    season_given_ = options_.season != 0;
    if (!season_given_) options_.season = item.DefaultSeason();
    PLINTH_ASSIGN_OR_RETURN(auto made, Backtest::Make(forecaster_, options_));
    backtest_ = std::make_unique<Backtest>(std::move(made));
  }
  if (season_given_ || item.DefaultSeason() == options_.season) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(words_.name(std::span(&item, 1)), ": has steps of ", item.FrequencyName(), " and a season of ",
             item.DefaultSeason(), ", the items before it a season of ", options_.season,
             "; evaluate them separately or give one ", words_.option, "season"));
}

Status BacktestRun::Add(std::span<const SeriesItem> unit, StopCheck cancelled) {
  int64_t windows = 0;
  for (const SeriesItem& item : unit) {
    PLINTH_RETURN_IF_ERROR(CheckSeason(item));
    const int64_t targets = static_cast<int64_t>(item.values.size());
    windows += backtest_->WindowsOf(item.length()) * targets;
    longest_ = std::max(longest_, item.length());
    const Status status = backtest_->CheckLength(item.length());
    if (status.ok()) continue;
    if (left_out_ == 0) first_refusal_ = Prepend(status, words_.name(std::span(&item, 1)));
    left_out_ += targets;
  }
  const std::string apart = unit.size() > 1 ? EndsApart(unit) : "";
  if (!apart.empty()) {
    return absl::InvalidArgumentError(
        StrCat(words_.name(unit), ": ", apart,
               "; in one group an origin must mean the same time for all: cut the items to one end"));
  }
  windows_ += windows;
  if (windows == 0) return absl::OkStatus();
  const Status status = backtest_->Add(unit, maker_, cancelled);
  return status.ok() ? status : Prepend(status, words_.name(unit));
}

Status BacktestRun::Finish() const {
  if (backtest_->series() > 0) return absl::OkStatus();
  if (left_out_ == 1) return first_refusal_;
  return absl::InvalidArgumentError(
      StrCat(words_.where, ": all ", left_out_, " series are too short: the longest has ", longest_,
             " steps; one window needs at least ", backtest_->LeastLengthText()));
}

std::vector<std::string> BacktestRun::Notes() const {
  std::vector<std::string> notes;
  if (left_out_ > 0) {
    notes.push_back(StrCat(words_.where, ": ", left_out_, " of ", left_out_ + backtest_->series(),
                           " series left out: one window needs at least ", backtest_->LeastLengthText()));
  }
  const int64_t wanted = backtest_->series() * backtest_->options().windows;
  if (windows_ < wanted) {
    notes.push_back(StrCat(words_.where, ": only ", windows_, " of ", wanted, " windows fit; shorten ",
                           words_.option, "horizon or ", words_.option, "stride, or lower ", words_.option,
                           "windows"));
  }
  for (size_t r = 0; r < backtest_->scores().size(); ++r) NoteUndefined(r, &notes);
  return notes;
}

// Counts the windows that a mean leaves out, with the reason.
void BacktestRun::NoteUndefined(size_t report, std::vector<std::string>* notes) const {
  const series::BacktestScores& scores = backtest_->scores()[report];
  const auto add = [&](int64_t count, const char* score, const char* why) {
    if (count == 0) return;
    notes->push_back(StrCat(words_.where, ": horizon ", backtest_->options().report[report], ": ", count,
                            " of ", scores.windows(), scores.windows() == 1 ? " window has" : " windows have",
                            " no ", score, " because ", why));
  };
  add(scores.windows_without_mase(), "MASE", "no seasonal difference in the context is other than 0");
  add(scores.windows_without_wql(), "WQL", "every value of the truth is 0");
}

void WriteBacktestJson(const BacktestRun& run, size_t report, const BacktestFacts& facts,
                       formats::JsonWriter& w) {
  const Backtest& backtest = run.backtest();
  const series::BacktestScores& scores = backtest.scores()[report];
  w.BeginObject();
  w.Key("series"), w.Int(backtest.series());
  w.Key("series_left_out"), w.Int(run.left_out());
  w.Key("windows"), w.Int(scores.windows());
  w.Key("horizon"), w.Int(backtest.options().report[report]);
  w.Key("season"), w.Int(backtest.options().season);
  Write(scores.model(), w);
  w.Key("seasonal_naive");
  w.BeginObject();
  Write(scores.seasonal_naive(), w);
  w.EndObject();
  w.Key("relative_mase"), w.Number(scores.relative_mase());
  w.Key("relative_wql"), w.Number(scores.relative_wql());
  w.Key("identity"), w.String(facts.identity);
  w.Key("evidence"), w.String(facts.evidence);
  w.EndObject();
}

}  // namespace plinth::engine
