// Compares every function of vector_math.h with the C library in long double or double, over a dense
// sweep of all floats, at each instruction-set level that this processor has.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "plinth/base/cpu.h"
#include "plinth/ops/vector_math_sweep.h"

namespace plinth::ops {
namespace {

using Sweep = void (*)(const float*, float*, int64_t);

struct Subject {
  const char* name;
  Sweep at[3];
  double (*exact)(double);
  double ulps;
};

double Phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double ExactSigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double ExactSilu(double x) { return x == -INFINITY ? NAN : x * ExactSigmoid(x); }
double ExactSoftplus(double x) {
  return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))) + 0 * (x != x ? x : 0);
}
double ExactGelu(double x) { return x == -INFINITY ? NAN : x * Phi(x); }
double ExactGeluTanh(double x) {
  if (x == -INFINITY) return NAN;
  return x * ExactSigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}

#define SUBJECT(fn, exact, ulps) \
  { #fn, {&v2::Sweep##fn, &v3::Sweep##fn, &v4::Sweep##fn }, exact, ulps }
const Subject kSubjects[] = {
    SUBJECT(Exp, std::exp, 1),        SUBJECT(Expm1, std::expm1, 2),       SUBJECT(Log, std::log, 2),
    SUBJECT(Log1p, std::log1p, 2),    SUBJECT(Tanh, std::tanh, 3),         SUBJECT(Sigmoid, ExactSigmoid, 3),
    SUBJECT(Silu, ExactSilu, 3),      SUBJECT(Softplus, ExactSoftplus, 3), SUBJECT(Erf, std::erf, 2),
    SUBJECT(GeluExact, ExactGelu, 5), SUBJECT(GeluTanh, ExactGeluTanh, 4), SUBJECT(Sinh, std::sinh, 3),
    SUBJECT(Asinh, std::asinh, 3),    SUBJECT(Sqrt, std::sqrt, 0.5),
};
#undef SUBJECT

// The distance of `got` from `exact` in units of the last place of a float of that size; infinity when
// one is not finite as a float and the other is, or when NaN, infinity or the sign of zero differ.
double UlpDistance(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isnan(got)) return INFINITY;
  if (std::signbit(got) != std::signbit(exact)) return INFINITY;
  const double largest = 0x1.ffffffp127;  // the middle between the largest float and infinity
  if (std::fabs(exact) >= largest || std::isinf(got)) {
    // Within two parts in 2^24 of the border either side is right.
    return std::isinf(got) == (std::fabs(exact) >= largest) ||
                   std::fabs(std::fabs(exact) / largest - 1) < 0x1p-22
               ? 0
               : INFINITY;
  }
  const int e = exact == 0 ? -149 : std::max(std::ilogb(exact) - 23, -149);
  return std::ldexp(std::fabs(got - exact), -e);
}

std::vector<float> SweepInputs() {
  std::vector<float> x;
  for (uint64_t u = 0; u < (uint64_t{1} << 32); u += 4099)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(u)));
  // Where functions change their method, overflow, underflow or saturate, densely.
  for (float center :
       {0.0f,     0.92f,    1.0f,     0.70710678f, 1.41421356f, 9.02f,  10.0f,  14.2f,  15.0f,   18.0f,
        88.7228f, 89.4159f, 87.3365f, 103.97f,     104.0f,      106.0f, 110.0f, 120.0f, 0x1p26f, 0x1p-126f}) {
    for (float sign : {1.0f, -1.0f}) {
      const uint32_t bits = std::bit_cast<uint32_t>(sign * center);
      for (uint32_t d = 0; d < 2000; ++d) {
        x.push_back(std::bit_cast<float>(bits + d));
        if ((bits & 0x7fffffffu) > d) x.push_back(std::bit_cast<float>(bits - d));
      }
    }
  }
  for (float v : {INFINITY, -INFINITY, NAN, -NAN, 0.0f, -0.0f, 0x1p-149f, -0x1p-149f, 0x1.fffffep127f,
                  -0x1.fffffep127f}) {
    x.push_back(v);
  }
  // Everyday values.
  for (int i = -400000; i <= 400000; ++i) x.push_back(static_cast<float>(i) * 3.1e-4f);
  return x;
}

int Levels() { return static_cast<int>(*HardwareIsa()) + 1; }

TEST(VectorMath, StaysWithinStatedUlps) {
  const std::vector<float> x = SweepInputs();
  std::vector<float> y(x.size());
  for (const Subject& s : kSubjects) {
    std::vector<double> exact(x.size());
    for (size_t i = 0; i < x.size(); ++i) exact[i] = s.exact(x[i]);
    for (int level = 0; level < Levels(); ++level) {
      s.at[level](x.data(), y.data(), static_cast<int64_t>(x.size()));
      double worst = 0;
      size_t where = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double d = UlpDistance(y[i], exact[i]);
        if (d > worst) worst = d, where = i;
      }
      EXPECT_LE(worst, s.ulps) << s.name << " at level v" << level + 2 << " of " << x[where] << ": got "
                               << y[where] << ", exact " << exact[where];
      RecordProperty(std::string(s.name) + ".v" + std::to_string(level + 2), std::to_string(worst));
    }
  }
}

// An element's result must not depend on its place in the array (vector body or remainder).
TEST(VectorMath, DoesNotDependOnTheLane) {
  std::vector<float> x;
  for (int i = 0; i < 67; ++i)
    x.push_back(std::ldexp(1.0f + 0.013f * static_cast<float>(i), i % 9 - 5) * (i % 2 ? -1.0f : 1.0f));
  for (const Subject& s : kSubjects) {
    for (int level = 0; level < Levels(); ++level) {
      std::vector<float> whole(x.size());
      s.at[level](x.data(), whole.data(), static_cast<int64_t>(x.size()));
      for (size_t i = 0; i < x.size(); ++i) {
        float alone = 0;
        s.at[level](&x[i], &alone, 1);
        EXPECT_EQ(std::bit_cast<uint32_t>(alone), std::bit_cast<uint32_t>(whole[i]))
            << s.name << " v" << level + 2 << " at " << x[i];
      }
    }
  }
}

TEST(VectorMath, SinCosHoldsForLargeAngles) {
  std::vector<double> angle;
  for (int i = 0; i < 300000; ++i) angle.push_back((i - 150000) * 7.0000001e-4);
  for (int i = 0; i < 300000; ++i) angle.push_back(i * 3.3333333 + 0.1);                // up to a million
  for (int i = 0; i < 100000; ++i) angle.push_back(i * 21474.8364 * (i % 2 ? 1 : -1));  // up to 2^31
  for (int k = -2000; k <= 2000; ++k) angle.push_back(k * M_PI_4);
  std::vector<float> sin(angle.size()), cos(angle.size());
  const decltype(&v2::SweepSinCos) at[3] = {&v2::SweepSinCos, &v3::SweepSinCos, &v4::SweepSinCos};
  for (int level = 0; level < Levels(); ++level) {
    at[level](angle.data(), sin.data(), cos.data(), static_cast<int64_t>(angle.size()));
    double worst = 0;
    for (size_t i = 0; i < angle.size(); ++i) {
      for (auto [got, exact] :
           {std::pair<double, double>{sin[i], std::sin(angle[i])}, {cos[i], std::cos(angle[i])}}) {
        // Relative to the value, with a floor for the reduction's own error.
        const double unit =
            std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23) + std::fabs(angle[i]) * 0x1p-60;
        worst = std::max(worst, std::fabs(got - exact) / unit);
      }
    }
    EXPECT_LE(worst, 2) << "v" << level + 2;
    RecordProperty("SinCos.v" + std::to_string(level + 2), std::to_string(worst));
  }
}

}  // namespace
}  // namespace plinth::ops
