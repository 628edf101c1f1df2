// Makes one operator call executable on the CPU: chooses a kernel, prepares weights, launches pieces.
// The executor and the operator checks share it, so that what is verified is what ships.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "plinth/ops/op_spec.h"

namespace plinth::ops {

// Shares prepared weights between steps. `key` names the kernel and everything of the call that its
// `prepare` may depend on, except which constants they are; an implementation adds those.
class PrepareCache {
 public:
  using Make = absl::FunctionRef<StatusOr<CpuKernel::Prepared>()>;
  virtual ~PrepareCache() = default;
  virtual StatusOr<CpuKernel::Prepared> Get(const std::string& key, Make make) = 0;
};

class CpuStep {
 public:
  // `constants[i].data` is set where input i is known at plan time (may be shorter than the inputs).
  // `kernel` names one kernel; empty takes the first that does not refuse. With a `cache`, what
  // `prepare` returns is shared.
  // Errors: Unimplemented when every kernel refuses, with each one's sentence.
  static StatusOr<CpuStep> Make(OpCall call, absl::Span<const View> constants, Isa isa,
                                std::string_view kernel = "", PrepareCache* cache = nullptr);

  const OpCall& call() const { return call_; }
  const CpuKernel& kernel() const { return *kernel_; }
  // Kernels that come before the chosen one, with the reason each refused.
  const std::vector<std::pair<std::string, std::string>>& refused() const { return refused_; }
  int64_t prepared_bytes() const { return prepared_.bytes; }
  // Bit i: constant input i is no longer read once the step is made.
  uint32_t replaces() const { return prepared_.replaces; }

  // Scratch bytes one worker needs at these (largest) sizes.
  int64_t ScratchBytes(const View* in, const View* out) const;
  int64_t Pieces(const View* in, const View* out) const {
    return kernel_->pieces == nullptr ? 1 : kernel_->pieces(in, out, params_);
  }
  // Launches pieces [begin, end). `in` has one view per input port, all zero for an absent one.
  void Run(const View* in, const View* out, int64_t begin, int64_t end, std::byte* scratch,
           KernelFault* fault) const {
    run_(CpuArgs{in, out, params_.bytes, prepared_.data.get(), scratch, fault}, begin, end);
  }

 private:
  // Fills prepared_. Error: Unimplemented where the kernel refuses the constants.
  Status Prepare(const View* constants, PrepareCache* cache);

  OpCall call_;
  const CpuKernel* kernel_ = nullptr;
  CpuFn* run_ = nullptr;
  Isa isa_ = Isa::kV2;
  Params params_;
  CpuKernel::Prepared prepared_;
  std::vector<std::pair<std::string, std::string>> refused_;
};

// "gather: index 17 at position 3 is out of range" as a status; OK where there is no fault.
Status ToStatus(const OpSpec& spec, const KernelFault& fault);

}  // namespace plinth::ops
