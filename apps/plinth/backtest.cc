// plinth backtest: how good forecasts from past origins were, beside the seasonal-naive method.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "apps/plinth/command.h"
#include "apps/plinth/evidence_state.h"
#include "apps/plinth/series_options.h"
#include "plinth/base/interrupt.h"
#include "plinth/engine/backtest_run.h"
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

std::string Json(const engine::BacktestRun& run, const evidence::GateResult& gate) {
  std::string out;
  formats::JsonWriter w(&out);
  const engine::BacktestFacts facts{StrCat("sha256:", gate.identity), StateName(gate.state)};
  for (size_t r = 0; r < run.backtest().scores().size(); ++r) {
    engine::WriteBacktestJson(run, r, facts, w);
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

// Scores all items of the file.
Status RunFile(engine::SeriesFile& file, const engine::Together& together, engine::BacktestRun& run) {
  engine::UnitReader units(file, together);
  Progress progress(StandardErrorProgress("backtest", file.items(), "items"));
  std::vector<engine::SeriesItem> unit;
  while (true) {
    PLINTH_ASSIGN_OR_RETURN(const bool more, units.Next(&unit));
    if (!more) return run.Finish();
    PLINTH_RETURN_IF_ERROR(run.Add(unit, &Interrupted));
    progress.Add(static_cast<int64_t>(unit.size()));
  }
}

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
  const auto name = [&](std::span<const engine::SeriesItem> unit) {
    return unit.size() == 1 ? SeriesName(file, unit[0], 0) : UnitName(file, unit);
  };
  engine::BacktestRun run(std::make_shared<engine::SessionForecaster>(*session), o.backtest, maker,
                          {file.path(), "--", name});
  PLINTH_RETURN_IF_ERROR(RunFile(file, together, run));
  const models::ModelInfo& info = session->model().info();
  const int64_t context = o.backtest.context == 0
                              ? info.context_length
                              : std::min<int64_t>(o.backtest.context, info.context_length);
  PLINTH_ASSIGN_OR_RETURN(const plan::NumericsIdentity identity, engine::IdentityOf(*session));
  const evidence::GateResult gate = EvidenceOf(
      *session, identity, {.context = context, .horizon = run.backtest().options().horizon}, o.evidence);
  PLINTH_RETURN_IF_ERROR(Print(o.json ? Json(run, gate) : Text(run.backtest(), session->folder().name())));
  PLINTH_RETURN_IF_ERROR(FlushOutput());
  Notes notes;
  for (const std::string& note : run.Notes()) notes.Add(note);
  if (!file.note().empty()) notes.Add(StrCat(file.path(), ": ", file.note()));
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
