#include "plinth/ops/op_spec.h"

namespace plinth::ops {
namespace {

std::string ValueText(const Attribute& a) {
  struct Visitor {
    std::string operator()(int64_t v) const { return StrCat(v); }
    std::string operator()(double v) const { return StrCat(v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<int64_t>& v) const { return StrCat("[", Join(v, ","), "]"); }
  };
  return std::visit(Visitor{}, a);
}

}  // namespace

void Attributes::Set(std::string name, Attribute value) {
  for (auto& [n, v] : list_) {
    if (n == name) {
      v = std::move(value);
      return;
    }
  }
  list_.emplace_back(std::move(name), std::move(value));
}

const Attribute* Attributes::Find(std::string_view name) const {
  for (const auto& [n, v] : list_) {
    if (n == name) return &v;
  }
  return nullptr;
}

int64_t Attributes::Int(std::string_view name, int64_t otherwise) const {
  const Attribute* a = Find(name);
  return a == nullptr ? otherwise : std::get<int64_t>(*a);
}
double Attributes::Real(std::string_view name, double otherwise) const {
  const Attribute* a = Find(name);
  return a == nullptr ? otherwise : std::get<double>(*a);
}
bool Attributes::Flag(std::string_view name, bool otherwise) const {
  const Attribute* a = Find(name);
  return a == nullptr ? otherwise : std::get<bool>(*a);
}
std::string Attributes::Text(std::string_view name, std::string_view otherwise) const {
  const Attribute* a = Find(name);
  return a == nullptr ? std::string(otherwise) : std::get<std::string>(*a);
}
std::vector<int64_t> Attributes::Ints(std::string_view name) const {
  const Attribute* a = Find(name);
  return a == nullptr ? std::vector<int64_t>{} : std::get<std::vector<int64_t>>(*a);
}

std::string ToString(const Attributes& attributes) {
  return Join(attributes.list(), " ",
              [](const auto& item) { return StrCat(item.first, "=", ValueText(item.second)); });
}

Status Refuse(const OpCall& call, std::string_view why) {
  return absl::InvalidArgumentError(StrCat(call.spec->name, ": ", why));
}

StatusOr<int64_t> NormalAxis(const OpCall& call, int64_t axis, size_t rank) {
  const int64_t n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n) {
    return Refuse(call, StrCat("axis ", axis, " is outside [", -n, ", ", n, ")"));
  }
  return axis < 0 ? axis + n : axis;
}

Status CheckPorts(const OpCall& call) {
  const OpSpec& spec = *call.spec;
  const size_t ports = spec.inputs.size();
  if (call.inputs.size() > ports && !spec.variadic) {
    return Refuse(call, StrCat("takes ", ports, " inputs, got ", call.inputs.size()));
  }
  for (size_t i = 0; i < ports; ++i) {
    if (!spec.inputs[i].optional && !call.has(i)) {
      return Refuse(call, StrCat("input \"", spec.inputs[i].name, "\" is missing"));
    }
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.has(i) && call.in(i).shape.size() > kMaxRank) {
      return Refuse(call, StrCat("input ", i, " has rank ", call.in(i).shape.size(), "; at most ", kMaxRank,
                                 " is supported"));
    }
  }
  for (const auto& [name, value] : call.attributes.list()) {
    const AttrSpec* found = nullptr;
    for (const AttrSpec& a : spec.attributes) {
      if (name == a.name) found = &a;
    }
    if (found == nullptr) return Refuse(call, StrCat("has no attribute \"", name, "\""));
    if (value.index() != static_cast<size_t>(found->kind)) {
      return Refuse(call, StrCat("attribute \"", name, "\" has the wrong kind; ", found->about));
    }
  }
  return absl::OkStatus();
}

StatusOr<OpCall> MakeCall(const OpSpec& spec, std::vector<std::optional<ValueType>> inputs,
                          Attributes attributes) {
  OpCall call{&spec, std::move(inputs), {}, std::move(attributes)};
  PLINTH_RETURN_IF_ERROR(CheckPorts(call));
  PLINTH_ASSIGN_OR_RETURN(call.outputs, spec.infer(call));
  return call;
}

double Bytes(absl::Span<const View> views) {
  double bytes = 0;
  for (const View& v : views) {
    if (v.data != nullptr || v.rank > 0) bytes += static_cast<double>(v.size() * SizeOf(v.dtype));
  }
  return bytes;
}

}  // namespace plinth::ops
