#include "plinth/engine/identity.h"

#include <gnu/libc-version.h>

#include <set>

#include "oneapi/dnnl/dnnl.h"
#include "plinth/base/version.h"

namespace plinth::engine {
namespace {

// "linear=onednn softmax=portable", sorted: the same whatever order the plan has them in.
std::string Kernels(const plan::Plan& plan, bool* onednn) {
  std::set<std::string> kernels;
  for (size_t s = 0; s < plan.step_count(); ++s) {
    const std::string_view kernel = plan.StepKernel(s);
    *onednn = *onednn || kernel == "onednn";
    kernels.insert(StrCat(plan.StepCall(s).spec->name, "=", kernel));
  }
  return Join(kernels, " ");
}

std::string Libraries(bool onednn) {
  // The C library computes asinh and its like; its version is the one in use, not the one compiled against.
  std::string libraries = StrCat("glibc ", gnu_get_libc_version());
  if (onednn) {
    const dnnl_version_t* version = dnnl_version();
    StrAppend(&libraries, " oneDNN ", version->major, ".", version->minor, ".", version->patch, " ",
              version->hash);
  }
  return libraries;
}

std::string Flags(Isa isa) {
  constexpr const char* kLevels[kIsaLevels] = {PLINTH_FLAGS_V2, PLINTH_FLAGS_V3, PLINTH_FLAGS_V4};
  return StrCat(PLINTH_NUMERIC_FLAGS, " ", kLevels[static_cast<size_t>(isa)]);
}

}  // namespace

StatusOr<plan::NumericsIdentity> IdentityOf(const Session& session) {
  PLINTH_ASSIGN_OR_RETURN(std::string model, session.folder().Digest());
  // The published form, since rewrites depend on the sizes of a run and change no numbers.
  graph::GraphBuilder builder;
  session.model().Build(builder, {.grouped = true, .published = true});
  PLINTH_ASSIGN_OR_RETURN(const graph::Graph published, builder.Finish());
  PLINTH_ASSIGN_OR_RETURN(std::string graph, plan::GraphDigest(published));
  bool onednn = false;
  std::string kernels = Kernels(session.plan(), &onednn);
  plan::NumericsIdentity identity;
  identity.parts = {{"model", std::move(model)},
                    {"graph", std::move(graph)},
                    {"precision", "f32"},
                    {"kernels", std::move(kernels)},
                    {"isa", std::string(IsaName(session.context().isa))},
                    {"libraries", Libraries(onednn)},
                    {"flags", Flags(session.context().isa)},
                    {"device", "cpu"},
                    {"driver", "none"},
                    {"version", std::string(kVersion)}};
  return identity;
}

}  // namespace plinth::engine
