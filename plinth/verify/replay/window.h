// The windows of pooling over the last one or two axes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "plinth/verify/replay/reference.h"

namespace plinth::verify::replay {

// Which elements of x an element of the output looks at. Operators are called pool1d or pool2d at the end of
// their names; attributes `kernel`, `stride` (the kernel's), `padding` (0), `dilation` (1), or `output_size`
// of adaptive ones, whose windows divide the axis.
class Window {
 public:
  // Errors: as OpUse; InvalidArgument for numbers that do not give the output's shape.
  static StatusOr<Window> Make(const OpUse& use, size_t port) {
    PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
    const Values &x = use.in(0), &y = use.out(port);
    Window w;
    const size_t axes = use.op.ends_with("2d") ? 2 : 1;
    w.adaptive_ = use.op.starts_with("adaptive");
    if (!use.Has(w.adaptive_ ? "output_size" : "kernel")) {
      return absl::FailedPreconditionError(StrCat(
          "its windows (attribute \"", w.adaptive_ ? "output_size" : "kernel", "\") were not recorded"));
    }
    if (x.rank() < axes || y.rank() != x.rank() ||
        !std::equal(x.dims().begin(), x.dims().end() - static_cast<int64_t>(axes), y.dims().begin())) {
      return absl::InvalidArgumentError(
          StrCat("output is ", y.ToString(), " and x ", x.ToString(), "; equal leading axes are needed"));
    }
    w.in_.assign(x.dims().end() - static_cast<int64_t>(axes), x.dims().end());
    w.out_.assign(y.dims().end() - static_cast<int64_t>(axes), y.dims().end());
    if (w.adaptive_) return w;
    PLINTH_ASSIGN_OR_RETURN(w.kernel_, use.Ints("kernel", {}, axes));
    PLINTH_ASSIGN_OR_RETURN(w.stride_, use.Ints("stride", w.kernel_, axes));
    PLINTH_ASSIGN_OR_RETURN(w.padding_, use.Ints("padding", std::vector<int64_t>(axes, 0), axes));
    PLINTH_ASSIGN_OR_RETURN(w.dilation_, use.Ints("dilation", std::vector<int64_t>(axes, 1), axes));
    PLINTH_ASSIGN_OR_RETURN(const bool ceil, use.Flag("ceil_mode", false));
    for (size_t d = 0; d < axes; ++d) {
      constexpr int64_t kMost = 1 << 24;
      const bool good = w.kernel_[d] > 0 && w.kernel_[d] < kMost && w.stride_[d] > 0 &&
                        w.stride_[d] < kMost && w.padding_[d] >= 0 && w.padding_[d] < kMost &&
                        w.dilation_[d] > 0 && w.dilation_[d] < kMost;
      const int64_t room = good ? w.in_[d] + 2 * w.padding_[d] - w.dilation_[d] * (w.kernel_[d] - 1) - 1 : -1;
      int64_t wanted = room < 0 ? -1 : (room + (ceil ? w.stride_[d] - 1 : 0)) / w.stride_[d] + 1;
      // A window begins inside x or the padding before it.
      if (ceil && (wanted - 1) * w.stride_[d] >= w.in_[d] + w.padding_[d]) --wanted;
      if (wanted != w.out_[d]) {
        return absl::InvalidArgumentError(
            StrCat("output is ", y.ToString(), "; axis ", d, " of the windows has ", wanted, " places"));
      }
    }
    return w;
  }

  // Elements under one window, about.
  int64_t terms() const {
    int64_t n = 1;
    for (size_t d = 0; d < in_.size(); ++d) {
      n *= adaptive_ ? in_[d] / std::max<int64_t>(1, out_[d]) + 2 : kernel_[d];
    }
    return n;
  }

  // The elements of x, by offset, under the window of output element o.
  template <typename Visit>
  void Each(int64_t o, Visit visit) const {
    const size_t last = in_.size() - 1;
    const Span columns = Range(last, o % out_[last]);
    Span rows{0, 1, 1};
    int64_t height = 1, rest = o / out_[last];
    if (last == 1) rows = Range(0, rest % out_[0]), height = in_[0], rest /= out_[0];
    for (int64_t r = rows.begin; r < rows.end; r += rows.step) {
      if (r < 0 || r >= height) continue;
      for (int64_t c = columns.begin; c < columns.end; c += columns.step) {
        if (c >= 0 && c < in_[last]) visit((rest * height + r) * in_[last] + c);
      }
    }
  }

  // How many places a window has, those in the padding among them; of average pooling, which counts the
  // padding but not what lies beyond it.
  int64_t Places(int64_t o) const {
    int64_t n = 1, rest = o;
    for (size_t d = in_.size(); d-- > 0;) {
      const auto [begin, end, step] = Range(d, rest % out_[d]);
      rest /= out_[d];
      const int64_t last = adaptive_ ? end : std::min(end, in_[d] + padding_[d]);
      n *= (last - begin + step - 1) / step;
    }
    return n;
  }

 private:
  struct Span {
    int64_t begin, end, step;
  };
  Span Range(size_t d, int64_t place) const {
    if (adaptive_) {
      return {place * in_[d] / out_[d], ((place + 1) * in_[d] + out_[d] - 1) / out_[d], 1};
    }
    const int64_t begin = place * stride_[d] - padding_[d];
    return {begin, begin + dilation_[d] * (kernel_[d] - 1) + 1, dilation_[d]};
  }

  bool adaptive_ = false;
  std::vector<int64_t> in_, out_, kernel_, stride_, padding_, dilation_;
};

}  // namespace plinth::verify::replay
