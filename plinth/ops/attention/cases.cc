#include <algorithm>
#include <cmath>

#include "plinth/ops/attention/checks.h"
#include "plinth/ops/attention/op.h"

namespace plinth::ops {
namespace {

// A case whose parts can be changed one by one.
struct Draft {
  int64_t queries = 20, keys = 20;  // rows in all
  int64_t heads = 2, kv_heads = 0, dim = 8, value_dim = 0;
  std::vector<double> q_offsets, kv_offsets;  // empty: one sequence; none for keys: as the queries
  bool ragged = false;                        // instead: 8 random offsets
  InputCase q{}, k{}, v{};                    // their fill and place
  InputCase mask{.absent = true}, bias{.absent = true};
  double scale = 0;
  bool causal = false;
  Tier tier = Tier::kSmoke;
};

InputCase Offsets(const std::vector<double>& values, int64_t rows) {
  const std::vector<double> v = values.empty() ? std::vector<double>{0, static_cast<double>(rows)} : values;
  return {.dtype = DType::kI32, .dims = {static_cast<int64_t>(v.size())}, .fill = Fill::kValues, .values = v};
}

Case Finish(std::string name, Draft d) {
  const int64_t kv_heads = d.kv_heads == 0 ? d.heads : d.kv_heads;
  d.q.dims = {d.queries, d.heads * d.dim};
  d.k.dims = {d.keys, kv_heads * d.dim};
  d.v.dims = {d.keys, kv_heads * (d.value_dim == 0 ? d.dim : d.value_dim)};
  if (d.mask.dims.empty()) d.mask.dims = {d.keys};
  if (d.mask.dtype == DType::kF32) d.mask.dtype = DType::kBool;
  InputCase q_offsets = Offsets(d.q_offsets, d.queries);
  if (d.ragged) {
    q_offsets = {.dtype = DType::kI32, .dims = {8}, .fill = Fill::kOffsets, .limit = d.queries};
  }
  InputCase kv_offsets{.absent = true};
  if (!d.kv_offsets.empty() || d.queries != d.keys) kv_offsets = Offsets(d.kv_offsets, d.keys);
  return {std::move(name),
          {d.q, d.k, d.v, q_offsets, kv_offsets, d.mask, d.bias},
          {{"heads", d.heads}, {"kv_heads", d.kv_heads}, {"scale", d.scale}, {"causal", d.causal}},
          d.tier};
}

InputCase Bias(int64_t heads, int64_t queries, int64_t keys) { return {.dims = {heads, queries, keys}}; }
// A bias by distance for sequences of up to `longest` rows.
InputCase Distance(int64_t heads, int64_t longest) { return {.dims = {heads, 2 * longest - 1}}; }

std::vector<double> Repeat(int64_t n, double (*f)(int64_t)) {
  std::vector<double> v(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) v[static_cast<size_t>(i)] = f(i);
  return v;
}

void AddSizes(std::vector<Case>* cases) {
  for (int64_t n : {1, 2, 15, 16, 17, 31, 32, 33, 38, 47, 48, 49, 63, 64, 65, 129}) {
    cases->push_back(Finish(StrCat("length", n), {.queries = n, .keys = n}));
    cases->push_back(Finish(StrCat("causal", n), {.queries = n, .keys = n, .causal = true}));
  }
  for (int64_t dim : {1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 64, 65, 80, 128}) {
    cases->push_back(Finish(StrCat("dim", dim), {.dim = dim, .ragged = true}));
  }
  cases->push_back(Finish("value_dim_larger", {.dim = 6, .value_dim = 40}));
  cases->push_back(Finish("value_dim_smaller", {.dim = 40, .value_dim = 3}));
  cases->push_back(Finish("ragged", {.queries = 150, .keys = 150, .ragged = true}));
  cases->push_back(Finish("no_sequence", {.queries = 0, .keys = 0, .q_offsets = {0}}));
  cases->push_back(Finish("empty_sequences", {.q_offsets = {0, 0, 7, 7, 20, 20}}));
  cases->push_back(Finish("rows_of_nobody", {.queries = 300, .keys = 300, .q_offsets = {0, 5, 130}}));
  // Tiles of 128 rows are counted from each sequence's start, pieces from the batch's.
  cases->push_back(Finish("tiles_across_pieces",
                          {.queries = 700, .keys = 700, .dim = 4, .q_offsets = {0, 100, 500, 513, 700}}));
  cases->push_back(
      Finish("model", {.queries = 304,
                       .keys = 304,
                       .heads = 4,
                       .dim = 32,
                       .q_offsets = Repeat(9, [](int64_t i) { return 38.0 * static_cast<double>(i); }),
                       .mask = {.fill = Fill::kMask}}));
}

void AddHeadsAndScale(std::vector<Case>* cases) {
  cases->push_back(Finish("grouped_4_2", {.heads = 4, .kv_heads = 2, .ragged = true}));
  cases->push_back(Finish("grouped_6_1", {.heads = 6, .kv_heads = 1, .ragged = true}));
  cases->push_back(
      Finish("grouped_causal_mask",
             {.heads = 6, .kv_heads = 3, .ragged = true, .mask = {.fill = Fill::kMask}, .causal = true}));
  cases->push_back(Finish("scale1", {.scale = 1}));
  cases->push_back(Finish("scale_negative", {.scale = -0.75}));
  cases->push_back(Finish("t5", {.heads = 4, .dim = 16, .bias = Bias(4, 20, 20), .scale = 1}));
  cases->push_back(Finish("bias_shared", {.ragged = true, .bias = Bias(1, 25, 31)}));
  cases->push_back(
      Finish("bias_mask_causal",
             {.ragged = true, .mask = {.fill = Fill::kMask}, .bias = Bias(2, 20, 20), .causal = true}));
  InputCase hard = Bias(1, 20, 20);
  hard.fill = Fill::kSpecial;
  cases->push_back(Finish("bias_special", {.bias = hard}));
  // A bias of nothing but -infinity in row 1: NaN there, as softmax has it; one in column 0 elsewhere.
  hard = {
      .dims = {1, 3, 2}, .fill = Fill::kValues, .values = {-INFINITY, 0, -INFINITY, -INFINITY, -INFINITY, 1}};
  cases->push_back(
      Finish("bias_minus_infinity", {.queries = 3, .keys = 2, .kv_offsets = {0, 2}, .bias = hard}));
}

// What is packed and what is not goes by the length of heads, the numbers of keys and queries, and masks.
void AddWays(std::vector<Case>* cases) {
  for (int64_t dim : {64, 129, 144, 512}) {
    for (int64_t n : {1, 3, 4, 5, 16, 17, 20, 33}) {
      cases->push_back(Finish(StrCat("way", dim, "_", n), {.queries = n, .keys = n, .heads = 1, .dim = dim}));
    }
    cases->push_back(
        Finish(StrCat("way_mask", dim),
               {.queries = 45, .keys = 45, .heads = 1, .dim = dim, .mask = {.fill = Fill::kMask}}));
    cases->push_back(Finish(StrCat("way_causal", dim),
                            {.queries = 45, .keys = 45, .heads = 1, .dim = dim, .causal = true}));
  }
  const InputCase strided{.place = Place::kRowStrided};
  cases->push_back(
      Finish("way_strided", {.dim = 64, .ragged = true, .q = strided, .k = strided, .v = strided}));
  cases->push_back(Finish("way_shared", {.queries = 60,
                                         .keys = 60,
                                         .heads = 6,
                                         .kv_heads = 2,
                                         .dim = 32,
                                         .q_offsets = {0, 5, 22, 60},
                                         .mask = {.fill = Fill::kMask}}));
  // Every head's queries as rows of one head: T5's cross attention with its projections multiplied out.
  cases->push_back(Finish("way_absorbed", {.queries = 16,
                                           .keys = 66,
                                           .heads = 1,
                                           .dim = 1024,
                                           .q_offsets = {0, 8, 16},
                                           .kv_offsets = {0, 33, 66},
                                           .scale = 1}));
  cases->push_back(Finish("way_many_queries",
                          {.queries = 70, .keys = 9, .dim = 64, .q_offsets = {0, 70}, .kv_offsets = {0, 9}}));
}

void AddDistances(std::vector<Case>* cases) {
  for (int64_t n : {1, 2, 15, 16, 17, 33, 48, 65, 129}) {
    cases->push_back(
        Finish(StrCat("distance", n),
               {.queries = n, .keys = n, .dim = n % 2 ? 64 : 8, .bias = Distance(2, n), .scale = 1}));
  }
  cases->push_back(Finish("distance_longer", {.ragged = true, .bias = Distance(2, 71)}));
  cases->push_back(Finish("distance_shared", {.ragged = true, .bias = Distance(1, 20)}));
  cases->push_back(Finish("distance_grouped",
                          {.heads = 6, .kv_heads = 2, .ragged = true, .bias = Distance(6, 20), .scale = 1}));
  cases->push_back(
      Finish("distance_mask", {.ragged = true, .mask = {.fill = Fill::kMask}, .bias = Distance(2, 20)}));
  cases->push_back(
      Finish("distance_mask_causal",
             {.ragged = true, .mask = {.fill = Fill::kMask}, .bias = Distance(2, 23), .causal = true}));
  // Distances are counted from the first key, although the queries are the last rows.
  cases->push_back(Finish("distance_causal_cache", {.queries = 5,
                                                    .keys = 50,
                                                    .q_offsets = {0, 1, 5},
                                                    .kv_offsets = {0, 30, 50},
                                                    .bias = Distance(2, 30),
                                                    .causal = true}));
  cases->push_back(Finish("distance_cross", {.queries = 29,
                                             .keys = 40,
                                             .q_offsets = {0, 20, 23, 29},
                                             .kv_offsets = {0, 17, 17, 40},
                                             .bias = Distance(2, 23)}));
  cases->push_back(
      Finish("distance_no_sequence", {.queries = 0, .keys = 0, .q_offsets = {0}, .bias = Distance(2, 1)}));
  // Query tiles and blocks of keys behind the first.
  cases->push_back(Finish("distance_long", {.queries = 300,
                                            .keys = 600,
                                            .q_offsets = {0, 300},
                                            .kv_offsets = {0, 600},
                                            .mask = {.fill = Fill::kMask},
                                            .bias = Distance(2, 600)}));
  for (Fill fill : {Fill::kSpecial, Fill::kWide}) {
    InputCase hard = Distance(2, 20);
    hard.fill = fill;
    cases->push_back(Finish(fill == Fill::kWide ? "distance_wide" : "distance_special", {.bias = hard}));
  }
}

void AddHiddenKeys(std::vector<Case>* cases) {
  cases->push_back(Finish("mask", {.ragged = true, .mask = {.fill = Fill::kMask}}));
  cases->push_back(Finish("mask_none", {.ragged = true, .mask = {.fill = Fill::kMaskNone}}));
  cases->push_back(Finish("mask_all", {.ragged = true, .mask = {.fill = Fill::kMaskAll}}));
  // Any value but 0 is visible.
  cases->push_back(Finish("mask_u8", {.mask = {.dtype = DType::kU8, .fill = Fill::kIndex, .limit = 4}}));
  // Hidden keys and values hold NaN and infinity.
  const auto poison = [](int64_t i) {
    return i / 16 % 3 == 1 ? (i % 2 ? NAN : INFINITY) : 0.01 * static_cast<double>(i % 37);
  };
  Draft d{.mask = {.fill = Fill::kValues,
                   .values = Repeat(20, [](int64_t i) { return i % 3 == 1 ? 0.0 : 1.0; })}};
  d.k = d.v = {.fill = Fill::kValues, .values = Repeat(20 * 16, poison)};
  cases->push_back(Finish("hidden_poison", d));
  d.causal = true;
  cases->push_back(Finish("hidden_poison_causal", d));
  // The causal future holds NaN: rows before it stay finite.
  Draft future{.causal = true};
  future.k =
      future.v = {.fill = Fill::kValues, .values = Repeat(20 * 16, [](int64_t i) {
                                           return i / 16 >= 13 ? NAN : 0.01 * static_cast<double>(i % 37);
                                         })};
  cases->push_back(Finish("future_poison", future));
}

void AddCross(std::vector<Case>* cases) {
  cases->push_back(
      Finish("cross", {.queries = 9, .keys = 40, .q_offsets = {0, 1, 3, 9}, .kv_offsets = {0, 17, 17, 40}}));
  cases->push_back(
      Finish("cross_keys_of_nobody", {.queries = 4, .keys = 40, .q_offsets = {0, 4}, .kv_offsets = {0, 33}}));
  // Cached decoding: the queries are the last rows of their sequence.
  cases->push_back(
      Finish("causal_cache",
             {.queries = 5, .keys = 50, .q_offsets = {0, 1, 5}, .kv_offsets = {0, 30, 50}, .causal = true}));
  // More queries than keys: the first ones see nothing and become zeros.
  cases->push_back(Finish("causal_more_queries", {.queries = 20, .keys = 7, .causal = true}));
}

void AddValues(std::vector<Case>* cases) {
  for (auto [name, fill] : {std::pair{"huge", Fill::kHuge},
                            {"tiny", Fill::kTiny},
                            {"subnormal", Fill::kSubnormal},
                            {"wide", Fill::kWide},
                            {"offset", Fill::kOffset},
                            {"special", Fill::kSpecial}}) {
    cases->push_back(Finish(StrCat("v_", name), {.v = {.fill = fill}}));
  }
  for (auto [name, fill] : {std::pair{"tiny", Fill::kTiny},
                            {"offset", Fill::kOffset},
                            {"special", Fill::kSpecial},
                            {"zeros", Fill::kZeros}}) {
    cases->push_back(Finish(StrCat("q_", name), {.q = {.fill = fill}}));
    cases->push_back(Finish(StrCat("k_", name), {.k = {.fill = fill}}));
  }
  for (auto [name, place] : {std::pair{"strided", Place::kRowStrided}, {"misaligned", Place::kMisaligned}}) {
    const InputCase x{.place = place};
    cases->push_back(Finish(name, {.ragged = true, .q = x, .k = x, .v = x, .mask = {.fill = Fill::kMask}}));
  }
}

// Sequences of more than one block of keys: the running maximum rises or falls from block to block.
void AddLong(std::vector<Case>* cases) {
  Draft d{.queries = 3, .keys = 700, .heads = 1, .dim = 1, .kv_offsets = {0, 700}, .scale = 0.1};
  d.q.fill = Fill::kPositive;
  d.k.fill = Fill::kAscending;
  cases->push_back(Finish("rising", d));
  d.scale = -0.1;
  cases->push_back(Finish("falling", d));
  d.mask = {.fill = Fill::kMask};
  cases->push_back(Finish("falling_mask", d));
  // A whole block of -infinity before the first finite score.
  d = {.queries = 2, .keys = 520, .heads = 1, .kv_offsets = {0, 520}};
  d.bias = {.dims = {1, 2, 520}, .fill = Fill::kValues, .values = Repeat(1040, [](int64_t i) {
                                                          return i < 300 ? -INFINITY : 0.0;
                                                        })};
  cases->push_back(Finish("first_block_minus_infinity", d));
  for (int64_t n : {255, 256, 257, 512, 513, 600}) {
    Draft self{.queries = n, .keys = n, .tier = Tier::kCi};
    cases->push_back(Finish(StrCat("long", n), self));
    self.mask = {.fill = Fill::kMask};
    self.causal = true;
    cases->push_back(Finish(StrCat("long_causal_mask", n), self));
  }
}

void AddFaults(std::vector<Case>* cases) {
  const auto add = [&](const char* name, Draft d, const char* fault) {
    Case c = Finish(name, std::move(d));
    c.fault = fault;
    cases->push_back(std::move(c));
  };
  add("offsets_start", {.q_offsets = {1, 20}}, "do not start at 0 (value 1 at position 0)");
  add("offsets_decrease", {.q_offsets = {0, 12, 11, 20}}, "decrease (value 11 at position 2)");
  add("offsets_behind", {.q_offsets = {0, 21}}, "behind the last row (value 21 at position 1)");
  add("kv_offsets_behind", {.keys = 30, .kv_offsets = {0, 31}},
      "behind the last row (value 31 at position 1)");
  add("bias_queries", {.bias = Bias(2, 19, 20)}, "more queries than the bias (value 20 at position 0)");
  add("bias_keys", {.bias = Bias(1, 20, 19)}, "more keys than the bias (value 20 at position 0)");
  add("distance_queries", {.bias = Distance(2, 19)}, "more queries than the bias (value 20 at position 0)");
  add("distance_keys", {.queries = 19, .keys = 20, .kv_offsets = {0, 20}, .bias = Distance(1, 19)},
      "more keys than the bias (value 20 at position 0)");
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  AddSizes(&cases);
  AddHeadsAndScale(&cases);
  AddWays(&cases);
  AddDistances(&cases);
  AddHiddenKeys(&cases);
  AddCross(&cases);
  AddValues(&cases);
  AddLong(&cases);
  AddFaults(&cases);
  return cases;
}

std::vector<Refusal> Refusals() {
  using T = std::optional<ValueType>;
  const auto f32 = [](int64_t rows, int64_t columns) { return ValueType{DType::kF32, {rows, columns}}; };
  const T at = ValueType{DType::kI32, {3}}, none;
  const T q = f32(5, 8);
  const Attributes two{{"heads", int64_t{2}}};
  const auto with = [&](const char* name, Attribute value) {
    Attributes a = two;
    a.Set(name, std::move(value));
    return a;
  };
  return {
      {"q_type", {ValueType{DType::kF16, {5, 8}}, q, q, at}, two, "q is f16[5, 8]; f32"},
      {"k_rank", {q, ValueType{DType::kF32, {5, 2, 4}}, q, at}, two, "k is f32[5, 2, 4]; f32 [rows"},
      {"heads0", {q, q, q, at}, {{"heads", int64_t{0}}}, "heads is 0"},
      {"heads3", {q, q, q, at}, {{"heads", int64_t{3}}}, "q has 8 columns, which 3 heads do not divide"},
      {"kv_heads", {q, q, q, at}, with("kv_heads", int64_t{3}), "a divisor of heads 2"},
      {"kv_negative", {q, q, q, at}, with("kv_heads", int64_t{-1}), "kv_heads is -1"},
      {"dims", {q, f32(5, 6), q, at}, two, "a head of q has 4 columns and one of k has 3"},
      {"v_rows", {q, q, f32(6, 8), at}, two, "k has 5 rows and v has 6"},
      {"scale", {q, q, q, at}, with("scale", std::nan("")), "scale is nan"},
      {"offsets_missing", {q, q, q, none}, two, "\"q_offsets\" is missing"},
      {"offsets_type", {q, q, q, ValueType{DType::kI64, {3}}}, two, "q_offsets are i64[3]; i32"},
      {"kv_offsets_size", {q, q, q, at, ValueType{DType::kI32, {4}}}, two, "kv_offsets are i32[4]; i32[3]"},
      {"kv_offsets_needed", {q, f32(6, 8), f32(6, 8), at}, two, "kv_offsets are needed"},
      {"mask_size", {q, q, q, at, none, ValueType{DType::kBool, {6}}}, two, "one per row of k"},
      {"mask_type", {q, q, q, at, none, ValueType{DType::kF32, {5}}}, two, "bool or u8 [5]"},
      {"bias_heads",
       {q, q, q, at, none, none, ValueType{DType::kF32, {3, 5, 5}}},
       two,
       "f32 [1 or 2, queries, keys]"},
      {"bias_rank", {q, q, q, at, none, none, ValueType{DType::kF32, {9}}}, two, "f32 [1 or 2"},
      {"distance_heads",
       {q, q, q, at, none, none, ValueType{DType::kF32, {5, 9}}},
       two,
       "bias is f32[5, 9]; f32 [1 or 2, queries, keys], or [1 or 2, an odd number] by distance, is needed"},
      {"distance_even", {q, q, q, at, none, none, ValueType{DType::kF32, {2, 8}}}, two, "an odd number"},
      {"distance_none", {q, q, q, at, none, none, ValueType{DType::kF32, {2, 0}}}, two, "an odd number"},
      {"distance_named",
       {q, q, q, at, none, none, ValueType{DType::kF32, {2, Dim::Named("distances")}}},
       two,
       "an odd number"},
  };
}

// n roundings in a chain: at most n, and with overwhelming probability (3e-8 against it) 6 sqrt(n).
double Growth(double n) { return std::min(n, 6 * std::sqrt(n)); }

// The bound of one query row. For key j: score error e_j = u ((D + 2)-chain * scale * sum|qk| + |bias| +
// |score|), and the exponential adds u |score - top| + 3u. Through softmax and mix an output is off by
// sum p|v| (e_j + mean e), and the chains of mix and sum over n keys; every block of keys after the first
// corrects the sums once (4u and u times the change of the maximum, at most the spread of the scores).
// Weights below the normal range are off by a subnormal step.
void RowLimit(const OpCall& call, const RefIo& io, int64_t h, int64_t q_row, int64_t i, int64_t lq,
              int64_t k0, int64_t lk, double* limit) {
  const RefTensor &q = io.in[0], &k = io.in[1], &v = io.in[2];
  const int64_t heads = call.attributes.Int("heads", 1);
  const int64_t kv_heads =
      call.attributes.Int("kv_heads", 0) == 0 ? heads : call.attributes.Int("kv_heads", 0);
  const int64_t d = q.dims[1] / heads, dv = v.dims[1] / kv_heads, g = h / (heads / kv_heads);
  const double asked = call.attributes.Real("scale", 0);
  const double scale = asked == 0 ? 1 / std::sqrt(static_cast<double>(d)) : asked;
  std::vector<double> score, error;
  std::vector<int64_t> key;
  for (int64_t j = 0; j < lk; ++j) {
    if (call.has(5) && io.in[5].data[k0 + j] == 0) continue;
    if (call.attributes.Flag("causal") && j > i + lk - lq) continue;
    double s = 0, size = 0, bias = 0;
    for (int64_t c = 0; c < d; ++c) {
      const double term = q.data[q_row * q.dims[1] + h * d + c] * k.data[(k0 + j) * k.dims[1] + g * d + c];
      s += term;
      size += std::abs(term);
    }
    if (call.has(6)) {
      const RefTensor& b = io.in[6];
      const int64_t own = b.dims[0] == 1 ? 0 : h;
      bias = b.dims.size() == 3 ? b.data[(own * b.dims[1] + i) * b.dims[2] + j]
                                : b.data[own * b.dims[1] + (b.dims[1] - 1) / 2 + j - i];
    }
    s = s * scale + bias;
    if (s == -INFINITY) continue;  // weight 0, exactly
    score.push_back(s);
    error.push_back(Growth(static_cast<double>(d) + 2) * std::abs(scale) * size + std::abs(bias) +
                    std::abs(s));
    key.push_back(k0 + j);
  }
  const size_t n = key.size();
  const double top = n == 0 ? 0 : *std::max_element(score.begin(), score.end());
  const double bottom = n == 0 ? 0 : *std::min_element(score.begin(), score.end());
  double sum = 0, mean = 0;
  for (size_t t = 0; t < n; ++t) {
    error[t] = kUnitRoundoff * (error[t] + std::abs(score[t] - top) + 3);
    score[t] = std::exp(score[t] - top);
    sum += score[t];
    mean += score[t] * error[t];
  }
  mean /= sum;
  const double blocks = static_cast<double>(n / 256 + 1);
  const double chains = kUnitRoundoff * (2 * Growth(static_cast<double>(n)) + 4 * blocks + 4 +
                                         (blocks > 1 ? std::min(top - bottom, 104.0) : 0));
  for (int64_t c = 0; c < dv; ++c) {
    double bound = 0x1p-149, steps = 0;
    for (size_t t = 0; t < n; ++t) {
      const double size = std::abs(v.data[key[t] * v.dims[1] + g * dv + c]);
      bound += score[t] / sum * size * (error[t] + mean + chains);
      steps += size;
    }
    limit[c] = bound * 1.01 + (steps + static_cast<double>(n)) * 0x1p-148;
  }
}

std::vector<double> Limit(const OpCall& call, const RefIo& io, size_t) {
  std::vector<double> limit(io.out[0].data.size());
  const int64_t heads = call.attributes.Int("heads", 1);
  const int64_t dv = io.out[0].dims[1] / heads;
  const std::vector<double>& q_at = io.in[3].data;
  const std::vector<double>& kv_at = call.has(4) ? io.in[4].data : q_at;
  for (size_t b = 0; b + 1 < q_at.size(); ++b) {
    const int64_t q0 = static_cast<int64_t>(q_at[b]), lq = static_cast<int64_t>(q_at[b + 1]) - q0;
    const int64_t k0 = static_cast<int64_t>(kv_at[b]), lk = static_cast<int64_t>(kv_at[b + 1]) - k0;
    for (int64_t i = 0; i < lq; ++i) {
      for (int64_t h = 0; h < heads; ++h) {
        RowLimit(call, io, h, q0 + i, i, lq, k0, lk,
                 &limit[static_cast<size_t>(((q0 + i) * heads + h) * dv)]);
      }
    }
  }
  return limit;
}

}  // namespace

const OpChecks& AttentionChecks() {
  static const OpChecks checks{
      .spec = &AttentionSpec(),
      .attacks =
          "Sequence lengths and head sizes around vector widths, register tiles and blocks of keys; ragged "
          "and "
          "empty sequences, rows of nobody, tiles that straddle pieces; hidden keys that hold NaN; rows that "
          "see nothing; a maximum that rises or falls from block to block, a first block of -infinity; "
          "shared "
          "key heads, long heads, few keys or queries, biases with and without heads and by distance, scale "
          "1; strided and misaligned inputs.",
      .reference = AttentionReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kSoftmax,
                    .limit = Limit,
                    .derivation =
                        "sum p|v| (e + mean e + u (2 g(n) + 4 blocks + ...)), e = u (g(D + 2) scale "
                        "sum|qk| + |bias| + |score| + |score - top| + 3), g(n) = min(n, 6 sqrt n)"},
  };
  return checks;
}

}  // namespace plinth::ops
