// Reads and decides the lines that customers have in their contracts; they are reported beside the rules,
// never instead.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/base/threads.h"
#include "plinth/formats/safetensors.h"
#include "plinth/verify/difference.h"
#include "plinth/verify/rule_set.h"

namespace plinth::verify {

enum class RequirementKind : uint8_t {
  kAllclose,  // |d - x| <= atol + rtol |x| for every element, atol and rtol by stored type
  kDistance,  // limits on statistics of d - x: the largest difference, cosine, relative error, relative L2
  kTask,      // a floor or ceiling for a task's metric
};

struct Requirement {
  std::string name;
  RequirementKind kind = RequirementKind::kAllclose;
  std::string tensor = "*";  // a name, or a pattern with * and ?
  // By stored type; absent: nothing is required of that type.
  std::array<std::optional<Closeness>, kNumberTypes> close;
  std::vector<NumberType> types;  // of kDistance; empty: all
  std::optional<double> max_abs, cosine, max_rel, rel_l2;
  std::string metric;  // of kTask
  std::optional<double> at_least, at_most;
};

struct Requirements {
  std::vector<Requirement> records;
  std::string sha256;  // of the file
};

// TOML:
//   [[requirement]] name, kind = "allclose", tensor, f32 = {atol, rtol}, bf16 = {...}
//   [[requirement]] name, kind = "distance", tensor, types = ["f32"], max_abs, cosine, max_rel, rel_l2
//   [[requirement]] name, kind = "task", metric, at_least, at_most
// Errors: InvalidArgument with file and line for bad syntax, unknown keys, repeated names, negative or
// missing limits.
StatusOr<Requirements> ParseRequirements(std::string_view text, std::string where);
// Errors: FileError; as ParseRequirements.
StatusOr<Requirements> LoadRequirements(const std::string& path);

struct RequirementResult {
  std::string name;
  std::string status;  // "passed", "failed", or "unproven": what it speaks of was not there
  std::string detail;  // what was measured, and the limit
};

// The requirements that speak of this tensor, decided between x (what the contract compares with) and d.
// Errors: InvalidArgument where both do not hold the same number of elements.
StatusOr<std::vector<RequirementResult>> CheckRequirements(const Requirements& requirements,
                                                           std::string_view tensor,
                                                           const formats::ConstTensorRef& x,
                                                           const formats::ConstTensorRef& d,
                                                           Threads* threads = nullptr);

// Those of tasks; a metric that is missing leaves its requirement unproven.
std::vector<RequirementResult> CheckTaskRequirements(
    const Requirements& requirements, const std::vector<std::pair<std::string, double>>& metrics);

}  // namespace plinth::verify
