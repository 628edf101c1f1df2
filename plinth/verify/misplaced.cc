#include "plinth/verify/misplaced.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "plinth/verify/error_places.h"

namespace plinth::verify {
namespace {

using formats::ConstTensorRef;

constexpr int64_t kMostElements = int64_t{1} << 26;
constexpr int64_t kSamples = 4096;
constexpr double kAgrees = 0.05;  // relative L2 error of the best explanation, fp8 included
constexpr double kBetter = 10;    // and so much better than as it stands

// Relative L2 error over sampled elements where element i of b stands against element place(i) of a; negative
// places are left out. NaN where fewer than half the samples count.
double SampledError(const ConstTensorRef& a, const ConstTensorRef& b,
                    const std::function<int64_t(int64_t)>& place) {
  const int64_t count = b.size(), samples = std::min(count, kSamples);
  const Element element_a = ElementOf(a), element_b = ElementOf(b);
  double error = 0, value = 0;
  int64_t used = 0;
  for (int64_t k = 0; k < samples; ++k) {
    // Spread evenly, off any period of the data.
    const int64_t stride = count / samples;
    const int64_t i = k * stride + (stride > 1 ? k * 7919 % stride : 0);
    const int64_t at = place(i);
    if (at < 0) continue;
    const double x = ValueAt(element_a, a.data, at), y = ValueAt(element_b, b.data, i);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    error += (y - x) * (y - x);
    value += x * x;
    ++used;
  }
  if (used * 2 < samples || value == 0) return NAN;
  return std::sqrt(error / value);
}

double AsItStands(const ConstTensorRef& a, const ConstTensorRef& b) {
  return SampledError(a, b, [](int64_t i) { return i; });
}

// A row's scalar products with two fixed vectors of signs: equal rows agree, others hardly ever.
struct Signature {
  double one = 0, two = 0, norm = 0;
};

std::vector<Signature> Signatures(const ConstTensorRef& t, int64_t rows, int64_t columns) {
  std::vector<Signature> result(static_cast<size_t>(rows));
  std::vector<double> values(static_cast<size_t>(columns));
  for (int64_t r = 0; r < rows; ++r) {
    ReadValues(ElementOf(t), t.data, r * columns, columns, values.data());
    Signature& s = result[static_cast<size_t>(r)];
    uint64_t random = 0x9e3779b97f4a7c15;
    double norm = 0;
    for (const double v : values) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      s.one += (random & 1) != 0 ? v : -v;
      s.two += (random & 2) != 0 ? v : -v;
      norm += v * v;
    }
    s.norm = std::sqrt(norm);
  }
  return result;
}

// Errors of a row are within kAgrees of its norm; so are those of its products with signs, up to
// sqrt(columns).
bool Agree(const Signature& x, const Signature& y) {
  const double slack = kAgrees * std::max(x.norm, y.norm);
  return std::abs(x.one - y.one) <= slack && std::abs(x.two - y.two) <= slack &&
         std::abs(x.norm - y.norm) <= slack;
}

std::optional<Finding> PermutedAt(const ConstTensorRef& a, const ConstTensorRef& b, int64_t rows,
                                  int64_t columns, std::string_view what) {
  if (rows < 2 || columns < 4 || rows > 1 << 20) return std::nullopt;
  const auto of_a = Signatures(a, rows, columns), of_b = Signatures(b, rows, columns);
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  const auto one = [&](int64_t r) { return of_a[static_cast<size_t>(r)].one; };
  std::sort(order.begin(), order.end(), [&](int64_t x, int64_t y) { return one(x) < one(y); });
  int64_t moved = 0, lost = 0, example = -1, example_from = -1;
  for (int64_t r = 0; r < rows; ++r) {
    const Signature& s = of_b[static_cast<size_t>(r)];
    if (!std::isfinite(s.norm)) return std::nullopt;
    if (Agree(of_a[static_cast<size_t>(r)], s)) continue;
    const double slack = kAgrees * s.norm;
    int64_t from = -1;
    auto at = std::lower_bound(order.begin(), order.end(), s.one - slack,
                               [&](int64_t x, double y) { return one(x) < y; });
    for (int looked = 0; at != order.end() && one(*at) <= s.one + slack && looked < 64; ++at, ++looked) {
      if (Agree(of_a[static_cast<size_t>(*at)], s)) from = *at;
    }
    // Rows of zeros are equal to each other and tell nothing.
    if (from < 0 || s.norm == 0) {
      ++lost;
      continue;
    }
    ++moved;
    if (example < 0) example = r, example_from = from;
  }
  if (moved < 2 || lost * 10 > moved) return std::nullopt;
  // Signatures may agree by chance; the values decide.
  std::vector<double> x(static_cast<size_t>(columns)), y(x);
  ReadValues(ElementOf(a), a.data, example_from * columns, columns, x.data());
  ReadValues(ElementOf(b), b.data, example * columns, columns, y.data());
  double error = 0, value = 0;
  for (size_t i = 0; i < x.size(); ++i) error += (y[i] - x[i]) * (y[i] - x[i]), value += x[i] * x[i];
  if (!(std::sqrt(error / value) <= kAgrees)) return std::nullopt;
  return Finding{"rows-permuted",
                 StrCat(what, "s are permuted: ", what, " ", example, " equals ", what, " ", example_from,
                        " of the reference (", moved, " of ", rows, " moved)")};
}

}  // namespace

std::optional<Finding> FindPermutedRows(const ConstTensorRef& a, const ConstTensorRef& b) {
  const int64_t count = a.size();
  if (a.dims.size() < 2 || count == 0 || count > kMostElements) return std::nullopt;
  if (a.dims.size() > 2) {
    auto found = PermutedAt(a, b, a.dims[0], count / a.dims[0], "batch row");
    if (found.has_value()) return found;
  }
  return PermutedAt(a, b, count / a.dims.back(), a.dims.back(), "row");
}

std::optional<Finding> FindTransposed(const ConstTensorRef& a, const ConstTensorRef& b) {
  const size_t rank = a.dims.size();
  if (rank < 2 || rank > 4 || a.size() < 16) return std::nullopt;
  const double stands = AsItStands(a, b);
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), size_t{0});
  std::vector<int64_t> strides(rank, 1);
  for (size_t k = rank - 1; k-- > 0;) strides[k] = strides[k + 1] * a.dims[k + 1];
  while (std::next_permutation(axes.begin(), axes.end())) {
    // b's bytes, read as the reference with its axes in this order.
    const double error = SampledError(a, b, [&](int64_t i) {
      int64_t at = 0;
      for (size_t k = rank; k-- > 0;) {
        at += i % a.dims[axes[k]] * strides[axes[k]];
        i /= a.dims[axes[k]];
      }
      return at;
    });
    if (!(error <= kAgrees) || error * kBetter > stands) continue;
    const bool nhwc = rank == 4 && axes == std::vector<size_t>{0, 2, 3, 1};
    const bool nchw = rank == 4 && axes == std::vector<size_t>{0, 3, 1, 2};
    return Finding{"transposed", StrCat("transposed layout: holds the reference with its axes in the order [",
                                        Join(axes, ", "), "]", nhwc ? " (NHWC where NCHW is said)" : "",
                                        nchw ? " (NCHW where NHWC is said)" : "")};
  }
  return std::nullopt;
}

std::optional<Finding> FindShifted(const ConstTensorRef& a, const ConstTensorRef& b) {
  const double stands = AsItStands(a, b);
  int64_t stride = a.size();
  for (size_t axis = 0; axis < a.dims.size(); ++axis) {
    const int64_t extent = a.dims[axis];
    stride /= std::max<int64_t>(extent, 1);
    if (extent < 4) continue;
    for (const int64_t by : {1, -1}) {
      const double error = SampledError(a, b, [&](int64_t i) {
        const int64_t at = i / stride % extent - by;
        return at < 0 || at >= extent ? int64_t{-1} : i - by * stride;
      });
      if (!(error <= kAgrees) || error * kBetter > stands) continue;
      return Finding{"shifted", StrCat("shifted by ", by, " along axis ", axis,
                                       ": index i holds the reference's i ", by > 0 ? "- 1" : "+ 1")};
    }
  }
  return std::nullopt;
}

std::optional<Finding> FindStale(const ConstTensorRef& b, const std::vector<ConstTensorRef>& earlier) {
  for (const ConstTensorRef& old : earlier) {
    if (old.size() != b.size() || b.size() == 0) continue;
    const double error = AsItStands(old, b);
    if (error <= 1e-3) {
      return Finding{
          "stale", StrCat("stale: equals the reference's ", old.name.empty() ? "previous entry" : old.name)};
    }
  }
  return std::nullopt;
}

}  // namespace plinth::verify
