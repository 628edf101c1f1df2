// Asks the evidence gate about a loaded model; commands report the answer and refuse nothing for it.
#pragma once

#include <string>

#include "CLI/CLI.hpp"
#include "plinth/engine/session.h"
#include "plinth/evidence/gate.h"

namespace plinth::app {

// Whether signed evidence covers `session`, whose identity is `identity`, for requests of these sizes (0: not
// asked). `wanted` is a folder to look in first (--evidence), or empty. Trusts the local key. What cannot be
// read leaves it unproven, with the reason in the sentence.
evidence::GateResult EvidenceOf(const engine::Session& session, const plan::NumericsIdentity& identity,
                                const evidence::Envelope& sizes, const std::string& wanted);

// Adds --evidence.
void AddEvidenceOption(CLI::App* command, std::string* folder);

}  // namespace plinth::app
