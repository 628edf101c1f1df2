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
#include "plinth/verify/golden_layers.h"
#include "plinth/verify/golden_query.h"

namespace plinth::verify {
namespace {

using engine::Forecast;
using ops::RefTensor;

constexpr double kLayerLimit = 1e-5;
constexpr char kQuantiles[] = "quantiles";  // the output of a forecast, [..., quantile, step]

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
    for (Ran& ran : ran_) {
      if (ran.golden->name == golden_->layers_case()) PLINTH_RETURN_IF_ERROR(RunLayers(ran));
    }
    return summary_;
  }

 private:
  // A case that ran alone and gave an answer.
  struct Ran {
    const GoldenCase* golden;
    GoldenQuery query;
    std::vector<Forecast> forecasts;
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

  StatusOr<std::vector<Forecast>> Predict(std::span<const engine::Group> groups, int64_t horizon) {
    return session_->Run(groups, {.horizon = horizon, .levels = session_->model().info().levels});
  }

  Status RunCase(const GoldenCase& c) {
    for (const std::string& name : golden_->Unlisted(c)) {
      CheckRow row = RowOf(c, name, "correct");
      row.status = CheckStatus::kExtra;
      row.detail = "the arrays hold an output that cases.json does not list";
      Report(std::move(row));
    }
    StatusOr<GoldenQuery> query = MakeQuery(*golden_, c, session_->model().info());
    if (query.status().code() == absl::StatusCode::kUnimplemented) {
      CheckRow row = RowOf(c, kQuantiles, "correct");
      row.status = CheckStatus::kUnimplemented;
      row.detail = std::string(query.status().message());
      Report(std::move(row));
      return absl::OkStatus();
    }
    if (!query.ok()) return Prepend(query.status(), options_.cases_file);
    auto forecasts = Predict(query->groups, query->horizon);
    if (!c.reference_error.empty()) {
      ReportUndefined(c, kQuantiles, forecasts, c.reference_error);
      return absl::OkStatus();
    }
    for (const GoldenOutput& output : c.outputs) RunOutput(c, output, *query, forecasts);
    if (forecasts.ok()) ran_.push_back({&c, *std::move(query), *std::move(forecasts)});
    return absl::OkStatus();
  }

  void RunOutput(const GoldenCase& c, const GoldenOutput& output, const GoldenQuery& query,
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
      std::vector<double> ours = query.Arrange(*forecasts);
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
      const bool finite = std::all_of(forecasts->begin(), forecasts->end(),
                                      [](const Forecast& f) { return AllFinite(f.values); });
      row.status = finite ? CheckStatus::kPassed : CheckStatus::kFailed;
      row.detail = StrCat(finite ? "a finite answer" : "an answer that is not finite", "; ", original);
    } else {
      const bool clear = forecasts.status().code() == absl::StatusCode::kInvalidArgument;
      row.status = clear ? CheckStatus::kRefused : CheckStatus::kFailed;
      row.detail = std::string(forecasts.status().message());
    }
    Report(std::move(row));
  }

  // All cases of one horizon in one batch, the longest run of neighbours there is.
  Status RunBatches() {
    std::map<int64_t, std::vector<const Ran*>> by_horizon;
    for (const Ran& ran : ran_) by_horizon[ran.query.horizon].push_back(&ran);
    for (const auto& [horizon, cases] : by_horizon) {
      if (options_.interrupted && options_.interrupted()) return absl::CancelledError("interrupted");
      std::vector<engine::Group> groups;
      for (const Ran* ran : cases) {
        groups.insert(groups.end(), ran->query.groups.begin(), ran->query.groups.end());
      }
      PLINTH_ASSIGN_OR_RETURN(const std::vector<Forecast> together, Predict(groups, horizon));
      size_t first = 0;
      for (const Ran* ran : cases) {
        const size_t count = ran->forecasts.size();
        CompareBits(*ran, std::span(together).subspan(first, count), groups.size());
        first += count;
      }
    }
    return absl::OkStatus();
  }

  void CompareBits(const Ran& ran, std::span<const Forecast> together, size_t groups) {
    CheckRow row = RowOf(*ran.golden, kQuantiles, "bitwise");
    std::vector<double> ours = ran.query.Arrange(together);
    std::vector<double> alone = ran.query.Arrange(ran.forecasts);
    const RefTensor expected{{static_cast<int64_t>(alone.size())}, std::move(alone)};
    const View view = DenseView(ours.data(), DType::kF64, expected.dims.data(), 1);
    Judge(row, Compare(view, expected, {.ulp_type = DType::kF32}));
    if (!row.detail.empty()) row.detail = StrCat("other bits in a batch of ", groups, ": ", row.detail);
    Report(std::move(row));
  }

  // Every named value of the plan that the original recorded: of the graph as the model wrote it, and of
  // the fused one that ships, where some of them have disappeared into others.
  Status RunLayers(Ran& ran) {
    GoldenQuery& query = ran.query;
    const models::Model& model = session_->model();
    const models::ModelInfo& info = model.info();
    const int64_t passes = (query.horizon + info.stride - 1) / info.stride;
    const int64_t steps = std::min(passes * info.stride, info.horizon);
    engine::RunSize size{};
    bool grouped = false;
    for (engine::Group& group : query.groups) {
      grouped = grouped || group.rows.size() > 1;
      for (models::Row& row : group.rows) {
        row.past = row.past.last(std::min(row.past.size(), static_cast<size_t>(info.context_length)));
        size.tokens += model.Tokens(static_cast<int64_t>(row.past.size()), steps);
        ++size.rows;
      }
    }
    for (const bool fused : {false, true}) {
      PLINTH_ASSIGN_OR_RETURN(const auto plan,
                              session_->MakePlan({.variant = {.grouped = grouped, .published = true},
                                                  .size = size,
                                                  .observe = {"*"},
                                                  .fuse = fused}));
      PLINTH_ASSIGN_OR_RETURN(
          auto runner, engine::Runner::Make(model, plan, size, context_.isa, context_.threads->count()));
      runner->Begin(steps);
      for (const engine::Group& group : query.groups) runner->Add(group.rows);
      PLINTH_RETURN_IF_ERROR(runner->Compute(context_.threads));
      LayerPlaces places{runner->codec().Origins(), query.batch_rows};
      for (models::Origin& origin : places.tokens) {
        PLINTH_CHECK(origin.row >= 0 && origin.row < size.rows && origin.position >= 0);
        origin.row = query.batch_rows[static_cast<size_t>(origin.row)];
      }
      for (const std::string& name : golden_->Layers()) {
        PLINTH_RETURN_IF_ERROR(RunLayer(*ran.golden, name, fused, runner->workspace(), places));
      }
    }
    return absl::OkStatus();
  }

  Status RunLayer(const GoldenCase& c, const std::string& name, bool fused, const plan::Workspace& workspace,
                  const LayerPlaces& places) {
    CheckRow row = RowOf(c, name, "layers");
    row.kernel = fused ? "fused" : "unfused";
    PLINTH_ASSIGN_OR_RETURN(const std::string twin, Twin(name, workspace));
    if (!twin.empty()) {
      PLINTH_ASSIGN_OR_RETURN(RefTensor reference, golden_->Layer(twin));
      const LayerRows rows = MatchRows(*Observed(workspace, twin), std::move(reference), places);
      Judge(row, Compare(rows.ours.view(), rows.reference, {.rel_l2 = kLayerLimit}));
      row.dtype = DTypeName(rows.ours.dtype());
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

  // `name` where the plan has it. Else another layer of which the original recorded the very same numbers (a
  // module that returns what its last part returned, or what the next one cuts into patches). Empty: neither.
  StatusOr<std::string> Twin(const std::string& name, const plan::Workspace& workspace) const {
    if (Observed(workspace, name) != nullptr) return name;
    PLINTH_ASSIGN_OR_RETURN(const RefTensor reference, golden_->Layer(name));
    for (const std::string& other : golden_->Layers()) {
      if (other == name || Observed(workspace, other) == nullptr) continue;
      PLINTH_ASSIGN_OR_RETURN(const RefTensor candidate, golden_->Layer(other));
      if (SameNumbers(reference, candidate)) return other;
    }
    return std::string();
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
