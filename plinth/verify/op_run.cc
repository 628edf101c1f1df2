#include "plinth/verify/op_run.h"

#include <algorithm>

#include "plinth/verify/fill.h"

namespace plinth::verify {
namespace {

using ops::OpCall;
using ops::OpChecks;
using ops::Place;
using ops::RefTensor;

// Around inputs: NaN in every floating format, so that a read outside spreads. Around outputs: a value
// that no fill produces.
constexpr uint8_t kInputGuard = 0xff;
constexpr uint8_t kOutputGuard = 0xa5;

// What `port` takes of what the case asks for.
Place Allowed(Place place, const ops::OpSpec& spec, size_t input) {
  const auto& port = spec.inputs[std::min(input, spec.inputs.size() - 1)];
  const bool fits = place == Place::kDense || place == Place::kMisaligned ||
                    (place == Place::kRowStrided && port.layout != ops::Layout::kDense) ||
                    (place == Place::kTransposed && port.layout == ops::Layout::kAny);
  return fits ? place : Place::kDense;
}

// A byte pattern that, repeated, is none of the right answers: NaN for floating types.
StatusOr<uint8_t> ChoosePrefill(DType dtype, const RefTensor& reference) {
  if (IsFloat(dtype)) return 0xff;
  for (uint8_t pattern : {0xff, 0xa5, 0x5a, 0x3c, 0xc3, 0x69, 0x96, 0x7e}) {
    uint64_t bytes = 0x0101010101010101u * pattern;
    const double value = LoadElement(dtype, &bytes);
    const auto& d = reference.data;
    if (std::none_of(d.begin(), d.end(), [&](double x) { return ops::RoundTo(dtype, x) == value; })) {
      return pattern;
    }
  }
  return absl::InvalidArgumentError("the case's results contain every pre-fill pattern; use fewer values");
}

// Sets the outputs' dimensions.
Status SizeOutputs(OpCase& c) {
  for (const ValueType& type : c.call.outputs) {
    PLINTH_ASSIGN_OR_RETURN(std::vector<int64_t> dims, Resolve(type.shape, {}));
    RefTensor out{std::move(dims), {}};
    int64_t size = 1;
    for (int64_t d : out.dims) size *= d;
    out.data.assign(static_cast<size_t>(size), 0.0);
    c.io.out.push_back(std::move(out));
  }
  c.prefill.assign(c.io.out.size(), kInputGuard);
  return absl::OkStatus();
}

Status RunReference(OpCase& c) {
  const OpChecks& checks = *c.checks;
  checks.reference(c.call, c.io);
  for (size_t port = 0; port < c.io.out.size(); ++port) {
    const auto kind = checks.tolerance.kind;
    const bool exact = kind == ops::ToleranceClass::kExact || kind == ops::ToleranceClass::kOrder;
    c.limits.push_back(exact ? std::vector<double>{} : checks.tolerance.limit(c.call, c.io, port));
    PLINTH_ASSIGN_OR_RETURN(c.prefill[port], ChoosePrefill(c.call.outputs[port].dtype, c.io.out[port]));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<OpCase> MakeOpCase(const OpChecks& checks, const ops::Case& definition, uint64_t seed) {
  OpCase c{.checks = &checks, .definition = definition};
  std::vector<std::optional<ValueType>> types;
  for (size_t i = 0; i < definition.inputs.size(); ++i) {
    const ops::InputCase& in = definition.inputs[i];
    auto filled = FillInput(in, InputSeed(seed, checks.spec->name, definition.name, i));
    if (!filled.ok()) return Prepend(filled.status(), StrCat("input ", i));
    c.io.in.push_back(*std::move(filled));
    types.emplace_back();
    if (!in.absent) types.back() = ValueType{in.dtype, Shape(in.dims.begin(), in.dims.end())};
  }
  PLINTH_ASSIGN_OR_RETURN(c.call, ops::MakeCall(*checks.spec, std::move(types), definition.attributes));
  PLINTH_RETURN_IF_ERROR(SizeOutputs(c));
  // Data that the kernel must report: the reference has no answer to it.
  if (definition.fault.empty()) PLINTH_RETURN_IF_ERROR(RunReference(c));
  return c;
}

StatusOr<OpCase> MakeUnjudgedCase(const OpCase& like, std::vector<RefTensor> inputs) {
  OpCase c{.checks = like.checks, .definition = like.definition};
  std::vector<std::optional<ValueType>> types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    types.emplace_back();
    if (!inputs[i].present()) continue;
    types.back() = ValueType{like.call.in(i).dtype, Shape(inputs[i].dims.begin(), inputs[i].dims.end())};
  }
  c.io.in = std::move(inputs);
  PLINTH_ASSIGN_OR_RETURN(c.call, ops::MakeCall(*like.checks->spec, std::move(types), like.call.attributes));
  PLINTH_RETURN_IF_ERROR(SizeOutputs(c));
  return c;
}

bool MayTakeOver(const OpCase& c, size_t i) {
  return ops::HasPort(c.checks->spec->in_place, i) && c.call.has(i) && !c.definition.inputs[i].constant &&
         c.call.in(i).dtype == c.call.outputs[0].dtype && c.io.in[i].dims == c.io.out[0].dims;
}

StatusOr<OpLaunch> OpLaunch::Make(const OpCase& c, const RunSetup& setup) {
  OpLaunch launch;
  launch.case_ = &c;
  const ops::OpSpec& spec = *c.checks->spec;
  const auto& inputs = c.definition.inputs;
  std::vector<View> constants(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].absent) {
      launch.run_.inputs.emplace_back();
    } else {
      const Place place = Allowed(setup.place.value_or(inputs[i].place), spec, i);
      launch.run_.inputs.emplace_back(inputs[i].dtype, c.io.in[i], place, kInputGuard);
      if (inputs[i].constant) constants[i] = launch.run_.inputs[i].view();
    }
    launch.in_.push_back(launch.run_.inputs[i].view());
  }
  const Place asked = setup.place.value_or(inputs.empty() ? Place::kDense : inputs[0].place);
  const Place out_place = asked == Place::kMisaligned ? Place::kMisaligned : Place::kDense;
  for (size_t port = 0; port < c.io.out.size(); ++port) {
    launch.run_.outputs.emplace_back(c.call.outputs[port].dtype, c.io.out[port].dims, out_place,
                                     c.prefill[port], kOutputGuard);
    launch.run_.results.push_back(launch.run_.outputs[port].view());
  }
  if (setup.in_place >= 0) launch.run_.results[0] = launch.in_[static_cast<size_t>(setup.in_place)];
  if (setup.view) {
    PLINTH_RETURN_IF_ERROR(launch.MakeView(c));
    return launch;
  }
  PLINTH_ASSIGN_OR_RETURN(launch.step_, ops::CpuStep::Make(c.call, constants, setup.isa, setup.kernel));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (ops::HasPort(launch.step_->replaces(), i)) launch.run_.inputs[i].Poison(kInputGuard);
  }
  launch.AllocateScratch(setup.threads == nullptr ? 1 : setup.threads->count());
  return launch;
}

Status OpLaunch::MakeView(const OpCase& c) {
  const ops::OpSpec& spec = *c.checks->spec;
  if (spec.view == nullptr) return absl::UnimplementedError("the operator has no view");
  View out = run_.results[0];
  for (int64_t& stride : out.strides) stride = 0;
  out.data = nullptr;
  if (!spec.view(c.call, in_[0], &out)) {
    return absl::UnimplementedError("these strides allow no view");
  }
  // Every element of the view must be one of the input's.
  const Placed& in = run_.inputs[0];
  const int64_t size = SizeOf(out.dtype);
  std::vector<bool> own(static_cast<size_t>(in.storage_bytes()), false);
  ForEachElement(in.view(), [&](int64_t, int64_t offset) {
    own[static_cast<size_t>(static_cast<std::byte*>(in.element(offset)) - in.storage())] = true;
  });
  ForEachElement(out, [&](int64_t i, int64_t offset) {
    const int64_t at = static_cast<std::byte*>(out.data) + offset * size - in.storage();
    const bool inside = at >= 0 && at < in.storage_bytes() && own[static_cast<size_t>(at)];
    if (!inside && run_.damage.empty())
      run_.damage = StrCat("element ", i, " of the view lies outside the input");
  });
  run_.results[0] = out;
  return absl::OkStatus();
}

void OpLaunch::AllocateScratch(int workers) {
  const int64_t bytes = step_->ScratchBytes(in_.data(), run_.results.data());
  // Uninitialised scratch reads as NaN.
  for (int w = 0; w < workers; ++w) {
    scratch_.emplace_back(DType::kU8, std::vector<int64_t>{bytes}, Place::kDense, kInputGuard, kOutputGuard);
  }
}

void OpLaunch::Launch(const RunSetup& setup) {
  const View* in = in_.data();
  const View* out = run_.results.data();
  const int64_t pieces = step_->Pieces(in, out);
  const auto scratch = [&](int worker) {
    return static_cast<std::byte*>(scratch_[static_cast<size_t>(worker)].view().data);
  };
  switch (setup.order) {
    case PieceOrder::kAtOnce:
      step_->Run(in, out, 0, pieces, scratch(0), &run_.fault);
      break;
    case PieceOrder::kSinglyReversed:
      for (int64_t p = pieces - 1; p >= 0; --p) step_->Run(in, out, p, p + 1, scratch(0), &run_.fault);
      break;
    case PieceOrder::kThreaded: {
      std::vector<ops::KernelFault> faults(scratch_.size());
      setup.threads->For(pieces, [&](int64_t p, int worker) {
        step_->Run(in, out, p, p + 1, scratch(worker), &faults[static_cast<size_t>(worker)]);
      });
      for (const auto& fault : faults) {
        if (fault.what != nullptr) run_.fault = fault;
      }
      break;
    }
  }
  for (const Placed& s : scratch_) {
    if (std::string why = s.Damage(); !why.empty() && run_.damage.empty()) {
      run_.damage = StrCat("scratch: ", why);
    }
  }
}

ops::Cost OpLaunch::Work() const { return case_->checks->spec->cost(case_->call, in_, run_.results); }

void Inspect(OpRun& run, int in_place) {
  for (size_t i = 0; i < run.inputs.size() && run.damage.empty(); ++i) {
    if (run.inputs[i].view().data == nullptr) continue;
    // An input that was packed or taken over may change inside, never outside.
    std::string why = static_cast<int>(i) == in_place ? run.inputs[i].Damage() : run.inputs[i].Change();
    if (why.empty()) why = run.inputs[i].Damage();
    if (!why.empty()) run.damage = StrCat("input ", i, ": ", why);
  }
  for (size_t port = 0; port < run.outputs.size() && run.damage.empty(); ++port) {
    std::string why = run.outputs[port].Damage();
    if (!why.empty()) run.damage = StrCat("output ", port, ": ", why);
  }
}

StatusOr<OpRun> RunOp(const OpCase& c, const RunSetup& setup) {
  PLINTH_ASSIGN_OR_RETURN(OpLaunch launch, OpLaunch::Make(c, setup));
  if (!setup.view) launch.Launch(setup);
  Inspect(launch.run(), setup.in_place);
  return std::move(launch.run());
}

}  // namespace plinth::verify
