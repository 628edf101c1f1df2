// Layer two: the operators of the model's plan against their references.
#include <algorithm>
#include <set>

#include "plinth/accept/steps.h"
#include "plinth/base/text.h"
#include "plinth/formats/json.h"
#include "plinth/formats/json_writer.h"
#include "plinth/plan/plan.h"
#include "plinth/report/check_result.h"
#include "plinth/verify/op_check.h"

namespace plinth::accept {
namespace {

using verify::CheckRow;
using verify::CheckStatus;

// What the checks of one operator came to.
struct Outcome {
  int64_t checks = 0, bad = 0;
  double worst_share = 0;
  CheckStatus status = CheckStatus::kPassed;
  std::string first_bad, reproduce;
  bool resumed = false;
};

// Which status tells more about an operator whose checks came to several.
int Weight(CheckStatus status) {
  switch (OutcomeOf(status)) {
    case CheckOutcome::kFailed:
      return 3;
    case CheckOutcome::kSkipped:
      return 2;
    case CheckOutcome::kWarned:
      return 1;
    case CheckOutcome::kPassed:
      break;
  }
  return 0;
}

std::string ToText(const Outcome& o) {
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("checks"), w.Int(o.checks);
  w.Key("bad"), w.Int(o.bad);
  w.Key("worst_share"), w.Number(o.worst_share);
  w.Key("status"), w.Int(static_cast<int64_t>(o.status));
  w.Key("first_bad"), w.String(o.first_bad);
  w.Key("reproduce"), w.String(o.reproduce);
  w.EndObject();
  return out;
}

StatusOr<Outcome> ParseOutcome(const std::string& text) {
  PLINTH_ASSIGN_OR_RETURN(const formats::Config c, formats::Config::Parse(text, "journal"));
  Outcome o;
  PLINTH_ASSIGN_OR_RETURN(o.checks, c.Int("checks", 0, INT64_MAX));
  PLINTH_ASSIGN_OR_RETURN(o.bad, c.Int("bad", 0, o.checks));
  PLINTH_ASSIGN_OR_RETURN(o.worst_share, c.RealOr("worst_share", 0, 1e300, INFINITY));
  PLINTH_ASSIGN_OR_RETURN(const int64_t status,
                          c.Int("status", 0, static_cast<int64_t>(CheckStatus::kExtra)));
  o.status = static_cast<CheckStatus>(status);
  PLINTH_ASSIGN_OR_RETURN(o.first_bad, c.Text("first_bad"));
  PLINTH_ASSIGN_OR_RETURN(o.reproduce, c.Text("reproduce"));
  return o;
}

// Operators of the plan that runs and of the published network, in alphabetical order.
StatusOr<std::set<std::string>> OperatorsOf(const engine::Session& session) {
  std::set<std::string> names;
  const auto add = [&](const plan::Plan& plan) {
    for (size_t s = 0; s < plan.step_count(); ++s) names.insert(plan.StepCall(s).spec->name);
  };
  add(session.plan());
  PLINTH_ASSIGN_OR_RETURN(
      const auto published,
      session.MakePlan(
          {.variant = {.published = true}, .size = session.run_size(), .observe = {"*"}, .fuse = false}));
  add(*published);
  return names;
}

StatusOr<Outcome> Check(Work& work, const std::string& op) {
  const std::string piece = StrCat("operator ", op);
  if (const std::string* known = work.journal->Find(piece)) {
    PLINTH_ASSIGN_OR_RETURN(Outcome outcome, ParseOutcome(*known));
    outcome.resumed = true;
    return outcome;
  }
  Outcome outcome;
  verify::OpOptions options;
  options.op = op;
  options.program = work.program;
  options.interrupted = work.interrupted;
  const auto sink = [&](const CheckRow& row) {
    ++outcome.checks;
    outcome.worst_share = std::max(outcome.worst_share, row.worst_share);
    if (row.status == CheckStatus::kPassed || row.status == CheckStatus::kRefused) return;
    // The first of the worst.
    if (outcome.bad++ > 0 && Weight(row.status) <= Weight(outcome.status)) return;
    outcome.status = row.status;
    outcome.first_bad = OneLine(row);
    outcome.reproduce = row.reproduce;
  };
  PLINTH_RETURN_IF_ERROR(verify::VerifyOps(*work.context, options, sink).status());
  PLINTH_RETURN_IF_ERROR(work.journal->Add(piece, ToText(outcome)));
  return outcome;
}

}  // namespace

Status CheckPlanOperators(Work& work) {
  PLINTH_ASSIGN_OR_RETURN(const std::set<std::string> names, OperatorsOf(*work.session));
  AcceptanceView::Table table{Message::kTableOperators,
                              {Message::kColumnOperator, Message::kColumnStatus, Message::kColumnChecks,
                               Message::kColumnFailed, Message::kColumnWorstShare},
                              {},
                              {}};
  Outcome all;
  for (const std::string& op : names) {
    PLINTH_RETURN_IF_ERROR(work.CheckInterrupted());
    work.Tell(StrCat("operators: ", op));
    PLINTH_ASSIGN_OR_RETURN(const Outcome one, Check(work, op));
    all.checks += one.checks;
    all.bad += one.bad;
    all.worst_share = std::max(all.worst_share, one.worst_share);
    if (one.bad > 0 && (all.first_bad.empty() || Weight(one.status) > Weight(all.status))) {
      all.first_bad = one.first_bad;
      all.status = one.status;
    }
    if (one.bad > 0) table.marked.push_back(static_cast<int>(table.rows.size()));
    table.rows.push_back({op, std::string(verify::StatusName(one.status)), StrCat(one.checks),
                          StrCat(one.bad), Short(100 * one.worst_share)});
    Record record;
    record.name = op;
    record.status = one.status;
    record.resumed = one.resumed;
    record.measured = one.worst_share;
    record.limit = 1;
    record.detail = one.bad > 0 ? one.first_bad : StrCat(one.checks, " checks; share of the limit");
    record.reproduce = one.bad > 0 ? one.reproduce : StrCat(work.program, " verify ops --op ", op);
    work.Add(Ask::kOperators, std::move(record));
  }
  work.view.tables.push_back(std::move(table));
  if (all.bad > 0) {
    work.SayWrong(Ask::kOperators, Message::kOperatorsFailed,
                  {StrCat(all.bad), StrCat(all.checks), all.first_bad});
  } else {
    work.Say(Ask::kOperators, Message::kOperatorsPassed,
             {StrCat(all.checks), StrCat(names.size()), Short(100 * all.worst_share)});
  }
  return absl::OkStatus();
}

}  // namespace plinth::accept
