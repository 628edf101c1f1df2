// argmax and multinomial: what may be drawn, not what was.
#include <cmath>

#include "plinth/verify/replay/row_reference.h"

namespace plinth::verify::replay {
namespace {

enum class Method : uint8_t { kArgmax, kMultinomial, kInverseCdf };

class Sampling final : public Reference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port);
  int64_t pieces() const override { return in_.rows(); }
  double piece_flops() const override { return 4.0 * static_cast<double>(in_.length); }
  void Compute(int64_t row, TruthSink& sink) const override {
    std::vector<double> x(static_cast<size_t>(in_.length));
    x_->Load(in_.Begin(row), in_.length, in_.stride, x.data());
    std::vector<bool> drawn(x.size());
    for (int64_t s = 0; s < samples_; ++s) {
      const int64_t at = method_ == Method::kArgmax ? row : row * samples_ + s;
      const int64_t picked = out_->index(at);
      std::string wrong;
      if (picked < 0 || picked >= in_.length) {
        wrong = StrCat("index ", picked, " is outside [0, ", in_.length, ")");
      } else {
        wrong = Judge(x, picked, at);
        if (wrong.empty() && !replacement_ && drawn[static_cast<size_t>(picked)]) {
          wrong = StrCat("index ", picked, " was drawn twice without replacement");
        }
        drawn[static_cast<size_t>(picked)] = true;
      }
      sink.Verdict(at, wrong);
    }
  }

 private:
  std::string Judge(const std::vector<double>& x, int64_t picked, int64_t at) const {
    const double value = x[static_cast<size_t>(picked)];
    if (method_ == Method::kArgmax) return JudgeArgmax(x, picked);
    if (!(value > 0)) return StrCat("index ", picked, " was drawn; its weight is ", value);
    return method_ == Method::kInverseCdf ? JudgeInverse(x, picked, at) : "";
  }

  // A NaN counts as the largest.
  static std::string JudgeArgmax(const std::vector<double>& x, int64_t picked) {
    double top = -INFINITY;
    bool nan = false;
    for (const double v : x) nan = nan || std::isnan(v), top = std::max(top, v);
    const double value = x[static_cast<size_t>(picked)];
    if (nan ? std::isnan(value) : value == top) return "";
    return StrCat("index ", picked, " leads to ", value, "; the largest is ", nan ? NAN : top);
  }

  // The index is the first whose cumulative weight exceeds u times the total; the sums may be off by sqrt(n)
  // roundings, lambda 6.
  std::string JudgeInverse(const std::vector<double>& x, int64_t picked, int64_t at) const {
    double total = 0, before = 0, upto = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (static_cast<int64_t>(i) == picked) before = total;
      total += x[i];
      if (static_cast<int64_t>(i) == picked) upto = total;
    }
    const double target = (*numbers_)[at] * total;
    const double slack = SumGrowth(in_.length) * 0x1p-24 * total;
    if (target >= before - slack && target <= upto + slack) return "";
    return StrCat("index ", picked, " covers [", before / total, ", ", upto / total,
                  ") of the weights; the random number is ", target / total);
  }

  const Values *x_ = nullptr, *out_ = nullptr, *numbers_ = nullptr;
  RowLayout in_;
  Method method_ = Method::kArgmax;
  int64_t samples_ = 1;
  bool replacement_ = true;
};

ReferenceOr Sampling::Make(const OpUse& use, size_t port) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "weights"));
  const Values& x = use.in(0);
  auto r = std::make_unique<Sampling>();
  PLINTH_ASSIGN_OR_RETURN(const std::string method,
                          use.Text("method", use.op == "argmax" || use.op == "multinomial" ? use.op : ""));
  r->x_ = &x, r->out_ = &use.out(port);
  std::vector<int64_t> dims = x.dims();
  if (method == "argmax") {
    const bool all = !use.Has("dim");
    PLINTH_ASSIGN_OR_RETURN(const int64_t dim, use.Int("dim", -1));
    PLINTH_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(dim, x.rank()));
    PLINTH_ASSIGN_OR_RETURN(const bool keep, use.Flag("keepdim", false));
    r->in_ = all ? RowLayout::From(dims, 0) : RowLayout::Along(dims, static_cast<size_t>(axis));
    if (all) dims.assign(keep ? dims.size() : 0, 1);
    if (!all && !dims.empty()) {
      if (keep) dims[static_cast<size_t>(axis)] = 1;
      if (!keep) dims.erase(dims.begin() + axis);
    }
  } else if (method == "multinomial" || method == "inverse_cdf") {
    r->method_ = method == "multinomial" ? Method::kMultinomial : Method::kInverseCdf;
    if (dims.empty()) return absl::InvalidArgumentError("the weights are a scalar; a row is needed");
    PLINTH_ASSIGN_OR_RETURN(r->samples_,
                            use.Int("num_samples", use.out(port).rank() == 0 ? 1 : use.out(port).dim(-1)));
    PLINTH_ASSIGN_OR_RETURN(r->replacement_, use.Flag("replacement", r->method_ == Method::kInverseCdf));
    r->in_ = RowLayout::Along(dims, dims.size() - 1);
    dims.back() = r->samples_;
    if (r->method_ == Method::kInverseCdf) {
      PLINTH_RETURN_IF_ERROR(use.Need(1, "random numbers"));
      PLINTH_RETURN_IF_ERROR(ExpectDims("random numbers", use.in(1).dims(), dims));
      r->numbers_ = &use.in(1);
    }
  } else {
    return absl::UnimplementedError(StrCat("sampling by \"", method,
                                           "\" has no reference; argmax, multinomial and "
                                           "inverse_cdf have"));
  }
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), dims));
  r->line = {.kind = ops::ToleranceClass::kOrder, .exact = true, .depth = r->in_.length};
  return r;
}

}  // namespace

ReferenceOr MakeSampling(const OpUse& use, size_t port, const Arithmetic&) {
  return Sampling::Make(use, port);
}

}  // namespace plinth::verify::replay
