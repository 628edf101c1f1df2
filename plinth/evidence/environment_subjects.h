// Lists what CollectEnvironment asks for, one function and one source file per subject.
#pragma once

#include <string>
#include <vector>

#include "plinth/base/threads.h"
#include "plinth/evidence/environment.h"
#include "plinth/evidence/pci.h"
#include "plinth/evidence/system_tree.h"
#include "plinth/evidence/tools.h"
#include "plinth/evidence/variables.h"

namespace plinth::evidence {

// cpu: model, vendor, features that select kernels, ISA levels, caches, microcode, cores.
void AddCpuFacts(const SystemTree& tree, const Variables& variables, Environment* environment);
// memory, os (distribution, C library), kernel, hypervisor.
void AddMachineFacts(const SystemTree& tree, Environment* environment);
// container: runtime, image, limits of control groups for processors and memory.
void AddContainerFacts(const SystemTree& tree, const Variables& variables, Environment* environment);
// devices: one item per card, from PCI, KFD and the driver's files; `functions` are those of the PCI bus.
void AddDeviceFacts(const SystemTree& tree, const std::vector<PciFunction>& functions,
                    Environment* environment);
// drivers and nodes: kernel modules with versions, device nodes with permissions.
void AddDriverFacts(const SystemTree& tree, Environment* environment);
// tools: what each says about itself, and what it says about cards (added to devices too).
void AddToolFacts(const std::vector<ToolOutput>& outputs, Environment* environment);
// stack: DTK, ROCm, CUDA, HAL and the libraries they bring.
void AddStackFacts(const SystemTree& tree, Environment* environment);
// frameworks: packages of a Python interpreter, from what `kPackageScript` printed.
void AddFrameworkFacts(const ToolOutput& output, Environment* environment);
// variables: those that select kernels or devices.
void AddVariableFacts(const Variables& variables, Environment* environment);
// libraries: gfx and sm targets of the code in each. Errors: NotFound for a path that is not there.
Status AddLibraryFacts(const SystemTree& tree, const std::vector<std::string>& paths, Threads& threads,
                       Environment* environment);
// digests of the running program and of the libraries it has mapped; of a model folder and of inputs.
Status AddDigestFacts(const std::string& model, const std::vector<std::string>& inputs, bool program,
                      Threads& threads, Environment* environment);

// Holds the facts against each other. `functions` as above.
void AddFindings(const SystemTree& tree, const std::vector<PciFunction>& functions,
                 const std::vector<ToolOutput>& outputs, Environment* environment);

}  // namespace plinth::evidence
