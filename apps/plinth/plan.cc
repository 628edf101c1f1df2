// plinth plan: what a run will do, step by step, before it runs.
#include "apps/plinth/command.h"
#include "apps/plinth/series_options.h"
#include "plinth/engine/session.h"
#include "plinth/formats/json_writer.h"

namespace plinth::app {
namespace {

struct Options : CommonOptions {
  std::string model;
  int64_t batch = 8, context = 0, horizon = 0;
  bool explain = false;
};

void WriteSteps(formats::JsonWriter& w, const plan::Plan& plan) {
  w.Key("explain");
  w.BeginArray();
  for (size_t s = 0; s < plan.step_count(); ++s) {
    const ops::OpCall& call = plan.StepCall(s);
    const ops::Cost cost = plan.StepCost(s);
    w.BeginObject();
    w.Key("name"), w.String(plan.StepName(s));
    w.Key("op"), w.String(call.spec->name);
    w.Key("kernel"), w.String(plan.StepKernel(s));
    w.Key("attributes"), w.String(ops::ToString(call.attributes));
    w.Key("output"), w.String(ToString(call.outputs[0]));
    w.Key("flops"), w.Number(cost.flops);
    w.Key("bytes"), w.Number(cost.bytes);
    w.EndObject();
  }
  w.EndArray();
}

StatusOr<int> Explain(const Options& o) {
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  PLINTH_ASSIGN_OR_RETURN(const std::string folder, ModelFolderOrShipped(o.model));
  PLINTH_ASSIGN_OR_RETURN(auto session, engine::Session::Load(folder, runtime->context()));
  const models::ModelInfo& info = session->model().info();
  PLINTH_RETURN_IF_ERROR(CheckContext(o.context, info));
  const int64_t horizon = o.horizon == 0 ? info.horizon : o.horizon;
  const int64_t passes = (horizon + info.horizon - 1) / info.horizon;
  const int64_t tokens = session->model().Tokens(o.context == 0 ? info.context_length : o.context,
                                                 std::min(horizon, info.horizon));
  PLINTH_ASSIGN_OR_RETURN(const auto plan, session->MakePlan({.size = {o.batch, o.batch * tokens}}));
  const ops::Cost cost = plan->CostAt(plan->capacity());
  std::string out;
  if (o.json) {
    formats::JsonWriter w(&out);
    w.BeginObject();
    w.Key("model"), w.String(folder);
    w.Key("device"), w.String(o.device);
    w.Key("isa"), w.String(IsaName(runtime->context().isa));
    w.Key("batch"), w.Int(o.batch);
    w.Key("context"), w.Int(o.context == 0 ? info.context_length : o.context);
    w.Key("horizon"), w.Int(horizon);
    w.Key("passes"), w.Int(passes);
    w.Key("steps"), w.Int(static_cast<int64_t>(plan->step_count()));
    if (o.explain) WriteSteps(w, *plan);
    w.Key("flops"), w.Number(cost.flops);
    w.Key("product_flops"), w.Number(cost.product_flops);
    w.Key("arena_bytes"), w.Int(plan->arena_bytes());
    w.Key("scratch_bytes"), w.Int(plan->scratch_bytes());
    w.Key("weight_bytes"), w.Int(plan->weight_bytes());
    w.EndObject();
    w.EndLine();
  } else {
    StrAppend(&out, folder, " on ", o.device, " (x86-64-", IsaName(runtime->context().isa), "), batch ",
              o.batch, ", horizon ", horizon, ": ", passes, passes == 1 ? " pass" : " passes", " of ",
              plan->step_count(), " steps\n");
    out += o.explain ? plan->Explain()
                     : StrCat("arena ", plan->arena_bytes(), " bytes, weights ", plan->weight_bytes(),
                              " bytes, ", cost.flops / 1e6, " Mflop a pass; --explain lists the steps\n");
  }
  PLINTH_RETURN_IF_ERROR(Print(out));
  return 0;
}

}  // namespace

void AddPlan(Program& program) {
  auto o = std::make_shared<Options>();
  CLI::App* command = program.Add("plan", "what a run will do, step by step");
  command->add_option("-m,--model", o->model, "model folder (default: the shipped model)");
  command->add_option("-b,--batch", o->batch, "series in one run")->check(CLI::Range(1, 1 << 20));
  command->add_option("-c,--context", o->context, "steps of history")->check(CLI::Range(1, 1 << 30));
  command->add_option("-H,--horizon", o->horizon, "steps to forecast")->check(CLI::Range(1, 1 << 20));
  command->add_flag("--explain", o->explain, "list every step: operator, kernel and why, type, bytes, flops");
  program.AddCommon(command, o.get());
  Program::AddJson(command, o.get());
  program.Run(command, [o] { return Explain(*o); });
}

}  // namespace plinth::app
