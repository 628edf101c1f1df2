#include "plinth/accept/outputs.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/base/version.h"
#include "plinth/evidence/gate.h"
#include "plinth/evidence/standing.h"
#include "plinth/report/acceptance_page.h"
#include "plinth/report/ctrf.h"
#include "plinth/report/junit.h"
#include "plinth/verify/rows.h"

namespace plinth::accept {
namespace {

using Answer = AcceptanceView::Answer;

constexpr int64_t kNanosecondsPerMs = 1'000'000;

std::string English(const Phrase& phrase) { return Text(Language::kEnglish, phrase); }

std::string ReasonsOf(const AcceptanceView::Question& question) {
  return Join(question.reasons, "; ", English);
}

// What the evidence does not say.
void AddLimits(Work& work) {
  auto& limits = work.view.limits;
  const Recipe& recipe = *work.recipe;
  if (work.session != nullptr) {
    const Recipe::Sizes& e = recipe.envelope;
    limits.push_back({Message::kLimitSizes, {StrCat(e.batch), StrCat(e.context), StrCat(e.horizon)}});
    limits.push_back({Message::kLimitInputs, {StrCat(work.subject->inputs.windows.size())}});
    if (recipe.data.file.empty()) limits.push_back({Message::kLimitMadeSeries, {}});
  } else {
    limits.push_back({Message::kLimitCaptured, {}});
  }
  if (work.session == nullptr ? false : work.recipe->cases.empty())
    limits.push_back({Message::kLimitNoCases, {}});
  if (work.subject->incumbent.empty()) limits.push_back({Message::kLimitNoIncumbent, {}});
  if (recipe.repeats < 59) limits.push_back({Message::kLimitRepeats, {StrCat(recipe.repeats)}});
  const auto resumed =
      std::count_if(work.records.begin(), work.records.end(), [](const Record& r) { return r.resumed; });
  if (resumed > 0) limits.push_back({Message::kLimitResumed, {StrCat(resumed)}});
  if (work.view.self_attested) limits.push_back({Message::kLimitSelfAttested, {}});
}

void AddFacts(Work& work) {
  const evidence::Environment& e = work.subject->environment;
  auto& facts = work.view.facts;
  facts.emplace_back(Message::kModel, work.subject->model_name);
  const std::string cpu = e.Text("cpu", "", "model"), os = e.Text("os", "", "name");
  facts.emplace_back(Message::kMachine, StrCat(cpu, !cpu.empty() && !os.empty() ? ", " : "", os));
  facts.emplace_back(Message::kDataFile, work.subject->inputs.source);
}

void AddIdentityTable(Work& work) {
  AcceptanceView::Table table{Message::kTableIdentity, {Message::kColumnName, Message::kValue}, {}, {}};
  for (const auto& [name, value] : work.subject->identity.parts) table.rows.push_back({name, value});
  work.view.tables.push_back(std::move(table));
}

// What was asked but not answered by a record.
evidence::Answer AnswerOf(Answer answer) { return static_cast<evidence::Answer>(answer); }

StatusOr<evidence::NamedDigest> DigestOf(std::string name, std::string_view text) {
  PLINTH_ASSIGN_OR_RETURN(std::string sha256, Sha256Hex(text));
  return evidence::NamedDigest{std::move(name), std::move(sha256), ""};
}

// 64 hex digits, of the program that ran; empty where it is unknown.
std::string ProgramDigest(const evidence::Environment& environment) {
  constexpr std::string_view kPrefix = "sha256:";
  const std::string digest = environment.Text("digests", "", "program");
  return digest.starts_with(kPrefix) ? digest.substr(kPrefix.size()) : "";
}

StatusOr<evidence::Unit> MakeUnit(const Work& work, const AcceptOptions& options, const std::string& started,
                                  const std::string& finished) {
  const Subject& subject = *work.subject;
  evidence::Unit unit;
  unit.model_name = subject.model_name;
  unit.model_files = subject.model_files;
  unit.identity = subject.identity;
  const Recipe::Sizes& sizes = work.recipe->envelope;
  // Of captures nobody knows sizes: theirs is the smallest envelope.
  unit.envelope = {std::max<int64_t>(sizes.batch, 1), std::max<int64_t>(sizes.context, 1),
                   std::max<int64_t>(sizes.horizon, 1)};
  unit.started = started;
  unit.finished = finished;
  unit.checklist = evidence::Unit::EmptyChecklist();
  for (const AcceptanceView::Question& q : work.view.questions) {
    evidence::ChecklistItem* item = unit.Item(q.id);
    item->question = Text(Language::kEnglish, q.question);
    item->answer = AnswerOf(q.answer);
    item->text = ReasonsOf(q);
    unit.layers.push_back({q.id, item->answer, item->text});
  }
  unit.inputs.push_back({"inputs", subject.inputs.digest, ""});
  if (!subject.inputs.file_digest.empty()) {
    unit.inputs.push_back({BaseName(work.recipe->data.file), subject.inputs.file_digest, ""});
  }
  if (subject.inputs.digest.empty()) unit.inputs.clear();
  PLINTH_ASSIGN_OR_RETURN(evidence::NamedDigest recipe, DigestOf("recipe", work.recipe->Canonical()));
  unit.preprocessing.push_back(std::move(recipe));
  unit.reference = work.reference;
  unit.reference.insert(unit.reference.end(), subject.captures.begin(), subject.captures.end());
  unit.rules_sha256 = subject.rules.digest();
  unit.tool.version = kVersion;
  unit.tool.commit = options.commit;
  unit.tool.binary_sha256 = ProgramDigest(subject.environment);
  unit.environment_json = subject.environment_json;
  unit.performance_json = work.performance_json;
  unit.repeats = work.recipe->repeats;
  unit.asked = work.asked;
  unit.run = work.journal->run();
  unit.waivers = work.waivers;
  for (const Phrase& limit : work.view.limits) unit.limits.push_back(English(limit));
  unit.reproduce = options.command;
  return unit;
}

// The same names and results in the two formats that other tools read.
CheckRun TestRun(const Work& work, int64_t start_ms, int64_t stop_ms) {
  CheckRun run;
  run.name = StrCat("plinth accept ", work.subject->model_name);
  run.version = kVersion;
  run.run_id = work.journal->run();
  run.subject = work.subject->identity_digest;
  run.start_ms = start_ms;
  run.stop_ms = stop_ms;
  for (const Record& r : work.records) {
    CheckResult result;
    result.suite = r.question;
    result.name = r.name;
    result.status = r.status;
    result.message = r.detail;
    result.reproduce = r.reproduce;
    result.seconds = r.seconds;
    run.results.push_back(std::move(result));
  }
  return run;
}

// Files of the captures, for those who want to look closer.
void AddCaptures(const std::string& folder, std::vector<evidence::EvidenceFile>* files) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> paths;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) paths.push_back(it->path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    files->push_back({StrCat("captures/", path.substr(folder.size() + 1)), "", path});
  }
}

// An earlier failure as the reader should see it.
Phrase Standing(const evidence::StandingFailure& failure, const evidence::Unit& unit) {
  const auto lacking = evidence::Lacking(failure.asked, unit.asked);
  if (lacking.empty()) return {Message::kStandingOpen, {failure.finished, failure.text, failure.reproduce}};
  return {Message::kStandingFailure,
          {failure.finished, failure.text, Join(lacking, "; "), failure.reproduce}};
}

// Everything beside the statement, once it is known which earlier failures stand.
StatusOr<std::vector<evidence::EvidenceFile>> MakeFiles(Work& work, const AcceptOptions& options,
                                                        const RunTimes& times, const evidence::Unit& unit) {
  AcceptanceView& view = work.view;
  view.verdict = static_cast<AcceptanceView::Verdict>(evidence::VerdictOf(unit));
  for (const evidence::StandingFailure& failure : unit.standing)
    view.standing.push_back(Standing(failure, unit));
  std::vector<evidence::EvidenceFile> files;
  std::string records;
  for (const Record& r : work.records) StrAppend(&records, ToJson(r), "\n");
  files.push_back({std::string(evidence::kRecordsFile), std::move(records), ""});
  files.push_back({"report.html", AcceptancePage(view, options.language), ""});
  const CheckRun run = TestRun(work, times.started / kNanosecondsPerMs, times.finished / kNanosecondsPerMs);
  files.push_back({"junit.xml", JunitXml(run), ""});
  files.push_back({"ctrf.json", CtrfJson(run), ""});
  if (options.captures) AddCaptures(work.folder, &files);
  return files;
}

}  // namespace

StatusOr<evidence::WrittenEvidence> WriteOutputs(Work& work, const AcceptOptions& options,
                                                 const evidence::SigningKey& key, const RunTimes& times) {
  AcceptanceView& view = work.view;
  view.model = work.subject->model_name;
  view.identity = work.subject->identity_digest;
  view.version = kVersion;
  view.commit = options.commit;
  const std::string started = evidence::Rfc3339(times.started), finished = evidence::Rfc3339(times.finished);
  view.created = finished;
  view.signer = key.public_key().keyid();
  view.reproduce = {options.command,
                    StrCat(options.program, " evidence verify ",
                           verify::ShellQuoted(JoinPath(options.evidence, work.subject->identity_digest)))};
  AddFacts(work);
  AddIdentityTable(work);
  AddLimits(work);
  PLINTH_ASSIGN_OR_RETURN(const evidence::Unit unit, MakeUnit(work, options, started, finished));
  const auto files = [&](const evidence::Unit& whole) { return MakeFiles(work, options, times, whole); };
  // Where a gate would look, too.
  const std::vector<std::string> also =
      evidence::SearchFolders("", work.session == nullptr ? "." : work.recipe->model);
  return evidence::WriteEvidence(options.evidence, unit, files, key, also);
}

}  // namespace plinth::accept
