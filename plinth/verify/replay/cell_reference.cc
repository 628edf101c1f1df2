// One step of an LSTM or a GRU. Inputs: x [N, I], h [N, H], of the LSTM c [N, H], weight_ih [G H, I],
// weight_hh [G H, H], bias_ih and bias_hh [G H] (optional). Outputs: h, of the LSTM also c.
#include <cmath>

#include "plinth/verify/replay/factories.h"

namespace plinth::verify::replay {
namespace {

using Real = long double;

// A number and how large its error is, in roundoffs of the accumulator: at most, and as a level.
struct Estimated {
  Real value = 0;
  double most = 0, level = 0;
};

Estimated Sigmoid(const Estimated& x) {
  const Real y = 1 / (1 + std::exp(-x.value));
  const auto slope = static_cast<double>(y * (1 - y));
  const double own = 4 * static_cast<double>(y);
  return {y, slope * x.most + own, slope * x.level + own};
}
Estimated Tanh(const Estimated& x) {
  const Real y = std::tanh(x.value);
  const auto slope = static_cast<double>(1 - y * y);
  const double own = 4 * static_cast<double>(std::abs(y));
  return {y, slope * x.most + own, slope * x.level + own};
}
Estimated operator*(const Estimated& a, const Estimated& b) {
  const auto x = static_cast<double>(std::abs(a.value)), y = static_cast<double>(std::abs(b.value));
  return {a.value * b.value, x * b.most + y * a.most + x * y, x * b.level + y * a.level + x * y};
}
Estimated operator+(const Estimated& a, const Estimated& b) {
  const Real sum = a.value + b.value;
  const auto own = static_cast<double>(std::abs(sum));
  return {sum, a.most + b.most + own, a.level + b.level + own};
}

class Cell final : public Reference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port);
  int64_t pieces() const override { return x_->dim(0); }
  double piece_flops() const override {
    return 4.0 * static_cast<double>(gates_ * hidden_ * (x_->dim(1) + hidden_));
  }
  void Compute(int64_t piece, TruthSink& sink) const override {
    for (int64_t j = 0; j < hidden_; ++j) {
      const Estimated y = lstm_ ? Lstm(piece, j) : Gru(piece, j);
      sink.Put(piece * hidden_ + j, y.value, y.most, y.level);
    }
  }

 private:
  // Row `gate` H + j of one of both products, with its bias.
  Estimated Product(int64_t n, int64_t row, const Values& x, const Values& weight, const Values* bias) const {
    const int64_t terms = x.dim(1);
    Real sum = bias == nullptr ? 0 : (*bias)[row];
    double size = static_cast<double>(std::abs(sum)), squares = size * size;
    for (int64_t k = 0; k < terms; ++k) {
      const double t = x[n * terms + k] * weight[row * terms + k];
      sum += t, size += std::abs(t), squares += t * t;
    }
    return {sum, SumGrowth(terms + 1) * size,
            std::sqrt(static_cast<double>(terms + 1)) * std::max(std::sqrt(squares), size / 16)};
  }
  Estimated In(int64_t n, int64_t gate, int64_t j) const {
    return Product(n, gate * hidden_ + j, *x_, *weight_in_, bias_in_);
  }
  Estimated Back(int64_t n, int64_t gate, int64_t j) const {
    return Product(n, gate * hidden_ + j, *h_, *weight_back_, bias_back_);
  }
  Estimated Lstm(int64_t n, int64_t j) const {
    const auto gate = [&](int64_t g) { return In(n, g, j) + Back(n, g, j); };
    const Estimated c =
        Sigmoid(gate(1)) * Estimated{(*c_)[n * hidden_ + j], 0, 0} + Sigmoid(gate(0)) * Tanh(gate(2));
    return port_ == 1 ? c : Sigmoid(gate(3)) * Tanh(c);
  }
  Estimated Gru(int64_t n, int64_t j) const {
    const Estimated r = Sigmoid(In(n, 0, j) + Back(n, 0, j)), z = Sigmoid(In(n, 1, j) + Back(n, 1, j));
    const Estimated fresh = Tanh(In(n, 2, j) + r * Back(n, 2, j));
    const Estimated old{(*h_)[n * hidden_ + j], 0, 0};
    return fresh + z * (old + Estimated{-fresh.value, fresh.most, fresh.level});
  }

  bool lstm_ = true;
  size_t port_ = 0;
  int64_t gates_ = 4, hidden_ = 0;
  const Values *x_ = nullptr, *h_ = nullptr, *c_ = nullptr, *weight_in_ = nullptr, *weight_back_ = nullptr,
               *bias_in_ = nullptr, *bias_back_ = nullptr;
};

ReferenceOr Cell::Make(const OpUse& use, size_t port) {
  auto r = std::make_unique<Cell>();
  r->lstm_ = use.op == "lstm_cell";
  r->gates_ = r->lstm_ ? 4 : 3;
  r->port_ = port;
  const size_t weights = r->lstm_ ? 3 : 2;
  const char* names[] = {"x", "h", r->lstm_ ? "c" : "weight_ih", r->lstm_ ? "weight_ih" : "weight_hh",
                         "weight_hh"};
  for (size_t i = 0; i < weights + 2; ++i) PLINTH_RETURN_IF_ERROR(use.Need(i, names[i]));
  r->x_ = &use.in(0), r->h_ = &use.in(1), r->c_ = &use.in(weights - 1);
  r->weight_in_ = &use.in(weights), r->weight_back_ = &use.in(weights + 1);
  for (size_t i = 0; i < 2; ++i) {
    if (!use.has(weights + 2 + i)) continue;
    PLINTH_RETURN_IF_ERROR(use.Need(weights + 2 + i, "bias"));
    (i == 0 ? r->bias_in_ : r->bias_back_) = &use.in(weights + 2 + i);
  }
  const Values &x = *r->x_, &h = *r->h_;
  if (x.rank() != 2 || h.rank() != 2 || x.dim(0) != h.dim(0)) {
    return absl::InvalidArgumentError(
        StrCat("x is ", x.ToString(), " and h ", h.ToString(), "; [N, I] and [N, H] are needed"));
  }
  r->hidden_ = h.dim(1);
  const int64_t rows = r->gates_ * r->hidden_;
  PLINTH_RETURN_IF_ERROR(ExpectDims("weight_ih", r->weight_in_->dims(), {rows, x.dim(1)}));
  PLINTH_RETURN_IF_ERROR(ExpectDims("weight_hh", r->weight_back_->dims(), {rows, r->hidden_}));
  for (const Values* bias : {r->bias_in_, r->bias_back_}) {
    if (bias != nullptr) PLINTH_RETURN_IF_ERROR(ExpectDims("bias", bias->dims(), {rows}));
  }
  if (r->lstm_) PLINTH_RETURN_IF_ERROR(ExpectDims("c", r->c_->dims(), h.dims()));
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), h.dims()));
  r->line = {.kind = ops::ToleranceClass::kMatmul, .depth = x.dim(1) + r->hidden_};
  return r;
}

}  // namespace

ReferenceOr MakeCell(const OpUse& use, size_t port, const Arithmetic&) { return Cell::Make(use, port); }

}  // namespace plinth::verify::replay
