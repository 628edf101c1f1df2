// Recomputes operators of Plinth's own captures with the operators' own references and limits.
#pragma once

#include "plinth/verify/replay/reference.h"

namespace plinth::verify::replay {

// As MakeReference, for a use with the inputs and attributes of ops/*/spec.cc. What has the same meaning
// under both families goes to the references of this folder, whose level line is sharper.
StatusOr<std::unique_ptr<Reference>> MakeOwnReference(const OpUse& use, size_t port,
                                                      const Arithmetic& arithmetic);

// Whether `op` is an operator of Plinth.
bool IsOwnOperator(std::string_view op);

}  // namespace plinth::verify::replay
