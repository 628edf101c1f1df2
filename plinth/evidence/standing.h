// Keeps failures standing: one is lifted only by a later acceptance of the same identity that asks at least
// the same and finds it right.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plinth/evidence/evidence_folder.h"

namespace plinth::evidence {

// What `then` asked and `now` does not, one short text each: "layers.golden_cases is not asked", "run.repeats
// was 59, is 5". Empty: `now` asks at least as much.
std::vector<std::string> Lacking(const std::vector<AskedItem>& then, const std::vector<AskedItem>& now);

// Whether `later`, a unit of the same identity that came after the failure, lifts it: it asks at least the
// same, and answers with yes or warned what failed.
bool Lifts(const Unit& later, const StandingFailure& failure);

// What a unit that answers a question with no leaves standing.
StandingFailure FailureOf(const Unit& unit);

// Failures of `identity` that stand: those of units below the roots (newest folders and histories) with a
// valid signature by a trusted key, and those that such units carry on, as far as no such unit lifts them.
// `now`: a further unit, which lifts too, and whose own failure is not among the results; null: none.
// Failures that another of the results implies are left out; the newest comes first. What does not verify
// counts for nothing. Errors: FileError.
StatusOr<std::vector<StandingFailure>> StandingFailures(std::span<const std::string> roots,
                                                        const std::string& identity, const Unit* now,
                                                        const TrustedKeys& keys);

// How many units of `identity` below the roots no trusted key signed; they count for nothing above. Errors:
// FileError.
StatusOr<int64_t> UntrustedUnits(std::span<const std::string> roots, const std::string& identity,
                                 const TrustedKeys& keys);

// Whether a unit of `identity` below the root, signed by a trusted key, is of that run. Errors: FileError.
StatusOr<bool> RunIsOnRecord(const std::string& root, const std::string& identity, const std::string& run,
                             const TrustedKeys& keys);

// "the evidence of T says that it computes wrong: layers: ...; what ran since asks less (...)".
std::string ToText(const StandingFailure& failure, const Unit& now);

}  // namespace plinth::evidence
