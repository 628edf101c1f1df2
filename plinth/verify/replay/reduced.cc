#include "plinth/verify/replay/reduced.h"

namespace plinth::verify::replay {

int64_t Reduced::Offset(int64_t i, const std::vector<Axis>& axes) {
  int64_t at = 0;
  for (size_t a = axes.size(); a-- > 0;) {
    at += i % axes[a].length * axes[a].stride;
    i /= axes[a].length;
  }
  return at;
}

StatusOr<Reduced> ReducedBy(const OpUse& use, const Values& x) {
  PLINTH_ASSIGN_OR_RETURN(const auto axes, use.Ints("dim", {}));
  PLINTH_ASSIGN_OR_RETURN(const bool keep, use.Flag("keepdim", false));
  std::vector<bool> gone(x.rank(), axes.empty());
  for (const int64_t a : axes) {
    PLINTH_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(a, x.rank()));
    if (x.rank() > 0) gone[static_cast<size_t>(axis)] = true;
  }
  Reduced r;
  for (size_t d = 0; d < x.rank(); ++d) {
    const Reduced::Axis axis{x.dims()[d], ProductOf(x.dims(), d + 1, x.rank())};
    (gone[d] ? r.gone : r.kept).push_back(axis);
    (gone[d] ? r.terms : r.outputs) *= axis.length;
    if (!gone[d] || keep) r.dims.push_back(gone[d] ? 1 : axis.length);
  }
  return r;
}

}  // namespace plinth::verify::replay
