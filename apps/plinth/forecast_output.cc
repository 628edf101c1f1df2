#include "apps/plinth/forecast_output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "apps/plinth/command.h"
#include "apps/plinth/output_sink.h"
#include "plinth/base/files.h"
#include "plinth/formats/csv.h"
#include "plinth/formats/json_writer.h"
#include "plinth/report/html_report.h"
#include "plinth/report/terminal.h"
#include "plinth/report/terminal_chart.h"
#include "plinth/series/quantiles.h"

namespace plinth::app {
namespace {

class CsvForecastWriter : public ForecastWriter {
 public:
  CsvForecastWriter(std::unique_ptr<Sink> sink, const ForecastFacts& facts, bool has_items)
      : sink_(std::move(sink)), facts_(facts), has_items_(has_items), csv_(&text_) {
    if (has_items) csv_.Cell("item");
    for (const char* name : {"target", "time", "mean"}) csv_.Cell(name);
    for (const double level : facts.levels) csv_.Cell(series::QuantileName(level));
    csv_.EndRow();
  }
  Status Add(const ForecastResult& r) override {
    const size_t levels = facts_.levels.size();
    for (size_t h = 0; h < r.median.size(); ++h) {
      if (has_items_) csv_.Cell(r.group->item);
      csv_.Cell(r.target);
      csv_.Cell(r.group->TimeText(r.group->length() + static_cast<int64_t>(h)));
      csv_.Number(r.median[h]);
      for (size_t k = 0; k < levels; ++k) csv_.Number(r.values[h * levels + k]);
      csv_.EndRow();
    }
    return sink_->Drain(&text_);
  }
  Status Finish() override {
    PLINTH_RETURN_IF_ERROR(sink_->Drain(&text_));
    return sink_->Finish();
  }

 private:
  std::unique_ptr<Sink> sink_;
  const ForecastFacts facts_;
  const bool has_items_;
  std::string text_;
  formats::CsvWriter csv_;
};

class JsonForecastWriter : public ForecastWriter {
 public:
  JsonForecastWriter(std::unique_ptr<Sink> sink, const ForecastFacts& facts)
      : sink_(std::move(sink)), facts_(facts), json_(&text_) {
    json_.BeginObject();
    json_.Key("model"), json_.String(facts.model);
    json_.Key("identity"), json_.String(StrCat("sha256:", facts.evidence.identity));
    json_.Key("evidence"), json_.String(StateName(facts.evidence.state));
    json_.Key("items");
    json_.BeginArray();
  }
  Status Add(const ForecastResult& r) override {
    engine::WriteForecastJson(r, facts_.levels, json_);
    return sink_->Drain(&text_);
  }
  Status Finish() override {
    json_.EndArray();
    json_.EndObject();
    json_.EndLine();
    PLINTH_RETURN_IF_ERROR(sink_->Drain(&text_));
    return sink_->Finish();
  }

 private:
  std::unique_ptr<Sink> sink_;
  const ForecastFacts facts_;
  std::string text_;
  formats::JsonWriter json_;
};

// The last `past` values and the forecast, as charts want them.
SeriesView ViewOf(const ForecastResult& r, const std::vector<double>& levels, int64_t past) {
  const engine::SeriesItem& g = *r.group;
  SeriesView view;
  view.item = g.item;
  view.target = r.target;
  view.numbered = g.numbered;
  view.utc_offset_ms = int64_t{60000} * g.origin.offset_minutes;
  const int64_t first = std::max<int64_t>(0, g.length() - past);
  const auto point = [&](TimePoints& points, int64_t k) {
    points.ms.push_back(g.TimeMs(k));
    points.text.push_back(g.TimeText(k));
  };
  for (int64_t k = first; k < g.length(); ++k) point(view.history_time, k);
  const std::vector<double>& y = g.values[r.target_index];
  view.history.assign(y.begin() + first, y.end());
  view.earlier = first;
  for (size_t h = 0; h < r.median.size(); ++h)
    point(view.forecast_time, g.length() + static_cast<int64_t>(h));
  for (size_t k = 0; k < levels.size(); ++k) {
    QuantileLine line{levels[k], {}};
    for (size_t h = 0; h < r.median.size(); ++h) line.values.push_back(r.values[h * levels.size() + k]);
    view.quantiles.push_back(std::move(line));
  }
  // Charts draw the median, whatever levels were asked for.
  const auto at = std::lower_bound(levels.begin(), levels.end(), 0.5);
  if (at == levels.end() || *at != 0.5) {
    view.quantiles.insert(view.quantiles.begin() + (at - levels.begin()),
                          {0.5, std::vector<double>(r.median.begin(), r.median.end())});
  }
  return view;
}

class HtmlForecastWriter : public ForecastWriter {
 public:
  HtmlForecastWriter(std::unique_ptr<Sink> sink, const ForecastFacts& facts)
      : sink_(std::move(sink)), facts_(facts) {}
  Status Add(const ForecastResult& r) override {
    if (report_ == nullptr) Begin(r.group->FrequencyName());
    return report_->Add(ViewOf(r, facts_.levels, 4000));
  }
  Status Finish() override {
    if (report_ == nullptr) Begin("");
    PLINTH_RETURN_IF_ERROR(report_->Finish());
    return sink_->Finish();
  }

 private:
  void Begin(const std::string& frequency) {
    HtmlOptions options;
    options.language = LanguageFor(ReadTerminal(1));
    const ReportFacts head{.model = facts_.model,
                           .model_digest = StrCat("sha256:", facts_.digest),
                           .data_file = facts_.data_file,
                           .frequency = frequency,
                           .horizon = facts_.horizon,
                           .evidence = static_cast<EvidenceState>(facts_.evidence.state),
                           .version = std::string(kVersion),
                           .created = Now()};
    report_ =
        std::make_unique<HtmlReport>(head, options, [this](std::string_view t) { return sink_->Write(t); });
  }
  static std::string Now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts));
  }
  std::unique_ptr<Sink> sink_;
  const ForecastFacts facts_;
  std::unique_ptr<HtmlReport> report_;
};

// A chart of the first series, and one line for each further one.
class TerminalForecastWriter : public ForecastWriter {
 public:
  explicit TerminalForecastWriter(const ForecastFacts& facts) : facts_(facts), terminal_(ReadTerminal(1)) {}
  Status Add(const ForecastResult& r) override {
    ++count_;
    if (count_ > kCharts) return absl::OkStatus();
    const ChartOptions options = ChartOptionsFor(terminal_, LanguageFor(terminal_));
    return Print(DrawChart(ViewOf(r, facts_.levels, 4000), options));
  }
  Status Finish() override {
    if (count_ > kCharts) {
      PLINTH_RETURN_IF_ERROR(
          Print(StrCat(count_ - kCharts, " more series",
                       facts_.kept ? "\n" : "; --out FILE.csv, .json or .html keeps all\n")));
    }
    return FlushOutput();
  }

 private:
  static constexpr int64_t kCharts = 3;
  const ForecastFacts facts_;
  const TerminalFacts terminal_;
  int64_t count_ = 0;
};

}  // namespace

StatusOr<OutputKind> KindOfPath(const std::string& path) {
  for (const auto& [ending, kind] : {std::pair<std::string_view, OutputKind>{".csv", OutputKind::kCsv},
                                     {".json", OutputKind::kJson},
                                     {".html", OutputKind::kHtml}}) {
    if (std::string_view(path).ends_with(ending)) return kind;
  }
  return absl::InvalidArgumentError(StrCat("--out ", path, ": the name must end in .csv, .json or .html"));
}

StatusOr<std::unique_ptr<ForecastWriter>> MakeForecastWriter(OutputKind kind, const std::string& path,
                                                             const ForecastFacts& facts, bool has_items) {
  PLINTH_ASSIGN_OR_RETURN(auto sink, Sink::Open(path));
  switch (kind) {
    case OutputKind::kCsv:
      return std::unique_ptr<ForecastWriter>(new CsvForecastWriter(std::move(sink), facts, has_items));
    case OutputKind::kJson:
      return std::unique_ptr<ForecastWriter>(new JsonForecastWriter(std::move(sink), facts));
    case OutputKind::kHtml:
      return std::unique_ptr<ForecastWriter>(new HtmlForecastWriter(std::move(sink), facts));
    case OutputKind::kTerminal:
      break;
  }
  return std::unique_ptr<ForecastWriter>(new TerminalForecastWriter(facts));
}

}  // namespace plinth::app
