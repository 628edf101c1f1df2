// layer_norm, rms_norm, group_norm and batch_norm: rows are centred and scaled by their own or by given
// moments.
#include "plinth/verify/replay/row_reference.h"

namespace plinth::verify::replay {
namespace {

// Mean and 1/sqrt(variance + eps), and how hard they are to get: |mean| / std.
struct Moments {
  long double mean = 0, scale = 0;
  double offset = 0;
};

Moments MomentsOf(const std::vector<double>& x, bool centred, double eps) {
  const auto n = static_cast<long double>(x.size());
  long double sum = 0, squares = 0;
  for (const double v : x) sum += v;
  Moments m;
  m.mean = centred ? sum / n : 0.0L;
  for (const double v : x) squares += (v - m.mean) * (v - m.mean);
  const long double variance = squares / n + eps;
  m.scale = 1 / std::sqrt(variance);
  if (centred) m.offset = static_cast<double>(std::abs(m.mean) * m.scale);
  return m;
}

// Class F: lambda sqrt(n) (1 + |mean|/std) for a single element; the level is that of sums of n terms whose
// partial sums grow, about half of sqrt(n), beside three roundings of the element itself.
class Norm final : public RowReference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port, const Arithmetic& arithmetic, bool centred);
  // Rows are groups of channels of one sample: x [N, C, ...], `num_groups`, weight and bias [C].
  static ReferenceOr MakeGroups(const OpUse& use, size_t port, const Arithmetic& arithmetic);

 private:
  // Which element of weight and bias belongs to element i of row r.
  int64_t WeightAt(int64_t r, int64_t i) const {
    return groups_ == 0 ? i : r % groups_ * channels_ + i / inner_;
  }
  void Row(int64_t r, const std::vector<double>& x, TruthSink& sink) const override {
    const Moments m = MomentsOf(x, centred_, eps_);
    const double growth = SumGrowth(layout.length) * (1 + m.offset);
    const double level = 3 + 0.5 * std::sqrt(static_cast<double>(layout.length)) * (1 + m.offset);
    for (int64_t i = 0; i < layout.length; ++i) {
      const long double normal = (x[static_cast<size_t>(i)] - m.mean) * m.scale;
      const int64_t at = WeightAt(r, i);
      const long double w = weight_.empty() ? 1.0L : weight_[static_cast<size_t>(at)] + offset_;
      const long double b = bias_.empty() ? 0.0L : bias_[static_cast<size_t>(at)];
      const double size =
          static_cast<double>(std::abs(w) * ((centred_ ? 1 : 0) + std::abs(normal)) + std::abs(b));
      // Below the type's own resolution of w * n: weight and bias may be applied to rounded numbers.
      const double steps = out_ * static_cast<double>(std::abs(w * normal));
      sink.Put(IndexOf(r, i), normal * w + b, growth * size + steps, level * size + steps);
    }
  }

  bool centred_ = true;
  int64_t groups_ = 0, channels_ = 1,
          inner_ = 1;  // of group_norm: channels of a group, elements of a channel
  double eps_ = 0, offset_ = 0, out_ = 0;
  std::vector<double> weight_, bias_;
};

Status ReadRow(const OpUse& use, size_t port, std::string_view what, int64_t length,
               std::vector<double>* out) {
  if (!use.has(port)) return absl::OkStatus();
  PLINTH_RETURN_IF_ERROR(use.Need(port, what));
  if (use.in(port).size() != length) {
    return absl::InvalidArgumentError(
        StrCat(what, " is ", use.in(port).ToString(), "; ", length, " elements are needed"));
  }
  *out = use.in(port).All();
  return absl::OkStatus();
}

ReferenceOr Norm::Make(const OpUse& use, size_t port, const Arithmetic& arithmetic, bool centred) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  const Values& x = use.in(0);
  if (x.rank() == 0) return absl::InvalidArgumentError("x is a scalar; a row to normalise is needed");
  PLINTH_ASSIGN_OR_RETURN(const auto shape, use.Ints("normalized_shape", {x.dim(-1)}));
  if (shape.size() > x.rank() ||
      !std::equal(shape.begin(), shape.end(), x.dims().end() - static_cast<int64_t>(shape.size()))) {
    return absl::InvalidArgumentError(StrCat("normalized_shape [", Join(shape, ", "),
                                             "] is not how the shape of x, ", x.ToString(), ", ends"));
  }
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), x.dims()));
  auto r = std::make_unique<Norm>();
  r->centred_ = centred;
  r->input = &x;
  r->layout = RowLayout::From(x.dims(), x.rank() - shape.size());
  r->arithmetic = arithmetic;
  PLINTH_ASSIGN_OR_RETURN(r->eps_, use.Real("eps", centred ? 1e-5 : 1e-6));
  PLINTH_ASSIGN_OR_RETURN(r->offset_, use.Real("weight_offset", 0));
  PLINTH_RETURN_IF_ERROR(ReadRow(use, 1, "weight", r->layout.length, &r->weight_));
  if (centred) PLINTH_RETURN_IF_ERROR(ReadRow(use, 2, "bias", r->layout.length, &r->bias_));
  r->out_ = use.out(port).format().roundoff() / arithmetic.accumulate;
  r->line = {.kind = ops::ToleranceClass::kNorm, .depth = r->layout.length};
  return r;
}

ReferenceOr Norm::MakeGroups(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  const Values& x = use.in(0);
  if (!use.Has("num_groups"))
    return absl::FailedPreconditionError(
        "into how many groups channels go (\"num_groups\") was not recorded");
  PLINTH_ASSIGN_OR_RETURN(const int64_t groups, use.Int("num_groups", 1));
  if (x.rank() < 2 || groups < 1 || x.dim(1) % groups != 0 || x.size() == 0) {
    return absl::InvalidArgumentError(StrCat("x is ", x.ToString(), " and num_groups ", groups,
                                             "; [N, C, ...] with C a multiple of it is needed"));
  }
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), x.dims()));
  auto r = std::make_unique<Norm>();
  r->groups_ = groups;
  r->channels_ = x.dim(1) / groups;
  r->inner_ = ProductOf(x.dims(), 2, x.rank());
  r->input = &x;
  r->layout = {x.dim(0) * groups, r->channels_ * r->inner_, 1};
  r->arithmetic = arithmetic;
  PLINTH_ASSIGN_OR_RETURN(r->eps_, use.Real("eps", 1e-5));
  PLINTH_RETURN_IF_ERROR(ReadRow(use, 1, "weight", x.dim(1), &r->weight_));
  PLINTH_RETURN_IF_ERROR(ReadRow(use, 2, "bias", x.dim(1), &r->bias_));
  r->out_ = use.out(port).format().roundoff() / arithmetic.accumulate;
  r->line = {.kind = ops::ToleranceClass::kNorm, .depth = r->layout.length};
  return r;
}

// y = (x - mean) / sqrt(variance + eps) * weight + bias per channel, with recorded moments, and in training
// with those of the batch. Inputs: x [N, C, ...], weight, bias (optional), running mean, running variance.
class BatchNorm final : public RowReference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port, const Arithmetic& arithmetic);

 private:
  // A row is one channel of one sample. Folded into one product and sum, the subtraction cancels: the sizes
  // of both parts count.
  void Row(int64_t r, const std::vector<double>& x, TruthSink& sink) const override {
    const auto c = static_cast<size_t>(r % channels_);
    const long double scale = 1 / std::sqrt(variance_[c] + eps_) * (weight_.empty() ? 1.0L : weight_[c]);
    const double bias = bias_.empty() ? 0 : bias_[c];
    for (int64_t i = 0; i < layout.length; ++i) {
      const double v = x[static_cast<size_t>(i)];
      const double size =
          static_cast<double>(std::abs(scale)) * (std::abs(v) + static_cast<double>(std::abs(mean_[c]))) +
          std::abs(bias);
      // The moments of a batch err as those of any row do.
      const double more =
          moments_.empty() ? 0 : Inherited(c, std::abs(static_cast<double>((v - mean_[c]) * scale)));
      sink.Put(IndexOf(r, i), (v - mean_[c]) * scale + bias, 6 * size + SumGrowth(count_) * more,
               3 * size + 0.5 * std::sqrt(static_cast<double>(count_)) * more);
    }
  }

  double Inherited(size_t c, double normal) const {
    const double w = weight_.empty() ? 1 : std::abs(weight_[c]);
    return w * (1 + normal) * (1 + moments_[c].offset);
  }
  Status TakeMoments(const Values& x);

  int64_t channels_ = 1, count_ = 1;  // elements of a channel in the batch
  double eps_ = 1e-5;
  std::vector<double> weight_, bias_;
  std::vector<long double> mean_, variance_;
  std::vector<Moments> moments_;  // of the batch; empty: recorded ones count
};

Status BatchNorm::TakeMoments(const Values& x) {
  const int64_t inner = ProductOf(x.dims(), 2, x.rank()), samples = x.dim(0);
  count_ = samples * inner;
  if (count_ == 0) return absl::InvalidArgumentError(StrCat("x is ", x.ToString(), "; a batch is needed"));
  std::vector<double> row(static_cast<size_t>(count_));
  for (int64_t c = 0; c < channels_; ++c) {
    for (int64_t n = 0; n < samples; ++n) {
      x.Load((n * channels_ + c) * inner, inner, 1, row.data() + n * inner);
    }
    moments_.push_back(MomentsOf(row, true, eps_));
    mean_.push_back(moments_.back().mean);
    // What the scale of the row comes from.
    variance_.push_back(1 / (moments_.back().scale * moments_.back().scale) - static_cast<long double>(eps_));
  }
  return absl::OkStatus();
}

ReferenceOr BatchNorm::Make(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  PLINTH_ASSIGN_OR_RETURN(const bool training, use.Flag("training", false));
  const Values& x = use.in(0);
  if (x.rank() < 2)
    return absl::InvalidArgumentError(StrCat("x is ", x.ToString(), "; [N, C, ...] is needed"));
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), x.dims()));
  auto r = std::make_unique<BatchNorm>();
  r->input = &x;
  r->layout = RowLayout::From(x.dims(), 2);
  r->channels_ = x.dim(1);
  r->arithmetic = arithmetic;
  PLINTH_ASSIGN_OR_RETURN(r->eps_, use.Real("eps", 1e-5));
  PLINTH_RETURN_IF_ERROR(ReadRow(use, 1, "weight", r->channels_, &r->weight_));
  PLINTH_RETURN_IF_ERROR(ReadRow(use, 2, "bias", r->channels_, &r->bias_));
  if (training) {
    PLINTH_RETURN_IF_ERROR(r->TakeMoments(x));
  } else {
    PLINTH_RETURN_IF_ERROR(use.Need(3, "running mean"));
    PLINTH_RETURN_IF_ERROR(use.Need(4, "running variance"));
    std::vector<double> mean, variance;
    PLINTH_RETURN_IF_ERROR(ReadRow(use, 3, "running mean", r->channels_, &mean));
    PLINTH_RETURN_IF_ERROR(ReadRow(use, 4, "running variance", r->channels_, &variance));
    r->mean_.assign(mean.begin(), mean.end());
    r->variance_.assign(variance.begin(), variance.end());
  }
  r->line = {.kind = ops::ToleranceClass::kNorm, .depth = r->count_};
  return r;
}

}  // namespace

ReferenceOr MakeLayerNorm(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  return Norm::Make(use, port, arithmetic, true);
}
ReferenceOr MakeRmsNorm(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  return Norm::Make(use, port, arithmetic, false);
}
ReferenceOr MakeGroupNorm(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  return Norm::MakeGroups(use, port, arithmetic);
}
ReferenceOr MakeBatchNorm(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  return BatchNorm::Make(use, port, arithmetic);
}

}  // namespace plinth::verify::replay
