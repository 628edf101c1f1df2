// Tells whether valid evidence covers exactly what is about to run: the question that a server asks before it
// starts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/evidence/evidence_folder.h"

namespace plinth::evidence {

enum class State : uint8_t { kProven, kUnproven, kStale, kFailed };
std::string_view StateName(State state);  // "proven", "unproven", "stale", "failed"

struct GateRequest {
  NumericsIdentity identity;
  Envelope sizes;                    // what will be asked for; 0: not asked
  std::string model_name;            // tells evidence of other states of the same model
  std::string model;                 // its folder, as it goes into the command
  std::string evidence;              // where the command shall leave evidence; empty: beside the model
  std::vector<std::string> folders;  // evidence roots, in the order of search
};

struct GateResult {
  State state = State::kUnproven;
  std::string sentence;  // why
  std::string command;   // what mends it; empty where it is proven
  std::string folder;    // of the unit that decided; empty: none
  std::string identity;  // what was asked for, 64 hex digits; empty where it has no digest
  std::string finished;  // when the deciding unit was run
  bool self_attested = false;
  Envelope covered;  // sizes that it covers where it is proven
};

// Proven: the first root that holds evidence for exactly this identity has it valid, by a trusted key, with a
// verdict that is no failure, every question but performance answered with yes or warned, and sizes that
// cover the request. Failed: valid evidence for it, in whichever root, says that it computes wrong, and no
// later acceptance that asks at least the same lifts that; the command asks it again. Stale: there is none,
// but valid evidence for another state of the model; the sentence says which parts changed since the newest
// of it. Unproven: everything else.
GateResult Check(const GateRequest& request, const TrustedKeys& keys);

// Where evidence is looked for: `wanted` (--evidence) where it is not empty, the system's folder, and the one
// beside the model.
std::vector<std::string> SearchFolders(const std::string& wanted, const std::string& model_folder);

}  // namespace plinth::evidence
