// Runs a whole acceptance: environment, operators, layers, task, repeatability, then speed; and signs what it
// found.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "plinth/accept/recipe.h"
#include "plinth/base/clock.h"
#include "plinth/base/context.h"
#include "plinth/evidence/evidence_folder.h"
#include "plinth/report/acceptance_view.h"

namespace plinth::accept {

struct AcceptOptions {
  Recipe recipe;
  std::string evidence;                    // root of the evidence; made where it is not there
  std::string key;                         // PEM of the signing key; empty: the local one, made on first use
  std::string program = "plinth";          // how reproduce lines call it
  std::string commit = "unknown";          // that the program was built from
  std::string command;                     // the command that does all this again
  Language language = Language::kEnglish;  // of the report
  bool captures = false;                   // puts the captures into the evidence
  const Clock* clock = nullptr;            // null: the system's
  std::function<bool()> interrupted;       // asked between pieces of work; empty: never
  std::function<void(std::string_view)> tell;  // what is being done now
  std::function<void(std::string_view)> note;  // remarks worth a line
};

struct AcceptResult {
  AcceptanceView view;
  evidence::Verdict verdict = evidence::Verdict::kFail;
  evidence::WrittenEvidence written;
  std::string identity;  // 64 hex digits
  std::string keyid;
  size_t records = 0;
};

// Long pieces are remembered under `evidence`/.unfinished and not done again when the same acceptance, of the
// same model, inputs, rules and machine, is started anew; these files go when the evidence is written.
// Errors: InvalidArgument for a recipe that cannot be done (model, data, captures, rules), NotFound,
// Cancelled when interrupted, ResourceExhausted, PermissionDenied; no evidence is written then.
StatusOr<AcceptResult> Accept(const Context& context, const AcceptOptions& options);

}  // namespace plinth::accept
