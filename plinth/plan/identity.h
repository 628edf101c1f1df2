// Names what decides the bits of a model's results, part by part, and digests it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/graph/graph.h"

namespace plinth::plan {

// Evidence is about one numerics identity: two runs of equal identity compute equal bits. Its parts, in this
// order: model, graph, precision, kernels, isa, libraries, flags, device, driver, version. Sizes of batches
// and numbers of threads are none of them.
struct NumericsIdentity {
  std::vector<std::pair<std::string, std::string>> parts;  // name, value

  // Null where there is no such part.
  const std::string* Find(std::string_view name) const;
  // 64 hex digits: sha256 over the lines "NAME=VALUE\n", in the order of the parts.
  // Errors: InvalidArgument where two identities could share their lines: no parts, an empty or repeated
  // name, an equals sign in a name, a control character anywhere; Unavailable as Sha256.
  StatusOr<std::string> Digest() const;
};

struct IdentityChange {
  std::string part, before, now;  // a value is empty where that side has no such part
};

// The parts that differ, in the order of `now`, then those that only `before` has.
std::vector<IdentityChange> Changes(const NumericsIdentity& before, const NumericsIdentity& now);

// 64 hex digits over the operators of a graph, their attributes, types and connections. Named dimensions
// stand by their names, so the sizes of a run are not in it. Errors: as Sha256.
StatusOr<std::string> GraphDigest(const graph::Graph& graph);

}  // namespace plinth::plan
