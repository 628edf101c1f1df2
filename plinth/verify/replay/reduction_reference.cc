// sum, mean, cumsum and average pooling.
#include "plinth/verify/replay/reduced.h"
#include "plinth/verify/replay/row_reference.h"
#include "plinth/verify/replay/window.h"

namespace plinth::verify::replay {
namespace {

// Sizes of a sum of terms read one by one.
struct Running {
  long double sum = 0;
  double size = 0, square = 0, top = 0;
  int64_t terms = 0;
  void Add(double x) {
    sum += x, size += std::abs(x), square += x * x, ++terms;
    top = std::max(top, static_cast<double>(std::abs(sum)));
  }
  double slack() const { return SumGrowth(terms) * size; }
  double spread() const {
    return std::sqrt(static_cast<double>(terms)) * std::max({top, std::sqrt(square), size / 16});
  }
};

// Class D over any axes: output element o gathers the elements whose other coordinates are its own.
class Reduction final : public Reference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port, const Arithmetic& arithmetic);
  int64_t pieces() const override { return (over_.outputs + PerPiece() - 1) / PerPiece(); }
  double piece_flops() const override { return 6.0 * static_cast<double>(PerPiece() * over_.terms); }
  void Compute(int64_t piece, TruthSink& sink) const override {
    const int64_t end = std::min(over_.outputs, (piece + 1) * PerPiece());
    for (int64_t o = piece * PerPiece(); o < end; ++o) {
      Running s;
      const int64_t base = Reduced::Offset(o, over_.kept);
      for (int64_t t = 0; t < over_.terms; ++t) s.Add((*x_)[base + Reduced::Offset(t, over_.gone)]);
      const double n = mean_ ? static_cast<double>(over_.terms) : 1;
      const double own = mean_ ? std::abs(static_cast<double>(s.sum)) / n : 0;
      sink.Put(o, s.sum / static_cast<long double>(n), s.slack() / n + own, s.spread() / n + own);
    }
  }

 private:
  int64_t PerPiece() const { return std::max<int64_t>(1, 32768 / std::max<int64_t>(1, over_.terms)); }

  const Values* x_ = nullptr;
  Reduced over_;
  bool mean_ = false;
};

ReferenceOr Reduction::Make(const OpUse& use, size_t port, const Arithmetic&) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  const Values& x = use.in(0);
  auto r = std::make_unique<Reduction>();
  PLINTH_ASSIGN_OR_RETURN(r->over_, ReducedBy(use, x));
  if (!use.Has("dim") && r->over_.dims != use.out(port).dims()) {
    return absl::FailedPreconditionError("over which axes it goes (attribute \"dim\") was not recorded");
  }
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), r->over_.dims));
  r->x_ = &x;
  r->mean_ = use.op == "mean";
  const bool floating = use.out(port).format().floating;
  r->line = {.kind = ops::ToleranceClass::kReduction,
             .exact = !floating,
             .depth = r->over_.terms,
             .watch_shrink = floating};
  return r;
}

class Cumsum final : public RowReference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port, const Arithmetic& arithmetic);

 private:
  void Row(int64_t r, const std::vector<double>& x, TruthSink& sink) const override {
    Running s;
    for (int64_t i = 0; i < layout.length; ++i) {
      s.Add(x[static_cast<size_t>(i)]);
      sink.Put(IndexOf(r, i), s.sum, s.slack(), s.spread());
    }
  }
};

ReferenceOr Cumsum::Make(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  const Values& x = use.in(0);
  if (!use.Has("dim"))
    return absl::FailedPreconditionError("along which axis it goes (attribute \"dim\") was not recorded");
  PLINTH_ASSIGN_OR_RETURN(const int64_t dim, use.Int("dim", 0));
  PLINTH_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(dim, x.rank()));
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), x.dims()));
  auto r = std::make_unique<Cumsum>();
  r->input = &x;
  r->layout = RowLayout::Along(x.dims(), static_cast<size_t>(axis));
  r->arithmetic = arithmetic;
  r->line = {.kind = ops::ToleranceClass::kReduction,
             .exact = !use.out(port).format().floating,
             .depth = r->layout.length};
  return r;
}

// avg_pool and adaptive_avg_pool: the mean of a window.
class AveragePool final : public Reference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port);
  int64_t pieces() const override { return (size_ + kPerPiece - 1) / kPerPiece; }
  double piece_flops() const override { return 6.0 * kPerPiece * static_cast<double>(window_.terms()); }
  void Compute(int64_t piece, TruthSink& sink) const override {
    const int64_t end = std::min(size_, (piece + 1) * kPerPiece);
    for (int64_t o = piece * kPerPiece; o < end; ++o) {
      Running s;
      window_.Each(o, [&](int64_t at) { s.Add((*x_)[at]); });
      const auto n = static_cast<double>(std::max<int64_t>(1, padding_ ? window_.Places(o) : s.terms));
      const double own = std::abs(static_cast<double>(s.sum)) / n;
      sink.Put(o, s.sum / static_cast<long double>(n), s.slack() / n + own, s.spread() / n + own);
    }
  }

 private:
  static constexpr int64_t kPerPiece = 1024;
  const Values* x_ = nullptr;
  Window window_;
  int64_t size_ = 0;
  bool padding_ = true;  // places in the padding count
};

ReferenceOr AveragePool::Make(const OpUse& use, size_t port) {
  auto r = std::make_unique<AveragePool>();
  PLINTH_ASSIGN_OR_RETURN(r->window_, Window::Make(use, port));
  if (use.Has("divisor_override"))
    return absl::UnimplementedError("average pooling by a divisor of one's own has no reference");
  PLINTH_ASSIGN_OR_RETURN(r->padding_, use.Flag("count_include_pad", true));
  r->x_ = &use.in(0);
  r->size_ = use.out(port).size();
  r->line = {.kind = ops::ToleranceClass::kReduction, .depth = r->window_.terms()};
  return r;
}

}  // namespace

ReferenceOr MakeAveragePool(const OpUse& use, size_t port, const Arithmetic&) {
  return AveragePool::Make(use, port);
}
ReferenceOr MakeReduction(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  return Reduction::Make(use, port, arithmetic);
}
ReferenceOr MakeCumsum(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  return Cumsum::Make(use, port, arithmetic);
}

}  // namespace plinth::verify::replay
