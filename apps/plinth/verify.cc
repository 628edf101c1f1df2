// plinth verify: operators against their references, models against golden cases.
#include <charconv>
#include <limits>

#include "apps/plinth/command.h"
#include "plinth/base/interrupt.h"
#include "plinth/verify/model_check.h"
#include "plinth/verify/op_check.h"

namespace plinth::app {
namespace {

using verify::CheckRow;
using verify::CheckStatus;
using verify::Summary;

struct OpsOptions : CommonOptions {
  std::string op, case_name, kernel, dtype, mode = "correct", tier = "smoke";
  std::string seed = "0";
  bool verbose = false;
};

struct ModelOptions : CommonOptions {
  std::string folder, cases, case_name;
  bool verbose = false;
};

// Prints rows as they come and keeps the first error of writing.
class RowPrinter {
 public:
  RowPrinter(bool json, bool verbose) : json_(json), verbose_(verbose) {}

  verify::RowSink sink() {
    return [this](const CheckRow& row) {
      const bool good = row.status == CheckStatus::kPassed || row.status == CheckStatus::kRefused;
      if (!status_.ok() || !(json_ || verbose_ || !good || row.ms > 0)) return;
      status_ = Print(StrCat(json_ ? verify::ToJson(row) : verify::ToText(row), "\n"));
    };
  }
  // The closing line, and the exit code.
  StatusOr<int> Finish(const Summary& summary) {
    PLINTH_RETURN_IF_ERROR(status_);
    PLINTH_RETURN_IF_ERROR(Print(StrCat(json_ ? verify::ToJson(summary) : verify::ToText(summary), "\n")));
    return summary.good() ? 0 : 1;
  }

 private:
  const bool json_, verbose_;
  Status status_;
};

StatusOr<uint64_t> ParseSeed(const std::string& text) {
  uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seed);
  if (error == std::errc() && stop == end) return seed;
  return absl::InvalidArgumentError(StrCat("--seed ", text, ": a whole number from 0 to ",
                                           std::numeric_limits<uint64_t>::max(), " is expected"));
}

StatusOr<int> List(const OpsOptions& o) {
  PLINTH_ASSIGN_OR_RETURN(const auto listings, verify::ListOps(o.op));
  for (const verify::OpListing& listing : listings) {
    PLINTH_RETURN_IF_ERROR(Print(StrCat(o.json ? ToJson(listing) : ToText(listing), "\n")));
  }
  return 0;
}

StatusOr<int> VerifyOps(const OpsOptions& o) {
  bool list = false;
  PLINTH_ASSIGN_OR_RETURN(const auto modes, verify::ParseModes(o.mode, &list));
  verify::OpOptions options{.op = o.op, .case_name = o.case_name, .kernel = o.kernel};
  PLINTH_ASSIGN_OR_RETURN(options.seed, ParseSeed(o.seed));
  options.program = ProgramAsCalled();
  PLINTH_ASSIGN_OR_RETURN(options.tier, verify::ParseTier(o.tier));
  if (!o.dtype.empty()) {
    options.dtype = DTypeFromName(o.dtype);
    if (!options.dtype.has_value()) {
      return absl::InvalidArgumentError(
          StrCat("--dtype ", o.dtype, ": there are f64, f32, f16, bf16, i64, i32, i16, i8, u8 and bool"));
    }
  }
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  if (list) PLINTH_RETURN_IF_ERROR(List(o).status());
  if (modes.empty()) return 0;
  options.device = o.device;
  const InterruptGuard guard;
  options.interrupted = Interrupted;
  RowPrinter printer(o.json, o.verbose);
  Summary summary;
  for (const verify::OpMode mode : modes) {
    options.mode = mode;
    PLINTH_ASSIGN_OR_RETURN(const Summary one,
                            verify::VerifyOps(runtime->context(), options, printer.sink()));
    summary.Add(one);
  }
  return printer.Finish(summary);
}

StatusOr<int> VerifyModel(const ModelOptions& o) {
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  PLINTH_ASSIGN_OR_RETURN(const std::string folder, ModelFolderOrShipped(o.folder));
  const InterruptGuard guard;
  RowPrinter printer(o.json, o.verbose);
  PLINTH_ASSIGN_OR_RETURN(const Summary summary, verify::VerifyModel(runtime->context(),
                                                                     {.folder = folder,
                                                                      .cases_file = o.cases,
                                                                      .case_name = o.case_name,
                                                                      .program = ProgramAsCalled(),
                                                                      .interrupted = Interrupted},
                                                                     printer.sink()));
  return printer.Finish(summary);
}

void AddOps(Program& program, CLI::App* parent) {
  auto o = std::make_shared<OpsOptions>();
  CLI::App* command = program.Add(parent, "ops", "operators against their references in double");
  command->add_option("--op", o->op, "one operator (default: all)");
  command->add_option("--case", o->case_name, "one case, whatever its tier");
  command->add_option("--kernel", o->kernel, "one kernel (default: every kernel that takes the case)");
  command->add_option("--dtype", o->dtype, "only cases with an input or output of this type");
  command->add_option("--mode", o->mode, "list, correct, bitwise, gradient, speed; several with commas");
  command->add_option("--tier", o->tier, "smoke, ci or nightly (default: smoke)");
  command->add_option("--seed", o->seed, "other data for the same cases");
  command->add_flag("-v,--verbose", o->verbose, "show good results too");
  program.AddCommon(command, o.get());
  Program::AddJson(command, o.get());
  program.Run(command, [o] { return VerifyOps(*o); });
}

void AddModel(Program& program, CLI::App* parent) {
  auto o = std::make_shared<ModelOptions>();
  CLI::App* command = program.Add(parent, "model", "a model against golden cases of the original");
  command->add_option("folder,-m,--model", o->folder, "model folder (default: the shipped model)");
  command->add_option("--cases", o->cases, "cases.json of a golden folder")->required();
  command->add_option("--case", o->case_name, "one case");
  command->add_flag("-v,--verbose", o->verbose, "show good results too");
  program.AddCommon(command, o.get());
  Program::AddJson(command, o.get());
  program.Run(command, [o] { return VerifyModel(*o); });
}

}  // namespace

void AddVerify(Program& program) {
  CLI::App* verify = program.Add("verify", "what is computed against what should be");
  verify->require_subcommand(1);
  AddOps(program, verify);
  AddModel(program, verify);
}

}  // namespace plinth::app
