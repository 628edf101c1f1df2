// plinth replay: captured operators recomputed in double and judged three ways.
#include "plinth/verify/replay/replay.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "apps/plinth/command.h"
#include "plinth/base/interrupt.h"
#include "plinth/base/pattern.h"
#include "plinth/verify/replay/risks.h"

namespace plinth::app {
namespace {

using verify::CheckRow;
using verify::CheckStatus;

struct Options : CommonOptions {
  std::string candidate, incumbent, truth, ops, name = "*";
  bool all = false, verbose = false, risks = false;
  uint64_t seed = 0;
};

std::vector<std::string> Split(const std::string& list) {
  std::vector<std::string> out;
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');) {
    if (!item.empty()) out.push_back(item);
  }
  return out;
}

std::string CommandOf(const Options& o) {
  std::string command = StrCat(ProgramAsCalled(), " replay ", verify::ShellQuoted(o.candidate));
  if (!o.incumbent.empty()) StrAppend(&command, " --incumbent ", verify::ShellQuoted(o.incumbent));
  if (!o.truth.empty()) StrAppend(&command, " --truth ", verify::ShellQuoted(o.truth));
  if (o.all) command += " --all";
  if (o.seed != 0) StrAppend(&command, " --seed ", o.seed);
  return command;
}

// An optional capture.
StatusOr<std::optional<formats::Capture>> OpenIf(const std::string& folder) {
  if (folder.empty()) return std::optional<formats::Capture>();
  PLINTH_ASSIGN_OR_RETURN(formats::Capture capture, formats::Capture::Open(folder));
  return std::optional<formats::Capture>(std::move(capture));
}

// As many as a screen shows, unless all are asked for.
constexpr size_t kRisksShown = 20;

StatusOr<int> ListRisks(const Options& o) {
  if (!o.incumbent.empty() || !o.truth.empty()) {
    return absl::InvalidArgumentError("--risks looks at one capture; leave --incumbent and --truth out");
  }
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  PLINTH_ASSIGN_OR_RETURN(const formats::Capture capture, formats::Capture::Open(o.candidate));
  PLINTH_ASSIGN_OR_RETURN(std::vector<verify::replay::Risk> risks,
                          verify::replay::RisksOf(runtime->context(), capture));
  const std::vector<std::string> ops = Split(o.ops);
  std::erase_if(risks, [&](const verify::replay::Risk& risk) {
    return !MatchesStars(o.name, risk.name) ||
           (!ops.empty() && std::find(ops.begin(), ops.end(), risk.op) == ops.end());
  });
  const size_t shown = o.all || o.json ? risks.size() : std::min(kRisksShown, risks.size());
  for (size_t i = 0; i < shown; ++i) {
    PLINTH_RETURN_IF_ERROR(Print(StrCat(o.json ? ToJson(risks[i]) : ToText(risks[i]), "\n")));
  }
  if (!o.json) {
    PLINTH_RETURN_IF_ERROR(Print(
        StrCat(risks.size(), " sensitive operators",
               shown < risks.size() ? StrCat(", the first ", shown, " shown; --all lists the others") : "",
               "; errors in unit roundoffs of the output\n")));
  }
  return 0;
}

StatusOr<int> RunReplay(const Options& o) {
  if (o.risks) return ListRisks(o);
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  PLINTH_ASSIGN_OR_RETURN(const formats::Capture candidate, formats::Capture::Open(o.candidate));
  PLINTH_ASSIGN_OR_RETURN(const auto incumbent, OpenIf(o.incumbent));
  PLINTH_ASSIGN_OR_RETURN(const auto truth, OpenIf(o.truth));
  const InterruptGuard guard;
  verify::replay::ReplayOptions options{
      .ops = Split(o.ops), .name = o.name, .command = CommandOf(o), .interrupted = Interrupted};
  options.budget.seed = o.seed;
  if (o.all) options.budget.flops = 1e300;
  Status written;
  const auto sink = [&](const CheckRow& row) {
    const bool quiet = row.status == CheckStatus::kPassed && row.detail.empty();
    if (!written.ok() || (quiet && !o.json && !o.verbose)) return;
    written = Print(StrCat(o.json ? verify::ToJson(row) : verify::ToText(row), "\n"));
  };
  PLINTH_ASSIGN_OR_RETURN(
      const verify::Summary summary,
      verify::replay::Replay(runtime->context(), candidate, incumbent ? &*incumbent : nullptr,
                             truth ? &*truth : nullptr, options, sink));
  PLINTH_RETURN_IF_ERROR(written);
  PLINTH_RETURN_IF_ERROR(Print(StrCat(o.json ? verify::ToJson(summary) : verify::ToText(summary), "\n")));
  return summary.good() ? 0 : 1;
}

}  // namespace

void AddReplay(Program& program) {
  auto o = std::make_shared<Options>();
  CLI::App* command = program.Add("replay", "captured operators, recomputed and judged");
  command->add_option("candidate", o->candidate, "capture with operators' inputs and outputs in full")
      ->required();
  command->add_option("--incumbent", o->incumbent, "capture of the platform that was right so far");
  command->add_option("--truth", o->truth, "capture with f64 outputs of your own references");
  command->add_option("--op", o->ops, "only these operators, separated by commas");
  command->add_option("--name", o->name, "only operators whose name matches; * stands for anything");
  command->add_option("--seed", o->seed, "another choice of elements where not all are recomputed");
  command->add_flag("--all", o->all, "recompute every element, however long it takes");
  command->add_flag("--risks", o->risks, "list which operators are sensitive to rounding, and why");
  command->add_flag("-v,--verbose", o->verbose, "show good results too");
  program.AddCommon(command, o.get());
  Program::AddJson(command, o.get());
  program.Run(command, [o] { return RunReplay(*o); });
}

}  // namespace plinth::app
