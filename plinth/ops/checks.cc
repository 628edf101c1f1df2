#include "plinth/ops/checks.h"

#include <algorithm>
#include <cmath>

#include "plinth/ops/attention/checks.h"
#include "plinth/ops/binary/checks.h"
#include "plinth/ops/concat/checks.h"
#include "plinth/ops/cumsum/checks.h"
#include "plinth/ops/linear/checks.h"
#include "plinth/ops/reshape/checks.h"
#include "plinth/ops/rms_norm/checks.h"
#include "plinth/ops/rotary/checks.h"
#include "plinth/ops/slice/checks.h"
#include "plinth/ops/softmax/checks.h"
#include "plinth/ops/unary/checks.h"

namespace plinth::ops {

const std::vector<const OpChecks*>& AllChecks() {
  static const std::vector<const OpChecks*> checks = {
      &AttentionChecks(),
      &BinaryChecks(),
      &ConcatChecks(),
      &CumsumChecks(),
      &LinearChecks(),
      &ReshapeChecks(),
      &RmsNormChecks(),
      &RotaryChecks(),
      &SliceChecks(),
      &SoftmaxChecks(),
      &UnaryChecks(),
  };
  return checks;
}

const OpChecks* FindChecks(std::string_view op) {
  for (const OpChecks* c : AllChecks()) {
    if (op == c->spec->name) return c;
  }
  return nullptr;
}

const std::vector<int64_t>& OddSizes() {
  static const std::vector<int64_t> sizes = {0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65};
  return sizes;
}

std::vector<double> UlpLimit(const RefTensor& ref, double ulps) {
  std::vector<double> limit(ref.data.size());
  for (size_t i = 0; i < limit.size(); ++i) {
    // One ULP of a float in [2^e, 2^(e+1)) is 2^(e-23); below the normal range it stays 2^-149.
    const double a = std::abs(ref.data[i]);
    int e = 0;
    std::frexp(a, &e);
    const double step = a == 0 ? 0 : std::ldexp(1.0, e - 24);
    limit[i] = std::isfinite(a) ? ulps * std::max(step, 0x1p-149) : 0;
  }
  return limit;
}

}  // namespace plinth::ops
