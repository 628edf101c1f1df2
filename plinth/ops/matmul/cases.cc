#include <algorithm>
#include <cmath>

#include "plinth/ops/matmul/checks.h"
#include "plinth/ops/matmul/op.h"

namespace plinth::ops {
namespace {

Case Product(std::string name, std::vector<int64_t> a, std::vector<int64_t> b, bool ta = false,
             bool tb = false) {
  Case c{std::move(name), {{.dims = std::move(a)}, {.dims = std::move(b)}}, {}};
  if (ta) c.attributes.Set("transpose_a", true);
  if (tb) c.attributes.Set("transpose_b", true);
  return c;
}

Case Filled(std::string name, Fill a, Fill b) {
  Case c = Product(std::move(name), {2, 9, 65}, {2, 65, 33});
  c.inputs[0].fill = a;
  c.inputs[1].fill = b;
  return c;
}

void AddSizes(std::vector<Case>& cases) {
  for (int64_t s : OddSizes()) {
    for (bool t : {false, true}) {
      const char* suffix = t ? "_transposed" : "";
      const auto a = [&](int64_t m, int64_t k) { return t ? std::vector{k, m} : std::vector{m, k}; };
      const auto b = [&](int64_t k, int64_t n) { return t ? std::vector{n, k} : std::vector{k, n}; };
      cases.push_back(Product(StrCat("m", s, suffix), a(s, 19), b(19, 37), t, t));
      cases.push_back(Product(StrCat("n", s, suffix), a(17, 19), b(19, s), t, t));
      cases.push_back(Product(StrCat("k", s, suffix), a(17, s), b(s, 37), t, t));
    }
  }
  cases.push_back(Product("k4099", {5, 4099}, {4099, 33}));
  cases.push_back(Product("k4099_transposed", {4099, 5}, {33, 4099}, true, true));
  cases.push_back(Product("tall", {3001, 5}, {5, 3}));
  cases.push_back(Product("wide", {2, 300}, {300, 1025}));
  cases.push_back(Product("rows_300", {300, 70}, {70, 40}));
  cases.push_back(Product("square", {257, 257}, {257, 257}, false, true));
  cases.back().tier = Tier::kCi;
}

void AddBatches(std::vector<Case>& cases) {
  cases.push_back(Product("batch", {7, 5, 11}, {7, 11, 13}));
  cases.push_back(Product("broadcast_a", {5, 11}, {3, 11, 13}));
  cases.push_back(Product("broadcast_b", {3, 2, 5, 11}, {11, 13}));
  cases.push_back(Product("broadcast_both", {3, 1, 5, 11}, {1, 4, 11, 13}));
  cases.push_back(Product("broadcast_inner", {2, 3, 5, 11}, {2, 1, 11, 13}));
  cases.push_back(Product("no_batch", {0, 5, 11}, {0, 11, 13}));
  cases.push_back(Product("many_small", {1000, 2, 3}, {1000, 3, 2}));
  cases.push_back(Product("attention_scores", {2, 4, 38, 32}, {2, 4, 38, 32}, false, true));
  cases.push_back(Product("rank6", {2, 1, 2, 2, 3, 4}, {1, 3, 2, 1, 4, 5}));
  cases.push_back(Product("batch_of_large", {2, 150, 300}, {2, 300, 530}));
  cases.back().tier = Tier::kCi;
}

// A right side that is packed when the plan is made.
void AddConstants(std::vector<Case>& cases) {
  const auto add = [&](std::string name, std::vector<int64_t> a, std::vector<int64_t> b, bool ta = false,
                       bool tb = false) {
    cases.push_back(Product(StrCat("constant_", name), std::move(a), std::move(b), ta, tb));
    cases.back().inputs[1].constant = true;
  };
  for (int64_t s : {0, 1, 2, 15, 16, 17, 31, 32, 33, 64, 65}) {
    add(StrCat("m", s), {2, s, 19}, {2, 19, 37});
    add(StrCat("n", s), {17, 19}, {19, s});
    add(StrCat("k", s, "_transposed"), {s, 17}, {37, s}, true, true);
  }
  add("broadcast", {3, 1, 5, 11}, {1, 4, 11, 13});
  add("broadcast_inner", {2, 3, 5, 11}, {2, 1, 11, 13});
  add("one_for_all", {3, 2, 5, 11}, {13, 11}, false, true);
  add("no_batch", {0, 5, 11}, {0, 11, 13});
  add("many_small", {1000, 2, 3}, {1000, 3, 2});
  // T5's heads, between their own columns and the model's.
  add("heads_up", {8, 7, 64}, {8, 64, 512});
  add("heads_down", {8, 7, 512}, {8, 512, 64});
  add("heads_down_transposed", {8, 32, 512}, {8, 64, 512}, false, true);
  for (bool t : {false, true}) {
    add(t ? "permuted_transposed" : "permuted", {2, 35, 35}, {2, 35, 35}, t, t);
    cases.back().inputs[0].place = cases.back().inputs[1].place = Place::kTransposed;
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  AddSizes(cases);
  AddBatches(cases);
  AddConstants(cases);
  cases.push_back(Filled("huge", Fill::kHuge, Fill::kNormal));
  cases.push_back(Filled("tiny", Fill::kTiny, Fill::kNormal));
  cases.push_back(Filled("underflow", Fill::kTiny, Fill::kTiny));
  cases.push_back(Filled("subnormal", Fill::kNormal, Fill::kSubnormal));
  cases.push_back(Filled("wide_range", Fill::kWide, Fill::kWide));
  cases.push_back(Filled("offset", Fill::kOffset, Fill::kOffset));
  cases.push_back(Filled("special", Fill::kSpecial, Fill::kNormal));
  cases.push_back(Filled("special_by_zero", Fill::kZeros, Fill::kSpecial));
  cases.push_back(Filled("exact", Fill::kTies, Fill::kTies));
  for (auto [name, place] : {std::pair{"misaligned", Place::kMisaligned},
                             {"strided", Place::kRowStrided},
                             {"permuted", Place::kTransposed}}) {
    for (bool t : {false, true}) {
      Case c = Product(StrCat(name, t ? "_transposed" : ""), {2, 35, 35}, {2, 35, 35}, t, t);
      c.inputs[0].place = c.inputs[1].place = place;
      cases.push_back(c);
    }
  }
  return cases;
}

std::vector<Refusal> Refusals() {
  const auto f32 = [](Shape s) { return ValueType{DType::kF32, std::move(s)}; };
  return {
      {"f64", {ValueType{DType::kF64, {2, 3}}, f32({3, 4})}, {}, "a is f64; f32 is supported"},
      {"vector", {f32({2, 3}), f32({3})}, {}, "b is [3]; it needs at least two dimensions"},
      {"depth", {f32({2, 3}), f32({4, 5})}, {}, "3 terms per sum and b [4, 5] has 4"},
      {"depth_transposed", {f32({2, 3}), f32({3, 5})}, {{"transpose_b", true}}, "b [3, 5] has 5"},
      {"batch", {f32({2, 2, 3}), f32({3, 3, 4})}, {}, "do not broadcast: 2 against 3"},
      {"missing", {f32({2, 3}), std::nullopt}, {}, "\"b\" is missing"},
  };
}

// A sum of K products is off by at most gamma_2K * S, S = sum |a||b|, counting a rounding for each
// product (x86-64-v2 has no fused multiply-add) and each sum (Higham, Accuracy and Stability, 3.1); the
// probabilistic bound 6 sqrt(2K) u S fails with a chance of 3e-8 (Higham and Mary 2019). The smaller holds.
// Each rounding may also lose up to half a subnormal step.
std::vector<double> Limit(const OpCall& call, const RefIo& io, size_t) {
  RefIo sizes = io;
  for (RefTensor& t : sizes.in) {
    for (double& v : t.data) v = std::abs(v);
  }
  MatmulReference(call, sizes);
  const RefTensor& a = io.in[0];
  const size_t from_end = call.attributes.Flag("transpose_a") ? 2 : 1;
  const double steps = 2 * static_cast<double>(a.dims[a.dims.size() - from_end]);
  const double factor = kUnitRoundoff * std::min(steps, 6 * std::sqrt(steps));
  std::vector<double> limit(sizes.out[0].data);
  for (double& v : limit) v = v * factor + steps * 0x1p-149;
  return limit;
}

}  // namespace

const OpChecks& MatmulChecks() {
  static const OpChecks checks{
      .spec = &MatmulSpec(),
      .attacks =
          "Sizes around the tile, panel and block sizes with and without transposition, leading dimensions "
          "that broadcast on either side, empty batches, products too small for a task of their own, right "
          "sides packed beforehand, inputs "
          "that lie strided, permuted or misaligned, and infinity times zero, NaN, underflow, cancellation.",
      .reference = MatmulReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kMatmul,
                    .limit = Limit,
                    .derivation = "min(2K, 6 sqrt(2K)) u sum |a||b|"},
  };
  return checks;
}

}  // namespace plinth::ops
