#include "plinth/engine/identity.h"

#include "plinth/base/digest.h"
#include "plinth/base/version.h"

namespace plinth::engine {

StatusOr<std::string> NumericsIdentity(const Session& session) {
  PLINTH_ASSIGN_OR_RETURN(const std::string model, session.folder().Digest());
  Sha256 sha;
  sha.Update(StrCat("plinth ", kVersion, "\nmodel ", model, "\nisa ", IsaName(session.context().isa), "\n"));
  const plan::Plan& plan = session.plan();
  for (size_t s = 0; s < plan.step_count(); ++s) {
    const ops::OpCall& call = plan.StepCall(s);
    sha.Update(StrCat(call.spec->name, " ", plan.StepKernel(s), " ", ops::ToString(call.attributes), " ",
                      DTypeName(call.outputs[0].dtype), "\n"));
  }
  PLINTH_ASSIGN_OR_RETURN(const std::string hex, sha.Hex());
  return StrCat("sha256:", hex);
}

}  // namespace plinth::engine
