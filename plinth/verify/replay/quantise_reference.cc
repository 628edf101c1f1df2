// quantize, dequantize and fake_quantize, per tensor or per channel.
#include <cmath>

#include "plinth/verify/replay/row_reference.h"

namespace plinth::verify::replay {
namespace {

using Real = long double;

constexpr int64_t kPiece = 1 << 15;

class Quantise final : public Reference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port);
  int64_t pieces() const override { return (x_->size() + kPiece - 1) / kPiece; }
  double piece_flops() const override { return 20.0 * kPiece; }
  void Compute(int64_t piece, TruthSink& sink) const override {
    const int64_t end = std::min(x_->size(), (piece + 1) * kPiece);
    for (int64_t i = piece * kPiece; i < end; ++i) {
      const auto c = static_cast<size_t>(per_channel_ ? i / inner_ % channels_ : 0);
      if (mode_ == Mode::kDequantise) {
        sink.Put(i, ((*x_)[i] - zeros_[c]) * static_cast<Real>(scales_[c]), 0, 0);
      } else {
        Element(i, scales_[c], zeros_[c], sink);
      }
    }
  }

 private:
  enum class Mode : uint8_t { kQuantise, kDequantise, kFake };

  // Rounding is decided by x / scale, which f32 knows to two roundings: nearer than that to a tie either
  // neighbour is right, everywhere else there is one answer. A power of two divides exactly, ties go to even.
  void Element(int64_t i, double scale, double zero, TruthSink& sink) const {
    const double x = (*x_)[i];
    if (std::isnan(x)) return sink.Verdict(i, "");
    const Real steps = static_cast<Real>(x) / static_cast<Real>(scale);
    int exponent = 0;
    const bool exact = std::frexp(scale, &exponent) == 0.5;
    const double slack = exact ? 0 : 3 * 0x1p-24 * static_cast<double>(std::abs(steps));
    Real low = std::clamp<Real>(std::nearbyint(steps - slack) + zero, least_, most_);
    Real high = std::clamp<Real>(std::nearbyint(steps + slack) + zero, least_, most_);
    const bool fake = mode_ == Mode::kFake;
    if (fake) low = (low - zero) * scale, high = (high - zero) * scale;
    const Real recorded = (*out_)[i];
    sink.Put(i, std::abs(recorded - low) <= std::abs(recorded - high) ? low : high, 0, 0);
  }
  Status ReadScales(const OpUse& use);

  const Values *x_ = nullptr, *out_ = nullptr;
  Mode mode_ = Mode::kQuantise;
  bool per_channel_ = false;
  int64_t inner_ = 1, channels_ = 1;
  double least_ = 0, most_ = 0;
  std::vector<double> scales_, zeros_;
};

Status Quantise::ReadScales(const OpUse& use) {
  per_channel_ = use.has(1) || use.Has("axis");
  if (!per_channel_) {
    if (!use.Has("scale")) {
      return absl::FailedPreconditionError("neither input 1 nor the attribute \"scale\" was recorded");
    }
    PLINTH_ASSIGN_OR_RETURN(const double scale, use.Real("scale", 1));
    PLINTH_ASSIGN_OR_RETURN(const double zero, use.Real("zero_point", 0));
    scales_ = {scale}, zeros_ = {zero};
  } else {
    PLINTH_RETURN_IF_ERROR(use.Need(1, "scale"));
    scales_ = use.in(1).All();
    if (use.has(2)) {
      PLINTH_RETURN_IF_ERROR(use.Need(2, "zero_point"));
      zeros_ = use.in(2).All();
    }
    zeros_.resize(scales_.size(), 0);
    PLINTH_ASSIGN_OR_RETURN(const int64_t axis_given, use.Int("axis", 0));
    PLINTH_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(axis_given, x_->rank()));
    per_channel_ = scales_.size() > 1;
    channels_ = x_->rank() == 0 ? 1 : x_->dims()[static_cast<size_t>(axis)];
    inner_ = std::max<int64_t>(
        1, ProductOf(x_->dims(), static_cast<size_t>(axis) + 1, std::max<size_t>(1, x_->rank())));
    if (per_channel_ && static_cast<int64_t>(scales_.size()) != channels_) {
      return absl::InvalidArgumentError(
          StrCat("there are ", scales_.size(), " scales for ", channels_, " channels of ", x_->ToString()));
    }
  }
  for (const double s : scales_) {
    if (!(s > 0) || !std::isfinite(s))
      return absl::InvalidArgumentError(StrCat("a scale is ", s, "; it must be positive"));
  }
  return scales_.empty() ? absl::InvalidArgumentError("there is no scale") : absl::OkStatus();
}

ReferenceOr Quantise::Make(const OpUse& use, size_t port) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  auto r = std::make_unique<Quantise>();
  r->x_ = &use.in(0), r->out_ = &use.out(port);
  r->mode_ = use.op == "quantize"     ? Mode::kQuantise
             : use.op == "dequantize" ? Mode::kDequantise
                                      : Mode::kFake;
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", r->out_->dims(), r->x_->dims()));
  if (use.in(0).rank() == 0 && use.has(1))
    return absl::InvalidArgumentError("x is a scalar; it has no channels");
  PLINTH_RETURN_IF_ERROR(r->ReadScales(use));
  PLINTH_ASSIGN_OR_RETURN(const std::string name,
                          use.Text("dtype", r->mode_ == Mode::kFake ? "i8" : r->out_->format().name));
  const NumberFormat* type = FindFormat(name);
  if (r->mode_ != Mode::kDequantise && (type == nullptr || type->floating)) {
    return absl::InvalidArgumentError(StrCat("dtype is \"", name, "\"; an integer type is expected"));
  }
  if (type != nullptr && !type->floating) {
    PLINTH_ASSIGN_OR_RETURN(r->most_, use.Real("quant_max", type->largest));
    PLINTH_ASSIGN_OR_RETURN(r->least_,
                            use.Real("quant_min", type->storage == DType::kU8 ? 0 : -type->largest - 1));
    if (!(r->least_ <= r->most_)) {
      return absl::InvalidArgumentError(StrCat("quant_min ", r->least_, " lies above quant_max ", r->most_));
    }
  }
  if (r->mode_ == Mode::kQuantise) {
    r->line = {.kind = ops::ToleranceClass::kExact, .exact = true};
  } else {
    r->line = {.kind = ops::ToleranceClass::kArithmetic, .out_roundoffs = 0, .out_ulps = 1};
  }
  return r;
}

}  // namespace

ReferenceOr MakeQuantise(const OpUse& use, size_t port, const Arithmetic&) {
  return Quantise::Make(use, port);
}

}  // namespace plinth::verify::replay
