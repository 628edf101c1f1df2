// Knows which environment variables select kernels or devices, and reads those and no others.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/evidence/environment_diff.h"
#include "plinth/evidence/system_tree.h"

namespace plinth::evidence {

// Why a variable is recorded. The pattern is a name, or the beginning of names when it ends in '*'.
struct VariableRule {
  std::string_view pattern;
  Effect effect;
  std::string_view reason;  // completes "it ..."
};

// The rule of a variable; null for one that is never recorded.
const VariableRule* FindVariableRule(std::string_view name);

// The patterns of all rules.
std::vector<std::string_view> VariablePatterns();

struct Variables {
  std::map<std::string, std::string> values;
  std::string source;  // where they were read, for messages
};

// The variables with a rule, of this process or of the recorded `environ` (lines NAME=VALUE). The value of
// one whose name or content looks like a secret is replaced by a remark; a value of over 1024 bytes is cut,
// and its SHA-256 is appended.
Variables ReadVariables(const SystemTree& tree);

}  // namespace plinth::evidence
