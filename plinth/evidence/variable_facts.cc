// Environment variables that select kernels or devices.
#include "plinth/evidence/environment_subjects.h"

namespace plinth::evidence {

void AddVariableFacts(const Variables& variables, Environment* e) {
  for (const auto& [name, value] : variables.values) e->Add("variables", "", name, value, variables.source);
}

}  // namespace plinth::evidence
