// plinth accept: the whole acceptance with signed evidence; plinth accept history: earlier ones side by side.
#include <cstdio>
#include <memory>

#include "apps/plinth/command.h"
#include "apps/plinth/commit.h"
#include "apps/plinth/credential.h"
#include "plinth/accept/acceptance.h"
#include "plinth/accept/history.h"
#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"
#include "plinth/evidence/gate.h"
#include "plinth/formats/json_writer.h"
#include "plinth/report/acceptance_page.h"
#include "plinth/report/terminal.h"
#include "plinth/verify/rows.h"

namespace plinth::app {
namespace {

using Answer = AcceptanceView::Answer;

struct AcceptOptionsOfUser : CommonOptions {
  std::string model, config, evidence, key, language = "en";
  int64_t repeats = 0;
  bool captures = false;
};

struct HistoryOptions : CommonOptions {
  std::string model, evidence;
  std::vector<std::string> keys;
};

// Beside the model, where nobody says otherwise.
std::string EvidenceRoot(const std::string& wanted, const std::string& model) {
  return wanted.empty() ? JoinPath(model.empty() ? "." : model, "evidence") : wanted;
}

StatusOr<accept::Recipe> RecipeOf(const AcceptOptionsOfUser& o) {
  accept::Recipe recipe;
  if (!o.config.empty()) {
    PLINTH_ASSIGN_OR_RETURN(recipe, accept::LoadRecipe(o.config));
  }
  if (!o.model.empty()) {
    if (!recipe.candidate.captures.empty()) {
      return absl::InvalidArgumentError(
          StrCat("--model: ", o.config, " compares captures; give it [candidate] or a model, not both"));
    }
    recipe.model = o.model;
  }
  if (recipe.model.empty() && recipe.candidate.captures.empty()) {
    PLINTH_ASSIGN_OR_RETURN(recipe.model, ShippedModel());
  }
  if (o.repeats != 0 && !recipe.candidate.captures.empty()) {
    return absl::InvalidArgumentError(
        "--repeats: the repeats of captures are those that [incumbent] and [candidate] name; record as many "
        "there");
  }
  if (o.repeats != 0) recipe.repeats = o.repeats;
  return recipe;
}

// The command that does the same again.
std::string CommandOf(const AcceptOptionsOfUser& o, const accept::Recipe& recipe) {
  std::string command = StrCat(ProgramAsCalled(), " accept");
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) StrAppend(&command, " ", option, " ", verify::ShellQuoted(value));
  };
  add("--model", recipe.candidate.captures.empty() ? recipe.model : "");
  add("--config", o.config);
  add("--evidence", o.evidence);
  add("--credential", CredentialFile());
  if (o.repeats != 0) add("--repeats", StrCat(o.repeats));
  return command;
}

std::string_view VerdictWord(evidence::Verdict verdict) { return evidence::VerdictName(verdict); }

std::string Json(const accept::AcceptResult& r) {
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("verdict"), w.String(VerdictWord(r.verdict));
  w.Key("model"), w.String(r.view.model);
  w.Key("identity"), w.String(r.identity);
  w.Key("evidence"), w.String(r.written.newest);
  w.Key("history"), w.String(r.written.history);
  w.Key("key"), w.String(r.keyid);
  w.Key("self_attested"), w.Bool(r.view.self_attested);
  w.Key("records"), w.Int(static_cast<int64_t>(r.records));
  w.Key("questions"), w.BeginArray();
  for (const AcceptanceView::Question& q : r.view.questions) {
    w.BeginObject();
    w.Key("id"), w.String(q.id);
    w.Key("answer"), w.String(evidence::AnswerName(static_cast<evidence::Answer>(q.answer)));
    w.Key("reasons"), w.BeginArray();
    for (const Phrase& p : q.reasons) w.String(Text(Language::kEnglish, p));
    w.EndArray();
    if (q.why.has_value()) w.Key("why"), w.String(Text(Language::kEnglish, *q.why));
    w.EndObject();
  }
  w.EndArray();
  w.Key("standing"), w.BeginArray();
  for (const evidence::StandingFailure& f : r.written.standing) {
    w.BeginObject();
    w.Key("finished"), w.String(f.finished);
    w.Key("questions"), w.BeginArray();
    for (const std::string& id : f.questions) w.String(id);
    w.EndArray();
    w.Key("text"), w.String(f.text);
    w.Key("reproduce"), w.String(f.reproduce);
    w.EndObject();
  }
  w.EndArray();
  w.Key("first_drift");
  r.view.first_drift.empty() ? w.Null() : w.String(r.view.first_drift);
  w.Key("limits"), w.BeginArray();
  for (const Phrase& p : r.view.limits) w.String(Text(Language::kEnglish, p));
  w.EndArray();
  w.EndObject();
  w.EndLine();
  return out;
}

// Names come from files and captures: nothing in them may steer a terminal.
std::string Shown(const std::string& text) { return Printable(text, Glyphs::kUnicode); }

// The seven questions with their answers, then where everything lies.
std::string ToText(const accept::AcceptResult& r, Language language, const std::string& root) {
  constexpr Message kAnswers[] = {Message::kAnswerYes, Message::kAnswerWarned, Message::kAnswerNo,
                                  Message::kAnswerUnproven};
  constexpr Message kVerdicts[] = {Message::kVerdictPass, Message::kVerdictWarn, Message::kVerdictFail};
  const auto say = [&](Message message) { return std::string(Text(language, message)); };
  const bool chinese = language == Language::kChinese;
  const char* const colon = chinese ? "：" : ": ";
  std::string out;
  for (const AcceptanceView::Question& q : r.view.questions) {
    StrAppend(&out, say(q.question), "  ", say(kAnswers[static_cast<size_t>(q.answer)]), "\n");
    for (const Phrase& p : q.reasons) StrAppend(&out, "    ", Shown(Text(language, p)), "\n");
  }
  StrAppend(&out, "\n", say(Message::kKnownLimits), chinese ? "：\n" : ":\n");
  for (const Phrase& p : r.view.limits) StrAppend(&out, "    ", Shown(Text(language, p)), "\n");
  StrAppend(&out, "\n", say(Message::kEvidence), colon, r.written.newest, "\n    ",
            JoinPath(r.written.newest, "report.html"), "\n    ", ProgramAsCalled(), " evidence verify ",
            verify::ShellQuoted(r.written.newest), "\n    ", ProgramAsCalled(), " accept history --evidence ",
            verify::ShellQuoted(root), "\n\n", Shown(r.view.model), colon,
            say(kVerdicts[static_cast<size_t>(r.verdict)]), chinese ? "。" : ". ", say(MeaningOf(r.view)),
            "\n");
  for (const AcceptanceView::Question& q : r.view.questions) {
    if (!q.why.has_value()) continue;
    StrAppend(&out, "    ", say(q.question), " ", say(Message::kAnswerNo), colon,
              Shown(Text(language, *q.why)), "\n");
  }
  for (const Phrase& p : r.view.standing) StrAppend(&out, "    ", Shown(Text(language, p)), "\n");
  return out;
}

StatusOr<int> RunAccept(const AcceptOptionsOfUser& o) {
  InterruptGuard interrupt;
  accept::AcceptOptions options;
  PLINTH_ASSIGN_OR_RETURN(options.recipe, RecipeOf(o));
  PLINTH_ASSIGN_OR_RETURN(options.language, ParseLanguage(o.language));
  options.evidence = EvidenceRoot(o.evidence, options.recipe.model);
  options.key = o.key;
  options.program = ProgramAsCalled();
  options.commit = Commit();
  options.command = CommandOf(o, options.recipe);
  options.captures = o.captures;
  options.interrupted = Interrupted;
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  const bool terminal = isatty(STDERR_FILENO) == 1;
  options.tell = [&](std::string_view what) {
    if (terminal) {
      std::fprintf(stderr, "\r\033[K%.*s", static_cast<int>(what.size()), what.data());
    }
  };
  Notes notes;
  options.note = [&](std::string_view note) { notes.Add(std::string(note)); };
  const auto result = accept::Accept(runtime->context(), options);
  if (terminal) std::fputs("\r\033[K", stderr);
  if (!result.ok()) return result.status();
  PLINTH_RETURN_IF_ERROR(Print(o.json ? Json(*result) : ToText(*result, options.language, options.evidence)));
  notes.Print();
  return result->verdict == evidence::Verdict::kFail ? 1 : 0;
}

StatusOr<int> RunHistory(const HistoryOptions& o) {
  std::string root = o.evidence;
  if (root.empty()) {
    PLINTH_ASSIGN_OR_RETURN(const std::string model, ModelFolderOrShipped(o.model));
    root = EvidenceRoot("", model);
  }
  PLINTH_ASSIGN_OR_RETURN(const std::string keys_folder, evidence::KeyFolder());
  PLINTH_ASSIGN_OR_RETURN(const auto keys, evidence::TrustedKeys::Load(keys_folder, o.keys));
  PLINTH_ASSIGN_OR_RETURN(const std::vector<accept::PastUnit> units, accept::ReadHistory(root, keys));
  PLINTH_RETURN_IF_ERROR(Print(o.json ? accept::HistoryJson(units) : accept::HistoryText(units)));
  return 0;
}

}  // namespace

void AddAccept(Program& program) {
  auto o = std::make_shared<AcceptOptionsOfUser>();
  CLI::App* command = program.Add("accept", "prove that a model computes the right thing here, and sign it");
  command->require_subcommand(0, 1);
  command->add_option("--model", o->model, "model folder (default: the shipped model)");
  command->add_option("--config", o->config, "what to do, as TOML (docs/acceptance.md)");
  command->add_option("--evidence", o->evidence,
                      "where evidence goes (default: evidence/ in the model folder)");
  command->add_option("--key", o->key, "Ed25519 key to sign with, PEM (default: this machine's own)");
  command->add_option("--repeats", o->repeats, "repeats; 59 for a signed acceptance of a migration")
      ->check(CLI::Range(int64_t{1}, int64_t{100000}));
  command->add_option("--lang", o->language, "language of report and text: en, zh");
  command->add_flag("--captures", o->captures, "put the captured layers into the evidence");
  program.AddCommon(command, o.get());
  Program::AddJson(command, o.get());
  auto h = std::make_shared<HistoryOptions>();
  CLI::App* history = program.Add(command, "history", "earlier acceptances side by side");
  history->add_option("--model", h->model, "model folder (default: the shipped model)");
  history->add_option("--evidence", h->evidence,
                      "where evidence lies (default: evidence/ in the model folder)");
  history->add_option("--key", h->keys, "public keys to trust beside this machine's own, PEM");
  Program::AddJson(history, h.get());
  // The outer command's action is chosen last, whether or not the inner one was given.
  program.Run(command, [o, h, history] { return history->parsed() ? RunHistory(*h) : RunAccept(*o); });
}

}  // namespace plinth::app
