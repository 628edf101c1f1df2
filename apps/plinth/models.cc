// plinth models: what model folders hold.
#include <algorithm>

#include "apps/plinth/command.h"
#include "apps/plinth/credential.h"
#include "apps/plinth/evidence_state.h"
#include "plinth/base/files.h"
#include "plinth/engine/identity.h"
#include "plinth/engine/session.h"
#include "plinth/formats/json_writer.h"
#include "plinth/report/terminal.h"

namespace plinth::app {
namespace {

// What `models show` tells about one folder.
struct Sheet {
  std::string path, family, description, licence, notes, digest;
  models::ModelInfo info;
  evidence::GateResult evidence;
  int64_t parameters = 0, weight_bytes = 0;
  double flops = 0;  // of one series with a full context, one pass
};

StatusOr<Sheet> Read(const std::string& folder, const std::string& evidence) {
  Threads one(1);
  // The level that runs would have: evidence is about it.
  PLINTH_ASSIGN_OR_RETURN(const Isa isa, IsaFromEnvironment());
  const Context context{&one, isa};
  PLINTH_ASSIGN_OR_RETURN(auto session, engine::Session::Load(folder, context));
  Sheet sheet;
  sheet.path = folder;
  sheet.info = session->model().info();
  sheet.family = sheet.info.family;
  sheet.description = sheet.info.description;
  sheet.licence = session->folder().notes().licence;
  sheet.notes = session->folder().notes().notes;
  for (const formats::ConstTensorRef& tensor : session->folder().weights().tensors()) {
    sheet.parameters += tensor.size();
    sheet.weight_bytes += tensor.bytes;
  }
  const std::vector<double> full(static_cast<size_t>(sheet.info.context_length), 1.0);
  const engine::Group group{{{full, {}}}, 1};
  PLINTH_ASSIGN_OR_RETURN(
      const ops::Cost cost,
      session->PassCost({&group, 1}, {.horizon = sheet.info.horizon, .levels = sheet.info.levels}));
  sheet.flops = cost.flops;
  PLINTH_ASSIGN_OR_RETURN(const plan::NumericsIdentity identity, engine::IdentityOf(*session));
  sheet.digest = *identity.Find("model");
  sheet.evidence = EvidenceOf(*session, identity, {}, evidence);
  return sheet;
}

std::string Json(const Sheet& s) {
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("path"), w.String(s.path);
  w.Key("family"), w.String(s.family);
  w.Key("description"), w.String(s.description);
  w.Key("context_length"), w.Int(s.info.context_length);
  w.Key("horizon"), w.Int(s.info.horizon);
  w.Key("quantiles");
  w.BeginArray();
  for (const double level : s.info.levels) w.Number(level);
  w.EndArray();
  w.Key("sizes");
  w.BeginObject();
  for (const auto& [name, value] : s.info.sizes) w.Key(name), w.Int(value);
  w.EndObject();
  w.Key("parameters"), w.Int(s.parameters);
  w.Key("weight_bytes"), w.Int(s.weight_bytes);
  w.Key("flops"), w.Number(s.flops);
  w.Key("limits");
  w.BeginArray();
  for (const std::string& limit : s.info.limits) w.String(limit);
  w.EndArray();
  w.Key("licence"), w.String(s.licence);
  w.Key("published_licence"), w.String(s.info.licence);
  w.Key("notes"), w.String(s.notes);
  w.Key("digest"), w.String(StrCat("sha256:", s.digest));
  w.Key("identity"), w.String(StrCat("sha256:", s.evidence.identity));
  w.Key("evidence"), w.String(StateName(s.evidence.state));
  w.Key("evidence_reason"), w.String(s.evidence.sentence);
  w.Key("evidence_command"), w.String(s.evidence.command);
  w.EndObject();
  w.EndLine();
  return out;
}

std::string Text(const Sheet& s) {
  std::string out = StrCat(s.path, "\n");
  size_t width = 18;
  for (const auto& [name, value] : s.info.sizes) width = std::max(width, name.size() + 1);
  const auto line = [&](std::string_view name, const std::string& value) {
    std::string padded(name);
    padded.resize(width, ' ');
    // Notes and licences come from the model's files.
    if (!value.empty()) StrAppend(&out, "  ", padded, Printable(value, Glyphs::kUnicode), "\n");
  };
  line("family", StrCat(s.family, " (", s.description, ")"));
  line("context", StrCat("up to ", s.info.context_length, " steps"));
  const size_t paths = s.info.continuation.paths.size();
  line("horizon", StrCat(s.info.horizon, " steps in one pass; longer ones continue on ",
                         paths == 1 ? std::string("the medians") : StrCat(paths, " quantile paths")));
  line("covariates", s.info.groups ? "past and known ahead, numbers and categories; joint targets" : "none");
  line("quantiles", Join(s.info.levels, " "));
  for (const auto& [name, value] : s.info.sizes) line(name, StrCat(value));
  line("parameters", StrCat(s.parameters, " (", s.weight_bytes, " bytes)"));
  line("flops", StrCat(s.flops / 1e6, " million for one series of ", s.info.context_length, " steps, ",
                       s.info.horizon, " steps ahead"));
  for (const std::string& limit : s.info.limits) line("limit", limit);
  line("licence",
       !s.licence.empty() ? s.licence
       : s.info.licence.empty()
           ? "not stated"
           : StrCat("not stated in the folder; weights of this family are published under ", s.info.licence));
  line("notes", s.notes);
  line("digest", StrCat("sha256:", s.digest));
  line("identity", StrCat("sha256:", s.evidence.identity));
  line("evidence", StrCat(StateName(s.evidence.state), ": ", s.evidence.sentence));
  line("", s.evidence.command);
  return out;
}

StatusOr<int> Show(const std::string& wanted, const std::string& evidence, bool json) {
  PLINTH_ASSIGN_OR_RETURN(const std::string folder, ModelFolderOrShipped(wanted));
  PLINTH_ASSIGN_OR_RETURN(const Sheet sheet, Read(folder, evidence));
  PLINTH_RETURN_IF_ERROR(Print(json ? Json(sheet) : Text(sheet)));
  return 0;
}

std::string BrokenJson(const std::string& folder, const Status& status) {
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("path"), w.String(folder);
  w.Key("error"), w.String(std::string(status.message()));
  w.EndObject();
  w.EndLine();
  return out;
}

// `root` itself and the folders in it that have a config.json; where none is named, those beside the shipped
// model. A folder that cannot be used is listed with the reason, and makes the result 1.
StatusOr<int> List(std::string root, const std::string& evidence, bool json) {
  if (root.empty()) {
    PLINTH_ASSIGN_OR_RETURN(const std::string shipped, ShippedModel());
    root = shipped.substr(0, shipped.rfind('/'));
  }
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(root));
  std::vector<std::string> folders = {root};
  for (const std::string& name : names) folders.push_back(JoinPath(root, name));
  int64_t found = 0, broken = 0;
  for (const std::string& folder : folders) {
    if (!FileExists(JoinPath(folder, "config.json")) && !FileExists(JoinPath(folder, "config.json.enc")))
      continue;
    ++found;
    const auto sheet = Read(folder, evidence);
    broken += !sheet.ok();
    if (json) {
      PLINTH_RETURN_IF_ERROR(Print(sheet.ok() ? Json(*sheet) : BrokenJson(folder, sheet.status())));
    } else if (sheet.ok()) {
      PLINTH_RETURN_IF_ERROR(Print(StrCat(folder, ": ", sheet->family, ", ", sheet->parameters,
                                          " parameters, ", StateName(sheet->evidence.state), "\n")));
    } else {
      PLINTH_RETURN_IF_ERROR(Print(StrCat("broken: ", std::string(sheet.status().message()), "\n")));
    }
  }
  if (found == 0) PrintLine("note", StrCat(root, ": no folder in it holds a config.json"));
  return broken > 0 ? 1 : 0;
}

}  // namespace

void AddModels(Program& program) {
  CLI::App* models = program.Add("models", "what model folders hold");
  models->require_subcommand(1);
  struct Options : CommonOptions {
    std::string folder, evidence;
  };
  auto show = std::make_shared<Options>();
  CLI::App* show_command =
      program.Add(models, "show", "family, sizes, licence, digests, evidence of one folder");
  show_command->add_option("folder,-m,--model", show->folder, "model folder (default: the shipped model)");
  AddEvidenceOption(show_command, &show->evidence);
  AddCredentialOption(show_command);
  Program::AddJson(show_command, show.get());
  program.Run(show_command, [show] { return Show(show->folder, show->evidence, show->json); });
  auto list = std::make_shared<Options>();
  CLI::App* list_command = program.Add(models, "list", "the model folders below a folder");
  list_command->add_option("folder", list->folder, "where to look (default: beside the shipped model)");
  AddEvidenceOption(list_command, &list->evidence);
  AddCredentialOption(list_command);
  Program::AddJson(list_command, list.get());
  program.Run(list_command, [list] { return List(list->folder, list->evidence, list->json); });
  AddEncryption(program, models);
}

}  // namespace plinth::app
