// plinth backtest: how good forecasts from past origins were, beside the seasonal-naive method.
#include "plinth/engine/backtest.h"

#include <cmath>
#include <cstdio>

#include "apps/plinth/command.h"
#include "plinth/base/interrupt.h"
#include "plinth/formats/json_writer.h"
#include "plinth/report/progress.h"

namespace plinth::app {
namespace {

struct Options : CommonOptions {
  std::string model, data;
  engine::SeriesColumns columns;
  engine::BacktestOptions backtest;
};

void Write(formats::JsonWriter& w, const series::Scores& s) {
  w.Key("mase"), w.Number(s.mase);
  w.Key("wql"), w.Number(s.wql);
  w.Key("mae"), w.Number(s.mae);
  w.Key("rmse"), w.Number(s.rmse);
  w.Key("coverage_80"), w.Number(s.coverage_80);
}

std::string Json(const engine::Backtest& backtest) {
  std::string out;
  formats::JsonWriter w(&out);
  for (size_t r = 0; r < backtest.scores().size(); ++r) {
    const series::BacktestScores& scores = backtest.scores()[r];
    w.BeginObject();
    w.Key("series"), w.Int(backtest.series());
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
    StrAppend(&out, s.windows(), " windows of ", backtest.series(),
              backtest.series() == 1 ? " series" : " series", ", horizon ", backtest.options().report[r],
              ", season ", backtest.options().season, "\n",
              "                        MASE       WQL       MAE      RMSE   in 80 % band\n",
              Row(model.c_str(), s.model()), Row("seasonal naive", s.seasonal_naive()), "  model / naive   ",
              Cell(s.relative_mase()), Cell(s.relative_wql()), "   (below 1 is better)\n");
  }
  return out;
}

StatusOr<int> Run(Options o) {
  InterruptGuard interrupt;
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  PLINTH_ASSIGN_OR_RETURN(const std::string folder, ModelFolderOrShipped(o.model));
  PLINTH_ASSIGN_OR_RETURN(auto session, engine::Session::Load(folder, runtime->context()));
  PLINTH_ASSIGN_OR_RETURN(engine::SeriesFile file, engine::SeriesFile::Open(o.data, o.columns));
  if (o.backtest.horizon == 0) o.backtest.horizon = session->model().info().horizon;
  std::unique_ptr<engine::Backtest> backtest;
  Progress progress(StandardErrorProgress("backtest", file.items(), "items"));
  engine::SeriesGroup group;
  while (true) {
    PLINTH_ASSIGN_OR_RETURN(const bool more, file.Next(&group));
    if (!more) break;
    if (backtest == nullptr) {
      if (o.backtest.season == 0) o.backtest.season = group.DefaultSeason();
      PLINTH_ASSIGN_OR_RETURN(auto made, engine::Backtest::Make(*session, o.backtest));
      backtest = std::make_unique<engine::Backtest>(std::move(made));
    }
    for (size_t t = 0; t < group.values.size(); ++t) {
      const Status status = backtest->Add(group.values[t], &Interrupted);
      if (status.ok()) continue;
      const std::string item = group.item.empty() ? "" : StrCat("item \"", group.item, "\", ");
      return Prepend(status, StrCat(file.path(), ": ", item, "column \"", file.targets()[t], "\""));
    }
    progress.Add(1);
  }
  progress.Finish();
  PLINTH_RETURN_IF_ERROR(Print(o.json ? Json(*backtest) : Text(*backtest, session->folder().name())));
  return 0;
}

}  // namespace

void AddBacktest(Program& program) {
  auto o = std::make_shared<Options>();
  o->backtest.season = 0;
  CLI::App* command = program.Add("backtest", "how good forecasts from past origins were");
  command->add_option("-m,--model", o->model, "model folder (default: the shipped model)");
  AddSeriesOptions(command, &o->data, &o->columns);
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
  program.AddCommon(command, o.get());
  Program::AddJson(command, o.get());
  program.Run(command, [o] { return Run(*o); });
}

}  // namespace plinth::app
