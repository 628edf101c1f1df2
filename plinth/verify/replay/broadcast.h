// Aligns shapes at their last dimensions, as NumPy does.
#pragma once

#include <cstdint>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/verify/replay/op_use.h"

namespace plinth::verify::replay {

// The common shape. Error: InvalidArgument where a pair of dimensions is neither equal nor 1.
inline StatusOr<std::vector<int64_t>> BroadcastDims(const std::vector<int64_t>& a,
                                                    const std::vector<int64_t>& b) {
  const size_t rank = a.size() > b.size() ? a.size() : b.size();
  std::vector<int64_t> out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return absl::InvalidArgumentError(
          StrCat("shapes [", Join(a, ", "), "] and [", Join(b, ", "), "] do not fit together"));
    }
    out[rank - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

// Finds the element of a tensor of shape `from` that stands at an element of the shape `to` it is broadcast
// to.
class Broadcast {
 public:
  Broadcast() = default;
  // Error: InvalidArgument where `from` cannot become `to`.
  static StatusOr<Broadcast> Make(const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
    Broadcast b;
    b.dims_ = to;
    b.strides_.assign(to.size(), 0);
    bool fits = from.size() <= to.size();
    int64_t stride = 1;
    for (size_t i = 0; i < from.size() && fits; ++i) {
      const size_t f = from.size() - 1 - i, t = to.size() - 1 - i;
      fits = from[f] == to[t] || from[f] == 1;
      if (from[f] != 1) b.strides_[t] = stride;
      stride *= from[f];
    }
    if (!fits) {
      return absl::InvalidArgumentError(
          StrCat("[", Join(from, ", "), "] cannot be broadcast to [", Join(to, ", "), "]"));
    }
    b.same_ = from == to;
    return b;
  }
  int64_t operator()(int64_t i) const {
    if (same_) return i;
    int64_t at = 0;
    for (size_t d = dims_.size(); d-- > 0;) {
      at += i % dims_[d] * strides_[d];
      i /= dims_[d];
    }
    return at;
  }

 private:
  std::vector<int64_t> dims_, strides_;
  bool same_ = false;
};

}  // namespace plinth::verify::replay
