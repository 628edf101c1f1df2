#include "plinth/ops/cpu_step.h"

namespace plinth::ops {

Status CpuStep::Prepare(const View* constants, PrepareCache* cache) {
  if (kernel_->prepare == nullptr) return absl::OkStatus();
  const auto make = [&] { return kernel_->prepare(call_, constants, isa_); };
  if (cache == nullptr) {
    PLINTH_ASSIGN_OR_RETURN(prepared_, make());
    return absl::OkStatus();
  }
  const std::string key =
      StrCat(call_.spec->name, "/", kernel_->name, "/", IsaName(isa_), " ", ToString(call_.attributes));
  PLINTH_ASSIGN_OR_RETURN(prepared_, cache->Get(key, make));
  return absl::OkStatus();
}

StatusOr<CpuStep> CpuStep::Make(OpCall call, absl::Span<const View> constants, Isa isa,
                                std::string_view kernel, PrepareCache* cache) {
  CpuStep step;
  step.call_ = std::move(call);
  step.isa_ = isa;
  const OpSpec& spec = *step.call_.spec;
  std::vector<View> padded(constants.begin(), constants.end());
  padded.resize(step.call_.inputs.size());
  std::string reasons;
  for (const CpuKernel& k : spec.cpu) {
    std::string why = k.refuse == nullptr ? "" : k.refuse(step.call_, isa);
    if (why.empty() && !kernel.empty() && kernel != k.name) {
      why = StrCat("kernel \"", kernel, "\" was asked for");
    }
    if (why.empty()) {
      step.kernel_ = &k;
      const Status prepared = step.Prepare(padded.data(), cache);
      if (prepared.ok()) break;
      // What only the constants show is a refusal too; anything else is an error.
      if (!absl::IsUnimplemented(prepared)) return prepared;
      step.kernel_ = nullptr;
      why = std::string(prepared.message());
    }
    StrAppend(&reasons, reasons.empty() ? "" : "; ", k.name, ": ", why);
    step.refused_.emplace_back(k.name, std::move(why));
  }
  if (step.kernel_ == nullptr) {
    return absl::UnimplementedError(StrCat(spec.name, ": no CPU kernel takes this call",
                                           reasons.empty() ? "" : " (", reasons, reasons.empty() ? "" : ")"));
  }
  step.run_ = step.kernel_->run.at[static_cast<int>(isa)];
  if (step.kernel_->params != nullptr) step.params_ = step.kernel_->params(step.call_);
  return step;
}

int64_t CpuStep::ScratchBytes(const View* in, const View* out) const {
  return kernel_->scratch_bytes == nullptr ? 0 : kernel_->scratch_bytes(call_, in, out, isa_);
}

Status ToStatus(const OpSpec& spec, const KernelFault& fault) {
  if (fault.what == nullptr) return absl::OkStatus();
  return absl::OutOfRangeError(
      StrCat(spec.name, ": ", fault.what, " (value ", fault.value, " at position ", fault.position, ")"));
}

}  // namespace plinth::ops
