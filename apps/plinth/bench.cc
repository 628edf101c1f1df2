// plinth bench: measured speed beside the measured limits of this machine.
#include <algorithm>
#include <cstdio>

#include "apps/plinth/command.h"
#include "plinth/base/interrupt.h"
#include "plinth/engine/random_weights.h"
#include "plinth/formats/json_writer.h"
#include "plinth/measure/bench_model.h"
#include "plinth/measure/bench_ops.h"
#include "plinth/measure/machine.h"
#include "plinth/models/shapes.h"
#include "plinth/ops/linear/op.h"

namespace plinth::app {
namespace {

template <typename... Args>
std::string Format(const char* format, Args... args) {
  char text[256];
  std::snprintf(text, sizeof(text), format, args...);
  return text;
}

void Write(formats::JsonWriter& w, const measure::Machine& m) {
  w.BeginObject();
  w.Key("matmul_gflops"), w.Number(m.matmul_gflops);
  w.Key("read_gb_per_second"), w.Number(m.read_gb_per_second);
  w.Key("read_bytes"), w.Int(m.read_bytes);
  w.Key("threads"), w.Int(m.threads);
  w.EndObject();
}

StatusOr<int> BenchMachine(const CommonOptions& o) {
  InterruptGuard interrupt;
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  PLINTH_ASSIGN_OR_RETURN(const measure::Machine m,
                          measure::MeasureMachine(runtime->threads(), runtime->context().isa));
  PLINTH_RETURN_IF_ERROR(CheckInterrupted());
  std::string out;
  if (o.json) {
    formats::JsonWriter w(&out);
    Write(w, m);
    w.EndLine();
  } else {
    out = Format(
        "%d threads, x86-64-%s\nmatrix peak     %8.1f GFLOP/s (best packed f32 product)\n"
        "memory read     %8.1f GB/s (in order, %.0f MB)\n",
        m.threads, std::string(IsaName(runtime->context().isa)).c_str(), m.matmul_gflops,
        m.read_gb_per_second, static_cast<double>(m.read_bytes) / 1e6);
  }
  PLINTH_RETURN_IF_ERROR(Print(out));
  return 0;
}

std::string ProductJson(const measure::ProductBench& b, Isa isa) {
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("op"), w.String("linear");
  w.Key("m"), w.Int(b.shape.rows);
  w.Key("k"), w.Int(b.shape.depth);
  w.Key("n"), w.Int(b.shape.columns);
  w.Key("isa"), w.String(IsaName(isa));
  w.Key("kernel"), w.String(b.kernel);
  w.Key("referee"), w.String(b.referee);
  w.Key("us"), w.Number(1e6 * b.own_seconds.median);
  w.Key("us_onednn"), w.Number(1e6 * b.onednn_seconds.median);
  w.Key("gflops"), w.Number(b.gflops);
  w.Key("gflops_onednn"), w.Number(b.onednn_gflops);
  w.Key("ratio"), w.Number(b.ratio.median);
  w.Key("ratio_min"), w.Number(b.ratio.min);
  w.Key("ratio_p90"), w.Number(b.ratio.p90);
  w.Key("fraction_of_matmul_peak"), w.Number(b.fraction_of_peak);
  w.EndObject();
  w.EndLine();
  return out;
}

Status CheckKernel(const std::string& kernel) {
  std::vector<std::string> known;
  for (const ops::CpuKernel& k : ops::LinearSpec().cpu) known.emplace_back(k.name);
  if (kernel.empty() || std::find(known.begin(), known.end(), kernel) != known.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("--kernel ", kernel, " is unknown; linear has ", Join(known, ", ")));
}

StatusOr<int> BenchOps(const CommonOptions& o, const std::string& kernel) {
  InterruptGuard interrupt;
  PLINTH_RETURN_IF_ERROR(CheckKernel(kernel));
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  const Isa isa = runtime->context().isa;
  Threads one(1);  // products are timed on one thread, so their limit is one thread's too
  PLINTH_ASSIGN_OR_RETURN(const measure::Machine machine, measure::MeasureMachine(one, isa));
  if (!o.json) {
    PLINTH_RETURN_IF_ERROR(
        Print(Format("one thread, x86-64-%s; limits: %.1f GFLOP/s, %.1f GB/s; ratio above 1: ours is faster "
                     "than oneDNN's\n"
                     "%7s %6s %6s  %-10s %9s %9s %9s %7s %8s\n",
                     std::string(IsaName(isa)).c_str(), machine.matmul_gflops, machine.read_gb_per_second,
                     "M", "K", "N", "kernel", "us", "GFLOP/s", "oneDNN", "ratio", "of peak")));
  }
  Status status;
  measure::ProductOptions options;
  options.kernel = kernel;
  options.machine = machine;
  PLINTH_RETURN_IF_ERROR(
      measure::BenchProducts(measure::ModelProducts(), isa, options, [&](const measure::ProductBench& b) {
        status =
            Print(o.json ? ProductJson(b, isa)
                         : Format("%7lld %6lld %6lld  %-10s %9.1f %9.1f %9.1f %7.3f %7.0f%%\n",
                                  static_cast<long long>(b.shape.rows), static_cast<long long>(b.shape.depth),
                                  static_cast<long long>(b.shape.columns), b.kernel.c_str(),
                                  1e6 * b.own_seconds.median, b.gflops, b.onednn_gflops, b.ratio.median,
                                  100 * b.fraction_of_peak));
        if (status.ok()) status = FlushOutput();
        if (status.ok()) status = CheckInterrupted();
        return status.ok();
      }).status());
  PLINTH_RETURN_IF_ERROR(status);
  return 0;
}

std::string ModelJson(const measure::ModelBench& b, const std::string& model, const CommonOptions& o) {
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("model"), w.String(model);
  w.Key("device"), w.String(o.device);
  w.Key("precision"), w.String(o.precision);
  w.Key("threads"), w.Int(b.threads);
  w.Key("batch"), w.Int(b.batch);
  w.Key("context"), w.Int(b.context);
  if (b.shortest > 0) {
    w.Key("lengths");
    w.BeginArray();
    w.Int(b.shortest), w.Int(b.context);
    w.EndArray();
  }
  w.Key("horizon"), w.Int(b.horizon);
  w.Key("ms");
  w.BeginObject();
  w.Key("min"), w.Number(b.ms_min);
  w.Key("p50"), w.Number(b.ms_p50);
  w.Key("p90"), w.Number(b.ms_p90);
  w.EndObject();
  w.Key("cpu_ms");
  w.BeginObject();
  w.Key("min"), w.Number(b.cpu_ms_min);
  w.Key("p50"), w.Number(b.cpu_ms_p50);
  w.EndObject();
  w.Key("series_per_second"), w.Number(b.series_per_second);
  w.Key("flops"), w.Number(b.flops);
  w.Key("gflops"), w.Number(b.gflops);
  w.Key("machine"), Write(w, b.machine);
  w.Key("fraction_of_matmul_peak"), w.Number(b.fraction_of_matmul_peak);
  w.Key("cpu_fraction_of_matmul_peak"), w.Number(b.cpu_fraction_of_matmul_peak);
  w.Key("arena_bytes"), w.Int(b.arena_bytes);
  w.Key("weight_bytes"), w.Int(b.weight_bytes);
  w.Key("peak_rss_bytes"), w.Int(b.peak_rss_bytes);
  w.Key("allocations_in_loop");
  b.allocations_in_loop < 0 ? w.Null() : w.Int(b.allocations_in_loop);
  w.Key("profile");
  w.BeginObject();
  for (const auto& [name, share] : b.profile) w.Key(name), w.Number(share);
  w.EndObject();
  w.EndObject();
  w.EndLine();
  return out;
}

std::string ModelText(const measure::ModelBench& b, const std::string& model) {
  const std::string context = b.shortest > 0 ? StrCat(b.shortest, " to ", b.context) : StrCat(b.context);
  std::string out =
      Format("%s, batch %lld, context %s, horizon %lld, %d threads\n", model.c_str(),
             static_cast<long long>(b.batch), context.c_str(), static_cast<long long>(b.horizon), b.threads) +
      Format("  time        %10.3f ms median of %lld calls (min %.3f, p90 %.3f), features included\n",
             b.ms_p50, static_cast<long long>(b.calls), b.ms_min, b.ms_p90) +
      Format("  throughput  %10.0f series/s\n", b.series_per_second) +
      Format(
          "  products    %10.1f GFLOP/s, %.0f %% of this machine's matrix peak (%.1f); %.0f %% by processor "
          "time\n",
          b.gflops, 100 * b.fraction_of_matmul_peak, b.machine.matmul_gflops,
          100 * b.cpu_fraction_of_matmul_peak) +
      Format("  memory      %10.1f MB at most: weights %.1f, arenas %.1f, program and data the rest\n",
             static_cast<double>(b.peak_rss_bytes) / 1e6, static_cast<double>(b.weight_bytes) / 1e6,
             static_cast<double>(b.arena_bytes) / 1e6) +
      Format("  allocations %10lld in runs of the plan\n  profile    ",
             static_cast<long long>(b.allocations_in_loop));
  for (const auto& [name, share] : b.profile) {
    if (share >= 0.005) out += Format(" %s %.0f %%", name.c_str(), 100 * share);
  }
  return out + "\n";
}

struct ModelOptions : CommonOptions {
  std::string model, shape;
  std::vector<int64_t> lengths;  // the shortest and the longest
  measure::ModelBenchOptions bench;
};

StatusOr<std::unique_ptr<engine::Session>> LoadOrMake(const ModelOptions& o, const Context& context) {
  if (o.shape.empty()) {
    PLINTH_ASSIGN_OR_RETURN(const std::string folder, ModelFolderOrShipped(o.model));
    return engine::Session::Load(folder, context);
  }
  PLINTH_ASSIGN_OR_RETURN(const formats::Config config, models::ShapeConfig(o.shape));
  return engine::Session::Make(o.shape, config, std::make_shared<engine::RandomWeights>(), context);
}

StatusOr<int> BenchOneModel(const ModelOptions& o) {
  InterruptGuard interrupt;
  if (!(o.bench.seconds >= 0)) return absl::InvalidArgumentError("--seconds must be a number");
  measure::ModelBenchOptions options = o.bench;
  if (!o.lengths.empty()) {
    options.shortest = o.lengths.front();
    options.context = o.lengths.back();
  }
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  PLINTH_ASSIGN_OR_RETURN(auto session, LoadOrMake(o, runtime->context()));
  PLINTH_ASSIGN_OR_RETURN(const measure::ModelBench bench, measure::BenchModel(*session, options));
  PLINTH_RETURN_IF_ERROR(
      Print(o.json ? ModelJson(bench, session->name(), o) : ModelText(bench, session->name())));
  return 0;
}

}  // namespace

void AddBench(Program& program) {
  CLI::App* bench = program.Add("bench", "measured speed beside the limits of this machine");
  bench->require_subcommand(1);

  auto machine = std::make_shared<CommonOptions>();
  CLI::App* machine_command = program.Add(bench, "machine", "matrix peak and memory read speed");
  program.AddCommon(machine_command, machine.get());
  Program::AddJson(machine_command, machine.get());
  program.Run(machine_command, [machine] { return BenchMachine(*machine); });

  struct OpsOptions : CommonOptions {
    std::string kernel;
  };
  auto ops = std::make_shared<OpsOptions>();
  CLI::App* ops_command = program.Add(bench, "ops", "matrix products, ours and oneDNN's in turn");
  ops_command->add_option("--kernel", ops->kernel, "race this kernel of linear (default: the plan's choice)");
  program.AddCommon(ops_command, ops.get());
  Program::AddJson(ops_command, ops.get());
  program.Run(ops_command, [ops] { return BenchOps(*ops, ops->kernel); });

  auto model = std::make_shared<ModelOptions>();
  CLI::App* model_command = program.Add(bench, "model", "forecasts per second of a model");
  CLI::Option* folder =
      model_command->add_option("-m,--model", model->model, "model folder (default: the shipped model)");
  model_command
      ->add_option(
          "--shape", model->shape,
          StrCat("sizes of a published model, with random weights: ", Join(models::ShapeNames(), ", ")))
      ->excludes(folder);
  model_command->add_option("-b,--batch", model->bench.batch, "series in one call")
      ->check(CLI::Range(1, 1 << 20));
  CLI::Option* context = model_command->add_option("-c,--context", model->bench.context,
                                                   "steps of history (default: the model's)");
  context->check(CLI::Range(1, 1 << 30));
  model_command
      ->add_option("--lengths", model->lengths, "series from LOW to HIGH steps long, evenly spread: LOW,HIGH")
      ->delimiter(',')
      ->expected(2)
      ->check(CLI::Range(1, 1 << 30))
      ->excludes(context);
  model_command->add_option("-H,--horizon", model->bench.horizon, "steps to forecast (default: the model's)")
      ->check(CLI::Range(1, 1 << 20));
  model_command->add_option("--seconds", model->bench.seconds, "measure at least this long")
      ->check(CLI::Range(0.0, 3600.0));
  program.AddCommon(model_command, model.get());
  Program::AddJson(model_command, model.get());
  program.Run(model_command, [model] { return BenchOneModel(*model); });
}

}  // namespace plinth::app
