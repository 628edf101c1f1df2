// plinth forecast: reads a CSV, forecasts every series in it, and writes the result.
#include <algorithm>
#include <cmath>

#include "apps/plinth/command.h"
#include "apps/plinth/evidence_state.h"
#include "apps/plinth/forecast_output.h"
#include "apps/plinth/series_options.h"
#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"
#include "plinth/engine/identity.h"
#include "plinth/engine/session.h"
#include "plinth/report/progress.h"
#include "plinth/series/quantiles.h"

namespace plinth::app {
namespace {

struct Options : CommonOptions, ForecastOptions {
  std::string model, out, evidence;
  SeriesOptions series;
  bool as_published = false, chart = false;
};

// Series that are forecast together. Enough to keep all threads busy, few enough that memory stays small.
constexpr int64_t kSeriesPerBatch = 256;
constexpr int64_t kValuesPerBatch = 4 << 20;
// Horizons of the model in a row after which its own errors, fed back as medians, can outgrow the series.
constexpr int64_t kTrustedRounds = 8;

// What a forecast is asked for, but for levels.
struct ForecastWish {
  engine::Together together;
  int64_t horizon = 0, context = 0;
};

// What fits standard output, and a file if one is named. The file comes last: it appears only when standard
// output has taken its part.
StatusOr<std::vector<std::pair<OutputKind, std::string>>> ChooseOutputs(const Options& o) {
  std::vector<std::pair<OutputKind, std::string>> outputs;
  if (o.json) {
    outputs.emplace_back(OutputKind::kJson, "");
  } else if (o.chart || OutputIsTerminal()) {
    outputs.emplace_back(OutputKind::kTerminal, "");
  } else if (o.out.empty()) {
    outputs.emplace_back(OutputKind::kCsv, "");
  }
  if (!o.out.empty()) {
    PLINTH_ASSIGN_OR_RETURN(const OutputKind kind, KindOfPath(o.out));
    outputs.emplace_back(kind, o.out);
  }
  return outputs;
}

// Reads, forecasts and writes batch by batch.
class ForecastJob {
 public:
  ForecastJob(const ForecastWish& facts, engine::Session& session, engine::SeriesFile& file,
              engine::GroupMaker& maker, std::vector<std::unique_ptr<ForecastWriter>>& writers)
      : session_(session), file_(file), maker_(maker), units_(file, facts.together), writers_(writers) {
    request_.horizon = facts.horizon;
    request_.context = facts.context;
    AddNotes();
  }

  Status Run(const std::vector<double>& levels) {
    levels_ = levels;
    request_.levels = levels;
    // The point forecast is the median, whatever levels were asked for.
    const auto at = std::lower_bound(request_.levels.begin(), request_.levels.end(), 0.5);
    median_ = static_cast<size_t>(at - request_.levels.begin());
    extra_median_ = at == request_.levels.end() || *at != 0.5;
    if (extra_median_) request_.levels.insert(at, 0.5);
    const int64_t targets = static_cast<int64_t>(file_.targets().size());
    Progress progress(StandardErrorProgress("forecast", file_.items() * targets, "series"));
    Units units;
    int64_t values = 0, items = 0;
    for (bool more = true; more;) {
      PLINTH_RETURN_IF_ERROR(CheckInterrupted());
      std::vector<engine::SeriesItem> unit;
      PLINTH_ASSIGN_OR_RETURN(more, units_.Next(&unit));
      for (const engine::SeriesItem& item : unit) {
        PLINTH_RETURN_IF_ERROR(CheckEnd(item));
        values += item.length() * static_cast<int64_t>(item.values.size() + item.covariates.size());
        ++items;
      }
      if (more) units.push_back(std::move(unit));
      if (items * targets < kSeriesPerBatch && values < kValuesPerBatch && more) continue;
      PLINTH_RETURN_IF_ERROR(Batch(units));
      progress.Add(items * targets);
      units.clear();
      values = items = 0;
    }
    return absl::OkStatus();
  }
  const Notes& notes() const { return notes_; }

 private:
  using Units = std::vector<std::vector<engine::SeriesItem>>;

  // What is known before the first series is read.
  void AddNotes() {
    if (!file_.note().empty()) notes_.Add(StrCat(file_.path(), ": ", file_.note()));
    const int64_t own = session_.model().info().horizon;
    if (request_.horizon <= kTrustedRounds * own) return;
    notes_.Add(StrCat("a horizon of ", request_.horizon, " is more than ", kTrustedRounds,
                      " times the model's ", own, " steps: forecasts beyond ", own,
                      " steps repeat the model's own errors, and the further ones may drift far off"));
  }

  Status Batch(const Units& units) {
    maker_.Clear();
    for (const auto& unit : units) {
      std::vector<engine::Window> windows;
      for (const engine::SeriesItem& item : unit) windows.push_back({&item, item.length()});
      maker_.Add(windows, request_.horizon);
      const std::string apart = unit.size() > 1 ? engine::EndsApart(unit) : "";
      if (!apart.empty()) {
        notes_.Add(StrCat(UnitName(file_, unit), ": ", apart, "; the last rows of all stand side by side"));
      }
    }
    const auto forecasts = session_.Run(maker_.groups(), request_, &Interrupted);
    if (!forecasts.ok()) return Explain(forecasts.status());
    size_t s = 0;
    for (const auto& unit : units) {
      for (const engine::SeriesItem& item : unit) PLINTH_RETURN_IF_ERROR(WriteItem(item, *forecasts, &s));
    }
    for (const std::string& note : maker_.notes()) notes_.Add(note);
    return absl::OkStatus();
  }

  // Adds to a lack of memory what was asked for, if that was a group of many rows.
  Status Explain(const Status& status) const {
    size_t most = 0;
    for (const engine::Group& group : maker_.groups()) most = std::max(most, group.rows.size());
    if (status.code() != absl::StatusCode::kResourceExhausted || most < 2) return status;
    return Status(status.code(),
                  StrCat(file_.path(), ": ", std::string(status.message()), "; the largest group has ", most,
                         " rows, targets and covariates counted: make groups smaller, or shorten "
                         "--context"));
  }

  Status WriteItem(const engine::SeriesItem& item, const std::vector<engine::Forecast>& forecasts,
                   size_t* s) {
    for (size_t t = 0; t < item.values.size(); ++t, ++*s) {
      PLINTH_RETURN_IF_ERROR(Write(item, t, forecasts[*s]));
      const std::vector<double>& y = item.values[t];
      if (std::all_of(y.begin(), y.end(), [](double v) { return std::isnan(v); })) {
        notes_.Add(StrCat(SeriesName(file_, item, t), " holds no value; its forecast says nothing"));
      }
    }
    for (const std::string& note : item.notes) notes_.Add(note);
    return absl::OkStatus();
  }

  // Stamps end with the year 9999.
  Status CheckEnd(const engine::SeriesItem& item) const {
    const int64_t fit = item.LastIndex() - item.length() + 1;
    if (fit >= request_.horizon) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat(SeriesName(file_, item, 0), ": a horizon of ", request_.horizon,
                                             " steps of ", item.FrequencyName(), " after ",
                                             item.TimeText(item.length() - 1),
                                             " ends past 9999-12-31, the last day that can be written; ", fit,
                                             " fit: shorten --horizon, or correct the stamps"));
  }

  Status Write(const engine::SeriesItem& item, size_t target, const engine::Forecast& forecast) {
    const size_t all = request_.levels.size(), horizon = static_cast<size_t>(request_.horizon);
    medians_.resize(horizon);
    for (size_t h = 0; h < horizon; ++h) medians_[h] = forecast.values[h * all + median_];
    std::span<const double> values = forecast.values;
    if (extra_median_) {
      kept_.clear();
      for (size_t i = 0; i < forecast.values.size(); ++i) {
        if (i % all != median_) kept_.push_back(forecast.values[i]);
      }
      values = kept_;
    }
    for (auto& writer : writers_) {
      PLINTH_RETURN_IF_ERROR(writer->Add({&item, target, file_.targets()[target], values, medians_}));
    }
    return absl::OkStatus();
  }

  engine::Session& session_;
  engine::SeriesFile& file_;
  engine::GroupMaker& maker_;
  engine::UnitReader units_;
  std::vector<std::unique_ptr<ForecastWriter>>& writers_;
  engine::ForecastRequest request_;
  std::vector<double> levels_;
  Notes notes_;
  size_t median_ = 0;
  bool extra_median_ = false;
  std::vector<double> medians_, kept_;
};

StatusOr<int> Run(const Options& o) {
  InterruptGuard interrupt;
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  PLINTH_ASSIGN_OR_RETURN(const auto outputs, ChooseOutputs(o));
  PLINTH_ASSIGN_OR_RETURN(const std::vector<double> levels, series::ParseQuantiles(o.quantiles));
  PLINTH_ASSIGN_OR_RETURN(const std::string folder, ModelFolderOrShipped(o.model));
  PLINTH_ASSIGN_OR_RETURN(auto session,
                          engine::Session::Load(folder, runtime->context(), {.published = o.as_published}));
  const models::ModelInfo& info = session->model().info();
  PLINTH_RETURN_IF_ERROR(CheckContext(o.context, info));
  if (o.json && o.chart) return absl::InvalidArgumentError("--json and --chart both want standard output");
  PLINTH_ASSIGN_OR_RETURN(engine::Together together, TogetherOf(o.series, info));
  together.file_categories = o.as_published;
  const int64_t horizon = o.horizon == 0 ? info.horizon : o.horizon;
  PLINTH_ASSIGN_OR_RETURN(engine::SeriesFile file, engine::SeriesFile::Open(o.series.data, o.series.columns,
                                                                            {o.series.future_data, horizon}));
  PLINTH_ASSIGN_OR_RETURN(engine::GroupMaker maker, engine::GroupMaker::Make(file, together));
  PLINTH_ASSIGN_OR_RETURN(const plan::NumericsIdentity identity, engine::IdentityOf(*session));
  const int64_t context = o.context == 0 ? info.context_length : o.context;
  const evidence::GateResult gate =
      EvidenceOf(*session, identity, {.context = context, .horizon = horizon}, o.evidence);
  const ForecastFacts facts{
      session->folder().name(), *identity.Find("model"), gate, file.path(), horizon, levels, !o.out.empty()};
  PLINTH_RETURN_IF_ERROR(CheckOutIsNoInput(o.out, o.series, session->folder()));
  std::vector<std::unique_ptr<ForecastWriter>> writers;
  for (const auto& [kind, path] : outputs) {
    PLINTH_ASSIGN_OR_RETURN(auto writer,
                            MakeForecastWriter(kind, path, facts, !o.series.columns.item.empty()));
    writers.push_back(std::move(writer));
  }
  ForecastJob job({together, horizon, o.context}, *session, file, maker, writers);
  PLINTH_RETURN_IF_ERROR(job.Run(levels));
  for (auto& writer : writers) PLINTH_RETURN_IF_ERROR(writer->Finish());
  job.notes().Print();
  return 0;
}

}  // namespace

void AddForecast(Program& program) {
  auto o = std::make_shared<Options>();
  CLI::App* command = program.Add("forecast", "forecast each series of a CSV file");
  command->add_option("-m,--model", o->model, "model folder (default: the shipped model)");
  AddSeriesOptions(command, &o->series);
  AddForecastOptions(command, o.get());
  command->add_flag("--as-published", o->as_published, "follow the original implementation in every quirk");
  command->add_option("-o,--out", o->out, "write to a file that ends in .csv, .json or .html");
  command->add_flag("--chart", o->chart, "draw the chart also where standard output is no terminal");
  AddEvidenceOption(command, &o->evidence);
  program.AddCommon(command, o.get());
  Program::AddJson(command, o.get());
  program.Run(command, [o] { return Run(*o); });
}

}  // namespace plinth::app
