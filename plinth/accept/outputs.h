// Turns a finished acceptance into its evidence: statement, records, report and test reports.
#pragma once

#include <string>

#include "plinth/accept/acceptance.h"
#include "plinth/accept/work.h"
#include "plinth/evidence/evidence_folder.h"

namespace plinth::accept {

// Nanoseconds since 1970.
struct RunTimes {
  int64_t started = 0, finished = 0;
};

// Completes work.view (verdict, facts, limits) and writes the evidence folder. Errors: as
// evidence::WriteEvidence.
StatusOr<evidence::WrittenEvidence> WriteOutputs(Work& work, const AcceptOptions& options,
                                                 const evidence::SigningKey& key, const RunTimes& times);

}  // namespace plinth::accept
