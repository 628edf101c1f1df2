#include "plinth/engine/recorder.h"

#include <algorithm>

#include "plinth/base/pattern.h"

namespace plinth::engine {
namespace {

using formats::CaptureEntry;
using formats::JsonValue;
using Record = formats::CapturePlan::Record;

struct ToJsonValue {
  JsonValue operator()(const std::vector<int64_t>& list) const {
    JsonValue::Array array;
    for (const int64_t item : list) array.emplace_back(item);
    return JsonValue(std::move(array));
  }
  template <typename T>
  JsonValue operator()(const T& value) const {
    return JsonValue(value);
  }
};

bool IsInside(std::string_view path, std::string_view module) {
  return path.starts_with(module) && (path.size() == module.size() || path[module.size()] == '.');
}

// The operator of a module that consists of one, else "module".
std::string OperatorOf(std::string_view module, const plan::Plan& plan) {
  std::string_view op;
  for (size_t s = 0; s < plan.step_count(); ++s) {
    if (!IsInside(plan.StepScope(s), module)) continue;
    if (!op.empty()) return "module";
    op = plan.StepCall(s).spec->name;
  }
  return op.empty() ? "module" : std::string(op);
}

}  // namespace

JsonValue ToJson(const ops::Attributes& attributes) {
  JsonValue::Object object;
  for (const auto& [name, value] : attributes.list()) {
    object.emplace_back(name, std::visit(ToJsonValue(), value));
  }
  return JsonValue(std::move(object));
}

bool Recorder::reads_constants() const {
  return std::any_of(options_.records.begin(), options_.records.end(),
                     [](const Record& r) { return r.operators && r.inputs; });
}

const Record* Recorder::RecordOf(std::string_view name) const {
  const Record* found = nullptr;
  for (const Record& record : options_.records) {
    if (!record.outputs || !MatchesStars(record.name, name)) continue;
    if (record.full) return &record;
    if (found == nullptr) found = &record;
  }
  return found;
}

const Record* Recorder::OperatorRecordOf(std::string_view scope) const {
  const Record* found = nullptr;
  for (const Record& record : options_.records) {
    if (!record.operators || !formats::MatchesModuleOf(record.name, scope)) continue;
    if (record.full) return &record;
    if (found == nullptr) found = &record;
  }
  return found;
}

void Recorder::FindModules(const plan::Plan& plan) {
  at_begin_.clear();
  by_step_.assign(plan.step_count(), {});
  std::map<int, size_t> maker;
  for (size_t s = 0; s < plan.step_count(); ++s) {
    for (const int v : plan.StepOutputs(s)) maker[v] = s;
  }
  for (const plan::PlanPort& port : plan.observed()) {
    Module module{port.name, port.value, OperatorOf(port.name, plan), RecordOf(port.name)};
    const auto at = maker.find(plan.Root(port.value));
    (at == maker.end() ? at_begin_ : by_step_[at->second]).push_back(std::move(module));
  }
}

void Recorder::NameOperators(const plan::Plan& plan) {
  operators_.clear();
  std::map<std::string, int64_t> seen;
  for (size_t s = 0; s < plan.step_count(); ++s) {
    const std::string& scope = plan.StepScope(s);
    const std::string name = StrCat(scope, "/", plan.StepCall(s).spec->name);
    operators_.push_back(StrCat(name, ".", seen[name]++));
  }
}

Status Recorder::Begin(int64_t pass, plan::Workspace& workspace) {
  pass_ = pass;
  plan_ = &workspace.plan();
  written_.clear();
  FindModules(*plan_);
  NameOperators(*plan_);
  for (size_t i = 0; i < plan_->inputs().size(); ++i) {
    CaptureEntry entry;
    entry.name = StrCat("input/", plan_->inputs()[i].name);
    entry.op = "input";
    const Record* record = RecordOf(entry.name);
    if (record == nullptr) continue;
    PLINTH_RETURN_IF_ERROR(Put(std::move(entry), plan_->inputs()[i].value, record->full, workspace));
  }
  return Visit(at_begin_, workspace);
}

Status Recorder::Before(size_t step, plan::Workspace& workspace) {
  return RecordPorts(step, true, workspace);
}

Status Recorder::After(size_t step, plan::Workspace& workspace) {
  PLINTH_RETURN_IF_ERROR(RecordPorts(step, false, workspace));
  return Visit(by_step_[step], workspace);
}

Status Recorder::RecordPorts(size_t step, bool inputs, plan::Workspace& workspace) {
  const Record* record = OperatorRecordOf(plan_->StepScope(step));
  if (record == nullptr || !(inputs ? record->inputs : record->outputs)) return absl::OkStatus();
  const ops::OpCall& call = plan_->StepCall(step);
  const std::vector<int>& ports = inputs ? plan_->StepInputs(step) : plan_->StepOutputs(step);
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i] < 0) continue;
    CaptureEntry entry;
    entry.name = operators_[step];
    entry.op = call.spec->name;
    entry.direction = inputs ? formats::CaptureDirection::kInput : formats::CaptureDirection::kOutput;
    entry.port = static_cast<int64_t>(i);
    entry.attributes = ToJson(call.attributes);
    PLINTH_RETURN_IF_ERROR(Put(std::move(entry), ports[i], record->full, workspace));
  }
  return absl::OkStatus();
}

// Records first, all of them: modules may share memory.
Status Recorder::Visit(const std::vector<Module>& modules, plan::Workspace& workspace) {
  for (const Module& module : modules) {
    if (module.record == nullptr) continue;
    CaptureEntry entry;
    entry.name = module.name;
    entry.op = module.op;
    PLINTH_RETURN_IF_ERROR(Put(std::move(entry), module.value, module.record->full, workspace));
  }
  for (const Module& module : modules) PLINTH_RETURN_IF_ERROR(Replace(module, workspace));
  return absl::OkStatus();
}

Status Recorder::Put(CaptureEntry entry, int value, bool full, const plan::Workspace& workspace) {
  entry.step = pass_;
  const View& view = workspace.ValueView(value);
  if (view.data == nullptr && view.size() != 0) return absl::OkStatus();  // packed away
  ++recorded_;
  const auto at = written_.find(value);
  if (at != written_.end() && (!full || !at->second.tensor.empty())) {
    const CaptureEntry& before = at->second;
    entry.dtype = before.dtype;
    entry.dims = before.dims;
    entry.stats = before.stats;
    entry.digest = before.digest;
    if (full) entry.tensor = before.tensor;
    return writer_->Add(std::move(entry), View{}, false);
  }
  PLINTH_RETURN_IF_ERROR(writer_->Add(std::move(entry), view, full));
  written_[value] = writer_->last();
  return absl::OkStatus();
}

Status Recorder::Replace(const Module& module, plan::Workspace& workspace) {
  if (options_.forced_by != nullptr && module.record != nullptr) {
    PLINTH_RETURN_IF_ERROR(CopyFrom(*options_.forced_by, module, false, workspace));
  }
  for (size_t i = 0; i < options_.replaced.size(); ++i) {
    const auto& [name, reference] = options_.replaced[i];
    if (name != module.name) continue;
    // Later passes may be more than the reference has.
    PLINTH_RETURN_IF_ERROR(CopyFrom(*reference, module, done_[i] == 0, workspace));
    done_[i] = 1;
  }
  return absl::OkStatus();
}

Status Recorder::CopyFrom(const formats::Capture& reference, const Module& module, bool must,
                          plan::Workspace& workspace) {
  CaptureEntry wanted;
  wanted.name = module.name;
  wanted.step = pass_;
  const CaptureEntry* entry = reference.Find(wanted.Key());
  const formats::ConstTensorRef* tensor = entry == nullptr ? nullptr : reference.Tensor(*entry);
  if (tensor == nullptr) {
    if (!must) return absl::OkStatus();
    return absl::InvalidArgumentError(
        StrCat(reference.folder(), ": ", entry == nullptr ? "has no entry " : "has statistics alone of ",
               formats::QuotedShort(wanted.Key()), "; a replacement needs its tensor (capture it in full)"));
  }
  const View& view = workspace.ValueView(module.value);
  PLINTH_CHECK(view.dense());  // the plan observes it
  const std::span<const int64_t> dims(view.dims, static_cast<size_t>(view.rank));
  if (!tensor->stored.empty() || !formats::SameOrder(tensor->dims, dims)) {
    return absl::InvalidArgumentError(StrCat(
        reference.folder(), ": the tensor of ", formats::QuotedShort(wanted.Key()), " is ", entry->dtype, "[",
        Join(entry->dims, ", "), "]; here the value is ", formats::ToString(view.dtype, dims),
        ", so it cannot take its place (captures of the same series, context and horizon are needed)"));
  }
  const Status status = formats::ConvertTo(*tensor, view.dtype, view.data);
  if (!status.ok()) {
    return absl::InvalidArgumentError(StrCat(reference.folder(), ": ", std::string(status.message())));
  }
  reference.ReleasePages(*entry);
  // What was written of this memory holds no more.
  const int root = plan_->Root(module.value);
  std::erase_if(written_, [&](const auto& item) { return plan_->Root(item.first) == root; });
  ++replaced_;
  return absl::OkStatus();
}

Status Recorder::CheckReplaced() const {
  for (size_t i = 0; i < done_.size(); ++i) {
    if (done_[i]) continue;
    return absl::InvalidArgumentError(StrCat("the network has no value named ",
                                             formats::QuotedShort(options_.replaced[i].first),
                                             " to replace; a capture without options lists the names"));
  }
  if (options_.forced_by == nullptr || replaced_ > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(options_.forced_by->folder(),
             ": holds no tensor of any module that is recorded here, so nothing "
             "was forced; a reference captured in full is needed"));
}

}  // namespace plinth::engine
