// softmax and log_softmax along one axis.
#include "plinth/verify/replay/row_reference.h"

namespace plinth::verify::replay {
namespace {

// Class E. exp(x - max) turns the rounded difference, off by u |x - max|, into a relative error; the sum of n
// positive terms is off by min(n, 6 sqrt(n)) u relative; exponential, reciprocal and product add a few u. Far
// terms weigh in the sum by their own size.
class Softmax final : public RowReference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port, const Arithmetic& arithmetic);

 private:
  // Double functions are exact enough for everything but f64.
  long double Exp(long double x) const { return wide_ ? std::exp(x) : std::exp(static_cast<double>(x)); }

  void Row(int64_t r, const std::vector<double>& x, TruthSink& sink) const override {
    double top = -INFINITY;
    for (const double v : x) top = std::isnan(v) || std::isnan(top) ? NAN : std::max(top, v);
    long double sum = 0, weighted = 0, squares = 0;
    for (const double v : x) {
      const long double away = static_cast<long double>(v) - top;
      const long double e = Exp(away);
      sum += e;
      if (e > 0) weighted += e * std::abs(away), squares += e * e;
    }
    const auto spread = static_cast<double>(weighted / sum);
    const double stored = coarse_ * (1 + static_cast<double>(std::sqrt(squares) / sum));
    const double growth = SumGrowth(layout.length) + 6 + spread;
    const double level = 3 + 0.5 * std::sqrt(static_cast<double>(layout.length)) + spread;
    const long double logarithm = std::log(sum);
    for (int64_t i = 0; i < layout.length; ++i) {
      const long double away = static_cast<long double>(x[static_cast<size_t>(i)]) - top;
      const double distance = std::isfinite(away) ? static_cast<double>(std::abs(away)) : 0;
      if (log_) {
        const double shift = std::abs(top) + static_cast<double>(std::abs(logarithm));
        const double own = distance + (1 + coarse_) * shift;
        sink.Put(IndexOf(r, i), away - logarithm, growth + own, level + own);
      } else {
        const long double y = Exp(away) / sum;
        const auto size = static_cast<double>(y);
        sink.Put(IndexOf(r, i), y, size * (growth + distance + stored), size * (level + distance + stored));
      }
    }
  }

  bool log_ = false, wide_ = false;
  double coarse_ = 0;  // the output type's roundoff in units of the accumulator's; 0 for wide types
};

ReferenceOr Softmax::Make(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  const Values& x = use.in(0);
  PLINTH_ASSIGN_OR_RETURN(const int64_t dim, use.Int("dim", -1));
  PLINTH_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(dim, x.rank()));
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), x.dims()));
  auto r = std::make_unique<Softmax>();
  r->input = &x;
  r->layout = RowLayout::Along(x.dims(), static_cast<size_t>(axis));
  r->work = 60;
  r->arithmetic = arithmetic;
  r->wide_ = use.out(port).format().storage == DType::kF64;
  const double roundoff = use.out(port).format().roundoff();
  r->coarse_ = roundoff > 0x1p-20 ? roundoff / arithmetic.accumulate : 0;
  r->log_ = use.op == "log_softmax";
  r->line = {.kind = ops::ToleranceClass::kSoftmax, .depth = r->layout.length};
  return r;
}

}  // namespace

ReferenceOr MakeSoftmax(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  return Softmax::Make(use, port, arithmetic);
}

}  // namespace plinth::verify::replay
