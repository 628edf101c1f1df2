#include "plinth/verify/model_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "plinth/engine/session.h"
#include "plinth/verify/compare.h"
#include "plinth/verify/golden.h"
#include "plinth/verify/placed.h"

namespace plinth::verify {
namespace {

using engine::Forecast;
using ops::RefTensor;

constexpr double kLayerLimit = 1e-5;
constexpr char kContext[] = "context";      // the input of a forecast of one series
constexpr char kQuantiles[] = "quantiles";  // its output, [quantile, step]

bool AllFinite(const std::vector<double>& data) {
  return std::all_of(data.begin(), data.end(), [](double x) { return std::isfinite(x); });
}

double Tolerance(const GoldenOutput& output, const RefTensor& reference) {
  double largest = 0;
  for (double x : reference.data) largest = std::max(largest, std::abs(x));
  return std::max(10 * output.max_abs_f32_f64, 8 * ops::kUnitRoundoff * largest);
}

Comparison CompareOutput(std::vector<double>& ours, const RefTensor& reference, double limit) {
  const std::vector<double> limits(reference.data.size(), limit);
  const View view =
      DenseView(ours.data(), DType::kF64, reference.dims.data(), static_cast<int>(reference.dims.size()));
  // The network computes in f32; its result is scaled back in double.
  return Compare(view, reference, {.limits = &limits, .ulp_type = DType::kF32});
}

// "" when every fault planted into the reference is noticed. The limit is a constant of the whole output,
// so that a swap of steps is visible only where they differ.
std::string SelfTest(const RefTensor& reference, double limit) {
  if (reference.data.size() < 2 || !AllFinite(reference.data)) return "";
  std::vector<double> same = reference.data;
  if (!CompareOutput(same, reference, limit).ok()) return "the reference does not equal itself";
  const double off = std::max(2 * limit, 0x1p-40 * std::abs(reference.data.back())) + 0x1p-1000;
  for (const double bad : {reference.data.back() + off, reference.data.back() - off, static_cast<double>(NAN),
                           static_cast<double>(INFINITY)}) {
    std::vector<double> spoilt = reference.data;
    spoilt.back() = bad;
    if (CompareOutput(spoilt, reference, limit).ok()) {
      return StrCat("did not notice ", bad, " in place of ", reference.data.back());
    }
  }
  return "";
}

class ModelVerifier {
 public:
  ModelVerifier(const Context& context, const ModelOptions& options, const RowSink& sink)
      : context_(context), options_(options), sink_(sink) {}

  StatusOr<Summary> Run() {
    PLINTH_ASSIGN_OR_RETURN(GoldenFolder golden, GoldenFolder::Open(options_.cases_file));
    golden_ = std::make_unique<GoldenFolder>(std::move(golden));
    if (golden_->cases().empty()) {
      return absl::InvalidArgumentError(StrCat(
          options_.cases_file, ": its list \"cases\" is empty; at least one case is needed to compare"));
    }
    if (!options_.case_name.empty() && golden_->Find(options_.case_name) == nullptr) {
      return absl::InvalidArgumentError(StrCat(options_.cases_file, " has no case \"", options_.case_name,
                                               "\"; the first one is \"", golden_->cases()[0].name, "\""));
    }
    PLINTH_ASSIGN_OR_RETURN(session_, engine::Session::Load(options_.folder, context_));
    for (const GoldenCase& c : golden_->cases()) {
      if (!Chosen(c.name)) continue;
      if (options_.interrupted && options_.interrupted()) return absl::CancelledError("interrupted");
      PLINTH_RETURN_IF_ERROR(RunCase(c));
    }
    PLINTH_RETURN_IF_ERROR(RunBatches());
    if (const GoldenCase* c = golden_->Find(golden_->layers_case()); c != nullptr && Chosen(c->name)) {
      PLINTH_RETURN_IF_ERROR(RunLayers(*c));
    }
    return summary_;
  }

 private:
  // A case that ran alone and gave an answer.
  struct Ran {
    const GoldenCase* golden;
    std::vector<double> context;
    Forecast forecast;
  };

  bool Chosen(const std::string& name) const {
    return options_.case_name.empty() || options_.case_name == name;
  }

  CheckRow RowOf(const GoldenCase& c, std::string output, std::string mode) const {
    CheckRow row;
    row.case_name = c.name;
    row.output = std::move(output);
    row.model = options_.folder;
    row.dtype = "f32";
    row.mode = std::move(mode);
    row.isa = IsaName(context_.isa);
    row.reproduce = StrCat("PLINTH_ISA=", row.isa, " ", ShellQuoted(options_.program), " verify model ",
                           ShellQuoted(options_.folder), " --cases ", ShellQuoted(options_.cases_file));
    // A batch is made of all chosen cases: one of them alone would not show what its neighbours do to it.
    if (row.mode != "bitwise" || !options_.case_name.empty()) {
      StrAppend(&row.reproduce, " --case ", ShellQuoted(c.name));
    }
    return row;
  }

  void Report(CheckRow row) {
    summary_.Add(row);
    if (sink_) sink_(row);
  }

  static void Judge(CheckRow& row, const Comparison& c) {
    row.compared = true;
    row.max_abs = c.max_abs;
    row.rel_l2 = c.rel_l2;
    row.max_ulp = c.max_ulp;
    row.limit = c.limit;
    row.worst_share = c.worst_share;
    row.status = c.ok() ? CheckStatus::kPassed : CheckStatus::kFailed;
    row.detail = c.bad_limits.empty() ? c.problem : c.bad_limits;
  }

  StatusOr<std::vector<Forecast>> Predict(const std::vector<std::span<const double>>& series,
                                          int64_t horizon) {
    return session_->Run(series, {.horizon = horizon, .levels = session_->model().info().levels});
  }

  Status RunCase(const GoldenCase& c) {
    for (const std::string& name : golden_->Unlisted(c)) {
      CheckRow row = RowOf(c, name, "correct");
      row.status = CheckStatus::kExtra;
      row.detail = "the arrays hold an output that cases.json does not list";
      Report(std::move(row));
    }
    if (c.inputs.size() != 1 || c.inputs.count(kContext) == 0) {
      CheckRow row = RowOf(c, kContext, "correct");
      row.status = CheckStatus::kUnimplemented;
      row.detail = StrCat("takes inputs other than one series \"", kContext, "\"");
      Report(std::move(row));
      return absl::OkStatus();
    }
    PLINTH_ASSIGN_OR_RETURN(RefTensor context, golden_->Input(c, kContext));
    const int64_t horizon = c.Option("horizon", session_->model().info().horizon);
    auto forecasts = Predict({context.data}, horizon);
    if (!c.reference_error.empty()) {
      ReportUndefined(c, kQuantiles, forecasts, c.reference_error);
      return absl::OkStatus();
    }
    for (const GoldenOutput& output : c.outputs) RunOutput(c, output, forecasts);
    if (forecasts.ok()) ran_.push_back({&c, std::move(context.data), std::move((*forecasts)[0])});
    return absl::OkStatus();
  }

  void RunOutput(const GoldenCase& c, const GoldenOutput& output,
                 const StatusOr<std::vector<Forecast>>& forecasts) {
    CheckRow row = RowOf(c, output.name, "correct");
    const StatusOr<RefTensor> reference = golden_->Output(c, output.name);
    if (output.name != kQuantiles) {
      row.status = CheckStatus::kUnimplemented;
      row.detail = StrCat("the engine gives \"", kQuantiles, "\" only");
    } else if (!output.finite) {
      return ReportUndefined(c, output.name, forecasts, "the original gives values that are not finite");
    } else if (!reference.ok()) {
      row.status = CheckStatus::kMissing;
      row.detail = std::string(reference.status().message());
    } else if (!forecasts.ok()) {
      row.detail = std::string(forecasts.status().message());
    } else {
      std::vector<double> ours = LevelsFirst((*forecasts)[0]);
      const double limit = Tolerance(output, *reference);
      Judge(row, ours.size() == reference->data.size() ? CompareOutput(ours, *reference, limit)
                                                       : WrongSize(ours, *reference));
      if (const std::string missed = SelfTest(*reference, limit); !missed.empty()) {
        row.status = CheckStatus::kMistrusted;
        row.detail = missed;
      }
    }
    Report(std::move(row));
  }

  static Comparison WrongSize(const std::vector<double>& ours, const RefTensor& reference) {
    Comparison c;
    c.problem = StrCat("gives ", ours.size(), " numbers, expected [", Join(reference.dims, ","), "]");
    return c;
  }

  // Where the original has no answer, a clear refusal or a finite answer will do.
  void ReportUndefined(const GoldenCase& c, const std::string& output,
                       const StatusOr<std::vector<Forecast>>& forecasts, std::string_view original) {
    CheckRow row = RowOf(c, output, "correct");
    if (forecasts.ok()) {
      const bool finite = AllFinite((*forecasts)[0].values);
      row.status = finite ? CheckStatus::kPassed : CheckStatus::kFailed;
      row.detail = StrCat(finite ? "a finite answer" : "an answer that is not finite", "; ", original);
    } else {
      const bool clear = forecasts.status().code() == absl::StatusCode::kInvalidArgument;
      row.status = clear ? CheckStatus::kRefused : CheckStatus::kFailed;
      row.detail = std::string(forecasts.status().message());
    }
    Report(std::move(row));
  }

  // [horizon][levels] -> [levels][horizon].
  static std::vector<double> LevelsFirst(const Forecast& f) {
    const size_t steps = static_cast<size_t>(f.horizon),
                 levels = f.values.size() / std::max<size_t>(steps, 1);
    std::vector<double> out(f.values.size());
    for (size_t h = 0; h < steps; ++h) {
      for (size_t q = 0; q < levels; ++q) out[q * steps + h] = f.values[h * levels + q];
    }
    return out;
  }

  // All cases of one horizon in one batch, the longest run of neighbours there is.
  Status RunBatches() {
    std::map<int64_t, std::vector<Ran*>> by_horizon;
    for (Ran& ran : ran_) by_horizon[ran.forecast.horizon].push_back(&ran);
    for (const auto& [horizon, group] : by_horizon) {
      if (options_.interrupted && options_.interrupted()) return absl::CancelledError("interrupted");
      std::vector<std::span<const double>> series;
      for (const Ran* ran : group) series.emplace_back(ran->context);
      PLINTH_ASSIGN_OR_RETURN(const auto together, Predict(series, horizon));
      for (size_t i = 0; i < group.size(); ++i) {
        CheckRow row = RowOf(*group[i]->golden, kQuantiles, "bitwise");
        auto& alone = group[i]->forecast.values;
        const RefTensor expected{{static_cast<int64_t>(alone.size())}, alone};
        const View view =
            DenseView(const_cast<double*>(together[i].values.data()), DType::kF64, expected.dims.data(), 1);
        Judge(row, Compare(view, expected, {.ulp_type = DType::kF32}));
        if (!row.detail.empty()) {
          row.detail = StrCat("other bits in a batch of ", group.size(), ": ", row.detail);
        }
        Report(std::move(row));
      }
    }
    return absl::OkStatus();
  }

  // Every named value of the plan that the original recorded: of the graph as the model wrote it, and of
  // the fused one that ships, where some of them have disappeared into others.
  Status RunLayers(const GoldenCase& c) {
    const models::Model& model = session_->model();
    PLINTH_ASSIGN_OR_RETURN(const RefTensor context, golden_->Input(c, kContext));
    const size_t keep = std::min(context.data.size(), static_cast<size_t>(model.info().context_length));
    const models::Row row{std::span(context.data).last(keep), {}};
    const engine::RunSize size{1, model.Tokens(static_cast<int64_t>(keep), model.info().horizon)};
    for (const bool fused : {false, true}) {
      PLINTH_ASSIGN_OR_RETURN(
          const auto plan,
          session_->MakePlan(
              {.variant = {.published = true}, .size = size, .observe = {"*"}, .fuse = fused}));
      PLINTH_ASSIGN_OR_RETURN(
          auto runner, engine::Runner::Make(model, plan, size, context_.isa, context_.threads->count()));
      runner->Begin(model.info().horizon);
      runner->Add({&row, 1});
      PLINTH_RETURN_IF_ERROR(runner->Compute(context_.threads));
      std::vector<int64_t> rows;
      for (const models::Origin& origin : runner->codec().Origins()) rows.push_back(origin.position);
      for (const std::string& name : golden_->Layers()) {
        PLINTH_RETURN_IF_ERROR(RunLayer(c, name, fused, runner->workspace(), rows));
      }
    }
    return absl::OkStatus();
  }

  Status RunLayer(const GoldenCase& c, const std::string& name, bool fused, const plan::Workspace& workspace,
                  const std::vector<int64_t>& rows) {
    CheckRow row = RowOf(c, name, "layers");
    row.kernel = fused ? "fused" : "unfused";
    PLINTH_ASSIGN_OR_RETURN(RefTensor reference, golden_->Layer(name));
    PLINTH_ASSIGN_OR_RETURN(const std::string ours, Twin(name, reference, workspace));
    if (!ours.empty()) {
      JudgeLayer(row, *Observed(workspace, ours), std::move(reference), rows);
    } else if (fused) {
      return absl::OkStatus();  // folded into its reader
    } else {
      row.status = CheckStatus::kMissing;
      row.detail = "the graph has no value of that name";
    }
    Report(std::move(row));
    return absl::OkStatus();
  }

  static const View* Observed(const plan::Workspace& workspace, const std::string& name) {
    const auto& observed = workspace.plan().observed();
    for (size_t i = 0; i < observed.size(); ++i) {
      if (observed[i].name == name) return &workspace.Observed(i);
    }
    return nullptr;
  }

  // `name` where the plan has it. Else another layer of which the original recorded the very same array (a
  // module that returns what its last part returned): a value has one name only. Empty: neither.
  StatusOr<std::string> Twin(const std::string& name, const RefTensor& reference,
                             const plan::Workspace& workspace) const {
    if (Observed(workspace, name) != nullptr) return name;
    for (const std::string& other : golden_->Layers()) {
      if (other == name || Observed(workspace, other) == nullptr) continue;
      PLINTH_ASSIGN_OR_RETURN(const RefTensor candidate, golden_->Layer(other));
      if (candidate.dims == reference.dims && candidate.data == reference.data) return other;
    }
    return std::string();
  }

  // Ours has packed rows: the original may have dimensions of 1 before them, and rows that it computes and
  // nobody reads (padding). `rows` says which of them ours are.
  static void JudgeLayer(CheckRow& row, const View& ours, RefTensor reference,
                         const std::vector<int64_t>& rows) {
    while (static_cast<int>(reference.dims.size()) > ours.rank && reference.dims[0] == 1) {
      reference.dims.erase(reference.dims.begin());
    }
    const auto count = static_cast<int64_t>(rows.size());
    if (count > 0 && ours.rank > 0 && ours.dims[0] == count &&
        static_cast<int>(reference.dims.size()) == ours.rank && reference.dims[0] > count &&
        rows.back() < reference.dims[0]) {
      const int64_t width = reference.size() / reference.dims[0];
      for (int64_t r = 0; r < count; ++r) {
        std::copy_n(reference.data.begin() + rows[static_cast<size_t>(r)] * width, width,
                    reference.data.begin() + r * width);
      }
      reference.data.resize(static_cast<size_t>(count * width));
      reference.dims[0] = count;
    }
    Judge(row, Compare(ours, reference, {.rel_l2 = kLayerLimit}));
    row.dtype = DTypeName(ours.dtype);
  }

  const Context& context_;
  const ModelOptions& options_;
  const RowSink& sink_;
  std::unique_ptr<GoldenFolder> golden_;
  std::unique_ptr<engine::Session> session_;
  std::vector<Ran> ran_;
  Summary summary_;
};

}  // namespace

StatusOr<Summary> VerifyModel(const Context& context, const ModelOptions& options, const RowSink& sink) {
  return ModelVerifier(context, options, sink).Run();
}

}  // namespace plinth::verify
