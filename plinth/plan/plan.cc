#include "plinth/plan/plan.h"

#include <algorithm>

#include "plinth/plan/memory.h"
#include "plinth/plan/plan_maker.h"

namespace plinth::plan {
namespace {

std::string Human(double bytes) {
  const char* unit = "B";
  for (const char* next : {"kB", "MB", "GB"}) {
    if (bytes < 10000) break;
    bytes /= 1000;
    unit = next;
  }
  return StrCat(static_cast<int64_t>(bytes + 0.5), " ", unit);
}

std::string Padded(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

}  // namespace

StatusOr<std::shared_ptr<const Plan>> Plan::Make(const graph::Graph& graph, std::shared_ptr<Weights> weights,
                                                 const PlanOptions& options) {
  auto plan = std::make_shared<Plan>();
  PLINTH_RETURN_IF_ERROR(PlanMaker(graph, options, *plan, std::move(weights)).Run());
  return std::shared_ptr<const Plan>(std::move(plan));
}

View Plan::ViewAt(const PlannedValue& value, const std::vector<int64_t>& extents) const {
  int64_t dims[kMaxRank];
  for (int i = 0; i < value.rank; ++i) {
    const DimExpr& d = value.dims[i];
    dims[i] = d.symbol < 0 ? d.offset : d.scale * extents[static_cast<size_t>(d.symbol)] + d.offset;
  }
  return DenseView(value.constant, value.dtype, dims, value.rank);
}

ops::Cost Plan::CostAt(const std::vector<int64_t>& extents) const {
  ops::Cost total;
  std::vector<View> in, out;
  for (const Step& step : steps_) {
    in.clear();
    out.clear();
    for (int v : step.in) in.push_back(v < 0 ? View{} : ViewAt(values_[static_cast<size_t>(v)], extents));
    for (int v : step.out) out.push_back(ViewAt(values_[static_cast<size_t>(v)], extents));
    const ops::Cost cost = step.op.call().spec->cost(step.op.call(), in, out);
    total.flops += cost.flops;
    total.product_flops += cost.product_flops;
    total.bytes += cost.bytes;
  }
  return total;
}

ops::Cost Plan::StepCost(size_t step) const {
  std::vector<View> in, out;
  for (int v : steps_[step].in) {
    in.push_back(v < 0 ? View{} : ViewAt(values_[static_cast<size_t>(v)], capacity_));
  }
  for (int v : steps_[step].out) out.push_back(ViewAt(values_[static_cast<size_t>(v)], capacity_));
  return StepCall(step).spec->cost(StepCall(step), in, out);
}

std::string Plan::StepName(size_t step) const {
  const Step& s = steps_[step];
  const std::string& name = values_[static_cast<size_t>(s.out[0])].name;
  return StrCat(name.empty() ? s.scope : name, ": ", s.op.call().spec->name);
}

int Plan::Root(int value) const {
  while (values_[static_cast<size_t>(value)].alias_of >= 0) {
    value = values_[static_cast<size_t>(value)].alias_of;
  }
  return value;
}

// One line per operator and kernel: kernels are tried in the order of the operator's list.
std::string Plan::WhyText() const {
  std::vector<std::string> lines;
  for (const Step& step : steps_) {
    const ops::OpSpec& spec = *step.op.call().spec;
    std::string line = StrCat("why: ", spec.name, " by ", step.op.kernel().name);
    std::vector<std::string> later;
    bool passed = false;
    for (const ops::CpuKernel& kernel : spec.cpu) {
      if (passed) later.emplace_back(kernel.name);
      passed |= &kernel == &step.op.kernel();
    }
    StrAppend(&line,
              spec.cpu.size() == 1 ? ", its only kernel" : ", the first of its kernels that takes the call");
    if (!later.empty()) StrAppend(&line, "; after it stand ", Join(later, ", "));
    line += "\n";
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }
  return Join(lines, "");
}

std::string Plan::Explain() const {
  std::string out = "capacity:";
  for (size_t i = 0; i < dimensions_.size(); ++i) {
    StrAppend(&out, " ", dimensions_[i], "=", capacity_[i]);
  }
  StrAppend(&out, "\n", Padded("step", 5), Padded("operator", 11), Padded("kernel", 12), Padded("output", 30),
            Padded("Mflop", 10), Padded("moved", 9), Padded("at", 10), "where\n");
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    const ops::OpCall& call = step.op.call();
    const ops::Cost cost = StepCost(s);
    const PlannedValue& value = values_[static_cast<size_t>(step.out[0])];
    const std::string attributes = ops::ToString(call.attributes);
    const int64_t mflop10 = static_cast<int64_t>(cost.flops / 1e5 + 0.5);
    StrAppend(&out, Padded(StrCat(s), 5), Padded(call.spec->name, 11),
              Padded(StrCat(step.op.kernel().name, step.op.kernel().foreign ? "*" : ""), 12),
              Padded(plinth::ToString(call.outputs[0]), 30),
              Padded(StrCat(mflop10 / 10, ".", mflop10 % 10), 10), Padded(Human(cost.bytes), 9),
              Padded(StrCat("+", value.offset), 10), value.name.empty() ? step.scope : value.name,
              attributes.empty() ? "" : "  [", attributes, attributes.empty() ? "" : "]", "\n");
    for (const auto& [kernel, why] : step.op.refused()) {
      StrAppend(&out, Padded("", 16), "not ", kernel, ": ", why, "\n");
    }
  }
  out += WhyText();
  const ops::Cost total = CostAt(capacity_);
  StrAppend(&out, "total: ", static_cast<int64_t>(total.flops / 1e6), " Mflop (",
            static_cast<int64_t>(total.product_flops / 1e6), " in products), arena ", arena_bytes_,
            " bytes (at least ", arena_bound_, " are alive at once), scratch ", scratch_bytes_,
            " bytes a thread, weights ", weight_bytes(), " bytes\n");
  bool foreign = false;
  for (const Step& step : steps_) foreign |= step.op.kernel().foreign;
  if (foreign) out += "* calls a foreign library, which may allocate\n";
  return out;
}

}  // namespace plinth::plan
