// plinth locate: the first place where two captures of one model part.
#include "plinth/verify/locate.h"

#include <cstdlib>
#include <memory>

#include "apps/plinth/candidate_run.h"
#include "apps/plinth/command.h"
#include "plinth/base/clock.h"
#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"
#include "plinth/report/terminal.h"

namespace plinth::app {
namespace {

struct Options : CandidateOptions {
  verify::LocateOptions locate;
  std::string next_plan;
};

// Captures of all module outputs in full, by the candidate that --model and --data name.
verify::RerunCandidate RerunOf(CandidateRun& candidate, bool fused) {
  return [&candidate, fused](const verify::Rerun& rerun, const std::string& folder) {
    engine::CaptureJob job;
    job.record.records.push_back({"*", true, true, true, false});
    job.record.forced_by = rerun.forced_by;
    if (!rerun.replaced.empty()) job.record.replaced.emplace_back(rerun.replaced, rerun.reference);
    job.fused = fused;
    job.run_id = engine::NewRunId(Clock::System());
    return candidate.Write(job, folder);
  };
}

// For people and for the hooks; the comment says why.
Status WriteNextPlan(const verify::LocateResult& result, const std::string& path) {
  const std::string comment =
      result.next.records.empty()
          ? "plinth locate needs nothing more."
          : StrCat("Written by plinth locate: what to capture, on both sides, to know more about\n",
                   result.first_drift->module, ".");
  formats::CapturePlan plan = result.next;
  for (auto& replacement : plan.replacements) {
    // A path counts from the plan's folder.
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(replacement.capture.c_str(), nullptr),
                                                           &std::free);
    if (real != nullptr) replacement.capture = real.get();
  }
  return WriteFile(path, formats::ToToml(plan, comment));
}

StatusOr<int> Run(Options o) {
  InterruptGuard interrupt;
  std::unique_ptr<CandidateRun> candidate;
  if (!o.model.empty() || !o.series.data.empty()) {
    if (o.series.data.empty()) {
      return absl::InvalidArgumentError(
          "--model runs the model again and needs the series of the captures: --data FILE");
    }
    PLINTH_ASSIGN_OR_RETURN(candidate, CandidateRun::Load(o));
    o.locate.rerun = RerunOf(*candidate, o.fused);
  }
  PLINTH_ASSIGN_OR_RETURN(const verify::LocateResult result, verify::Locate(o.locate));
  if (!o.next_plan.empty()) PLINTH_RETURN_IF_ERROR(WriteNextPlan(result, o.next_plan));
  if (o.json) {
    PLINTH_RETURN_IF_ERROR(Print(verify::ToJson(result) + "\n"));
  } else {
    const TerminalFacts facts = ReadTerminal(1);
    const bool ascii = StyleFor(facts).glyphs == Glyphs::kAscii;
    PLINTH_RETURN_IF_ERROR(Print(verify::ToText(result, facts.columns == 0 ? 100 : facts.columns, ascii)));
  }
  return result.good() ? 0 : 1;
}

}  // namespace

void AddLocate(Program& program) {
  auto o = std::make_shared<Options>();
  CLI::App* command = program.Add("locate", "the first layer and operator where two captures part");
  command->add_option("reference", o->locate.reference, "a capture, or a folder of its repeats or ranks")
      ->required();
  command->add_option("output", o->locate.output, "the same of the candidate; forced runs may be among them")
      ->required();
  command->add_option("--next-plan", o->next_plan, "write what to capture next, as a plan file");
  command->add_option("--map", o->locate.map,
                      "names and layouts of the candidate's tensors, as plinth compare takes them");
  command->add_flag("--any-model", o->locate.any_model, "compare although the models' digests differ");
  command->add_flag("--any-inputs", o->locate.any_inputs, "compare although the inputs' digests differ");
  command->add_option("--stride", o->locate.stride, "compare every so many layers first")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  AddCandidateOptions(program, command, o.get(), /*data_required=*/false);
  Program::AddJson(command, o.get());
  program.Run(command, [o] { return Run(*o); });
}

}  // namespace plinth::app
