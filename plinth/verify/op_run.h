// Runs one case of an operator through one kernel, as the executor would, with guarded memory around
// every input, output and the scratch.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plinth/base/cpu.h"
#include "plinth/base/threads.h"
#include "plinth/ops/checks.h"
#include "plinth/ops/cpu_step.h"
#include "plinth/verify/placed.h"

namespace plinth::verify {

// A case made concrete: data, types, and what the reference says.
struct OpCase {
  const ops::OpChecks* checks = nullptr;
  ops::Case definition;
  ops::OpCall call;
  ops::RefIo io;                            // inputs as the kernel sees them, outputs of the reference
  std::vector<std::vector<double>> limits;  // per output; empty: exact
  std::vector<uint8_t> prefill;             // per output: a byte pattern no right answer consists of
};

// Fills the inputs, infers the types and runs the reference.
// Errors: whatever the operator refuses, and InvalidArgument for a case that contradicts itself.
StatusOr<OpCase> MakeOpCase(const ops::OpChecks& checks, const ops::Case& definition, uint64_t seed);
// The same operator and attributes on other inputs (rows of a larger case), without asking the reference.
StatusOr<OpCase> MakeUnjudgedCase(const OpCase& like, std::vector<ops::RefTensor> inputs);

// Whether output 0 may take over the memory of input `i` in this call.
bool MayTakeOver(const OpCase& c, size_t i);

// The order and number of threads in which the pieces of a launch run.
enum class PieceOrder : uint8_t { kAtOnce, kSinglyReversed, kThreaded };

struct RunSetup {
  Isa isa = Isa::kV2;
  std::string kernel;               // "" takes the first that does not refuse
  std::optional<ops::Place> place;  // for all inputs and outputs; nullopt: as the case says
  int in_place = -1;                // output 0 takes over the memory of this input
  PieceOrder order = PieceOrder::kAtOnce;
  Threads* threads = nullptr;  // for kThreaded
  bool view = false;           // ask the operator for a reinterpretation instead of running a kernel
};

// Memory after a run.
struct OpRun {
  std::vector<Placed> inputs;  // one per input of the call; an absent one has no data
  std::vector<Placed> outputs;
  std::vector<View> results;  // where each output is: in `outputs`, or in an input's memory
  ops::KernelFault fault;
  std::string damage;  // what the kernel wrote where it must not, or left undone; "" when all is well
};

// Errors: Unimplemented where no kernel (or not the named one) takes the call, or the operator cannot
// make a view of these strides.
StatusOr<OpRun> RunOp(const OpCase& c, const RunSetup& setup);

// Looks at sentinels and inputs again and fills `run.damage`. `in_place` as in the setup.
void Inspect(OpRun& run, int in_place);

// A step with its memory, to be launched repeatedly.
class OpLaunch {
 public:
  static StatusOr<OpLaunch> Make(const OpCase& c, const RunSetup& setup);
  void Launch(const RunSetup& setup);
  // Work of one launch.
  ops::Cost Work() const;
  const ops::CpuStep& step() const { return *step_; }
  OpRun& run() { return run_; }

 private:
  Status MakeView(const OpCase& c);
  void AllocateScratch(int workers);

  std::optional<ops::CpuStep> step_;
  OpRun run_;
  std::vector<View> in_;
  std::vector<Placed> scratch_;  // one per worker
  const OpCase* case_ = nullptr;
};

}  // namespace plinth::verify
