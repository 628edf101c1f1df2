// plinth metrics: a candidate's answers against a reference's, by the metrics of the task, paired.
#include "plinth/verify/metrics/metrics.h"

#include <limits>

#include "apps/plinth/command.h"
#include "plinth/base/interrupt.h"

namespace plinth::app {
namespace {

struct Options : CommonOptions {
  verify::MetricsOptions metrics;
};

StatusOr<int> RunTask(const Options& o) {
  const InterruptGuard guard;
  verify::MetricsOptions options = o.metrics;
  options.interrupted = Interrupted;
  PLINTH_ASSIGN_OR_RETURN(const verify::MetricsResult result, verify::RunMetrics(options));
  PLINTH_RETURN_IF_ERROR(Print(o.json ? ToJson(result) : ToText(result)));
  return result.verdict() == "fail" ? 1 : 0;
}

}  // namespace

void AddMetrics(Program& program) {
  auto o = std::make_shared<Options>();
  verify::MetricsOptions* m = &o->metrics;
  CLI::App* command = program.Add("metrics", "a task's metrics of a candidate beside a reference's, paired");
  command->add_option("task", m->task, Join(verify::metrics::TaskNames(), ", "))->required();
  command->add_option("-r,--reference", m->reference, "answers of the reference, JSON lines")->required();
  command->add_option("-c,--candidate", m->candidate, "answers of the candidate, JSON lines")->required();
  command->add_option("-l,--labels", m->labels,
                      "the truth, JSON lines (default: \"truth\" in the reference's rows)");
  command->add_option("-b,--band", m->bands,
                      "METRIC=0.005 or METRIC=2%: a tolerance declared before the run; several");
  command->add_option("--bands", m->bands_file, "TOML file with a table [bands]");
  command->add_option("--required", m->required_file, "TOML file with groups of samples that must be there");
  command->add_option("--rules", m->rules_file, "asr, generation: rules other than the shipped ones");
  command->add_option("--language", m->language,
                      "asr: table of the rules: plain (default, as jiwer), en, zh");
  command->add_option("--k", m->ks, "logits, retrieval: cut-offs (default: 1,5,10)")->delimiter(',');
  command
      ->add_option("--threshold", m->thresholds,
                   "classification, detection: scores that decide (default: 0.5)")
      ->delimiter(',');
  command->add_option("--positive", m->positive, "classification: the positive class (default: 1 or true)");
  command->add_option("--season", m->season, "forecasting: steps of a season (default: 1)");
  command->add_option("--seed", m->seed, "seed of the bootstrap (default: 0)");
  command->add_option("--resamples", m->resamples, "resamples of the bootstrap (default: 2000)");
  command->add_option("-o,--samples", m->samples_file, "write each sample's values to this file, JSON lines");
  Program::AddJson(command, o.get());
  program.Run(command, [o] { return RunTask(*o); });
}

}  // namespace plinth::app
