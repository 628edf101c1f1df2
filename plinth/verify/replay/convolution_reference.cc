// conv1d and conv2d: cross-correlation with stride, zero padding, dilation and groups, as products of the
// weights with columns gathered from the input.
#include "plinth/verify/replay/factories.h"
#include "plinth/verify/replay/product.h"

namespace plinth::verify::replay {
namespace {

// One axis of space.
struct Axis {
  int64_t in = 1, kernel = 1, out = 1, stride = 1, padding = 0, dilation = 1;
  // The input position that tap k of output o reads; may lie outside.
  int64_t At(int64_t o, int64_t k) const { return o * stride - padding + k * dilation; }
};

class Convolution final : public ProductReference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port, const Arithmetic& arithmetic);

 private:
  Status ReadAxes(const OpUse& use, size_t space);
  // Batch entry b is one sample and group.
  void LoadRow(int64_t b, int64_t i, double* out) const override {
    weight_->Load((b % groups_ * rows + i) * depth, depth, 1, out);
  }
  void LoadPanel(int64_t b, int64_t first, int64_t count, double* panel) const override;
  int64_t OutIndex(int64_t b, int64_t i, int64_t j) const override { return (b * rows + i) * columns + j; }
  double Addend(int64_t b, int64_t i, int64_t) const override { return (*bias_)[b % groups_ * rows + i]; }

  const Values *x_ = nullptr, *weight_ = nullptr, *bias_ = nullptr;
  int64_t groups_ = 1, channels_ = 1;  // channels of one group
  Axis y_, x_axis_;                    // rows and columns of space; conv1d has one row
};

void Convolution::LoadPanel(int64_t b, int64_t first, int64_t count, double* panel) const {
  const int64_t plane = y_.in * x_axis_.in;
  int64_t k = 0;
  for (int64_t c = 0; c < channels_; ++c) {
    const int64_t base = (b * channels_ + c) * plane;
    for (int64_t ky = 0; ky < y_.kernel; ++ky) {
      for (int64_t kx = 0; kx < x_axis_.kernel; ++kx, ++k) {
        for (int64_t j = 0; j < count; ++j) {
          const int64_t o = first + j;
          const int64_t iy = y_.At(o / x_axis_.out, ky), ix = x_axis_.At(o % x_axis_.out, kx);
          const bool inside = iy >= 0 && iy < y_.in && ix >= 0 && ix < x_axis_.in;
          panel[k * kPanelColumns + j] = inside ? (*x_)[base + iy * x_axis_.in + ix] : 0;
        }
      }
    }
  }
}

Status Convolution::ReadAxes(const OpUse& use, size_t space) {
  const std::vector<int64_t> ones(space, 1), zeros(space, 0);
  PLINTH_ASSIGN_OR_RETURN(const auto stride, use.Ints("stride", ones, space));
  PLINTH_ASSIGN_OR_RETURN(const auto dilation, use.Ints("dilation", ones, space));
  PLINTH_ASSIGN_OR_RETURN(const auto padding, use.Ints("padding", zeros, space));
  PLINTH_ASSIGN_OR_RETURN(const auto padding_end, use.Ints("padding_end", padding, space));
  for (size_t s = 0; s < space; ++s) {
    Axis& axis = s + 1 == space ? x_axis_ : y_;
    const int back = static_cast<int>(s) - static_cast<int>(space);
    axis.in = x_->dim(back);
    axis.kernel = weight_->dim(back);
    axis.stride = stride[s], axis.dilation = dilation[s], axis.padding = padding[s];
    const auto within = [](int64_t v, int64_t least) { return v >= least && v < int64_t{1} << 31; };
    if (!within(axis.stride, 1) || !within(axis.dilation, 1) || !within(axis.padding, 0) ||
        !within(padding_end[s], 0) || !within(axis.kernel, 1)) {
      return absl::InvalidArgumentError(
          StrCat("kernel ", axis.kernel, ", stride ", axis.stride, ", dilation ", axis.dilation, ", padding ",
                 axis.padding, " to ", padding_end[s], ": from 1, paddings from 0, below 2^31 are needed"));
    }
    const int64_t room = axis.in + axis.padding + padding_end[s] - axis.dilation * (axis.kernel - 1) - 1;
    axis.out = room < 0 ? 0 : room / axis.stride + 1;
  }
  return absl::OkStatus();
}

ReferenceOr Convolution::Make(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  const size_t space = use.op == "conv1d" ? 1 : 2;
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  PLINTH_RETURN_IF_ERROR(use.Need(1, "weight"));
  PLINTH_ASSIGN_OR_RETURN(const std::string mode, use.Text("padding_mode", "zeros"));
  if (mode != "zeros") {
    return absl::UnimplementedError(StrCat("padding_mode \"", mode, "\" has no reference; zeros has"));
  }
  const Values &x = use.in(0), &w = use.in(1);
  auto r = std::make_unique<Convolution>();
  PLINTH_ASSIGN_OR_RETURN(r->groups_, use.Int("groups", 1));
  const bool batched = x.rank() == space + 2;
  const bool ranks = w.rank() == space + 2 && (batched || x.rank() == space + 1) && r->groups_ >= 1;
  const int64_t channels = ranks ? x.dim(batched ? 1 : 0) : 0;
  if (!ranks || channels != w.dim(1) * r->groups_ || w.dim(0) % r->groups_ != 0) {
    return absl::InvalidArgumentError(StrCat("x is ", x.ToString(), " and weight ", w.ToString(), " with ",
                                             r->groups_, " groups; channels do not fit"));
  }
  r->x_ = &x, r->weight_ = &w;
  PLINTH_RETURN_IF_ERROR(r->ReadAxes(use, space));
  const int64_t samples = batched ? x.dim(0) : 1;
  r->channels_ = w.dim(1);
  r->batch = samples * r->groups_;
  r->rows = w.dim(0) / r->groups_;
  r->columns = r->y_.out * r->x_axis_.out;
  r->depth = ProductOf(w.dims(), 1, w.rank());
  std::vector<int64_t> dims;
  if (batched) dims.push_back(samples);
  dims.push_back(w.dim(0));
  if (space == 2) dims.push_back(r->y_.out);
  dims.push_back(r->x_axis_.out);
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), dims));
  if (use.has(2)) {
    PLINTH_RETURN_IF_ERROR(use.Need(2, "bias"));
    PLINTH_RETURN_IF_ERROR(ExpectDims("bias", use.in(2).dims(), {w.dim(0)}));
    r->bias_ = &use.in(2), r->has_addend = true;
  }
  r->arithmetic = arithmetic;
  r->out_roundoff = use.out(port).format().roundoff();
  r->wide = use.out(port).format().storage == DType::kF64;
  r->line = {.kind = ops::ToleranceClass::kMatmul, .depth = r->depth, .watch_shrink = true};
  return r;
}

}  // namespace

ReferenceOr MakeConvolution(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  return Convolution::Make(use, port, arithmetic);
}

}  // namespace plinth::verify::replay
