#include "plinth/accept/acceptance.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "plinth/accept/asked.h"
#include "plinth/accept/outputs.h"
#include "plinth/accept/steps.h"
#include "plinth/accept/subject.h"
#include "plinth/accept/work.h"
#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/base/temporary_folder.h"
#include "plinth/base/text.h"
#include "plinth/evidence/keys.h"
#include "plinth/evidence/standing.h"
#include "plinth/verify/rules.h"

namespace plinth::accept {
namespace {

constexpr char kUnfinished[] = ".unfinished";

// Where an acceptance keeps its journal and its captures on the way; gone, where nothing else is in it, at
// the end.
class UnfinishedFolder {
 public:
  static StatusOr<UnfinishedFolder> Make(const std::string& evidence) {
    const std::string path = JoinPath(evidence, kUnfinished);
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return FileError(path, "made", error.value());
    RemoveOrphans(path);
    return UnfinishedFolder(path);
  }
  UnfinishedFolder(UnfinishedFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  UnfinishedFolder& operator=(UnfinishedFolder&&) = delete;
  ~UnfinishedFolder() {
    if (!path_.empty()) static_cast<void>(rmdir(path_.c_str()));
  }
  const std::string& path() const { return path_; }

 private:
  // Folders that a killed process left: their names hold its number.
  static void RemoveOrphans(const std::string& path) {
    std::error_code error;
    std::vector<std::filesystem::path> orphans;
    for (std::filesystem::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
      int process = 0;
      if (std::sscanf(it->path().filename().c_str(), ".plinth-%d-", &process) != 1) continue;
      if (process > 0 && kill(process, 0) != 0 && errno == ESRCH) orphans.push_back(it->path());
    }
    for (const std::filesystem::path& orphan : orphans) std::filesystem::remove_all(orphan, error);
  }
  explicit UnfinishedFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

constexpr Message kQuestions[kAsks] = {
    Message::kAskEnvironment, Message::kAskInputs,      Message::kAskOperators,    Message::kAskLayers,
    Message::kAskTask,        Message::kAskPerformance, Message::kAskRepeatability};

StatusOr<evidence::SigningKey> SigningKeyOf(const AcceptOptions& options, bool* local) {
  *local = options.key.empty();
  if (!*local) return evidence::SigningKey::Load(options.key);
  PLINTH_ASSIGN_OR_RETURN(const std::string folder, evidence::KeyFolder());
  PLINTH_ASSIGN_OR_RETURN(evidence::LocalKey key, evidence::LoadOrMakeLocalKey(folder));
  if (key.made && options.note) {
    options.note(
        StrCat("made the key ", key.path, ", with which this machine signs its evidence from now on"));
  }
  return std::move(key.key);
}

// Planted faults first: a rule set that does not see them makes every later verdict worthless.
Status CheckOperators(Work& work) {
  const std::string missed = verify::SelfTest(work.subject->rules);
  Record record;
  record.name = "self-test of the rules";
  record.status = missed.empty() ? verify::CheckStatus::kPassed : verify::CheckStatus::kMistrusted;
  record.detail = missed;
  if (!missed.empty()) work.SayWrong(Ask::kOperators, Message::kSelfTestFailed, {missed});
  const AcceptanceView::Answer before = work.at(Ask::kOperators).answer;
  work.Add(Ask::kOperators, std::move(record));
  if (missed.empty()) {
    // Seeing planted faults proves no operator.
    work.at(Ask::kOperators).answer = before;
    work.Say(Ask::kOperators, Message::kSelfTestPassed);
  }
  return work.session != nullptr ? CheckPlanOperators(work) : CheckCaptureOperators(work);
}

Status CheckLayers(Work& work) {
  return work.session != nullptr ? CheckModelLayers(work) : CheckCaptureLayers(work);
}

Status CheckRepeatability(Work& work) {
  return work.session != nullptr ? CheckModelRepeats(work) : CheckCaptureRepeats(work);
}

// Everything in order. A step that comes out bad does not end the acceptance: what follows may tell why; only
// speed is not measured then.
Status RunSteps(Work& work) {
  for (Status (*step)(Work&) : {&CheckEnvironment, &CheckInputs, &CheckOperators, &CheckLayers, &CheckTask,
                                &CheckRepeatability, &CheckPerformance}) {
    PLINTH_RETURN_IF_ERROR(work.CheckInterrupted());
    work.BeginStep();
    PLINTH_RETURN_IF_ERROR(step(work));
  }
  work.Settle();
  return work.CheckInterrupted();
}

// The journal of this acceptance, of which no line is believed that the signing key did not authenticate, and
// none of a run that came to its end.
StatusOr<Journal> OpenJournal(const AcceptOptions& options, const std::string& path,
                              const std::string& work_key, const Subject& subject,
                              const evidence::SigningKey& key) {
  PLINTH_ASSIGN_OR_RETURN(std::string secret, key.Derive(StrCat("journal ", work_key)));
  PLINTH_ASSIGN_OR_RETURN(Journal journal, Journal::Open(path, {work_key, std::move(secret)}));
  if (journal.resumed() > 0) {
    evidence::TrustedKeys own;
    own.Add(key.public_key(), /*local=*/true);
    PLINTH_ASSIGN_OR_RETURN(
        const bool finished,
        evidence::RunIsOnRecord(options.evidence, subject.identity_digest, journal.run(), own));
    if (finished) {
      PLINTH_RETURN_IF_ERROR(journal.StartOver(
          StrCat(path, ": is of an acceptance that is finished; all of its pieces are done again")));
    }
  }
  if (!options.note) return journal;
  if (!journal.broken().empty()) options.note(journal.broken());
  if (journal.resumed() > 0) {
    options.note(StrCat("goes on with ", journal.resumed(), " finished pieces of an interrupted acceptance"));
  }
  return journal;
}

}  // namespace

StatusOr<AcceptResult> Accept(const Context& context, const AcceptOptions& options) {
  const Clock& clock = options.clock == nullptr ? Clock::System() : *options.clock;
  RunTimes times;
  times.started = clock.Wall();
  Recipe recipe = options.recipe;
  PLINTH_ASSIGN_OR_RETURN(const Subject subject, Subject::Open(context, &recipe));

  // Before anything takes long: a key and a place to write to.
  bool local = false;
  PLINTH_ASSIGN_OR_RETURN(const evidence::SigningKey key, SigningKeyOf(options, &local));
  PLINTH_ASSIGN_OR_RETURN(const std::string work_key,
                          Sha256Hex(StrCat(subject.identity_digest, "\n", subject.inputs.digest, "\n",
                                           subject.rules.digest(), "\n", recipe.Canonical())));
  PLINTH_ASSIGN_OR_RETURN(const UnfinishedFolder unfinished, UnfinishedFolder::Make(options.evidence));
  const std::string place = JoinPath(unfinished.path(), work_key.substr(0, 16));
  PLINTH_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::MakeFor(place));
  PLINTH_ASSIGN_OR_RETURN(Journal journal,
                          OpenJournal(options, StrCat(place, ".jsonl"), work_key, subject, key));

  Work work;
  PLINTH_ASSIGN_OR_RETURN(work.asked, WhatIsAsked(recipe, subject));
  work.context = &context;
  work.recipe = &recipe;
  work.subject = &subject;
  work.program = options.program;
  work.folder = folder.path();
  work.interrupted = options.interrupted;
  work.tell = options.tell;
  work.session = subject.session.get();
  work.journal = &journal;
  for (int i = 0; i < kAsks; ++i) {
    work.view.questions.push_back({std::string(AskId(static_cast<Ask>(i))), kQuestions[i]});
  }
  if (Status status = RunSteps(work); !status.ok()) {
    // Only what was interrupted goes on later.
    if (!absl::IsCancelled(status)) journal.Remove();
    return status;
  }

  AcceptResult result;
  result.identity = subject.identity_digest;
  result.keyid = key.public_key().keyid();
  result.records = work.records.size();
  work.view.self_attested = local;
  times.finished = clock.Wall();
  PLINTH_ASSIGN_OR_RETURN(result.written, WriteOutputs(work, options, key, times));
  result.verdict = result.written.verdict;
  evidence::TrustedKeys own;
  own.Add(key.public_key(), /*local=*/true);
  const auto others = evidence::UntrustedUnits({&options.evidence, 1}, result.identity, own);
  if (others.ok() && *others > 0 && options.note) {
    options.note(StrCat(options.evidence, ": ", *others,
                        " folders there hold evidence for this identity by other keys; whether it says that "
                        "something failed was not asked: `plinth evidence verify --key` does"));
  }
  result.view = std::move(work.view);
  journal.Remove();
  return result;
}

}  // namespace plinth::accept
