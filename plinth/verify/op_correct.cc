#include <algorithm>

#include "plinth/verify/judge.h"
#include "plinth/verify/op_modes.h"

namespace plinth::verify {
namespace {

using ops::Place;

// Beyond this many elements a case runs only in the layout it asks for.
constexpr int64_t kManyElements = 1 << 16;

struct Variation {
  std::string name;  // "" the case's own layout
  RunSetup setup;
};

int64_t Elements(const OpCase& c) {
  int64_t n = 0;
  for (const auto& t : c.io.in) n += t.size();
  for (const auto& t : c.io.out) n += t.size();
  return n;
}

bool AnyPortTakes(const OpCase& c, ops::Layout layout) {
  const auto& ports = c.checks->spec->inputs;
  return std::any_of(ports.begin(), ports.end(), [&](const ops::Port& p) { return p.layout >= layout; });
}

std::vector<Variation> Variations(const OpCase& c, const RunSetup& base) {
  std::vector<Variation> list = {{"", base}};
  const auto with = [&](std::string name, Place place, int in_place) {
    RunSetup setup = base;
    setup.place = place;
    setup.in_place = in_place;
    list.push_back({std::move(name), setup});
  };
  if (Elements(c) <= kManyElements && c.definition.fault.empty()) {
    with("inputs dense", Place::kDense, -1);
    with("inputs and outputs misaligned", Place::kMisaligned, -1);
    if (AnyPortTakes(c, ops::Layout::kRows)) with("inputs row-strided", Place::kRowStrided, -1);
    if (AnyPortTakes(c, ops::Layout::kAny)) with("inputs transposed", Place::kTransposed, -1);
  }
  for (size_t i = 0; i < c.io.in.size() && !base.view && c.definition.fault.empty(); ++i) {
    if (MayTakeOver(c, i)) with(StrCat("in place of input ", i), Place::kDense, static_cast<int>(i));
  }
  return list;
}

CheckRow RowOf(const OpCase& c, size_t port, const std::string& kernel, const Context& context) {
  CheckRow row;
  row.output = StrCat("y", port);
  row.dtype = DTypeName(c.call.outputs[port].dtype);
  row.kernel = kernel;
  row.isa = IsaName(context.isa);
  row.status = CheckStatus::kPassed;
  row.compared = c.definition.fault.empty();
  return row;
}

void Fail(CheckRow& row, CheckStatus status, const std::string& variation, std::string_view what) {
  if (row.status != CheckStatus::kPassed) return;  // the first finding stays
  row.status = status;
  row.detail = variation.empty() ? std::string(what) : StrCat(variation, ": ", what);
}

// Adds what one run shows about one output.
void Merge(CheckRow& row, const Comparison& judged, const Variation& v) {
  row.max_abs = std::max(row.max_abs, judged.max_abs);
  row.rel_l2 = std::max(row.rel_l2, judged.rel_l2);
  row.max_ulp = std::max(row.max_ulp, judged.max_ulp);
  if (judged.worst_share >= row.worst_share) {
    row.limit = judged.limit;
    row.worst_share = judged.worst_share;
  }
  if (!judged.bad_limits.empty()) {
    Fail(row, CheckStatus::kMistrusted, "", judged.bad_limits);
  } else if (!judged.problem.empty()) {
    Fail(row, CheckStatus::kFailed, v.name, judged.problem);
  }
}

// A kernel must report data that it cannot work on, in the documented words.
void CheckFault(CheckRow& row, const OpCase& c, const OpRun& run, const Variation& v) {
  const std::string& says = c.definition.fault;
  const Status status = ops::ToStatus(*c.checks->spec, run.fault);
  const std::string message(status.message());
  if (!run.damage.empty()) {
    Fail(row, CheckStatus::kFailed, v.name, run.damage);
  } else if (status.ok()) {
    Fail(row, CheckStatus::kFailed, v.name, StrCat("reported no fault, expected \"", says, "\""));
  } else if (message.find(says) == std::string::npos) {
    Fail(row, CheckStatus::kFailed, v.name, StrCat("reported \"", message, "\", expected \"", says, "\""));
  } else if (row.status == CheckStatus::kPassed) {
    row.status = CheckStatus::kRefused;
    row.detail = message;
  }
}

void JudgeRun(std::vector<CheckRow>& rows, const OpCase& c, const OpRun& run, const Variation& v) {
  for (size_t port = 0; port < rows.size(); ++port) {
    if (!c.definition.fault.empty()) {
      CheckFault(rows[port], c, run, v);
    } else if (!run.damage.empty()) {
      Fail(rows[port], CheckStatus::kFailed, v.name, run.damage);
    } else if (run.fault.what != nullptr) {
      const Status status = ops::ToStatus(*c.checks->spec, run.fault);
      Fail(rows[port], CheckStatus::kFailed, v.name,
           StrCat("reported a fault: ", std::string(status.message())));
    } else {
      Merge(rows[port], JudgeOutput(c, run, port), v);
    }
  }
}

}  // namespace

ModeResult CheckCorrect(const OpCase& c, const std::string& kernel, const Context& context) {
  ModeResult finding;
  RunSetup base{.isa = context.isa, .kernel = kernel, .view = kernel == kViewKernel};
  for (size_t port = 0; port < c.io.out.size(); ++port) {
    finding.rows.push_back(RowOf(c, port, kernel, context));
  }
  bool ran = false;
  for (const Variation& v : Variations(c, base)) {
    StatusOr<OpRun> run = RunOp(c, v.setup);
    if (!run.ok() && run.status().code() == absl::StatusCode::kUnimplemented) continue;
    ran = true;
    if (run.ok()) {
      JudgeRun(finding.rows, c, *run, v);
    } else {
      for (CheckRow& row : finding.rows) {
        Fail(row, CheckStatus::kFailed, v.name, std::string(run.status().message()));
      }
    }
  }
  finding.skipped = !ran;
  return finding;
}

}  // namespace plinth::verify
