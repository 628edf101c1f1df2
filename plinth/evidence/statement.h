// Writes and reads the payloads that are signed: our statement and the public test result. Internal to this
// folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plinth/evidence/evidence_folder.h"
#include "plinth/formats/json.h"

namespace plinth::evidence {

// What the statement says: an in-toto Statement v1 with a predicate of kPredicateType.
struct Statement {
  Unit unit;  // without environment_json
  std::string identity;
  std::string environment_sha256;
  Verdict verdict = Verdict::kFail;
  RecordCounts records;
  std::vector<CoveredFile> files;  // by name
};

// Errors: InvalidArgument where the unit contradicts itself (as WriteEvidence says).
StatusOr<std::string> StatementPayload(const Statement& statement);

// Reads what StatementPayload wrote; keys it does not know are passed over, as in-toto's parsing rules
// demand. Holds every part against the others. `where` begins every message. Errors: InvalidArgument.
StatusOr<Statement> ParseStatement(std::string_view payload, const std::string& where);

// An in-toto Statement v1 with the predicate test-result v0.1: one test for each question, by its id; one
// that is unproven stands among the warned as "ID: unproven", so that no policy takes it for passed.
std::string TestResultPayload(const Statement& statement);

// Whether such a payload says what the statement says. Errors: InvalidArgument.
Status CheckTestResult(std::string_view payload, const Statement& statement, const std::string& where);

// The value as compact JSON.
std::string JsonText(const formats::JsonValue& value);

// Whether `name` may name a file in a folder of evidence.
bool IsGoodFileName(std::string_view name);

}  // namespace plinth::evidence
