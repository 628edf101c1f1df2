// plinth models encrypt, plinth models decrypt: model folders at rest.
#include <cstdlib>

#include "apps/plinth/command.h"
#include "apps/plinth/credential.h"
#include "plinth/base/interrupt.h"
#include "plinth/formats/json_writer.h"
#include "plinth/formats/sealed_folder.h"

namespace plinth::app {
namespace {

struct Options : CommonOptions {
  std::string from, to;
};

// One command runs in a process, and its parser fills this.
std::string credential_file;

void List(formats::JsonWriter& w, std::string_view key, const std::vector<std::string>& names) {
  w.Key(key), w.BeginArray();
  for (const std::string& name : names) w.String(name);
  w.EndArray();
}

StatusOr<int> Convert(const Options& o, bool encrypt) {
  InterruptGuard interrupt;
  const formats::CredentialPtr credential = formats::CredentialInUse();
  if (credential == nullptr) {
    return absl::InvalidArgumentError(
        "--credential is missing: the file of the key, 32 bytes or 64 hexadecimal digits, for its owner "
        "alone "
        "(umask 077; openssl rand -hex 32 > model.key)");
  }
  PLINTH_ASSIGN_OR_RETURN(const formats::FolderReport report,
                          encrypt ? formats::EncryptFolder(o.from, o.to, credential)
                                  : formats::DecryptFolder(o.from, o.to, credential));
  for (const std::string& name : report.left_out) {
    PrintLine("note", StrCat(name, ": is no part of a model and was left out"));
  }
  std::string out;
  if (o.json) {
    formats::JsonWriter w(&out);
    w.BeginObject();
    w.Key("path"), w.String(o.to);
    List(w, encrypt ? "encrypted" : "decrypted", report.changed);
    List(w, "copied", report.copied);
    List(w, "left_out", report.left_out);
    w.Key("bytes"), w.Int(report.bytes);
    w.EndObject();
    w.EndLine();
  } else {
    out =
        StrCat(o.to, ": ", encrypt ? "encrypted " : "decrypted ", Join(report.changed, ", "), " (",
               report.bytes, " bytes)",
               report.copied.empty() ? std::string() : StrCat("; copied ", Join(report.copied, ", ")), "\n");
  }
  PLINTH_RETURN_IF_ERROR(Print(out));
  return 0;
}

}  // namespace

void AddCredentialOption(CLI::App* command) {
  command->add_option("--credential", credential_file,
                      "file with the key of encrypted model folders (or PLINTH_CREDENTIAL names it)");
}

std::string CredentialFile() {
  if (!credential_file.empty()) return credential_file;
  const char* named = std::getenv("PLINTH_CREDENTIAL");
  return named == nullptr ? "" : named;
}

Status TakeCredential() {
  const std::string file = CredentialFile();
  return file.empty() ? absl::OkStatus() : formats::UseCredentialFile(file);
}

void AddEncryption(Program& program, CLI::App* models) {
  for (const bool encrypt : {true, false}) {
    auto o = std::make_shared<Options>();
    CLI::App* command =
        encrypt ? program.Add(models, "encrypt", "write a model folder anew with its model encrypted")
                : program.Add(models, "decrypt", "write an encrypted model folder anew, plain");
    command->add_option("folder", o->from, "model folder")->required();
    command->add_option("out", o->to, "new folder")->required();
    AddCredentialOption(command);
    Program::AddJson(command, o.get());
    program.Run(command, [o, encrypt] { return Convert(*o, encrypt); });
  }
}

}  // namespace plinth::app
