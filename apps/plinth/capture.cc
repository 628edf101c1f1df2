// plinth capture: forecasts once, as plinth forecast does, and keeps what the network computed on the way.
#include <cstdio>

#include "apps/plinth/candidate_run.h"
#include "apps/plinth/command.h"
#include "plinth/base/clock.h"
#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"
#include "plinth/base/temporary_folder.h"
#include "plinth/formats/json_writer.h"

namespace plinth::app {
namespace {

struct Options : CandidateOptions {
  std::string out, plan, forced_by, names, full;
  std::vector<std::string> replace;
  bool statistics = false, operators = false;
  int64_t repeat = 1;
};

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The plan that the options amount to, and where nothing is said the statistics of all module outputs.
StatusOr<formats::CapturePlan> PlanOf(const Options& o) {
  if (o.statistics && !o.full.empty()) {
    return absl::InvalidArgumentError(
        "--statistics and --full exclude each other; --full names what is kept");
  }
  formats::CapturePlan plan;
  if (!o.plan.empty()) {
    PLINTH_ASSIGN_OR_RETURN(plan, formats::LoadCapturePlan(o.plan));
    for (auto& record : plan.records) {
      if (o.statistics) record.full = false;
    }
  }
  for (std::string& name : SplitAtCommas(o.full == "all" ? "*" : o.full)) {
    plan.records.push_back({std::move(name), true, true, true, o.operators});
  }
  for (std::string& name : SplitAtCommas(o.names)) {
    plan.records.push_back({std::move(name), false, o.operators, true, o.operators});
  }
  if (plan.records.empty()) plan.records.push_back({"*", false, o.operators, true, o.operators});
  return plan;
}

// The captures that tensors come from, each opened once.
class References {
 public:
  StatusOr<const formats::Capture*> Open(const std::string& folder) {
    for (const auto& capture : all_) {
      if (capture->folder() == folder) return capture.get();
    }
    PLINTH_ASSIGN_OR_RETURN(formats::Capture capture, formats::Capture::Open(folder));
    all_.push_back(std::make_unique<formats::Capture>(std::move(capture)));
    return all_.back().get();
  }

 private:
  std::vector<std::unique_ptr<formats::Capture>> all_;
};

StatusOr<engine::CaptureJob> JobOf(const Options& o, References& references) {
  PLINTH_ASSIGN_OR_RETURN(formats::CapturePlan plan, PlanOf(o));
  engine::CaptureJob job;
  job.record.records = std::move(plan.records);
  for (const std::string& text : o.replace) {
    const size_t equals = text.find('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
      return absl::InvalidArgumentError(StrCat(
          "--replace ", text, ": NAME=CAPTURE is expected, a module and the capture that holds its tensor"));
    }
    plan.replacements.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  for (const auto& replacement : plan.replacements) {
    PLINTH_ASSIGN_OR_RETURN(const formats::Capture* capture, references.Open(replacement.capture));
    job.record.replaced.emplace_back(replacement.name, capture);
  }
  const std::string& forced_by = o.forced_by.empty() ? plan.forced_by : o.forced_by;
  if (!forced_by.empty()) {
    PLINTH_ASSIGN_OR_RETURN(job.record.forced_by, references.Open(forced_by));
    job.check_reference = true;
  }
  job.fused = o.fused;
  job.full_output = !o.statistics;
  job.seed = o.seed;
  return job;
}

StatusOr<int> Run(const Options& o) {
  InterruptGuard interrupt;
  References references;
  PLINTH_ASSIGN_OR_RETURN(engine::CaptureJob job, JobOf(o, references));
  // What cannot be written is said before the long work.
  PLINTH_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::MakeFor(o.out));
  PLINTH_ASSIGN_OR_RETURN(auto candidate, CandidateRun::Load(o));
  job.run_id = engine::NewRunId(Clock::System());
  if (o.repeat == 1) {
    PLINTH_RETURN_IF_ERROR(candidate->Write(job, o.out));
  } else {
    for (job.repeat = 0; job.repeat < o.repeat; ++job.repeat) {
      char name[32];
      std::snprintf(name, sizeof(name), "repeat-%04d", static_cast<int>(job.repeat));
      PLINTH_RETURN_IF_ERROR(folder.Named(candidate->Write(job, JoinPath(folder.path(), name))));
    }
    PLINTH_RETURN_IF_ERROR(folder.Move());
  }
  candidate->PrintNotes();
  return 0;
}

}  // namespace

void AddCapture(Program& program) {
  auto o = std::make_shared<Options>();
  CLI::App* command =
      program.Add("capture", "forecast once and keep what the network computed, as statistics or in full");
  AddCandidateOptions(program, command, o.get());
  command->add_option("-o,--out", o->out, "the folder to write; it must not exist")->required();
  command->add_option("--names", o->names,
                      "module paths, separated by commas, * for any text (default: all); statistics of them");
  command->add_option("--full", o->full, "modules whose tensors are kept in full, or: all");
  command->add_flag("--statistics", o->statistics, "keep statistics alone, of the forecast too");
  command->add_flag("--operators", o->operators, "also what each operator in these modules reads and writes");
  command->add_option("--plan", o->plan, "a plan file (docs/captures.md), as plinth locate writes it");
  command->add_option("--forced-by", o->forced_by,
                      "put each module's output of this capture in place of ours once it is recorded");
  command->add_option("--replace", o->replace,
                      "NAME=CAPTURE: put the tensor of a capture in place of a module's output");
  command->add_option("--repeat", o->repeat, "run several times, one capture each in a folder of its own")
      ->check(CLI::Range(1, 10000));
  program.Run(command, [o] { return Run(*o); });
}

}  // namespace plinth::app
