// plinth env: what this machine and its software are, and what differs between two.
#include "apps/plinth/command.h"
#include "apps/plinth/env_text.h"
#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"
#include "plinth/evidence/environment.h"
#include "plinth/evidence/environment_diff.h"
#include "plinth/formats/json_writer.h"

namespace plinth::app {
namespace {

using evidence::Environment;

struct Options : CommonOptions {
  evidence::EnvironmentOptions collect;
  bool no_tools = false, strict = false, sources = false;
  std::string a, b;
};

StatusOr<int> Show(const Options& o) {
  const InterruptGuard guard;
  Threads threads(o.threads);
  evidence::EnvironmentOptions options = o.collect;
  options.threads = &threads;
  options.run_tools = !o.no_tools;
  PLINTH_ASSIGN_OR_RETURN(const Environment environment, CollectEnvironment(options));
  PLINTH_RETURN_IF_ERROR(Print(o.json      ? ToJson(environment)
                               : o.sources ? AllFactsText(environment)
                                           : EnvironmentText(environment)));
  const bool errors =
      !environment.findings.empty() && environment.findings[0].severity == evidence::Severity::kError;
  return o.strict && errors ? 1 : 0;
}

// A file, a folder that holds one (a capture, evidence), or a recorded tree.
StatusOr<Environment> Open(const std::string& path) {
  // A large record: 1024 cards and their libraries take a few MiB.
  constexpr int64_t kLimit = 64 << 20;
  std::string file = path;
  if (IsFolder(path)) {
    file = JoinPath(path, evidence::kEnvironmentFile);
    if (!FileExists(file)) {
      if (!IsFolder(JoinPath(path, "proc")) && !IsFolder(JoinPath(path, "plinth-recorded"))) {
        return absl::NotFoundError(StrCat(path, ": holds neither ", evidence::kEnvironmentFile,
                                          " nor a recorded system (proc/, plinth-recorded/)"));
      }
      Threads one(1);
      evidence::EnvironmentOptions options;
      options.root = path;
      options.threads = &one;
      return CollectEnvironment(options);
    }
  }
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kLimit));
  return evidence::ParseEnvironment(text, file);
}

std::string DiffJson(const Options& o, const evidence::EnvironmentDiff& diff) {
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("a"), w.String(o.a);
  w.Key("b"), w.String(o.b);
  for (const auto effect :
       {evidence::Effect::kNumbers, evidence::Effect::kSpeed, evidence::Effect::kRecorded}) {
    w.Key(EffectName(effect)), w.BeginArray();
    for (const auto& d : diff.differences) {
      if (d.effect != effect) continue;
      w.BeginObject();
      w.Key("fact"), w.String(d.path);
      w.Key("a"), d.in_a ? w.String(d.a) : w.Null();
      w.Key("b"), d.in_b ? w.String(d.b) : w.Null();
      w.Key("reason"), w.String(d.reason);
      w.EndObject();
    }
    w.EndArray();
  }
  w.Key("same"), w.Int(diff.same);
  w.Key("can_change_numbers"), w.Bool(diff.CanChangeNumbers());
  w.Key("verdict"), w.String(diff.CanChangeNumbers() ? "fail" : diff.differences.empty() ? "pass" : "warn");
  w.EndObject();
  w.EndLine();
  return out;
}

StatusOr<int> ShowDiff(const Options& o) {
  PLINTH_ASSIGN_OR_RETURN(const Environment a, Open(o.a));
  PLINTH_ASSIGN_OR_RETURN(const Environment b, Open(o.b));
  const evidence::EnvironmentDiff diff = Diff(a, b);
  PLINTH_RETURN_IF_ERROR(Print(o.json ? DiffJson(o, diff) : DiffText(diff)));
  return diff.CanChangeNumbers() ? 1 : 0;
}

}  // namespace

void AddEnv(Program& program) {
  auto o = std::make_shared<Options>();
  CLI::App* env = program.Add("env", "what this machine and its software are, with contradictions");
  env->add_option("--root", o->collect.root, "a recorded system tree to read instead of this machine");
  env->add_option("--python", o->collect.python, "interpreter whose packages to list");
  env->add_option("--libraries", o->collect.libraries,
                  "libraries, or folders of them, whose GPU targets to list");
  env->add_option("-m,--model", o->collect.model, "model folder to digest");
  env->add_option("--inputs", o->collect.inputs, "files to digest");
  env->add_flag("--no-tools", o->no_tools, "run none of the vendors' tools");
  env->add_option("--tool-seconds", o->collect.tool_seconds, "after which a tool is stopped (default: 10)")
      ->check(CLI::Range(0.1, 600.0));
  env->add_flag("--sources", o->sources, "every fact with where it was read");
  env->add_flag("--strict", o->strict, "exit code 1 when there is a finding of severity error");
  env->add_option("-t,--threads", o->threads, "threads to use (default: one per processor)")
      ->check(CLI::Range(1, 4096));
  Program::AddJson(env, o.get());
  auto d = std::make_shared<Options>();
  CLI::App* diff = program.Add(env, "diff", "what differs, and what of it can change numbers");
  diff->add_option("A", d->a, "environment.json, a folder that holds one, or a recorded tree")->required();
  diff->add_option("B", d->b, "the same")->required();
  Program::AddJson(diff, d.get());
  // The callback of a command runs after that of the one nested in it, so one action serves both.
  program.Run(env, [o, d, diff] {
    d->json = d->json || o->json;
    return diff->parsed() ? ShowDiff(*d) : Show(*o);
  });
}

}  // namespace plinth::app
