// Scaled dot-product attention with masks, causal order and shared key heads, as PyTorch defines it.
#include <optional>

#include "plinth/verify/replay/broadcast.h"
#include "plinth/verify/replay/row_reference.h"

namespace plinth::verify::replay {
namespace {

// One query row against the keys: weights and what rounding does to them.
template <typename T>
struct Weights {
  std::vector<T> p;            // 0 where hidden
  std::vector<double> drift;   // relative error of p[j] in units of the accumulator's roundoff, with lambda
  std::vector<double> level;   // the same without lambda
  std::vector<double> coarse;  // relative error from roundings to the output's type or to cut operands
  bool any = false;            // a key is visible
};

class Attention final : public Reference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port, const Arithmetic& arithmetic);
  int64_t pieces() const override { return heads_total_ * Blocks(); }
  double piece_flops() const override {
    return static_cast<double>(std::min(kRows, queries_)) * static_cast<double>(keys_) *
           static_cast<double>(2 * dim_ + 14 * value_dim_);
  }
  void Compute(int64_t piece, TruthSink& sink) const override {
    if (wide_) return ComputeAs<long double>(piece, sink);
    ComputeAs<double>(piece, sink);
  }

 private:
  static constexpr int64_t kRows = 16;
  int64_t Blocks() const { return (queries_ + kRows - 1) / kRows; }

  template <typename T>
  void ComputeAs(int64_t piece, TruthSink& sink) const;
  template <typename T>
  void Score(int64_t head, int64_t i, const double* q, const double* k, Weights<T>& w) const;
  template <typename T>
  void Mix(int64_t head, int64_t i, const double* v, const Weights<T>& w, TruthSink& sink) const;

  const Values *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *mask_ = nullptr, *out_ = nullptr;
  Broadcast mask_at_;
  int64_t heads_total_ = 1;  // heads of all batch entries
  int64_t heads_ = 1, key_heads_ = 1, queries_ = 0, keys_ = 0, dim_ = 0, value_dim_ = 0, shift_ = 0;
  double scale_ = 1, coarse_ = 0, cut_ = 0;
  bool causal_ = false, wide_ = false;
};

// Class E. A score is a product of `dim` terms: lambda sqrt(dim) S, its scaling and the difference from the
// largest one a rounding each. Kernels for 16-bit types may round scaled operands, scores and weights to that
// type; those errors are independent and enter as root of squares (coarse).
template <typename T>
void Attention::Score(int64_t head, int64_t i, const double* q, const double* k, Weights<T>& w) const {
  const auto n = static_cast<size_t>(keys_);
  w.p.assign(n, 0), w.drift.assign(n, 0), w.level.assign(n, 0), w.coarse.assign(n, 0);
  w.any = false;
  std::vector<bool> visible(n);
  T top = -INFINITY;
  bool broken = false;
  for (int64_t j = 0; j < keys_; ++j) {
    if (causal_ && j > i + shift_) continue;
    T score = 0;
    double size = 0, square = 0;
    for (int64_t d = 0; d < dim_; ++d) {
      const T term = static_cast<T>(q[d]) * k[j * dim_ + d];
      const auto rounded = static_cast<double>(term);
      score += term, size += std::abs(rounded), square += rounded * rounded;
    }
    score *= scale_;
    const double plain = std::abs(static_cast<double>(score));
    if (mask_ != nullptr) {
      const double m = (*mask_)[mask_at_((head * queries_ + i) * keys_ + j)];
      if (!mask_->format().floating && m == 0) continue;
      if (mask_->format().floating) score += m;
    }
    if (score == -INFINITY) continue;
    const auto at = static_cast<size_t>(j);
    visible[at] = true, w.any = true;
    w.p[at] = score;
    const double norm = std::sqrt(square), own = std::abs(static_cast<double>(score));
    const double scaled = std::abs(scale_);
    w.drift[at] = SumGrowth(dim_) * scaled * size + 2 * plain + own + 6;
    w.level[at] = std::sqrt(static_cast<double>(dim_)) * scaled * std::max(norm, size / 16) + plain + own + 3;
    w.coarse[at] = coarse_ * (plain + own + 1.5 * scaled * norm) + cut_ * scaled * norm;
    broken = broken || std::isnan(score);
    top = std::max(top, score);
  }
  if (broken) top = NAN;
  T sum = 0;
  for (size_t j = 0; j < n; ++j) {
    if (!visible[j]) continue;
    const double away = std::abs(static_cast<double>(w.p[j] - top));
    w.drift[j] += away, w.level[j] += away;
    w.p[j] = std::exp(w.p[j] - top);
    sum += w.p[j];
  }
  for (size_t j = 0; j < n; ++j) w.p[j] /= sum;
  if (!w.any) return;
}

// out = sum p v. A relative error e of p[j] moves it by p[j] e (v[j] - out); the sum itself is one of `keys`
// terms.
template <typename T>
void Attention::Mix(int64_t head, int64_t i, const double* v, const Weights<T>& w, TruthSink& sink) const {
  const auto c = static_cast<size_t>(value_dim_);
  std::vector<T> out(c, 0);
  std::vector<double> size(c), square(c), drift(c), level(c), coarse(c);
  for (int64_t j = 0; j < keys_; ++j) {
    const T p = w.p[static_cast<size_t>(j)];
    if (p == 0) continue;
    const double* row = v + j * value_dim_;
    for (size_t d = 0; d < c; ++d) {
      const T term = p * row[d];
      const auto rounded = static_cast<double>(term);
      out[d] += term, size[d] += std::abs(rounded), square[d] += rounded * rounded;
    }
  }
  for (int64_t j = 0; j < keys_; ++j) {
    const auto at = static_cast<size_t>(j);
    const auto p = static_cast<double>(w.p[at]);
    if (p == 0) continue;
    const double* row = v + j * value_dim_;
    for (size_t d = 0; d < c; ++d) {
      const double moved = p * std::abs(row[d] - static_cast<double>(out[d]));
      drift[d] += moved * w.drift[at];
      level[d] += moved * moved * w.level[at] * w.level[at];
      coarse[d] += moved * moved * w.coarse[at] * w.coarse[at];
    }
  }
  const double growth = SumGrowth(keys_), root = std::sqrt(static_cast<double>(keys_));
  for (size_t d = 0; d < c; ++d) {
    const double norm = std::sqrt(square[d]), size_out = std::abs(static_cast<double>(out[d]));
    const double rough = std::sqrt(coarse[d]) + (coarse_ + cut_) * norm;
    const double slack = drift[d] + growth * size[d] + 6 * rough + coarse_ * size_out;
    const double spread =
        std::sqrt(level[d]) + root * std::max({size_out, norm, size[d] / 16}) + rough + coarse_ * size_out;
    sink.Put((head * queries_ + i) * value_dim_ + static_cast<int64_t>(d), static_cast<long double>(out[d]),
             slack, spread);
  }
}

template <typename T>
void Attention::ComputeAs(int64_t piece, TruthSink& sink) const {
  const int64_t head = piece / Blocks(), first = piece % Blocks() * kRows;
  const int64_t last = std::min(queries_, first + kRows);
  const int64_t key_head = head / heads_ * key_heads_ + head % heads_ / (heads_ / key_heads_);
  std::vector<double> q(static_cast<size_t>(dim_)), k(static_cast<size_t>(keys_ * dim_)),
      v(static_cast<size_t>(keys_ * value_dim_));
  k_->Load(key_head * keys_ * dim_, keys_ * dim_, 1, k.data());
  v_->Load(key_head * keys_ * value_dim_, keys_ * value_dim_, 1, v.data());
  Weights<T> w;
  for (int64_t i = first; i < last; ++i) {
    q_->Load((head * queries_ + i) * dim_, dim_, 1, q.data());
    Score<T>(head, i, q.data(), k.data(), w);
    if (w.any) {
      Mix<T>(head, i, v.data(), w, sink);
      continue;
    }
    // A row that sees no key is NaN by the formula, zeros by newer kernels; nothing else is right.
    for (int64_t d = 0; d < value_dim_; ++d) {
      const int64_t at = (head * queries_ + i) * value_dim_ + d;
      const double is = (*out_)[at];
      sink.Verdict(
          at, is == 0 || std::isnan(is) ? "" : StrCat("is ", is, " although no key is visible; 0 or NaN"));
    }
  }
}

ReferenceOr Attention::Make(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "q"));
  PLINTH_RETURN_IF_ERROR(use.Need(1, "k"));
  PLINTH_RETURN_IF_ERROR(use.Need(2, "v"));
  PLINTH_ASSIGN_OR_RETURN(const double dropout, use.Real("dropout_p", 0));
  if (dropout != 0)
    return absl::FailedPreconditionError(
        StrCat("dropout_p is ", dropout, ": random; capture in evaluation mode"));
  const Values &q = use.in(0), &k = use.in(1), &v = use.in(2);
  const size_t rank = q.rank();
  bool fits =
      rank >= 2 && k.rank() == rank && v.rank() == rank && q.dim(-1) == k.dim(-1) && k.dim(-2) == v.dim(-2);
  for (size_t d = 0; fits && d + 3 < rank; ++d)
    fits = q.dims()[d] == k.dims()[d] && q.dims()[d] == v.dims()[d];
  auto r = std::make_unique<Attention>();
  if (fits && rank >= 3) {
    r->heads_ = q.dim(-3), r->key_heads_ = k.dim(-3);
    fits = v.dim(-3) == r->key_heads_ && r->key_heads_ >= 1 && r->heads_ % r->key_heads_ == 0;
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        StrCat("q is ", q.ToString(), ", k ", k.ToString(), ", v ", v.ToString(),
               "; [..., H, Lq, D], [..., Hkv, Lk, D] and [..., Hkv, Lk, Dv] are needed"));
  }
  r->q_ = &q, r->k_ = &k, r->v_ = &v, r->out_ = &use.out(port);
  r->queries_ = q.dim(-2), r->keys_ = k.dim(-2), r->dim_ = q.dim(-1), r->value_dim_ = v.dim(-1);
  r->heads_total_ = ProductOf(q.dims(), 0, rank - 2);
  std::vector<int64_t> dims = q.dims();
  dims.back() = r->value_dim_;
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), dims));
  PLINTH_ASSIGN_OR_RETURN(r->causal_, use.Flag("is_causal", false));
  PLINTH_ASSIGN_OR_RETURN(r->shift_, use.Int("causal_shift", 0));
  PLINTH_ASSIGN_OR_RETURN(
      r->scale_, use.Real("scale", 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, r->dim_)))));
  if (use.has(3)) {
    PLINTH_RETURN_IF_ERROR(use.Need(3, "mask"));
    dims.back() = r->keys_;
    PLINTH_ASSIGN_OR_RETURN(r->mask_at_, Broadcast::Make(use.in(3).dims(), dims));
    r->mask_ = &use.in(3);
  }
  const NumberFormat& format = use.out(port).format();
  r->wide_ = format.storage == DType::kF64;
  r->coarse_ = format.roundoff() > 0x1p-20 ? format.roundoff() / arithmetic.accumulate : 0;
  r->cut_ = std::sqrt(2.0) * arithmetic.operand / arithmetic.accumulate;
  r->line = {.kind = ops::ToleranceClass::kSoftmax, .depth = std::max(r->keys_, r->dim_)};
  return r;
}

}  // namespace

ReferenceOr MakeAttention(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  return Attention::Make(use, port, arithmetic);
}

}  // namespace plinth::verify::replay
