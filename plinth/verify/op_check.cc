#include "plinth/verify/op_check.h"

#include <algorithm>
#include <memory>
#include <set>

#include "plinth/verify/judge.h"
#include "plinth/verify/op_modes.h"

namespace plinth::verify {
namespace {

using ops::Case;
using ops::OpChecks;
using ops::Tier;

constexpr size_t kSpeedCases = 3;
constexpr std::string_view kTierNames[] = {"smoke", "ci", "nightly"};

// Runs one mode over the chosen operators and reports rows.
class OpVerifier {
 public:
  OpVerifier(const Context& context, const OpOptions& options, const RowSink& sink)
      : context_(context), options_(options), sink_(sink) {
    if (options.mode == OpMode::kBitwise) {
      for (int count : {2, 3}) {
        pools_.push_back(std::make_unique<Threads>(count));
        pool_pointers_.push_back(pools_.back().get());
      }
    }
  }

  StatusOr<Summary> Run() {
    PLINTH_RETURN_IF_ERROR(CheckFilters());
    for (const OpChecks* checks : ops::AllChecks()) {
      if (!options_.op.empty() && options_.op != checks->spec->name) continue;
      PLINTH_RETURN_IF_ERROR(RunOperator(*checks));
    }
    if (rows_ == 0) return NothingChosen();
    return summary_;
  }

 private:
  Status CheckFilters() const {
    if (options_.device != "cpu") {
      return absl::UnavailableError(StrCat("no such device \"", options_.device, "\"; this build has cpu"));
    }
    const std::string& op = options_.op;
    if (!op.empty() && ops::FindChecks(op) == nullptr) {
      return absl::InvalidArgumentError(
          StrCat("no operator is named \"", op, "\"; there are ",
                 Join(ops::AllChecks(), ", ", [](const OpChecks* c) { return c->spec->name; })));
    }
    bool case_found = options_.case_name.empty(), kernel_found = options_.kernel.empty();
    for (const OpChecks* checks : ops::AllChecks()) {
      if (!op.empty() && op != checks->spec->name) continue;
      case_found = case_found || HasCase(*checks, options_.case_name);
      const auto kernels = KernelsOf(*checks);
      kernel_found = kernel_found || std::count(kernels.begin(), kernels.end(), options_.kernel) > 0;
    }
    const std::string has_no = op.empty() ? "no operator has a " : StrCat(op, " has no ");
    if (!case_found) {
      return absl::InvalidArgumentError(StrCat(has_no, "case \"", options_.case_name, "\" in mode ",
                                               ModeName(options_.mode), "; --mode list shows the operators"));
    }
    if (!kernel_found) {
      return absl::InvalidArgumentError(
          StrCat(has_no, "kernel \"", options_.kernel, "\"; there are ", Join(ChosenKernels(), ", ")));
    }
    return absl::OkStatus();
  }

  // Each filter names something that exists, but nothing fits all of them.
  Status NothingChosen() const {
    std::string asked = StrCat("--mode ", ModeName(options_.mode));
    const auto add = [&](std::string_view name, std::string_view value) {
      if (!value.empty()) StrAppend(&asked, " ", name, " ", value);
    };
    add("--op", options_.op);
    add("--case", options_.case_name);
    add("--kernel", options_.kernel);
    if (options_.dtype.has_value()) add("--dtype", DTypeName(*options_.dtype));
    if (options_.case_name.empty()) add("--tier", kTierNames[static_cast<size_t>(options_.tier)]);
    std::string there_are = "a case whose data are refused has no result to hold against another";
    if (options_.dtype.has_value() && dtypes_.count(std::string(DTypeName(*options_.dtype))) == 0) {
      there_are = dtypes_.empty() ? "there is none of any type"
                                  : StrCat("the cases there are have ", Join(dtypes_, ", "));
    } else if (!options_.kernel.empty()) {
      there_are =
          StrCat("that kernel takes none of them; there are the kernels ", Join(ChosenKernels(), ", "));
    }
    return absl::InvalidArgumentError(StrCat("no case fits ", asked, "; ", there_are));
  }

  std::set<std::string> ChosenKernels() const {
    std::set<std::string> names;
    for (const OpChecks* checks : ops::AllChecks()) {
      if (!options_.op.empty() && options_.op != checks->spec->name) continue;
      for (std::string& name : KernelsOf(*checks)) names.insert(std::move(name));
    }
    return names;
  }

  bool HasCase(const OpChecks& checks, const std::string& name) const {
    const auto named = [&](const auto& c) { return c.name == name; };
    const auto cases = Chosen(checks);
    if (std::any_of(cases.begin(), cases.end(), named)) return true;
    const auto refusals = checks.refusals();
    return options_.mode == OpMode::kCorrect && std::any_of(refusals.begin(), refusals.end(), named);
  }

  static std::vector<std::string> KernelsOf(const OpChecks& checks) {
    std::vector<std::string> names;
    for (const ops::CpuKernel& k : checks.spec->cpu) names.emplace_back(k.name);
    if (checks.spec->view != nullptr) names.emplace_back(kViewKernel);
    return names;
  }

  // The cases that this run looks at.
  std::vector<Case> Chosen(const OpChecks& checks) const {
    std::vector<Case> cases =
        options_.mode == OpMode::kSpeed && checks.speed != nullptr ? checks.speed() : checks.cases();
    std::erase_if(cases, [&](const Case& c) {
      return options_.case_name.empty() ? c.tier > options_.tier : c.name != options_.case_name;
    });
    if (options_.mode == OpMode::kSpeed && checks.speed == nullptr) KeepMostExpensive(cases);
    return cases;
  }

  static void KeepMostExpensive(std::vector<Case>& cases) {
    const auto elements = [](const Case& c) {
      int64_t n = 0;
      for (const ops::InputCase& in : c.inputs) {
        int64_t size = in.absent ? 0 : 1;
        for (int64_t d : in.dims) size *= d;
        n += size;
      }
      return n;
    };
    std::erase_if(cases, [](const Case& c) { return !c.fault.empty(); });
    std::stable_sort(cases.begin(), cases.end(),
                     [&](const Case& a, const Case& b) { return elements(a) > elements(b); });
    if (cases.size() > kSpeedCases) cases.resize(kSpeedCases);
  }

  Status RunOperator(const OpChecks& checks) {
    const std::string missed = SelfTest(checks, options_.seed);
    for (const Case& definition : Chosen(checks)) {
      if (options_.interrupted && options_.interrupted()) return absl::CancelledError("interrupted");
      RunCase(checks, definition, missed);
    }
    if (options_.mode == OpMode::kCorrect && !options_.dtype.has_value()) RunRefusals(checks);
    return absl::OkStatus();
  }

  void RunCase(const OpChecks& checks, const Case& definition, const std::string& missed) {
    const StatusOr<OpCase> c = MakeOpCase(checks, definition, options_.seed);
    if (!c.ok()) {
      CheckRow row;
      row.detail = std::string(c.status().message());
      Report(checks, definition.name, "", std::move(row), "");
      return;
    }
    NoteTypes(*c);
    if (options_.dtype.has_value() && !Uses(*c, *options_.dtype)) return;
    bool taken = false;
    for (const std::string& kernel : KernelsOf(checks)) {
      if (!options_.kernel.empty() && options_.kernel != kernel) continue;
      ModeResult finding = Check(*c, kernel);
      if (finding.skipped) continue;
      taken = taken || kernel != kViewKernel;
      for (CheckRow& row : finding.rows) Report(checks, definition.name, kernel, std::move(row), missed);
    }
    if (taken || !options_.kernel.empty() || (options_.mode != OpMode::kCorrect)) return;
    CheckRow row;
    row.status = CheckStatus::kUnimplemented;
    row.detail = std::string(ops::CpuStep::Make(c->call, {}, context_.isa).status().message());
    Report(checks, definition.name, "", std::move(row), "");
  }

  ModeResult Check(const OpCase& c, const std::string& kernel) const {
    switch (options_.mode) {
      case OpMode::kCorrect:
        return CheckCorrect(c, kernel, context_);
      case OpMode::kBitwise:
        return CheckBitwise(c, kernel, context_, pool_pointers_);
      case OpMode::kSpeed:
        return CheckSpeed(c, kernel, context_);
    }
    return {};
  }

  void NoteTypes(const OpCase& c) {
    for (size_t i = 0; i < c.call.inputs.size(); ++i) {
      if (c.call.has(i)) dtypes_.emplace(DTypeName(c.call.in(i).dtype));
    }
    for (const ValueType& t : c.call.outputs) dtypes_.emplace(DTypeName(t.dtype));
  }

  static bool Uses(const OpCase& c, DType dtype) {
    for (size_t i = 0; i < c.call.inputs.size(); ++i) {
      if (c.call.has(i) && c.call.in(i).dtype == dtype) return true;
    }
    const auto& out = c.call.outputs;
    return std::any_of(out.begin(), out.end(), [&](const ValueType& t) { return t.dtype == dtype; });
  }

  void RunRefusals(const OpChecks& checks) {
    for (const ops::Refusal& refusal : checks.refusals()) {
      if (!options_.case_name.empty() && refusal.name != options_.case_name) continue;
      const auto call = ops::MakeCall(*checks.spec, refusal.inputs, refusal.attributes);
      const std::string message(call.status().message());
      CheckRow row;
      row.detail = message;
      if (call.ok()) {
        row.detail = StrCat("was not refused, expected \"", refusal.says, "\"");
      } else if (message.find(refusal.says) == std::string::npos ||
                 call.status().code() != absl::StatusCode::kInvalidArgument) {
        row.detail =
            StrCat("was refused with ", call.status().ToString(), ", expected \"", refusal.says, "\"");
      } else {
        row.status = CheckStatus::kRefused;
      }
      Report(checks, refusal.name, "", std::move(row), "");
    }
  }

  void Report(const OpChecks& checks, const std::string& name, const std::string& kernel, CheckRow row,
              const std::string& missed) {
    row.op = checks.spec->name;
    row.case_name = name;
    row.mode = ModeName(options_.mode);
    row.isa = IsaName(context_.isa);
    if (!missed.empty() && (row.status == CheckStatus::kPassed || row.status == CheckStatus::kWarned)) {
      row.status = CheckStatus::kMistrusted;
      row.detail = missed;
    }
    row.reproduce = StrCat("PLINTH_ISA=", row.isa, " ", ShellQuoted(options_.program), " verify ops --op ",
                           row.op, " --case ", ShellQuoted(name), " --mode ", row.mode);
    if (!kernel.empty()) StrAppend(&row.reproduce, " --kernel ", ShellQuoted(kernel));
    if (options_.seed != 0) StrAppend(&row.reproduce, " --seed ", options_.seed);
    ++rows_;
    summary_.Add(row);
    if (sink_) sink_(row);
  }

  const Context& context_;
  const OpOptions& options_;
  const RowSink& sink_;
  std::vector<std::unique_ptr<Threads>> pools_;
  std::vector<Threads*> pool_pointers_;
  Summary summary_;
  int64_t rows_ = 0;              // reported
  std::set<std::string> dtypes_;  // of the cases, whether or not --dtype lets them run
};

}  // namespace

StatusOr<Summary> VerifyOps(const Context& context, const OpOptions& options, const RowSink& sink) {
  return OpVerifier(context, options, sink).Run();
}

}  // namespace plinth::verify
