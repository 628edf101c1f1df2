// Layer one: what ran, and on what.
#include "plinth/accept/steps.h"
#include "plinth/base/text.h"

namespace plinth::accept {

using verify::CheckStatus;

Status CheckEnvironment(Work& work) {
  const evidence::Environment& environment = work.subject->environment;
  if (environment.facts.empty()) {
    Record record;
    record.name = "environment";
    record.status = CheckStatus::kUnproven;
    record.detail = "the capture holds no record of its environment; `plinth env --json` writes one";
    work.Add(Ask::kEnvironment, std::move(record));
    return absl::OkStatus();
  }
  AcceptanceView::Table table{Message::kTableFindings,
                              {Message::kColumnSeverity, Message::kColumnName, Message::kColumnResolve},
                              {},
                              {}};
  bool contradiction = false;
  for (const evidence::Finding& finding : environment.findings) {
    Record record;
    record.name = finding.id;
    record.status = finding.severity == evidence::Severity::kError     ? CheckStatus::kFailed
                    : finding.severity == evidence::Severity::kWarning ? CheckStatus::kWarned
                                                                       : CheckStatus::kPassed;
    record.detail = finding.sentence;
    if (record.status == CheckStatus::kFailed) table.marked.push_back(static_cast<int>(table.rows.size()));
    table.rows.push_back(
        {std::string(evidence::SeverityName(finding.severity)), finding.sentence, finding.resolve});
    if (finding.severity != evidence::Severity::kNote) {
      contradiction = true;
      if (record.status == CheckStatus::kFailed) {
        work.SayWrong(Ask::kEnvironment, Message::kEnvironmentFinding, {finding.sentence, finding.resolve});
      } else {
        work.Say(Ask::kEnvironment, Message::kEnvironmentFinding, {finding.sentence, finding.resolve});
      }
    }
    work.Add(Ask::kEnvironment, std::move(record));
  }
  Record record;
  record.name = "environment";
  record.status = CheckStatus::kPassed;
  record.detail = StrCat(environment.facts.size(), " facts on record");
  work.Add(Ask::kEnvironment, std::move(record));
  if (!contradiction) {
    work.Say(Ask::kEnvironment, Message::kEnvironmentKnown, {StrCat(environment.facts.size())});
  }
  if (!table.rows.empty()) work.view.tables.push_back(std::move(table));
  return absl::OkStatus();
}

Status CheckInputs(Work& work) {
  const Inputs& inputs = work.subject->inputs;
  Record record;
  record.name = "inputs";
  if (inputs.digest.empty()) {
    record.status = CheckStatus::kUnproven;
    record.detail = "the captures do not say on which inputs they were made";
    work.Say(Ask::kInputs, Message::kInputsUnknown);
  } else if (work.session == nullptr) {
    record.status = CheckStatus::kPassed;
    record.detail = StrCat("sha256 ", inputs.digest);
    work.Say(Ask::kInputs, Message::kInputsCaptures,
             {StrCat(work.subject->incumbent.size() + work.subject->candidate.size()),
              inputs.digest.substr(0, 12)});
  } else {
    record.status = CheckStatus::kPassed;
    record.detail = StrCat(inputs.windows.size(), " windows, sha256 ", inputs.digest);
    work.Say(Ask::kInputs, Message::kInputsFixed,
             {StrCat(inputs.windows.size()), inputs.source, StrCat(inputs.horizon), StrCat(inputs.season),
              inputs.digest.substr(0, 12)});
  }
  work.Add(Ask::kInputs, std::move(record));
  return absl::OkStatus();
}

}  // namespace plinth::accept
