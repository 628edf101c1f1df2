#include "plinth/plan/plan_maker.h"

#include <algorithm>
#include <numeric>

#include "plinth/base/digest.h"
#include "plinth/plan/memory.h"

namespace plinth::plan {
namespace {

constexpr int64_t kLargestArena = int64_t{1} << 42;

size_t At(int i) { return static_cast<size_t>(i); }

StatusOr<std::string> DigestOf(const Tensor& tensor) {
  Sha256 digest;
  digest.Update({static_cast<const std::byte*>(tensor.raw()), static_cast<size_t>(tensor.bytes())});
  return digest.Hex();
}

}  // namespace

PlanMaker::PlanMaker(const graph::Graph& graph, const PlanOptions& options, Plan& plan,
                     std::shared_ptr<Weights> weights)
    : graph_(graph), options_(options), plan_(plan), readers_(graph.Readers()) {
  plan_.weights_ = std::move(weights);
  plan_.profile_ = options.profile;
}

Status PlanMaker::Run() {
  PLINTH_RETURN_IF_ERROR(CollectDimensions());
  PLINTH_RETURN_IF_ERROR(FindObserved());
  FindLiveNodes();
  PLINTH_RETURN_IF_ERROR(DescribeValues());
  ChooseAliases();
  PLINTH_RETURN_IF_ERROR(MakeSteps());
  PLINTH_RETURN_IF_ERROR(KeepConstants());
  return PlaceMemory();
}

Status PlanMaker::CollectDimensions() {
  for (const graph::GraphValue& value : graph_.values) {
    for (const Dim& d : value.type.shape) {
      auto& names = plan_.dimensions_;
      if (d.constant() || std::find(names.begin(), names.end(), d.name()) != names.end()) continue;
      PLINTH_ASSIGN_OR_RETURN(const int64_t extent, Resolve(Dim::Named(d.name()), options_.capacity));
      if (extent < 0) {
        return absl::InvalidArgumentError(
            StrCat("the capacity of dimension \"", d.name(), "\" is ", extent, "; it must not be negative"));
      }
      names.push_back(d.name());
      plan_.capacity_.push_back(extent);
    }
  }
  return absl::OkStatus();
}

Status PlanMaker::FindObserved() {
  pinned_.assign(graph_.values.size(), 0);
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const int v = graph_.outputs[i];
    pinned_[At(v)] = 1;
    plan_.outputs_.push_back({graph_.output_names[i], v, graph_.values[At(v)].type});
  }
  for (const int v : graph_.inputs) {
    plan_.inputs_.push_back({graph_.values[At(v)].name, v, graph_.values[At(v)].type});
  }
  const auto observe = [&](int v, const std::string& name) {
    pinned_[At(v)] = 1;
    plan_.observed_.push_back({name, v, graph_.values[At(v)].type});
  };
  for (const std::string& name : options_.observe) {
    if (name == "*") {
      for (size_t v = 0; v < graph_.values.size(); ++v) {
        const graph::GraphValue& value = graph_.values[v];
        // A result that fusion took away has no producer any more.
        if (value.kind != graph::ValueKind::kResult || value.producer < 0 || value.name.empty()) continue;
        observe(static_cast<int>(v), value.name);
        for (const std::string& other : value.other_names) observe(static_cast<int>(v), other);
      }
      continue;
    }
    const int v = graph_.FindValue(name);
    const bool computed = v >= 0 && graph_.values[At(v)].kind == graph::ValueKind::kResult &&
                          graph_.values[At(v)].producer >= 0;
    if (!computed && (v < 0 || graph_.values[At(v)].kind != graph::ValueKind::kInput)) {
      return absl::InvalidArgumentError(StrCat("the model has no value named \"", name, "\" to observe"));
    }
    observe(v, name);
  }
  return absl::OkStatus();
}

void PlanMaker::FindLiveNodes() {
  live_.assign(graph_.nodes.size(), 0);
  std::vector<uint8_t> wanted = pinned_;
  for (size_t n = graph_.nodes.size(); n-- > 0;) {
    const graph::Node& node = graph_.nodes[n];
    for (const int v : node.outputs) live_[n] |= wanted[At(v)];
    if (!live_[n]) continue;
    for (const int v : node.inputs) {
      if (v >= 0) wanted[At(v)] = 1;
    }
  }
}

Status PlanMaker::DescribeValues() {
  for (const graph::GraphValue& value : graph_.values) {
    Plan::PlannedValue planned;
    planned.dtype = value.type.dtype;
    planned.rank = static_cast<int>(value.type.shape.size());
    planned.name = value.name;
    int64_t bytes = SizeOf(planned.dtype);
    for (int i = 0; i < planned.rank; ++i) {
      const Dim& d = value.type.shape[At(i)];
      Plan::DimExpr& e = planned.dims[i];
      e = {-1, d.scale(), d.offset()};
      int64_t extent = d.offset();
      if (!d.constant()) {
        const auto& names = plan_.dimensions_;
        e.symbol = static_cast<int>(std::find(names.begin(), names.end(), d.name()) - names.begin());
        extent = d.At(plan_.capacity_[At(e.symbol)]);
      }
      if (extent < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes) ||
          bytes > kLargestArena) {
        return absl::ResourceExhaustedError(StrCat("value \"", value.name, "\" of type ",
                                                   plinth::ToString(value.type),
                                                   " is too large at this capacity"));
      }
    }
    plan_.values_.push_back(std::move(planned));
  }
  return absl::OkStatus();
}

View PlanMaker::CapacityView(int value) const {
  const Plan::PlannedValue& planned = plan_.values_[At(value)];
  View view = plan_.ViewAt(planned, plan_.capacity_);
  if (planned.alias_of >= 0) {
    const View source = CapacityView(planned.alias_of);
    const ops::OpCall& call = plan_.views_[At(planned.alias_step)];
    PLINTH_CHECK(call.spec->view(call, source, &view));
  }
  return view;
}

bool PlanMaker::ReadersAccept(int value, const View& view) const {
  if (pinned_[At(value)] && !view.dense()) return false;
  for (const int n : readers_[At(value)]) {
    if (!live_[At(n)]) continue;
    const graph::Node& node = graph_.nodes[At(n)];
    const ops::OpSpec& spec = *node.call.spec;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != value) continue;
      const ops::Layout need = spec.inputs[std::min(i, spec.inputs.size() - 1)].layout;
      if (need == ops::Layout::kDense && !view.dense()) return false;
      if (need == ops::Layout::kRows && !view.row_strided()) return false;
    }
  }
  return true;
}

// A view node needs no step when its readers can work on the reinterpreted memory.
void PlanMaker::ChooseAliases() {
  aliased_.assign(graph_.nodes.size(), 0);
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const graph::Node& node = graph_.nodes[n];
    if (!live_[n] || node.call.spec->view == nullptr) continue;
    const int source = node.inputs[0], result = node.outputs[0];
    // A constant may be packed away, so its view would have nothing to point to.
    if (graph_.values[At(source)].kind == graph::ValueKind::kConstant) continue;
    View view = plan_.ViewAt(plan_.values_[At(result)], plan_.capacity_);
    if (!node.call.spec->view(node.call, CapacityView(source), &view)) continue;
    if (!ReadersAccept(result, view)) continue;
    plan_.values_[At(result)].alias_of = source;
    plan_.values_[At(result)].alias_step = static_cast<int>(plan_.views_.size());
    plan_.views_.push_back(node.call);
    plan_.view_order_.push_back(result);
    aliased_[n] = 1;
  }
}

StatusOr<ops::CpuStep> PlanMaker::MakeStep(const graph::Node& node) {
  class Cache : public ops::PrepareCache {
   public:
    Cache(Weights& weights, std::string constants) : weights_(weights), constants_(std::move(constants)) {}
    StatusOr<ops::CpuKernel::Prepared> Get(const std::string& key, Make make) override {
      return weights_.Prepare(StrCat(key, constants_), make);
    }

   private:
    Weights& weights_;
    std::string constants_;
  };
  std::vector<View> constants(node.inputs.size());
  std::string names;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] < 0) continue;
    const graph::GraphValue& value = graph_.values[At(node.inputs[i])];
    if (value.kind != graph::ValueKind::kConstant) continue;
    PLINTH_ASSIGN_OR_RETURN(constants[i], plan_.weights_->Load(value));
    StrAppend(&names, " ", i, "=", value.name);
    if (value.literal == nullptr) continue;
    // Two graphs over the same weights may give one name to different literals.
    PLINTH_ASSIGN_OR_RETURN(const std::string digest, DigestOf(*value.literal));
    StrAppend(&names, "#", ToString(value.type), digest);
  }
  std::string kernel;
  for (const auto& [op, wanted] : options_.kernels) {
    if (op == node.call.spec->name) kernel = wanted;
  }
  Cache cache(*plan_.weights_, names);
  auto step = ops::CpuStep::Make(node.call, constants, options_.isa, kernel, &cache);
  if (!step.ok()) return Prepend(step.status(), StrCat("in \"", node.scope, "\""));
  return step;
}

Status PlanMaker::MakeSteps() {
  kept_.assign(graph_.values.size(), 0);
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const graph::Node& node = graph_.nodes[n];
    if (!live_[n] || aliased_[n]) continue;
    PLINTH_ASSIGN_OR_RETURN(ops::CpuStep op, MakeStep(node));
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] < 0) continue;
      const graph::GraphValue& value = graph_.values[At(node.inputs[i])];
      if (value.kind != graph::ValueKind::kConstant) continue;
      if (options_.keep_constants || !ops::HasPort(op.replaces(), i)) {
        kept_[At(node.inputs[i])] = 1;
      } else {
        // At once, so that there are never two copies of a whole model; who needs it again loads it again.
        plan_.weights_->Release(value);
      }
    }
    // Kernels see one view per port, also for optional inputs that the call leaves out at its end.
    std::vector<int> in = node.inputs;
    in.resize(std::max(in.size(), node.call.spec->inputs.size()), -1);
    plan_.steps_.push_back({std::move(op), std::move(in), node.outputs, node.scope});
  }
  return absl::OkStatus();
}

Status PlanMaker::KeepConstants() {
  for (const int v : graph_.outputs) {
    if (graph_.values[At(v)].kind == graph::ValueKind::kConstant) kept_[At(v)] = 1;
  }
  for (size_t v = 0; v < graph_.values.size(); ++v) {
    const graph::GraphValue& value = graph_.values[v];
    if (value.kind != graph::ValueKind::kConstant) continue;
    if (kept_[v]) {
      PLINTH_ASSIGN_OR_RETURN(const View view, plan_.weights_->Keep(value));
      plan_.values_[v].constant = static_cast<std::byte*>(view.data);
      if (value.literal != nullptr) plan_.literals_.push_back(value.literal);
    }
    plan_.weights_->Release(value);
  }
  return absl::OkStatus();
}

// Output 0 may be written over input `port` when that memory is not read again, belongs to no graph
// input, and no other input of the step lies in it.
bool PlanMaker::TakesOver(const Plan::Step& step, size_t port, int step_index) const {
  const int v = step.in[port];
  if (v < 0 || plan_.values_[At(v)].alias_of >= 0) return false;
  const graph::GraphValue& value = graph_.values[At(v)];
  if (value.kind != graph::ValueKind::kResult) return false;
  if (!(value.type == graph_.values[At(step.out[0])].type)) return false;
  if (last_use_[At(storage_[At(v)])] != step_index) return false;
  for (size_t i = 0; i < step.in.size(); ++i) {
    if (i != port && step.in[i] >= 0 && storage_[At(plan_.Root(step.in[i]))] == storage_[At(v)]) return false;
  }
  return true;
}

Status PlanMaker::PlaceMemory() {
  const size_t count = graph_.values.size();
  storage_.resize(count);
  std::iota(storage_.begin(), storage_.end(), 0);
  // Reads are counted per value first, so that a step knows whether a buffer is read again.
  std::vector<int> first(count, 0), last(count, -1);
  const int end = static_cast<int>(plan_.steps_.size()) + 1;
  for (int s = 0; s < end - 1; ++s) {
    for (const int v : plan_.steps_[At(s)].in) {
      if (v >= 0) last[At(plan_.Root(v))] = s + 1;
    }
    for (const int v : plan_.steps_[At(s)].out) first[At(v)] = last[At(v)] = s + 1;
  }
  for (size_t v = 0; v < count; ++v) {
    if (pinned_[v]) last[At(plan_.Root(static_cast<int>(v)))] = end;
  }
  for (const int v : graph_.inputs) last[At(v)] = std::max(last[At(v)], 0);
  last_use_ = last;
  for (int s = 0; s < end - 1; ++s) {
    const Plan::Step& step = plan_.steps_[At(s)];
    const uint32_t allowed = step.op.call().spec->in_place;
    for (size_t i = 0; i < step.in.size(); ++i) {
      if (!ops::HasPort(allowed, i) || !TakesOver(step, i, s + 1)) continue;
      const int owner = storage_[At(step.in[i])];
      storage_[At(step.out[0])] = owner;
      last_use_[At(owner)] = last[At(step.out[0])];
      break;
    }
  }
  std::vector<Lifetime> buffers;
  std::vector<int> owners;
  for (size_t v = 0; v < count; ++v) {
    const bool constant = graph_.values[v].kind == graph::ValueKind::kConstant;
    const bool used = last[v] >= 0 && plan_.values_[v].alias_of < 0;
    if (constant || !used || storage_[v] != static_cast<int>(v)) continue;
    const View view = plan_.ViewAt(plan_.values_[v], plan_.capacity_);
    buffers.push_back({view.size() * SizeOf(view.dtype), first[v], last_use_[v], 0});
    owners.push_back(static_cast<int>(v));
  }
  plan_.arena_bytes_ = PlaceBuffers(buffers);
  plan_.arena_bound_ = PeakBytes(buffers);
  for (size_t b = 0; b < buffers.size(); ++b) plan_.values_[At(owners[b])].offset = buffers[b].offset;
  for (size_t v = 0; v < count; ++v) {
    if (storage_[v] != static_cast<int>(v)) {
      plan_.values_[v].offset = plan_.values_[At(storage_[v])].offset;
    }
  }
  for (const Plan::Step& step : plan_.steps_) {
    std::vector<View> in, out;
    for (int v : step.in) in.push_back(v < 0 ? View{} : CapacityView(v));
    for (int v : step.out) out.push_back(CapacityView(v));
    const int64_t bytes = step.op.ScratchBytes(in.data(), out.data());
    plan_.scratch_bytes_ = std::max(plan_.scratch_bytes_, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  }
  return absl::OkStatus();
}

}  // namespace plinth::plan
