#include "plinth/ops/cpu_step.h"

namespace plinth::ops {

StatusOr<CpuStep> CpuStep::Make(OpCall call, absl::Span<const View> constants, Isa isa,
                                std::string_view kernel, PrepareCache* cache) {
  CpuStep step;
  step.call_ = std::move(call);
  step.isa_ = isa;
  const OpSpec& spec = *step.call_.spec;
  std::string reasons;
  for (const CpuKernel& k : spec.cpu) {
    std::string why = k.refuse == nullptr ? "" : k.refuse(step.call_, isa);
    if (why.empty() && !kernel.empty() && kernel != k.name) {
      why = StrCat("kernel \"", kernel, "\" was asked for");
    }
    if (why.empty()) {
      step.kernel_ = &k;
      break;
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
  if (step.kernel_->prepare != nullptr) {
    std::vector<View> padded(constants.begin(), constants.end());
    padded.resize(step.call_.inputs.size());
    const auto make = [&] { return step.kernel_->prepare(step.call_, padded.data(), isa); };
    if (cache == nullptr) {
      PLINTH_ASSIGN_OR_RETURN(step.prepared_, make());
    } else {
      const std::string key =
          StrCat(spec.name, "/", step.kernel_->name, "/", IsaName(isa), " ", ToString(step.call_.attributes));
      PLINTH_ASSIGN_OR_RETURN(step.prepared_, cache->Get(key, make));
    }
  }
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
