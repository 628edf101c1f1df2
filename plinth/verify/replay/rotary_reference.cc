// Rotary position embedding with recorded tables of cosines and sines.
#include "plinth/verify/replay/broadcast.h"
#include "plinth/verify/replay/row_reference.h"

namespace plinth::verify::replay {
namespace {

class Rotary final : public RowReference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port, const Arithmetic& arithmetic);

 private:
  // y = x cos + turned(x) sin; both products and the sum may be rounded to the output's type. Columns behind
  // the turned ones are copied.
  void Row(int64_t r, const std::vector<double>& x, TruthSink& sink) const override {
    const int64_t half = dims_ / 2;
    for (int64_t i = 0; i < layout.length; ++i) {
      const int64_t at = IndexOf(r, i);
      if (i >= dims_) {
        sink.Put(at, x[static_cast<size_t>(i)], 0, 0);
        continue;
      }
      const bool first = interleaved_ ? i % 2 == 0 : i < half;
      const int64_t other = interleaved_ ? (i ^ 1) : (first ? i + half : i - half);
      const int64_t column = table_ == dims_ ? i : (interleaved_ ? i / 2 : i % half);
      const int64_t entry = row_at_(r) * table_ + column;
      const double a = x[static_cast<size_t>(i)] * 1.0,
                   b = x[static_cast<size_t>(other)] * (first ? -1.0 : 1.0);
      const long double turned = static_cast<long double>(a) * (*cos_)[entry];
      const long double mixed = static_cast<long double>(b) * (*sin_)[entry];
      const auto size = static_cast<double>(std::abs(turned) + std::abs(mixed));
      sink.Put(at, turned + mixed, out_ * size, out_ * size);
    }
  }

  const Values *cos_ = nullptr, *sin_ = nullptr;
  Broadcast row_at_;
  int64_t dims_ = 0, table_ = 0;
  bool interleaved_ = false;
  double out_ = 1;
};

ReferenceOr Rotary::Make(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  PLINTH_RETURN_IF_ERROR(use.Need(1, "cos"));
  PLINTH_RETURN_IF_ERROR(use.Need(2, "sin"));
  const Values &x = use.in(0), &cosines = use.in(1), &sines = use.in(2);
  if (x.rank() < 1 || cosines.rank() < 1)
    return absl::InvalidArgumentError("x and the tables need a dimension");
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), x.dims()));
  PLINTH_RETURN_IF_ERROR(ExpectDims("sin", sines.dims(), cosines.dims()));
  auto r = std::make_unique<Rotary>();
  PLINTH_ASSIGN_OR_RETURN(const std::string style, use.Text("style", "halves"));
  PLINTH_ASSIGN_OR_RETURN(r->dims_,
                          use.Int("rotary_dims", std::min(x.dim(-1), std::max(cosines.dim(-1), int64_t{0}))));
  if (style != "halves" && style != "interleaved") {
    return absl::InvalidArgumentError(
        StrCat("style is \"", style, "\"; \"halves\" or \"interleaved\" is expected"));
  }
  r->table_ = cosines.dim(-1);
  if (!use.Has("rotary_dims") && 2 * r->table_ == x.dim(-1)) r->dims_ = x.dim(-1);
  if (r->dims_ < 2 || r->dims_ % 2 != 0 || r->dims_ > x.dim(-1) ||
      (r->table_ != r->dims_ && 2 * r->table_ != r->dims_)) {
    return absl::InvalidArgumentError(StrCat("x is ", x.ToString(), ", cos ", cosines.ToString(),
                                             ", rotary_dims ", r->dims_,
                                             ": even, at most x's columns, and as wide as the tables or "
                                             "twice that is needed"));
  }
  PLINTH_ASSIGN_OR_RETURN(r->row_at_, Broadcast::Make({cosines.dims().begin(), cosines.dims().end() - 1},
                                                      {x.dims().begin(), x.dims().end() - 1}));
  r->input = &x, r->cos_ = &cosines, r->sin_ = &sines;
  r->layout = RowLayout::Along(x.dims(), x.rank() - 1);
  r->interleaved_ = style == "interleaved";
  r->arithmetic = arithmetic;
  r->out_ = use.out(port).format().roundoff() / arithmetic.accumulate;
  r->line = {.kind = ops::ToleranceClass::kTranscendental};
  return r;
}

}  // namespace

ReferenceOr MakeRotary(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  return Rotary::Make(use, port, arithmetic);
}

}  // namespace plinth::verify::replay
