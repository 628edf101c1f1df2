// Shows earlier acceptances side by side.
#pragma once

#include <string>
#include <vector>

#include "plinth/evidence/evidence_folder.h"

namespace plinth::accept {

// One unit of the history; one that was refused has its sentence instead.
struct PastUnit {
  std::string folder;
  std::string problem;          // why it is not trusted; empty: all is well
  evidence::Evidence evidence;  // meaningless where there is a problem
};

// Every unit below an evidence root, oldest first, checked as `plinth evidence verify` does. Errors: NotFound
// where there is none; FileError.
StatusOr<std::vector<PastUnit>> ReadHistory(const std::string& root, const evidence::TrustedKeys& keys);

// A line for each unit: when, what, verdict, the seven answers, speed, and which parts of the identity
// changed since the unit before it.
std::string HistoryText(const std::vector<PastUnit>& units);
// One JSON object for each unit and line.
std::string HistoryJson(const std::vector<PastUnit>& units);

}  // namespace plinth::accept
