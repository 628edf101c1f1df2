#include "plinth/base/random.h"

#include <bit>
#include <cmath>

#include "plinth/base/check.h"

namespace plinth {
namespace {

// ln(x) for a positive normal x, within a few units in the last place, from operations that IEEE 754
// defines to the bit (contraction is off outside kernels). x = m 2^e with m in [sqrt(1/2), sqrt(2));
// ln m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172: the series' term 12 is below 2^-60.
double Log(double x) {
  int exponent;
  double m = std::frexp(x, &exponent);  // [0.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * s * sum + exponent * 0.69314718055994531;
}

}  // namespace

uint64_t SplitMix64::Next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Random::Random(uint64_t seed) {
  SplitMix64 mix(seed);
  for (uint64_t& word : state_) word = mix.Next();
}

uint64_t Random::Next() {
  const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

double Random::Uniform(double lo, double hi) {
  PLINTH_CHECK_LT(lo, hi);
  while (true) {
    const double value = lo + (hi - lo) * Uniform();
    if (value < hi) return value;  // rounding can reach hi
  }
}

uint64_t Random::Below(uint64_t bound) {
  PLINTH_CHECK_LT(0u, bound);
  // Draws below 2^64 mod bound would make small results likelier.
  const uint64_t reject = -bound % bound;
  while (true) {
    const auto product = static_cast<unsigned __int128>(Next()) * bound;
    if (static_cast<uint64_t>(product) >= reject) return static_cast<uint64_t>(product >> 64);
  }
}

double Random::Normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  while (true) {
    const double x = 2 * Uniform() - 1;
    const double y = 2 * Uniform() - 1;
    const double s = x * x + y * y;
    if (s >= 1 || s == 0) continue;
    const double scale = std::sqrt(-2 * Log(s) / s);
    spare_ = y * scale;
    has_spare_ = true;
    return x * scale;
  }
}

}  // namespace plinth
