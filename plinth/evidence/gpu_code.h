// Finds for which GPUs the code inside a library was built, from its bytes alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace plinth::evidence {

struct GpuCode {
  bool is_elf = false;
  bool truncated = false;                 // the file ends before its own headers say
  std::map<std::string, int64_t> amd;     // code objects per target, "gfx936:sramecc+:xnack-"
  std::map<std::string, int64_t> nvidia;  // pieces per target, "sm_90"; "compute_90" is PTX
  int64_t compressed_bundles = 0;         // whose targets cannot be read without unpacking
  int64_t broken_bundles = 0;             // whose tables do not fit the file
};

// Reads clang offload bundles (clang's documentation, "Clang Offload Bundler": the magic
// __CLANG_OFFLOAD_BUNDLE__, a count, then offset, size and triple of each entry; compressed ones begin with
// CCOB) and CUDA fat binaries (magic 0xBA55ED50, then headers of kind, size and architecture, as the public
// studies of the format describe them). Only bytes inside `file` are looked at, whatever the tables say.
// About the speed of memchr.
GpuCode FindGpuCode(std::span<const std::byte> file);

}  // namespace plinth::evidence
