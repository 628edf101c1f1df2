#include <algorithm>
#include <cmath>
#include <numeric>

#include "plinth/verify/compare.h"
#include "plinth/verify/op_modes.h"

namespace plinth::verify {
namespace {

using ops::Place;
using ops::RefTensor;

// Rows that run alone: the first, the last, and some between them.
constexpr int64_t kSampleRows = 6;

// Notes the first difference between two results of one output.
void Differ(CheckRow& row, const View& base, const View& other, std::string_view variation) {
  const int64_t at = FirstBitDifference(base, other);
  if (at < 0 || row.status != CheckStatus::kPassed) return;
  row.status = CheckStatus::kFailed;
  RefTensor before{std::vector<int64_t>(base.dims, base.dims + base.rank), {}};
  ForEachElement(base, [&](int64_t, int64_t offset) {
    const auto* p = static_cast<const std::byte*>(base.data) + offset * SizeOf(base.dtype);
    before.data.push_back(LoadElement(base.dtype, p));
  });
  const Comparison c = Compare(other, before, {});
  row.max_abs = c.max_abs;
  row.rel_l2 = c.rel_l2;
  row.max_ulp = c.max_ulp;
  row.worst_share = c.worst_share;
  row.detail = StrCat("other bits ", variation, ", first at element ", at);
}

class BitwiseCheck {
 public:
  BitwiseCheck(const OpCase& c, const RunSetup& base, std::vector<CheckRow>& rows)
      : case_(c), setup_(base), rows_(rows) {}

  // Unimplemented where the kernel does not take the case.
  Status Start() {
    PLINTH_ASSIGN_OR_RETURN(base_, RunOp(case_, setup_));
    return absl::OkStatus();
  }

  void Vary(std::string_view name, const RunSetup& setup) {
    const StatusOr<OpRun> run = RunOp(case_, setup);
    if (!run.ok()) return Broken(StrCat(name, ": ", std::string(run.status().message())));
    for (size_t port = 0; port < rows_.size(); ++port) {
      Differ(rows_[port], base_.results[port], run->results[port], name);
    }
  }

  // A plan is made before the number of rows is known; the kernel must not have asked for it.
  void VaryNamedRows() {
    if (!case_.checks->spec->rows_independent || base_.results[0].rank < 2) return;
    std::vector<std::optional<ValueType>> types = case_.call.inputs;
    for (size_t i = 0; i < types.size(); ++i) {
      if (HasRows(i)) types[i]->shape[0] = Dim::Named("rows");
    }
    const std::string name = "with the number of rows known at run time only";
    auto call = ops::MakeCall(*case_.checks->spec, std::move(types), case_.call.attributes);
    if (!call.ok()) return Broken(StrCat(name, ": ", std::string(call.status().message())));
    OpCase c = case_;
    c.call = *std::move(call);
    const StatusOr<OpRun> run = RunOp(c, setup_);
    if (!run.ok()) return Broken(StrCat(name, ": ", std::string(run.status().message())));
    Differ(rows_[0], base_.results[0], run->results[0], name);
  }

  void VaryRows() {
    const View& out = base_.results[0];
    if (!case_.checks->spec->rows_independent || out.rank < 2 || out.dims[0] < 2 || out.size() == 0) return;
    const int64_t rows = out.dims[0];
    std::vector<int64_t> order(static_cast<size_t>(rows));
    std::iota(order.rbegin(), order.rend(), 0);
    WithRows("with rows in reverse order", order);
    // Another batch: every row twice except the first, which now stands last.
    std::rotate(order.begin(), order.begin() + 1, order.end());
    order.insert(order.begin(), order.begin(), order.end() - 1);
    WithRows("in a larger batch", order);
    for (int64_t k = 0; k < std::min(kSampleRows, rows); ++k) {
      const int64_t row = k * (rows - 1) / std::max<int64_t>(1, std::min(kSampleRows, rows) - 1);
      WithRows(StrCat("for row ", row, " alone"), {row});
    }
  }

 private:
  bool HasRows(size_t i) const {
    const uint32_t declared = case_.checks->row_inputs;
    const RefTensor& in = case_.io.in[i];
    const auto& out = case_.io.out[0].dims;
    if (!case_.call.has(i) || case_.definition.inputs[i].constant || in.dims.empty()) return false;
    return in.dims[0] == out[0] && (declared == 0 ? in.dims.size() == out.size() : ops::HasPort(declared, i));
  }

  static RefTensor Take(const RefTensor& t, const std::vector<int64_t>& order) {
    RefTensor taken{t.dims, {}};
    const int64_t width = t.size() / t.dims[0];
    taken.dims[0] = static_cast<int64_t>(order.size());
    for (int64_t row : order) {
      taken.data.insert(taken.data.end(), t.data.begin() + row * width, t.data.begin() + (row + 1) * width);
    }
    return taken;
  }

  // Runs the operator on rows order[0], order[1], ... and compares each with its bits in the base run.
  void WithRows(std::string_view name, const std::vector<int64_t>& order) {
    std::vector<RefTensor> inputs;
    for (size_t i = 0; i < case_.io.in.size(); ++i) {
      inputs.push_back(HasRows(i) ? Take(case_.io.in[i], order) : case_.io.in[i]);
    }
    StatusOr<OpCase> c = MakeUnjudgedCase(case_, std::move(inputs));
    if (!c.ok()) return Broken(StrCat(name, ": ", std::string(c.status().message())));
    const StatusOr<OpRun> run = RunOp(*c, setup_);
    if (!run.ok()) return Broken(StrCat(name, ": ", std::string(run.status().message())));
    for (size_t k = 0; k < order.size(); ++k) {
      Differ(rows_[0], RowView(base_.results[0], order[k]), RowView(run->results[0], static_cast<int64_t>(k)),
             name);
    }
  }

  static View RowView(const View& v, int64_t row) {
    View r = v;
    r.dims[0] = 1;
    r.data = static_cast<std::byte*>(v.data) + row * v.strides[0] * SizeOf(v.dtype);
    return r;
  }

  void Broken(const std::string& what) {
    for (CheckRow& row : rows_) {
      if (row.status != CheckStatus::kPassed) continue;
      row.status = CheckStatus::kFailed;
      row.detail = what;
    }
  }

  const OpCase& case_;
  const RunSetup setup_;
  std::vector<CheckRow>& rows_;
  OpRun base_;
};

}  // namespace

ModeResult CheckBitwise(const OpCase& c, const std::string& kernel, const Context& context,
                        const std::vector<Threads*>& pools) {
  ModeResult finding;
  if (kernel == kViewKernel || !c.definition.fault.empty()) {
    finding.skipped = true;  // a view computes nothing; a fault has no result
    return finding;
  }
  for (size_t port = 0; port < c.io.out.size(); ++port) {
    CheckRow row;
    row.output = StrCat("y", port);
    row.dtype = DTypeName(c.call.outputs[port].dtype);
    row.kernel = kernel;
    row.isa = IsaName(context.isa);
    row.status = CheckStatus::kPassed;
    row.compared = true;
    finding.rows.push_back(std::move(row));
  }
  RunSetup base{.isa = context.isa, .kernel = kernel, .place = Place::kDense};
  BitwiseCheck check(c, base, finding.rows);
  if (const Status status = check.Start(); !status.ok()) {
    finding.skipped = status.code() == absl::StatusCode::kUnimplemented;
    for (CheckRow& row : finding.rows) {
      row.status = CheckStatus::kFailed;
      row.detail = std::string(status.message());
    }
    return finding;
  }
  check.Vary("when repeated", base);
  RunSetup setup = base;
  setup.order = PieceOrder::kSinglyReversed;
  check.Vary("with pieces one by one in reverse order", setup);
  setup.order = PieceOrder::kThreaded;
  for (Threads* pool : pools) {
    setup.threads = pool;
    check.Vary(StrCat("on ", pool->count(), " threads"), setup);
  }
  setup = base;
  setup.place = Place::kMisaligned;
  check.Vary("with misaligned memory", setup);
  setup = base;
  for (size_t i = 0; i < c.io.in.size(); ++i) {
    setup.in_place = static_cast<int>(i);
    if (MayTakeOver(c, i)) check.Vary(StrCat("in place of input ", i), setup);
  }
  check.VaryNamedRows();
  check.VaryRows();
  return finding;
}

}  // namespace plinth::verify
