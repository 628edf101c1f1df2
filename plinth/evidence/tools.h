// Asks the vendors' tools, each with a limit of time and output, or reads what they said in a recorded tree.
#pragma once

#include <string>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/evidence/system_tree.h"

namespace plinth::evidence {

struct ToolOutput {
  std::string name;    // "rocminfo"; of a recorded tree the file's name without ".txt"
  std::string source;  // its path, or the recorded file
  std::string text;    // both streams, at most kMostToolBytes
  int exit_code = 0;   // 128 + signal where one ended it
  bool hung = false;   // stopped when its time was over
  bool cut = false;    // wrote more than is kept
};

inline constexpr size_t kMostToolBytes = 256 << 10;

// One program to run. Files of its output are named after it in a recorded tree.
struct ToolCommand {
  std::string name;
  std::string program;  // a path, or a name that is looked up in PATH and then in the vendors' folders
  std::vector<std::string> arguments;
};

// nvidia-smi (and nvidia-smi-cards, its table of cards), rocm-smi, hy-smi, rocminfo, hipcc, nvcc.
const std::vector<ToolCommand>& VendorTools();

// Runs those that are installed, side by side, and kills what has not ended after `seconds`. A tool that is
// not there has no output in the result. Errors: Cancelled when interrupted.
StatusOr<std::vector<ToolOutput>> RunTools(const std::vector<ToolCommand>& tools, double seconds);

// DIR/plinth-recorded/tools/NAME.txt, its exit code in NAME.status ("0", "124" for one that hung).
std::vector<ToolOutput> RecordedTools(const SystemTree& tree, const std::vector<ToolCommand>& tools);

// The file that a shell would run for `program`, else the one in a vendor's folder; empty where there is
// none.
std::string FindProgram(const std::string& program);

}  // namespace plinth::evidence
