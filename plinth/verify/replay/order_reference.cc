// sort and top_k: values exactly, indices as sets inside ties.
#include <cmath>
#include <numeric>

#include "plinth/verify/replay/row_reference.h"

namespace plinth::verify::replay {
namespace {

// NaN counts as larger than infinity, as in PyTorch and Plinth.
bool Less(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }
bool Equal(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

class Order final : public Reference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port);
  int64_t pieces() const override { return in_.rows(); }
  double piece_flops() const override {
    const auto n = static_cast<double>(in_.length);
    return 20 * n * std::log2(n + 2);
  }
  void Compute(int64_t row, TruthSink& sink) const override;

 private:
  void Indices(int64_t row, const std::vector<double>& x, const std::vector<double>& ordered,
               TruthSink& sink) const;
  int64_t OutIndex(int64_t row, int64_t i) const { return out_layout_.Begin(row) + i * in_.stride; }

  const Values *x_ = nullptr, *out_ = nullptr;
  RowLayout in_, out_layout_;
  bool descending_ = false, indices_ = false, any_order_ = false, stable_ = false;
};

void Order::Compute(int64_t row, TruthSink& sink) const {
  std::vector<double> x(static_cast<size_t>(in_.length));
  x_->Load(in_.Begin(row), in_.length, in_.stride, x.data());
  std::vector<double> ordered = x;
  std::sort(ordered.begin(), ordered.end(),
            [this](double a, double b) { return descending_ ? Less(b, a) : Less(a, b); });
  if (indices_) return Indices(row, x, ordered, sink);
  std::vector<int64_t> at(static_cast<size_t>(out_layout_.length));
  std::iota(at.begin(), at.end(), int64_t{0});
  if (any_order_) {
    const auto value = [&](int64_t i) { return (*out_)[OutIndex(row, i)]; };
    std::sort(at.begin(), at.end(), [&](int64_t a, int64_t b) {
      return descending_ ? Less(value(b), value(a)) : Less(value(a), value(b));
    });
  }
  for (size_t i = 0; i < at.size(); ++i) sink.Put(OutIndex(row, at[i]), ordered[i], 0, 0);
}

// Each index must be in range, stand where its value does, and occur once; a stable sort keeps equal elements
// in their order.
void Order::Indices(int64_t row, const std::vector<double>& x, const std::vector<double>& ordered,
                    TruthSink& sink) const {
  std::vector<bool> used(x.size());
  std::vector<int64_t> picked(static_cast<size_t>(out_layout_.length));
  for (size_t i = 0; i < picked.size(); ++i) picked[i] = out_->index(OutIndex(row, static_cast<int64_t>(i)));
  std::vector<double> found;
  for (const int64_t p : picked) {
    if (p >= 0 && p < in_.length) found.push_back(x[static_cast<size_t>(p)]);
  }
  if (any_order_) {
    std::sort(found.begin(), found.end(),
              [this](double a, double b) { return descending_ ? Less(b, a) : Less(a, b); });
  }
  size_t valid = 0;
  for (size_t i = 0; i < picked.size(); ++i) {
    const int64_t p = picked[i];
    std::string wrong;
    if (p < 0 || p >= in_.length) {
      wrong = StrCat("index ", p, " is outside [0, ", in_.length, ")");
    } else {
      if (used[static_cast<size_t>(p)]) wrong = StrCat("index ", p, " occurs twice");
      used[static_cast<size_t>(p)] = true;
      const double value = any_order_ ? found[valid++] : x[static_cast<size_t>(p)];
      if (wrong.empty() && !Equal(value, ordered[i])) {
        wrong = StrCat("index ", p, " leads to ", value, ", the right value there is ", ordered[i]);
      }
      if (wrong.empty() && stable_ && i > 0 && Equal(ordered[i - 1], ordered[i]) && picked[i - 1] > p) {
        wrong = StrCat("index ", p, " follows ", picked[i - 1],
                       " although both values are equal and the order is stable");
      }
    }
    sink.Verdict(OutIndex(row, static_cast<int64_t>(i)), wrong);
  }
}

ReferenceOr Order::Make(const OpUse& use, size_t port) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  const Values& x = use.in(0);
  auto r = std::make_unique<Order>();
  const bool top_k = use.op == "top_k" || use.op == "topk";
  PLINTH_ASSIGN_OR_RETURN(const int64_t dim, use.Int("dim", -1));
  PLINTH_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(dim, x.rank()));
  std::vector<int64_t> dims = x.dims();
  if (top_k) {
    if (!use.Has("k"))
      return absl::FailedPreconditionError("how many it takes (attribute \"k\") was not recorded");
    PLINTH_ASSIGN_OR_RETURN(const int64_t k, use.Int("k", 0));
    if (dims.empty() || k < 0 || k > dims[static_cast<size_t>(axis)]) {
      return absl::InvalidArgumentError(StrCat("k is ", k, " and x ", x.ToString()));
    }
    dims[static_cast<size_t>(axis)] = k;
    PLINTH_ASSIGN_OR_RETURN(r->descending_, use.Flag("largest", true));
    PLINTH_ASSIGN_OR_RETURN(const bool sorted, use.Flag("sorted", true));
    r->any_order_ = !sorted;
  } else {
    PLINTH_ASSIGN_OR_RETURN(r->descending_, use.Flag("descending", false));
    PLINTH_ASSIGN_OR_RETURN(r->stable_, use.Flag("stable", false));
  }
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), dims));
  r->x_ = &x, r->out_ = &use.out(port);
  r->in_ = RowLayout::Along(x.dims(), static_cast<size_t>(axis));
  r->out_layout_ = RowLayout::Along(dims, static_cast<size_t>(axis));
  r->indices_ = port == 1;
  r->line = {.kind = ops::ToleranceClass::kOrder, .exact = true, .depth = r->in_.length};
  return r;
}

}  // namespace

ReferenceOr MakeSort(const OpUse& use, size_t port, const Arithmetic&) { return Order::Make(use, port); }

}  // namespace plinth::verify::replay
