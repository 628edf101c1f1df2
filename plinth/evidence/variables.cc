#include "plinth/evidence/variables.h"

#include <algorithm>
#include <cctype>

#include "plinth/base/digest.h"
#include "plinth/base/text.h"
#include "plinth/evidence/text_fields.h"

extern char** environ;

namespace plinth::evidence {
namespace {

constexpr std::string_view kGemm = "selects the kernels of matrix products";
constexpr std::string_view kCollective = "selects the algorithm of collectives, whose order of sums it fixes";
constexpr std::string_view kCompiled = "changes what a compiler or tuner generates or picks";
constexpr std::string_view kVisible = "selects the devices that a run sees";
constexpr std::string_view kLibraries = "selects which libraries are loaded";
constexpr std::string_view kCpuKernels = "selects the kernels of a CPU library";
constexpr std::string_view kThreads =
    "sets the number of threads (Plinth's results do not depend on it; those of others may)";
constexpr std::string_view kQueues = "changes how work is queued or copied";

// The first that fits holds; names before prefixes, longer prefixes before shorter.
constexpr VariableRule kRules[] = {
    // What it does to numbers is the fact cpu.isa_plinth.
    {"PLINTH_ISA", Effect::kRecorded, ""},
    {"PLINTH_CONTAINER_IMAGE", Effect::kRecorded, ""},
    {"container", Effect::kRecorded, ""},
    {"CUDA_VISIBLE_DEVICES", Effect::kNumbers, kVisible},
    {"HIP_VISIBLE_DEVICES", Effect::kNumbers, kVisible},
    {"ROCR_VISIBLE_DEVICES", Effect::kNumbers, kVisible},
    {"GPU_DEVICE_ORDINAL", Effect::kNumbers, kVisible},
    {"NVIDIA_VISIBLE_DEVICES", Effect::kNumbers, kVisible},
    {"CUDA_DEVICE_ORDER", Effect::kNumbers, kVisible},
    {"HSA_OVERRIDE_GFX_VERSION", Effect::kNumbers, "makes the runtime load code for another device"},
    {"HSA_FORCE_FINE_GRAIN_PCIE", Effect::kSpeed, "changes how devices reach each other's memory"},
    {"HSA_ENABLE_SDMA", Effect::kSpeed, kQueues},
    {"HSA_KERNARG_POOL_SIZE", Effect::kSpeed, kQueues},
    {"HSA_*", Effect::kNumbers, "changes the runtime of the device"},
    {"GPU_MAX_HW_QUEUES", Effect::kSpeed, kQueues},
    {"AMD_DIRECT_DISPATCH", Effect::kSpeed, kQueues},
    {"AMD_SERIALIZE_*", Effect::kSpeed, kQueues},
    {"AMD_LOG_*", Effect::kRecorded, ""},
    {"HIP_LAUNCH_BLOCKING", Effect::kSpeed, kQueues},
    {"CUDA_LAUNCH_BLOCKING", Effect::kSpeed, kQueues},
    {"NVIDIA_TF32_OVERRIDE", Effect::kNumbers, "turns TF32 on or off behind fp32"},
    {"CUBLAS_*", Effect::kNumbers, kGemm},
    {"CUBLASLT_*", Effect::kNumbers, kGemm},
    {"CUDNN_*", Effect::kNumbers, "selects the kernels of convolutions"},
    {"CUDA_*", Effect::kNumbers, "changes the CUDA runtime"},
    {"NCCL_DEBUG*", Effect::kRecorded, ""},
    {"NCCL_*", Effect::kNumbers, kCollective},
    {"RCCL_*", Effect::kNumbers, kCollective},
    {"ALLREDUCE_STREAM_WITH_COMPUTE", Effect::kNumbers, kCollective},
    {"USE_DCU_CUSTOM_ALLREDUCE", Effect::kNumbers, kCollective},
    {"MIOPEN_*", Effect::kNumbers, "selects the kernels of convolutions and norms"},
    {"ROCBLAS_*", Effect::kNumbers, kGemm},
    {"HIPBLASLT_*", Effect::kNumbers, kGemm},
    {"HIPBLAS_*", Effect::kNumbers, kGemm},
    {"TENSILE_*", Effect::kNumbers, kGemm},
    {"DISABLE_ADDMM_HIP_LT", Effect::kNumbers, kGemm},
    {"DISABLE_ADDMM_CUDA_LT", Effect::kNumbers, kGemm},
    {"TORCH_BLAS_*", Effect::kNumbers, kGemm},
    {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", Effect::kNumbers, "turns TF32 on or off behind fp32"},
    {"PYTORCH_TUNABLEOP_*", Effect::kNumbers, kGemm},
    {"PYTORCH_HIP_ALLOC_CONF", Effect::kSpeed, "changes the allocator of device memory"},
    {"PYTORCH_CUDA_ALLOC_CONF", Effect::kSpeed, "changes the allocator of device memory"},
    {"PYTORCH_ROCM_ARCH", Effect::kNumbers, kCompiled},
    {"TORCHINDUCTOR_*", Effect::kNumbers, kCompiled},
    {"TORCHDYNAMO_*", Effect::kNumbers, kCompiled},
    {"TRITON_*", Effect::kNumbers, kCompiled},
    {"SGLANG_USE_LIGHTOP", Effect::kNumbers, "selects closed kernels"},
    {"LMSLIM_*", Effect::kNumbers, "selects closed kernels"},
    {"VLLM_HCU_*", Effect::kNumbers, "selects kernels of the DCU plug-in"},
    {"VLLM_ROCM_*", Effect::kNumbers, "selects kernels of the ROCm backend"},
    {"VLLM_USE_*", Effect::kNumbers, "selects kernels or the engine of vLLM"},
    {"VLLM_ATTENTION_BACKEND", Effect::kNumbers, "selects the attention kernel"},
    {"VLLM_FLASH_ATTN_VERSION", Effect::kNumbers, "selects the attention kernel"},
    {"FLASH_ATTENTION_*", Effect::kNumbers, "selects the attention kernel"},
    {"ATEN_CPU_CAPABILITY", Effect::kNumbers, kCpuKernels},
    {"ONEDNN_VERBOSE*", Effect::kRecorded, ""},
    {"ONEDNN_*", Effect::kNumbers, kCpuKernels},
    {"DNNL_*", Effect::kNumbers, kCpuKernels},
    {"MKL_NUM_THREADS", Effect::kSpeed, kThreads},
    {"MKL_*", Effect::kNumbers, kCpuKernels},
    {"OPENBLAS_NUM_THREADS", Effect::kSpeed, kThreads},
    {"OPENBLAS_*", Effect::kNumbers, kCpuKernels},
    {"GLIBC_TUNABLES", Effect::kNumbers, "can select other variants of exp, log and others in the C library"},
    {"OMP_*", Effect::kSpeed, kThreads},
    {"GOMP_*", Effect::kSpeed, kThreads},
    {"KMP_*", Effect::kSpeed, kThreads},
    {"TBB_*", Effect::kSpeed, kThreads},
    {"LD_LIBRARY_PATH", Effect::kNumbers, kLibraries},
    {"LD_PRELOAD", Effect::kNumbers, kLibraries},
    {"ROCM_PATH", Effect::kNumbers, kLibraries},
    {"ROCM_HOME", Effect::kNumbers, kLibraries},
    {"HIP_PATH", Effect::kNumbers, kLibraries},
    {"DTKROOT", Effect::kNumbers, kLibraries},
    {"HIP_*", Effect::kNumbers, "changes the runtime of the device"},
    {"ROCR_*", Effect::kNumbers, "changes the runtime of the device"},
};

bool Fits(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

bool LooksSecret(std::string_view name, std::string_view value) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  for (const std::string_view word :
       {"TOKEN", "SECRET", "PASSW", "CREDENTIAL", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE", "AUTH"}) {
    if (upper.find(word) != upper.npos) return true;
  }
  if (upper.ends_with("_KEY") || upper.ends_with("_PWD")) return true;
  const size_t scheme = value.find("://");  // user:password@host
  return scheme != value.npos && value.find('@', scheme) != value.npos;
}

std::string Recorded(std::string_view name, std::string_view value) {
  constexpr size_t kMost = 1024;
  if (LooksSecret(name, value))
    return value.empty() ? "" : "(set; looks like a secret, so it is not recorded)";
  if (value.size() <= kMost) return std::string(value);
  const auto digest = Sha256Hex(value);
  return StrCat(value.substr(0, kMost), "... (", value.size(), " bytes, sha256 ",
                digest.ok() ? *digest : std::string("unknown"), ")");
}

void Take(std::string_view line, Variables* variables) {
  const size_t equals = line.find('=');
  if (equals == line.npos || equals == 0 || equals > 256) return;
  const std::string_view name = line.substr(0, equals);
  if (FindVariableRule(name) == nullptr) return;
  variables->values.emplace(name, Recorded(name, line.substr(equals + 1)));
}

}  // namespace

const VariableRule* FindVariableRule(std::string_view name) {
  const auto rule = std::find_if(std::begin(kRules), std::end(kRules),
                                 [&](const VariableRule& r) { return Fits(r.pattern, name); });
  return rule == std::end(kRules) ? nullptr : rule;
}

std::vector<std::string_view> VariablePatterns() {
  std::vector<std::string_view> patterns;
  for (const VariableRule& rule : kRules) patterns.push_back(rule.pattern);
  return patterns;
}

Variables ReadVariables(const SystemTree& tree) {
  Variables variables;
  if (!tree.recorded()) {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) Take(*entry, &variables);
    variables.source = "environment of this process";
    return variables;
  }
  const std::string path = StrCat(kRecordedFolder, "/environ");
  const std::string text = tree.Read(path, 1 << 20).value_or("");
  for (const std::string_view line : Lines(text)) Take(line, &variables);
  variables.source = path.substr(1);
  return variables;
}

}  // namespace plinth::evidence
