// Speed, after correctness: what was measured here beside what the incumbent measured.
#include <algorithm>
#include <cmath>
#include <optional>

#include "plinth/accept/steps.h"
#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/formats/config.h"
#include "plinth/formats/json_writer.h"
#include "plinth/measure/bench_model.h"

namespace plinth::accept {
namespace {

using verify::CheckStatus;

// One measurement, as `plinth bench model --json` writes it; of another program the rate is enough.
struct Speed {
  int64_t batch = 0;
  double ms_p50 = 0, ms_p90 = 0, ms_min = 0;
  double series_per_second = 0;
  int64_t memory_bytes = 0;  // weights and arenas; of another program its largest resident size
  double fraction_of_peak = 0;
};

void Write(formats::JsonWriter& w, const Speed& s) {
  w.BeginObject();
  w.Key("batch"), w.Int(s.batch);
  w.Key("ms"), w.BeginObject();
  w.Key("min"), w.Number(s.ms_min);
  w.Key("p50"), w.Number(s.ms_p50);
  w.Key("p90"), w.Number(s.ms_p90);
  w.EndObject();
  w.Key("series_per_second"), w.Number(s.series_per_second);
  w.Key("memory_bytes"), w.Int(s.memory_bytes);
  w.Key("fraction_of_matmul_peak"), w.Number(s.fraction_of_peak);
  w.EndObject();
}

StatusOr<Speed> ParseSpeed(const formats::Config& c) {
  Speed s;
  PLINTH_ASSIGN_OR_RETURN(s.series_per_second, c.Real("series_per_second", 1e-9, 1e15));
  PLINTH_ASSIGN_OR_RETURN(s.batch, c.IntOr("batch", 0, int64_t{1} << 40, 0));
  if (c.Has("ms")) {
    PLINTH_ASSIGN_OR_RETURN(const formats::Config ms, c.Section("ms"));
    PLINTH_ASSIGN_OR_RETURN(s.ms_p50, ms.RealOr("p50", 0, 1e12, 0));
  }
  PLINTH_ASSIGN_OR_RETURN(s.memory_bytes, c.IntOr("peak_rss_bytes", 0, int64_t{1} << 50, 0));
  return s;
}

// One measurement for each line.
StatusOr<std::vector<Speed>> ReadSpeeds(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, formats::kMaxConfigBytes));
  std::vector<Speed> speeds;
  size_t begin = 0, line = 1;
  for (; begin < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view one = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    PLINTH_ASSIGN_OR_RETURN(const formats::Config config,
                            formats::Config::Parse(one, StrCat(path, ": line ", line)));
    PLINTH_ASSIGN_OR_RETURN(const Speed speed, ParseSpeed(config));
    speeds.push_back(speed);
  }
  if (speeds.empty()) {
    return absl::InvalidArgumentError(StrCat(
        path, ": is empty; what `plinth bench model --json` prints is expected, one object for each line"));
  }
  return speeds;
}

// The incumbent's measurement of this batch size; one without a size stands for all.
const Speed* Partner(const std::vector<Speed>& incumbent, int64_t batch) {
  for (const Speed& s : incumbent) {
    if (s.batch == batch || s.batch == 0 || batch == 0) return &s;
  }
  return nullptr;
}

Status Judge(Work& work, const std::vector<Speed>& own) {
  std::vector<Speed> incumbent;
  if (!work.recipe->incumbent.performance.empty()) {
    PLINTH_ASSIGN_OR_RETURN(incumbent, ReadSpeeds(work.recipe->incumbent.performance));
  }
  AcceptanceView::Table table{Message::kTableSpeed,
                              {Message::kColumnBatch, Message::kColumnMilliseconds, Message::kColumnPerSecond,
                               Message::kColumnReference, Message::kColumnMemory},
                              {},
                              {}};
  std::string json;
  formats::JsonWriter w(&json);
  w.BeginObject();
  w.Key("measurements"), w.BeginArray();
  double worst = INFINITY;
  bool all_compared = !incumbent.empty();
  for (const Speed& s : own) {
    const Speed* partner = Partner(incumbent, s.batch);
    Write(w, s);
    Record record;
    record.name = StrCat("speed at batch ", s.batch);
    record.measured = s.series_per_second;
    if (partner == nullptr) {
      all_compared = false;
      record.status = CheckStatus::kUnproven;
      record.detail = "series per second; no incumbent of this batch size";
    } else {
      const double ratio = s.series_per_second / partner->series_per_second;
      worst = std::min(worst, ratio);
      record.limit = work.recipe->performance.at_least * partner->series_per_second;
      record.status =
          ratio >= work.recipe->performance.at_least ? CheckStatus::kPassed : CheckStatus::kFailed;
      record.detail = StrCat("series per second; ", Short(ratio), " of the incumbent's");
      if (record.status == CheckStatus::kFailed) table.marked.push_back(static_cast<int>(table.rows.size()));
    }
    table.rows.push_back({StrCat(s.batch), Short(s.ms_p50), Short(s.series_per_second),
                          partner == nullptr ? "-" : Short(partner->series_per_second),
                          s.memory_bytes == 0 ? "-" : Short(static_cast<double>(s.memory_bytes) / 1e6)});
    work.Add(Ask::kPerformance, std::move(record));
    if (s.ms_p50 > 0) {
      work.Say(Ask::kPerformance, Message::kSpeedMeasured,
               {Short(s.series_per_second), StrCat(s.batch), Short(s.ms_p50),
                s.memory_bytes == 0 ? "-" : Short(static_cast<double>(s.memory_bytes) / 1e6)});
    }
  }
  w.EndArray();
  w.Key("ratio_to_incumbent"), w.Number(worst);
  w.Key("at_least"), w.Number(work.recipe->performance.at_least);
  w.EndObject();
  work.performance_json = json;
  work.view.tables.push_back(std::move(table));
  auto& reasons = work.at(Ask::kPerformance).reasons;
  if (std::isfinite(worst)) {
    const Phrase ratio{Message::kSpeedRatio, {Short(worst), Short(work.recipe->performance.at_least)}};
    reasons.insert(reasons.begin(), ratio);
    if (work.at(Ask::kPerformance).answer == AcceptanceView::Answer::kNo)
      work.at(Ask::kPerformance).why = ratio;
  }
  if (incumbent.empty()) reasons.insert(reasons.begin(), {Message::kSpeedNoIncumbent, {}});
  if (!all_compared) {
    // A batch size that nothing was compared for leaves the question open, whatever the others say.
    if (work.at(Ask::kPerformance).answer == AcceptanceView::Answer::kYes) {
      work.at(Ask::kPerformance).answer = AcceptanceView::Answer::kUnproven;
    }
  }
  return absl::OkStatus();
}

}  // namespace

Status CheckPerformance(Work& work) {
  if (work.Failed()) {
    work.Say(Ask::kPerformance, Message::kSpeedRefused);
    Record record;
    record.name = "speed";
    record.status = CheckStatus::kUnproven;
    record.detail = "not measured: correctness comes first";
    work.Add(Ask::kPerformance, std::move(record));
    return absl::OkStatus();
  }
  std::vector<Speed> own;
  if (work.session == nullptr) {
    if (work.recipe->candidate.performance.empty()) {
      work.Say(Ask::kPerformance, Message::kSpeedNotGiven);
      return absl::OkStatus();
    }
    PLINTH_ASSIGN_OR_RETURN(own, ReadSpeeds(work.recipe->candidate.performance));
    return Judge(work, own);
  }
  for (const int64_t batch : work.recipe->performance.batches) {
    PLINTH_RETURN_IF_ERROR(work.CheckInterrupted());
    work.Tell(StrCat("speed at batch ", batch));
    const measure::ModelBenchOptions options{.batch = batch,
                                             .context = work.recipe->envelope.context,
                                             .horizon = work.recipe->envelope.horizon,
                                             .seconds = work.recipe->performance.seconds};
    PLINTH_ASSIGN_OR_RETURN(const measure::ModelBench b, measure::BenchModel(*work.session, options));
    own.push_back({.batch = batch,
                   .ms_p50 = b.ms_p50,
                   .ms_p90 = b.ms_p90,
                   .ms_min = b.ms_min,
                   .series_per_second = b.series_per_second,
                   .memory_bytes = b.weight_bytes + b.arena_bytes,
                   .fraction_of_peak = b.fraction_of_matmul_peak});
  }
  return Judge(work, own);
}

}  // namespace plinth::accept
