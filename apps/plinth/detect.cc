// plinth detect: anomaly scores for each row of a CSV, and the alarms that follow.
#include "plinth/detect/detect.h"

#include <algorithm>
#include <cmath>

#include "apps/plinth/command.h"
#include "apps/plinth/detect_output.h"
#include "apps/plinth/evidence_state.h"
#include "apps/plinth/series_options.h"
#include "apps/plinth/subcommands.h"
#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"
#include "plinth/detect/detect_json.h"
#include "plinth/engine/identity.h"
#include "plinth/formats/json.h"
#include "plinth/report/progress.h"

namespace plinth::app {
namespace {

struct Options : CommonOptions {
  std::string model, out, evidence, scores;
  SeriesOptions series;
  detect::Options detect;
  bool no_relate = false;
};

Status CheckOptions(const Options& o, const models::ModelInfo& info) {
  PLINTH_RETURN_IF_ERROR(CheckContext(o.detect.context, info));
  if (o.detect.step > info.horizon) {
    return absl::InvalidArgumentError(
        StrCat("--step ", o.detect.step, ": the model forecasts up to ", info.horizon, " steps at once"));
  }
  return absl::OkStatus();
}

// Rows go to the file if one is named, and the alarms to standard output; without one, a terminal gets the
// alarms and anything else the rows.
StatusOr<std::vector<std::pair<DetectOutput, std::string>>> ChooseOutputs(const Options& o) {
  std::vector<std::pair<DetectOutput, std::string>> outputs;
  if (o.json) {
    outputs.emplace_back(DetectOutput::kJson, "");
  } else {
    outputs.emplace_back(o.out.empty() && !OutputIsTerminal() ? DetectOutput::kCsv : DetectOutput::kText, "");
  }
  if (!o.out.empty()) {
    PLINTH_ASSIGN_OR_RETURN(const DetectOutput kind, DetectOutputOf(o.out));
    outputs.emplace_back(kind, o.out);
  }
  return outputs;
}

// Looks at the items one after another.
class DetectJob {
 public:
  DetectJob(const detect::Options& options, engine::Session& session, engine::SeriesFile& file,
            std::vector<std::unique_ptr<DetectWriter>>& writers)
      : options_(options), session_(session), file_(file), writers_(writers) {
    if (!file_.note().empty()) notes_.Add(StrCat(file_.path(), ": ", file_.note()));
  }

  Status Run() {
    Progress progress(StandardErrorProgress("detect", file_.items(), "items"));
    engine::SeriesItem item;
    while (true) {
      PLINTH_ASSIGN_OR_RETURN(const bool more, file_.Next(&item));
      if (!more) break;
      PLINTH_RETURN_IF_ERROR(CheckInterrupted());
      PLINTH_RETURN_IF_ERROR(One(item));
      progress.Add(1);
    }
    return absl::OkStatus();
  }
  const Notes& notes() const { return notes_; }

 private:
  Status One(const engine::SeriesItem& item) {
    const std::string where =
        item.item.empty() ? file_.path() : StrCat(file_.path(), ": item ", formats::QuotedShort(item.item));
    const StatusOr<detect::Detection> found =
        detect::Detect(session_, detect::SeriesOf(item), options_, &Interrupted);
    if (!found.ok()) return Prepend(found.status(), where);
    for (auto& writer : writers_) {
      PLINTH_RETURN_IF_ERROR(writer->Add({&item, &*found}));
    }
    for (const std::string& note : item.notes) notes_.Add(note);
    for (const std::string& note : found->notes) notes_.Add(StrCat(where, ": ", note));
    return absl::OkStatus();
  }

  const detect::Options& options_;
  engine::Session& session_;
  engine::SeriesFile& file_;
  std::vector<std::unique_ptr<DetectWriter>>& writers_;
  Notes notes_;
};

StatusOr<int> Run(const Options& given) {
  Options o = given;
  InterruptGuard interrupt;
  if (!o.scores.empty()) {
    auto scores = detect::ParseScores(o.scores);
    if (!scores.ok()) return Prepend(scores.status(), "--scores");
    o.detect.scores = *std::move(scores);
  } else {
    o.detect.scores = detect::DefaultScores(o.detect.causal || o.detect.last > 0);
  }
  o.detect.relate = !o.no_relate;
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  PLINTH_ASSIGN_OR_RETURN(const auto outputs, ChooseOutputs(o));
  PLINTH_ASSIGN_OR_RETURN(const std::string folder, ModelFolderOrShipped(o.model));
  PLINTH_ASSIGN_OR_RETURN(auto session, engine::Session::Load(folder, runtime->context()));
  const models::ModelInfo& info = session->model().info();
  PLINTH_RETURN_IF_ERROR(CheckOptions(o, info));
  PLINTH_ASSIGN_OR_RETURN(engine::SeriesFile file, engine::SeriesFile::Open(o.series.data, o.series.columns));
  PLINTH_ASSIGN_OR_RETURN(const plan::NumericsIdentity identity, engine::IdentityOf(*session));
  const int64_t context = o.detect.context == 0 ? info.context_length : o.detect.context;
  const evidence::GateResult gate =
      EvidenceOf(*session, identity, {.context = context, .horizon = info.horizon}, o.evidence);
  PLINTH_RETURN_IF_ERROR(CheckOutIsNoInput(o.out, o.series, session->folder()));
  const DetectFacts facts{
      session->folder().name(),      gate, file.targets(), o.detect.scores, o.detect.false_alarms_per_day,
      !o.series.columns.item.empty()};
  std::vector<std::unique_ptr<DetectWriter>> writers;
  for (const auto& [kind, path] : outputs) {
    PLINTH_ASSIGN_OR_RETURN(auto writer, MakeDetectWriter(kind, path, facts));
    writers.push_back(std::move(writer));
  }
  DetectJob job(o.detect, *session, file, writers);
  PLINTH_RETURN_IF_ERROR(job.Run());
  for (auto& writer : writers) PLINTH_RETURN_IF_ERROR(writer->Finish());
  job.notes().Print();
  return 0;
}

}  // namespace

void AddDetect(Program& program) {
  auto o = std::make_shared<Options>();
  detect::Options& d = o->detect;
  CLI::App* command = program.Add("detect", "anomaly scores for each row of a CSV file, and alarms");
  command->add_option("-m,--model", o->model, "model folder (default: the shipped model)");
  AddColumnOptions(command, &o->series.data, &o->series.columns);
  command->add_option("-f,--false-alarms-per-day", d.false_alarms_per_day, "that normal operation may give")
      ->capture_default_str();
  command->add_option("-s,--scores", o->scores,
                      "some of residual, masked, subpca, profile, pca, as a,b (default: all that apply)");
  command
      ->add_option("--calibration", d.calibration,
                   "first rows that show normal operation (default: a quarter of the rows)")
      ->check(CLI::Range(1, 1 << 30));
  command->add_option("--coverage", d.coverage, "share of normal rows inside the band")
      ->capture_default_str();
  command->add_option("-w,--window", d.window, "rows of a window (default: the series' period)")
      ->check(CLI::Range(1, 1 << 30));
  command->add_option("--step", d.step, "rows per forecast (default: 4, more where the series is large)")
      ->check(CLI::Range(1, 1 << 30));
  command->add_option("-c,--context", d.context, "steps of history (default: all the model takes)")
      ->check(CLI::Range(1, 1 << 30));
  command->add_option("--last", d.last, "score only so many last rows, as a stream sees them")
      ->check(CLI::Range(1, 1 << 30));
  command->add_option("--history", d.history, "with --last: rows before these to look at")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  command->add_flag("--causal", d.causal, "score every row from the rows before it only");
  command->add_flag("--no-relate", o->no_relate, "do not look for columns that moved before an alarm");
  command->add_option("-o,--out", o->out, "write the rows to a file that ends in .csv or .json");
  AddEvidenceOption(command, &o->evidence);
  program.AddCommon(command, o.get());
  Program::AddJson(command, o.get());
  program.Run(command, [o] { return Run(*o); });
}

}  // namespace plinth::app
