#include "plinth/evidence/environment_findings.h"

#include <algorithm>

#include "plinth/evidence/environment_subjects.h"

namespace plinth::evidence {

void AddFindings(const SystemTree& tree, const std::vector<PciFunction>& functions,
                 const std::vector<ToolOutput>& outputs, Environment* environment) {
  FindingMaker maker(tree, functions, outputs, environment);
  maker.Devices();
  maker.Stack();
  std::stable_sort(environment->findings.begin(), environment->findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
}

}  // namespace plinth::evidence
