// Draws random numbers that are the same on every platform and compiler for the same seed.
#pragma once

#include <cstdint>

namespace plinth {

// splitmix64 (Steele, Lea, Flood 2014): any seed will do, also 0. Fills the state of others.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t Next();

 private:
  uint64_t state_;
};

// xoshiro256++ 1.0 (Blackman and Vigna 2021), seeded through splitmix64 as its authors advise.
class Random {
 public:
  explicit Random(uint64_t seed);

  uint64_t Next();
  // In [0, 1), a multiple of 2^-53.
  double Uniform();
  // In [lo, hi); lo < hi.
  double Uniform(double lo, double hi);
  // In [0, bound), each equally likely; bound > 0. By rejection (Lemire 2019).
  uint64_t Below(uint64_t bound);
  // Standard normal, by the polar method (Marsaglia and Bray 1964) with a logarithm of our own, since
  // the C library's last bit differs between versions.
  double Normal();

 private:
  uint64_t state_[4];
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace plinth
