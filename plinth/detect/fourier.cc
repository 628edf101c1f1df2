#include "plinth/detect/fourier.h"

#include <cmath>
#include <utility>

#include "plinth/base/check.h"

namespace plinth::detect {

size_t PowerOfTwo(size_t n) {
  size_t power = 1;
  while (power < n) power *= 2;
  return power;
}

void Transform(std::span<std::complex<double>> x, bool inverse) {
  const size_t n = x.size();
  PLINTH_CHECK(n != 0 && (n & (n - 1)) == 0);
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  std::vector<std::complex<double>> turn(n / 2);
  for (size_t k = 0; k < n / 2; ++k) {
    const double angle = 2 * M_PI * static_cast<double>(k) / static_cast<double>(n);
    turn[k] = {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
  }
  for (size_t half = 1; half < n; half *= 2) {
    const size_t step = n / (2 * half);
    for (size_t begin = 0; begin < n; begin += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const std::complex<double> w = turn[k * step], a = x[begin + k], b = x[begin + k + half];
        const std::complex<double> wb(w.real() * b.real() - w.imag() * b.imag(),
                                      w.real() * b.imag() + w.imag() * b.real());
        x[begin + k] = a + wb;
        x[begin + k + half] = a - wb;
      }
    }
  }
  if (!inverse) return;
  for (auto& v : x) v /= static_cast<double>(n);
}

std::vector<double> Autocorrelation(std::span<const double> x, int64_t most) {
  const size_t lags = static_cast<size_t>(most) + 1;
  std::vector<std::complex<double>> work(PowerOfTwo(x.size() + lags));
  for (size_t t = 0; t < x.size(); ++t) work[t] = x[t];
  Transform(work, false);
  for (auto& v : work) v = std::norm(v);
  Transform(work, true);
  std::vector<double> sums(lags);
  for (size_t l = 0; l < lags; ++l) sums[l] = work[l].real();
  return sums;
}

}  // namespace plinth::detect
