// Fourier transforms of real series, for correlations at many lags at once.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace plinth::detect {

// The least power of two that is at least n.
size_t PowerOfTwo(size_t n);

// In place, X[k] = sum x[t] exp(-2 pi i k t / n); n a power of two. Radix 2, decimation in time (Cooley and
// Tukey 1965), with twiddle factors from sin and cos rather than by recurrence, so that errors grow with
// log n only. `inverse` conjugates and divides by n. Fixed order: the same bits always.
void Transform(std::span<std::complex<double>> x, bool inverse);

// Correlation sums c[l] = sum over t of x[t] x[t + l], for l = 0 ... most; in O(n log n).
std::vector<double> Autocorrelation(std::span<const double> x, int64_t most);

}  // namespace plinth::detect
