#include "plinth/detect/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plinth/base/check.h"

namespace plinth::detect {
namespace {

class Jacobi {
 public:
  Jacobi(std::vector<double> a, size_t n) : a_(std::move(a)), v_(n * n, 0.0), n_(n) {
    for (size_t i = 0; i < n; ++i) v_[i * n + i] = 1;
  }

  void Solve() {
    constexpr int kSweeps = 30;
    constexpr double kSmall = 1e-14;
    const double whole = std::sqrt(Squares(true));
    for (int sweep = 0; sweep < kSweeps && std::sqrt(Squares(false)) > kSmall * whole; ++sweep) {
      for (size_t p = 0; p + 1 < n_; ++p) {
        for (size_t q = p + 1; q < n_; ++q) Rotate(p, q);
      }
    }
  }

  double value(size_t i) const { return a_[i * n_ + i]; }
  const double* vector(size_t i) const { return &v_[i * n_]; }

 private:
  double Squares(bool diagonal) const {
    double sum = 0;
    for (size_t i = 0; i < n_; ++i) {
      for (size_t j = 0; j < n_; ++j) sum += i != j || diagonal ? a_[i * n_ + j] * a_[i * n_ + j] : 0;
    }
    return sum;
  }

  void Rotate(size_t p, size_t q) {
    const double off = a_[p * n_ + q];
    if (off == 0) return;
    const double theta = (a_[q * n_ + q] - a_[p * n_ + p]) / (2 * off);
    const double t = (theta >= 0 ? 1 : -1) / (std::fabs(theta) + std::hypot(theta, 1.0));
    const double c = 1 / std::hypot(t, 1.0), s = t * c;
    for (size_t k = 0; k < n_; ++k) {  // columns p and q
      const double x = a_[k * n_ + p], y = a_[k * n_ + q];
      a_[k * n_ + p] = c * x - s * y;
      a_[k * n_ + q] = s * x + c * y;
    }
    Mix(&a_[p * n_], &a_[q * n_], c, s);
    Mix(&v_[p * n_], &v_[q * n_], c, s);
    a_[p * n_ + q] = a_[q * n_ + p] = 0;
  }
  void Mix(double* x, double* y, double c, double s) const {
    for (size_t k = 0; k < n_; ++k) {
      const double a = x[k], b = y[k];
      x[k] = c * a - s * b;
      y[k] = s * a + c * b;
    }
  }

  std::vector<double> a_, v_;
  size_t n_;
};

}  // namespace

Eigen SymmetricEigen(std::vector<double> a, int64_t n) {
  const size_t size = static_cast<size_t>(n);
  PLINTH_CHECK_EQ(a.size(), size * size);
  Jacobi jacobi(std::move(a), size);
  jacobi.Solve();
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return jacobi.value(i) > jacobi.value(j); });
  Eigen eigen;
  for (const size_t i : order) {
    eigen.values.push_back(jacobi.value(i));
    const double* v = jacobi.vector(i);
    const double* largest =
        std::max_element(v, v + size, [](double x, double y) { return std::fabs(x) < std::fabs(y); });
    for (size_t k = 0; k < size; ++k) eigen.vectors.push_back(*largest < 0 ? -v[k] : v[k]);
  }
  return eigen;
}

}  // namespace plinth::detect
