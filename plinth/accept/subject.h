// Opens what an acceptance is about: a model that Plinth runs, or captures of another framework.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plinth/accept/inputs.h"
#include "plinth/accept/recipe.h"
#include "plinth/base/context.h"
#include "plinth/engine/session.h"
#include "plinth/evidence/environment.h"
#include "plinth/evidence/unit.h"
#include "plinth/formats/capture.h"
#include "plinth/verify/requirements.h"
#include "plinth/verify/rule_set.h"
#include "plinth/verify/waivers.h"

namespace plinth::accept {

struct Subject {
  std::unique_ptr<engine::Session> session;  // null for captures
  Inputs inputs;                             // empty for captures, but for the digest
  std::string model_name;
  std::vector<evidence::NamedDigest> model_files;
  evidence::NumericsIdentity identity;
  std::string identity_digest;
  evidence::Environment environment;
  std::string environment_json;
  verify::RuleSet rules;
  verify::Waivers waivers;
  verify::Requirements requirements;
  // Repeats of each side, the first one being judged; of several ranks, rank by rank.
  std::vector<std::vector<formats::Capture>> incumbent, candidate;
  std::vector<evidence::NamedDigest> captures;  // of every capture.json

  // Fills the sizes that the recipe leaves open. Errors: those of loading; InvalidArgument for sizes that the
  // model does not take, and for captures of different models or inputs.
  static StatusOr<Subject> Open(const Context& context, Recipe* recipe);
};

}  // namespace plinth::accept
