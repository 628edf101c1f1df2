// plinth backtest: how good forecasts from past origins were, beside the seasonal-naive method.
#include "plinth/engine/backtest.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "apps/plinth/command.h"
#include "apps/plinth/evidence_state.h"
#include "apps/plinth/series_options.h"
#include "plinth/base/interrupt.h"
#include "plinth/engine/identity.h"
#include "plinth/formats/json_writer.h"
#include "plinth/report/progress.h"

namespace plinth::app {
namespace {

struct Options : CommonOptions {
  std::string model, evidence;
  SeriesOptions series;
  engine::BacktestOptions backtest;
};

void Write(formats::JsonWriter& w, const series::Scores& s) {
  w.Key("mase"), w.Number(s.mase);
  w.Key("wql"), w.Number(s.wql);
  w.Key("mae"), w.Number(s.mae);
  w.Key("rmse"), w.Number(s.rmse);
  w.Key("coverage_80"), w.Number(s.coverage_80);
}

std::string Json(const engine::Backtest& backtest, int64_t left_out, const evidence::GateResult& gate) {
  std::string out;
  formats::JsonWriter w(&out);
  for (size_t r = 0; r < backtest.scores().size(); ++r) {
    const series::BacktestScores& scores = backtest.scores()[r];
    w.BeginObject();
    w.Key("series"), w.Int(backtest.series());
    w.Key("series_left_out"), w.Int(left_out);
    w.Key("windows"), w.Int(scores.windows());
    w.Key("horizon"), w.Int(backtest.options().report[r]);
    w.Key("season"), w.Int(backtest.options().season);
    Write(w, scores.model());
    w.Key("seasonal_naive");
    w.BeginObject();
    Write(w, scores.seasonal_naive());
    w.EndObject();
    w.Key("relative_mase"), w.Number(scores.relative_mase());
    w.Key("relative_wql"), w.Number(scores.relative_wql());
    w.Key("identity"), w.String(StrCat("sha256:", gate.identity));
    w.Key("evidence"), w.String(StateName(gate.state));
    w.EndObject();
    w.EndLine();
  }
  return out;
}

std::string Cell(double value) {
  if (!std::isfinite(value)) return "         -";
  char text[32];
  std::snprintf(text, sizeof(text), "%10.4g", value);
  return text;
}

std::string Row(const char* name, const series::Scores& s) {
  std::string padded(name);
  padded.resize(16, ' ');
  return StrCat("  ", padded, Cell(s.mase), Cell(s.wql), Cell(s.mae), Cell(s.rmse), Cell(s.coverage_80),
                "\n");
}

std::string Text(const engine::Backtest& backtest, const std::string& model) {
  std::string out;
  for (size_t r = 0; r < backtest.scores().size(); ++r) {
    const series::BacktestScores& s = backtest.scores()[r];
    StrAppend(&out, s.windows(), s.windows() == 1 ? " window of " : " windows of ", backtest.series(),
              " series, horizon ", backtest.options().report[r], ", season ", backtest.options().season, "\n",
              "                        MASE       WQL       MAE      RMSE   in 80 % band\n",
              Row(model.c_str(), s.model()), Row("seasonal naive", s.seasonal_naive()), "  model / naive   ",
              Cell(s.relative_mase()), Cell(s.relative_wql()), "   (below 1 is better)\n");
  }
  return out;
}

// Reads the file and scores what is long enough.
class BacktestJob {
 public:
  BacktestJob(const Options& o, engine::Session& session, engine::SeriesFile& file, engine::GroupMaker& maker,
              const engine::Together& together)
      : options_(o.backtest), session_(session), file_(file), maker_(maker), units_(file, together) {
    if (options_.horizon == 0) options_.horizon = session.model().info().horizon;
  }

  Status Run() {
    Progress progress(StandardErrorProgress("backtest", file_.items(), "items"));
    std::vector<engine::SeriesItem> unit;
    while (true) {
      PLINTH_ASSIGN_OR_RETURN(const bool more, units_.Next(&unit));
      if (!more) break;
      PLINTH_RETURN_IF_ERROR(Add(unit));
      progress.Add(static_cast<int64_t>(unit.size()));
    }
    if (backtest_->series() > 0) return absl::OkStatus();
    if (left_out_ == 1) return first_refusal_;
    return absl::InvalidArgumentError(
        StrCat(file_.path(), ": all ", left_out_, " series are too short: the longest has ", longest_,
               " steps; one window needs at least ", backtest_->LeastLengthText()));
  }

  const engine::Backtest& backtest() const { return *backtest_; }
  int64_t left_out() const { return left_out_; }

  void AddNotes(Notes* notes) const {
    if (left_out_ > 0) {
      notes->Add(StrCat(file_.path(), ": ", left_out_, " of ", left_out_ + backtest_->series(),
                        " series left out: one window needs at least ", backtest_->LeastLengthText()));
    }
    const int64_t wanted = backtest_->series() * backtest_->options().windows;
    if (windows_ < wanted) {
      notes->Add(StrCat(file_.path(), ": only ", windows_, " of ", wanted,
                        " windows fit; shorten --horizon or --stride, or lower --windows"));
    }
    if (!file_.note().empty()) notes->Add(StrCat(file_.path(), ": ", file_.note()));
    for (size_t r = 0; r < backtest_->scores().size(); ++r) AddUndefined(r, notes);
  }

 private:
  // Makes the backtest when the first item tells the season, and sees that all items share it.
  Status CheckSeason(const engine::SeriesItem& item) {
    if (backtest_ == nullptr) {
      season_given_ = options_.season != 0;
      if (!season_given_) options_.season = item.DefaultSeason();
      PLINTH_ASSIGN_OR_RETURN(auto made, engine::Backtest::Make(session_, options_));
      backtest_ = std::make_unique<engine::Backtest>(std::move(made));
    }
    if (season_given_ || item.DefaultSeason() == options_.season) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat(SeriesName(file_, item, 0), ": has steps of ",
                                             item.FrequencyName(), " and a season of ", item.DefaultSeason(),
                                             ", the items before it a season of ", options_.season,
                                             "; evaluate them separately or give one --season"));
  }

  Status Add(const std::vector<engine::SeriesItem>& unit) {
    int64_t windows = 0;
    for (const engine::SeriesItem& item : unit) {
      PLINTH_RETURN_IF_ERROR(CheckSeason(item));
      const int64_t targets = static_cast<int64_t>(item.values.size());
      windows += backtest_->WindowsOf(item.length()) * targets;
      longest_ = std::max(longest_, item.length());
      const Status status = backtest_->CheckLength(item.length());
      if (status.ok()) continue;
      if (left_out_ == 0) first_refusal_ = Prepend(status, SeriesName(file_, item, 0));
      left_out_ += targets;
    }
    const std::string apart = unit.size() > 1 ? engine::EndsApart(unit) : "";
    if (!apart.empty()) {
      return absl::InvalidArgumentError(
          StrCat(UnitName(file_, unit), ": ", apart,
                 "; in one group an origin must mean the same time for all: cut the items to one end"));
    }
    windows_ += windows;
    if (windows == 0) return absl::OkStatus();
    const Status status = backtest_->Add(unit, maker_, &Interrupted);
    const bool plain = unit.size() == 1;
    return status.ok() ? status
                       : Prepend(status, plain ? SeriesName(file_, unit[0], 0) : UnitName(file_, unit));
  }

  // Counts the windows that a mean leaves out, with the reason.
  void AddUndefined(size_t report, Notes* notes) const {
    const series::BacktestScores& scores = backtest_->scores()[report];
    const auto add = [&](int64_t count, const char* score, const char* why) {
      if (count == 0) return;
      notes->Add(StrCat(file_.path(), ": horizon ", backtest_->options().report[report], ": ", count, " of ",
                        scores.windows(), scores.windows() == 1 ? " window has" : " windows have", " no ",
                        score, " because ", why));
    };
    add(scores.windows_without_mase(), "MASE", "no seasonal difference in the context is other than 0");
    add(scores.windows_without_wql(), "WQL", "every value of the truth is 0");
  }

  engine::BacktestOptions options_;
  engine::Session& session_;
  engine::SeriesFile& file_;
  engine::GroupMaker& maker_;
  engine::UnitReader units_;
  std::unique_ptr<engine::Backtest> backtest_;
  bool season_given_ = false;
  int64_t left_out_ = 0, windows_ = 0, longest_ = 0;
  Status first_refusal_;  // of the first series left out
};

StatusOr<int> Run(const Options& o) {
  InterruptGuard interrupt;
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  PLINTH_ASSIGN_OR_RETURN(const std::string folder, ModelFolderOrShipped(o.model));
  PLINTH_ASSIGN_OR_RETURN(auto session, engine::Session::Load(folder, runtime->context()));
  PLINTH_ASSIGN_OR_RETURN(const engine::Together together, TogetherOf(o.series, session->model().info()));
  if (!o.series.future_data.empty()) {
    return absl::InvalidArgumentError(
        "--future-data is for forecast: a backtest knows the rows after each origin from --data itself; "
        "leave it "
        "out");
  }
  PLINTH_ASSIGN_OR_RETURN(engine::SeriesFile file, engine::SeriesFile::Open(o.series.data, o.series.columns));
  PLINTH_ASSIGN_OR_RETURN(engine::GroupMaker maker, engine::GroupMaker::Make(file, together));
  BacktestJob job(o, *session, file, maker, together);
  PLINTH_RETURN_IF_ERROR(job.Run());
  const models::ModelInfo& info = session->model().info();
  const int64_t context = o.backtest.context == 0
                              ? info.context_length
                              : std::min<int64_t>(o.backtest.context, info.context_length);
  PLINTH_ASSIGN_OR_RETURN(const plan::NumericsIdentity identity, engine::IdentityOf(*session));
  const evidence::GateResult gate = EvidenceOf(
      *session, identity, {.context = context, .horizon = job.backtest().options().horizon}, o.evidence);
  PLINTH_RETURN_IF_ERROR(Print(o.json ? Json(job.backtest(), job.left_out(), gate)
                                      : Text(job.backtest(), session->folder().name())));
  PLINTH_RETURN_IF_ERROR(FlushOutput());
  Notes notes;
  job.AddNotes(&notes);
  notes.Print();
  return 0;
}

}  // namespace

void AddBacktest(Program& program) {
  auto o = std::make_shared<Options>();
  o->backtest.season = 0;
  CLI::App* command = program.Add("backtest", "how good forecasts from past origins were");
  command->add_option("-m,--model", o->model, "model folder (default: the shipped model)");
  AddSeriesOptions(command, &o->series);
  command->add_option("-H,--horizon", o->backtest.horizon, "steps to forecast (default: the model's own)")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("-w,--windows", o->backtest.windows, "origins in each series")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--stride", o->backtest.stride, "steps between origins (default: the horizon)")
      ->check(CLI::Range(1, 1 << 30));
  command->add_option("-s,--season", o->backtest.season, "steps of a season (default: from the frequency)")
      ->check(CLI::Range(1, 1 << 30));
  command->add_option("-c,--context", o->backtest.context, "steps of history (default: all the model takes)")
      ->check(CLI::Range(1, 1 << 30));
  command->add_option("--report", o->backtest.report, "also score these prefixes of the horizon, as 24,96")
      ->delimiter(',');
  AddEvidenceOption(command, &o->evidence);
  program.AddCommon(command, o.get());
  Program::AddJson(command, o.get());
  program.Run(command, [o] { return Run(*o); });
}

}  // namespace plinth::app
