#include "plinth/verify/golden_layers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "plinth/verify/placed.h"

namespace plinth::verify {
namespace {

using ops::RefTensor;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;  // our row, the original's

size_t At(int64_t i) { return static_cast<size_t>(i); }

// The two leading dimensions of a recorded layer.
struct Grid {
  int64_t rows, positions;
  bool by_position;  // positions come first

  int64_t At(int64_t row, int64_t position) const {
    return by_position ? position * rows + row : row * positions + position;
  }
};

Pairs Match(int64_t count, const Grid& grid, const LayerPlaces& places) {
  Pairs pairs;
  const auto batch = static_cast<int64_t>(places.rows.size());
  const auto tokens = static_cast<int64_t>(places.tokens.size());
  const bool batched = grid.rows == batch;
  if (batched && count == tokens) {
    for (int64_t i = 0; i < tokens; ++i) {
      const models::Origin& o = places.tokens[At(i)];
      if (o.position < grid.positions) pairs.emplace_back(i, grid.At(o.row, o.position));
    }
  } else if (batched && count == batch * grid.positions) {
    for (int64_t i = 0; i < count; ++i) {
      pairs.emplace_back(i, grid.At(places.rows[At(i / grid.positions)], i % grid.positions));
    }
  } else if (batched) {
    for (const models::Origin& o : places.tokens) {
      if (o.position >= grid.positions) continue;
      pairs.emplace_back(static_cast<int64_t>(pairs.size()), grid.At(o.row, o.position));
    }
    if (static_cast<int64_t>(pairs.size()) != count) pairs.clear();
  }
  return pairs;
}

Tensor Dense(const View& view) {
  Tensor copy(view.dtype, std::vector<int64_t>(view.dims, view.dims + view.rank));
  const int64_t size = SizeOf(view.dtype);
  ForEachElement(view, [&](int64_t i, int64_t offset) {
    std::memcpy(static_cast<std::byte*>(copy.raw()) + i * size,
                static_cast<const std::byte*>(view.data) + offset * size, At(size));
  });
  return copy;
}

LayerRows Pick(const Tensor& ours, const RefTensor& reference, const Pairs& pairs) {
  std::vector<int64_t> dims = ours.dims();
  const int64_t width = ours.size() / dims[0], bytes = width * SizeOf(ours.dtype());
  dims[0] = static_cast<int64_t>(pairs.size());
  LayerRows rows{Tensor(ours.dtype(), dims), {dims, {}}};
  auto* to = static_cast<std::byte*>(rows.ours.raw());
  for (const auto& [mine, its] : pairs) {
    std::memcpy(to, static_cast<const std::byte*>(ours.raw()) + mine * bytes, At(bytes));
    to += bytes;
    const auto begin = reference.data.begin() + its * width;
    rows.reference.data.insert(rows.reference.data.end(), begin, begin + width);
  }
  return rows;
}

// Whether all `count` rows of the reference are one and the same.
bool AllAlike(const RefTensor& reference, int64_t count) {
  const int64_t width = reference.size() / std::max<int64_t>(count, 1);
  for (int64_t i = width; i < reference.size(); ++i) {
    if (reference.data[At(i)] != reference.data[At(i - width)]) return false;
  }
  return count > 0;
}

void ZeroGaps(LayerRows& rows) {
  const auto* ours = static_cast<const std::byte*>(rows.ours.raw());
  const int64_t size = SizeOf(rows.ours.dtype());
  for (int64_t i = 0; i < std::min(rows.ours.size(), rows.reference.size()); ++i) {
    double& original = rows.reference.data[At(i)];
    if (std::isnan(original) && LoadElement(rows.ours.dtype(), ours + i * size) == 0) original = 0;
  }
}

}  // namespace

LayerRows MatchRows(const View& view, RefTensor reference, const LayerPlaces& places) {
  LayerRows rows{Dense(view), std::move(reference)};
  std::vector<int64_t>& dims = rows.reference.dims;
  const auto rank = At(view.rank);
  while (dims.size() > rank + 1 && dims[0] == 1) dims.erase(dims.begin());
  if (dims.size() == rank && rank > 0) dims.insert(dims.begin(), 1);
  const bool fits = rank > 0 && dims.size() == rank + 1 && view.size() > 0 && rows.reference.size() > 0 &&
                    std::equal(dims.begin() + 2, dims.end(), view.dims + 1);
  if (!fits) return rows;
  const bool by_position = dims[0] != static_cast<int64_t>(places.rows.size());
  const Grid grid{dims[by_position ? 1 : 0], dims[by_position ? 0 : 1], by_position};
  Pairs pairs = Match(view.dims[0], grid, places);
  if (pairs.empty() && view.dims[0] == 1 && AllAlike(rows.reference, grid.rows * grid.positions)) {
    pairs = {{0, 0}};
  }
  if (pairs.empty()) return rows;
  rows = Pick(rows.ours, rows.reference, pairs);
  ZeroGaps(rows);
  return rows;
}

bool SameNumbers(const RefTensor& a, const RefTensor& b) {
  if (a.dims.empty() || b.dims.empty() || a.dims[0] != b.dims[0] || a.dims[0] == 0) return false;
  const auto row = [](const RefTensor& x, int64_t r) {
    const int64_t width = x.size() / x.dims[0];
    auto begin = x.data.begin() + r * width;
    const auto end = begin + width;
    return std::pair(std::find_if(begin, end, [](double v) { return !std::isnan(v); }), end);
  };
  bool any = false;
  for (int64_t r = 0; r < a.dims[0]; ++r) {
    const auto [p, p_end] = row(a, r);
    const auto [q, q_end] = row(b, r);
    any = any || p != p_end;
    const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    if (!std::equal(p, p_end, q, q_end, same)) return false;
  }
  return any;
}

}  // namespace plinth::verify
