// plinth evidence: checks signed evidence offline and shows what it says.
#include <cstdlib>
#include <memory>

#include "apps/plinth/command.h"
#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"
#include "plinth/evidence/evidence_folder.h"
#include "plinth/formats/json_writer.h"
#include "plinth/report/terminal.h"

namespace plinth::app {
namespace {

using evidence::Evidence;
using evidence::Fault;

struct Options : CommonOptions {
  std::string path, identity;
  std::vector<std::string> keys;
};

StatusOr<evidence::TrustedKeys> Keys(const Options& o) {
  // Without a home there is no local key; those that are named will do.
  return evidence::TrustedKeys::Load(evidence::KeyFolder().value_or(""), o.keys);
}

// 64 hex digits of "sha256:DIGITS" or the digits alone.
StatusOr<std::string> IdentityDigits(const std::string& text) {
  const std::string digits = text.starts_with("sha256:") ? text.substr(7) : text;
  if (text.empty() || IsHexDigest(digits)) return digits;
  return absl::InvalidArgumentError(StrCat(
      "--identity ", text, ": a digest is expected, sha256: and 64 hex digits, as forecast --json gives it"));
}

// What a path leads to: one unit, or a root with several.
struct Target {
  std::string unit;               // its folder, resolved
  evidence::UnitFolders several;  // where `unit` is empty
};

StatusOr<Target> Resolve(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (real == nullptr) return FileError(path, "opened", errno);
  std::string folder = real.get();
  if (!IsFolder(folder)) {
    if (BaseName(folder) != evidence::kStatementFile) {
      return absl::InvalidArgumentError(StrCat(path, ": is a file; a folder of evidence, or the ",
                                               evidence::kStatementFile, " in one, is expected"));
    }
    folder = folder.substr(0, folder.rfind('/'));
  }
  Target target;
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  const std::string name = BaseName(folder);
  const bool named_so = IsHexDigest(name) || (name.size() > 65 && IsHexDigest(name.substr(name.size() - 64)));
  for (const std::string& file : names) {
    if (named_so || file == evidence::kStatementFile || file == evidence::kTestResultFile) {
      target.unit = folder;
      return target;
    }
  }
  PLINTH_ASSIGN_OR_RETURN(target.several, evidence::ListUnits(folder));
  if (!target.several.newest.empty() || !target.several.history.empty()) return target;
  return absl::NotFoundError(StrCat(path, ": holds no evidence; a folder with ", evidence::kStatementFile,
                                    ", or one with such folders, is expected"));
}

const char* StatusOf(evidence::Verdict verdict) {
  constexpr const char* kNames[] = {"passed", "warned", "failed"};
  return kNames[static_cast<size_t>(verdict)];
}

void WriteCounts(formats::JsonWriter& w, const evidence::RecordCounts& counts) {
  w.Key("records");
  w.BeginObject();
  w.Key("total"), w.Int(counts.total);
  for (size_t i = 0; i < counts.by_status.size(); ++i) {
    w.Key(evidence::kRecordStatuses[i]), w.Int(counts.by_status[i]);
  }
  w.EndObject();
}

std::string Json(const std::string& folder, const StatusOr<Evidence>& opened, Fault fault, bool statement) {
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("path"), w.String(folder);
  w.Key("status"), w.String(opened.ok() ? StatusOf(opened->verdict) : "refused");
  w.Key("fault"), w.String(evidence::FaultName(fault));
  if (!opened.ok()) {
    w.Key("reason"), w.String(std::string(opened.status().message()));
    w.Key("verdict"), w.String("refused");
  } else {
    w.Key("verdict"), w.String(VerdictName(opened->verdict));
    w.Key("model"), w.String(opened->unit.model_name);
    w.Key("identity"), w.String(StrCat("sha256:", opened->identity));
    w.Key("finished"), w.String(opened->unit.finished);
    w.Key("signers");
    w.BeginArray();
    for (const std::string& signer : opened->signers) w.String(signer);
    w.EndArray();
    w.Key("self_attested"), w.Bool(opened->self_attested);
    w.Key("files"), w.Int(static_cast<int64_t>(opened->files.size()) + 1);
    WriteCounts(w, opened->records);
    if (statement) w.Key("statement"), w.Raw(opened->statement_json);
  }
  w.EndObject();
  w.EndLine();
  return out;
}

std::string SignedBy(const Evidence& e) {
  return StrCat(Join(e.signers, ", "), e.self_attested ? " (self-attested: by this machine's own key)" : "");
}

// Texts come from files; a trusted key says who wrote them, not that they are fit for a terminal.
std::string Shown(const std::string& text) { return Printable(text, Glyphs::kUnicode); }

std::string Line(const std::string& folder, const StatusOr<Evidence>& opened) {
  if (!opened.ok()) return StrCat("refused: ", Shown(std::string(opened.status().message())), "\n");
  return StrCat(StatusOf(opened->verdict), ": ", Shown(folder), ": ", Shown(opened->unit.model_name), ", ",
                opened->unit.finished, ", ", opened->files.size() + 1, " files unaltered, signed by ",
                SignedBy(*opened), "\n");
}

// Whatever is wrong with the evidence is a result; what is wrong with the machine is an error.
bool IsRefusal(const StatusOr<Evidence>& opened, Fault fault) {
  return !opened.ok() && fault != Fault::kNone;
}

struct Tally {
  int64_t passed = 0, warned = 0, failed = 0, refused = 0;
};

// Checks and prints one unit.
StatusOr<bool> VerifyOne(const std::string& folder, const Options& o, const std::string& identity,
                         const evidence::TrustedKeys& keys, Tally* tally) {
  Fault fault = Fault::kNone;
  const auto opened = OpenEvidence(folder, keys, {.identity = identity}, &fault);
  if (!opened.ok() && !IsRefusal(opened, fault)) return opened.status();
  PLINTH_RETURN_IF_ERROR(
      Print(o.json ? Json(folder, opened, fault, /*statement=*/false) : Line(folder, opened)));
  if (!opened.ok()) {
    ++tally->refused;
  } else {
    ++(opened->verdict == evidence::Verdict::kPass   ? tally->passed
       : opened->verdict == evidence::Verdict::kWarn ? tally->warned
                                                     : tally->failed);
  }
  return opened.ok() && opened->verdict != evidence::Verdict::kFail;
}

std::string Summary(const Tally& tally, bool good, bool json) {
  const int64_t verified = tally.passed + tally.warned + tally.failed;
  if (!json) return StrCat(verified, " verified, ", tally.refused, " refused\n");
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("summary"), w.Bool(true);
  w.Key("verified"), w.Int(verified);
  w.Key("passed"), w.Int(tally.passed);
  w.Key("warned"), w.Int(tally.warned);
  w.Key("failed"), w.Int(tally.failed);
  w.Key("refused"), w.Int(tally.refused);
  w.Key("verdict"), w.String(!good ? "fail" : tally.warned > 0 ? "warn" : "pass");
  w.EndObject();
  w.EndLine();
  return out;
}

StatusOr<int> Verify(const Options& o) {
  InterruptGuard interrupt;
  PLINTH_ASSIGN_OR_RETURN(const std::string identity, IdentityDigits(o.identity));
  PLINTH_ASSIGN_OR_RETURN(const evidence::TrustedKeys keys, Keys(o));
  PLINTH_ASSIGN_OR_RETURN(const Target target, Resolve(o.path));
  Tally tally;
  if (!target.unit.empty()) {
    PLINTH_ASSIGN_OR_RETURN(const bool good, VerifyOne(target.unit, o, identity, keys, &tally));
    return good ? 0 : 1;
  }
  bool good = true;
  for (const std::string& folder : target.several.newest) {
    PLINTH_ASSIGN_OR_RETURN(const bool fine, VerifyOne(folder, o, identity, keys, &tally));
    good = good && fine;
  }
  // The history may tell of failures that are mended.
  for (const std::string& folder : target.several.history) {
    PLINTH_RETURN_IF_ERROR(VerifyOne(folder, o, identity, keys, &tally).status());
  }
  good = good && tally.refused == 0;
  PLINTH_RETURN_IF_ERROR(Print(Summary(tally, good, o.json)));
  return good ? 0 : 1;
}

void AddList(std::string* out, const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  StrAppend(out, title, "\n");
  for (const std::string& line : lines) StrAppend(out, "  ", Shown(line), "\n");
}

std::vector<std::string> Digests(const std::vector<evidence::NamedDigest>& digests) {
  std::vector<std::string> lines;
  for (const auto& digest : digests) lines.push_back(StrCat(digest.name, "  sha256:", digest.sha256));
  return lines;
}

std::string Text(const Evidence& e) {
  const evidence::Unit& unit = e.unit;
  std::string out = StrCat(VerdictName(e.verdict), ": ", Shown(unit.model_name), ", ", unit.finished, "\n");
  std::vector<std::string> lines;
  for (const auto& item : unit.checklist) {
    lines.push_back(StrCat(AnswerName(item.answer), "  ", item.id, item.text.empty() ? "" : ": ", item.text));
  }
  AddList(&out, "questions", lines);
  lines.clear();
  for (const auto& layer : unit.layers) {
    lines.push_back(
        StrCat(AnswerName(layer.answer), "  ", layer.name, layer.text.empty() ? "" : ": ", layer.text));
  }
  AddList(&out, "layers", lines);
  lines = {StrCat("sha256:", e.identity)};
  for (const auto& [name, value] : unit.identity.parts) lines.push_back(StrCat(name, "  ", value));
  AddList(&out, "numerics identity", lines);
  AddList(&out, "covers",
          {StrCat("batches up to ", unit.envelope.batch, ", contexts up to ", unit.envelope.context,
                  ", horizons up to ", unit.envelope.horizon)});
  AddList(&out, "inputs", Digests(unit.inputs));
  AddList(&out, "preprocessing", Digests(unit.preprocessing));
  AddList(&out, "reference", Digests(unit.reference));
  AddList(&out, "rules", {StrCat("sha256:", unit.rules_sha256)});
  lines.clear();
  for (const auto& waiver : unit.waivers) {
    lines.push_back(
        StrCat(waiver.subject, ": ", waiver.reason, " (", waiver.owner, ", until ", waiver.expires, ")"));
  }
  AddList(&out, "waivers", lines);
  AddList(&out, "known limits", unit.limits);
  AddList(&out, "files", Digests([&] {
    std::vector<evidence::NamedDigest> files;
    for (const auto& file : e.files) files.push_back(file.digest);
    return files;
  }()));
  AddList(&out, "by",
          {StrCat(unit.tool.name, " ", unit.tool.version, " ", unit.tool.commit, ", ", unit.repeats,
                  " repeats, ", e.records.total, " records")});
  AddList(&out, "signed by", {SignedBy(e)});
  AddList(&out, "again", {unit.reproduce});
  return out;
}

StatusOr<int> Show(const Options& o) {
  InterruptGuard interrupt;
  PLINTH_ASSIGN_OR_RETURN(const evidence::TrustedKeys keys, Keys(o));
  PLINTH_ASSIGN_OR_RETURN(const Target target, Resolve(o.path));
  std::vector<std::string> folders = {target.unit};
  if (target.unit.empty()) folders = target.several.newest;
  bool good = true;
  for (const std::string& folder : folders) {
    Fault fault = Fault::kNone;
    const auto opened = OpenEvidence(folder, keys, {}, &fault);
    if (!opened.ok() && !IsRefusal(opened, fault)) return opened.status();
    good = good && opened.ok();
    PLINTH_RETURN_IF_ERROR(Print(o.json        ? Json(folder, opened, fault, /*statement=*/true)
                                 : opened.ok() ? Text(*opened)
                                               : Line(folder, opened)));
  }
  return good ? 0 : 1;
}

StatusOr<int> Key(bool json) {
  PLINTH_ASSIGN_OR_RETURN(const std::string folder, evidence::KeyFolder());
  const std::string path = JoinPath(folder, evidence::kLocalKeyFile);
  if (!FileExists(path)) {
    return absl::NotFoundError(
        StrCat(path, ": there is no local key yet; the first plinth accept makes one"));
  }
  PLINTH_ASSIGN_OR_RETURN(const evidence::SigningKey key, evidence::SigningKey::Load(path));
  if (!json) {
    PLINTH_RETURN_IF_ERROR(Print(key.public_key().pem()));
    return 0;
  }
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("path"), w.String(path);
  w.Key("keyid"), w.String(key.public_key().keyid());
  w.Key("public_key"), w.String(key.public_key().pem());
  w.EndObject();
  w.EndLine();
  PLINTH_RETURN_IF_ERROR(Print(out));
  return 0;
}

}  // namespace

void AddEvidence(Program& program) {
  CLI::App* command = program.Add("evidence", "check signed evidence, and show what it says");
  command->require_subcommand(1);
  const auto add_path = [](CLI::App* to, const std::shared_ptr<Options>& o) {
    to->add_option("path", o->path, "a folder of evidence, or one that holds several")->required();
    to->add_option("-k,--key", o->keys, "a public key in PEM to trust beside the local one (repeatable)");
    Program::AddJson(to, o.get());
  };
  auto verify = std::make_shared<Options>();
  CLI::App* verify_command =
      program.Add(command, "verify", "check signature, every file and every claim, offline");
  add_path(verify_command, verify);
  verify_command->add_option("--identity", verify->identity, "the numerics identity that it must be for");
  program.Run(verify_command, [verify] { return Verify(*verify); });
  auto show = std::make_shared<Options>();
  CLI::App* show_command = program.Add(command, "show", "what verified evidence says");
  add_path(show_command, show);
  program.Run(show_command, [show] { return Show(*show); });
  auto key = std::make_shared<Options>();
  CLI::App* key_command =
      program.Add(command, "key", "the public half of the local key, for those who shall trust it");
  Program::AddJson(key_command, key.get());
  program.Run(key_command, [key] { return Key(key->json); });
}

}  // namespace plinth::app
