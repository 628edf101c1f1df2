// matmul and linear: products of matrices with an addend.
#include "plinth/verify/replay/broadcast.h"
#include "plinth/verify/replay/factories.h"
#include "plinth/verify/replay/product.h"

namespace plinth::verify::replay {
namespace {

JudgeLine ProductLine(int64_t depth) {
  return {.kind = ops::ToleranceClass::kMatmul, .depth = depth, .watch_shrink = true};
}

// Both sides are recorded matrices with strides.
class MatrixProduct final : public ProductReference {
 public:
  static ReferenceOr Matmul(const OpUse& use, size_t port, const Arithmetic& arithmetic);
  static ReferenceOr Linear(const OpUse& use, size_t port, const Arithmetic& arithmetic);

 private:
  struct Side {
    const Values* values = nullptr;
    std::vector<int64_t> base;  // of each batch entry
    int64_t outer = 0;          // distance of rows of the left, columns of the right side
    int64_t inner = 0;          // along the depth
  };

  void Setup(const OpUse& use, size_t port, const Arithmetic& a) {
    arithmetic = a;
    out_roundoff = use.out(port).format().roundoff();
    wide = use.out(port).format().storage == DType::kF64;
    line = ProductLine(depth);
  }
  void LoadRow(int64_t b, int64_t i, double* out) const override {
    left_.values->Load(left_.base[static_cast<size_t>(b)] + i * left_.outer, depth, left_.inner, out);
  }
  void LoadPanel(int64_t b, int64_t first, int64_t count, double* panel) const override {
    std::vector<double> column(static_cast<size_t>(depth));
    for (int64_t j = 0; j < count; ++j) {
      right_.values->Load(right_.base[static_cast<size_t>(b)] + (first + j) * right_.outer, depth,
                          right_.inner, column.data());
      for (int64_t k = 0; k < depth; ++k) panel[k * kPanelColumns + j] = column[static_cast<size_t>(k)];
    }
  }
  int64_t OutIndex(int64_t b, int64_t i, int64_t j) const override { return (b * rows + i) * columns + j; }
  double Addend(int64_t b, int64_t i, int64_t j) const override {
    return beta_ * (*addend_)[addend_at_(OutIndex(b, i, j))];
  }
  Status AddAddend(const OpUse& use, const std::vector<int64_t>& out_dims) {
    if (!use.has(2)) return absl::OkStatus();
    PLINTH_RETURN_IF_ERROR(use.Need(2, "bias or addend"));
    PLINTH_ASSIGN_OR_RETURN(addend_at_, Broadcast::Make(use.in(2).dims(), out_dims));
    addend_ = &use.in(2);
    has_addend = true;
    return absl::OkStatus();
  }

  Side left_, right_;
  const Values* addend_ = nullptr;
  Broadcast addend_at_;
  double beta_ = 1;
};

ReferenceOr MatrixProduct::Linear(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  PLINTH_RETURN_IF_ERROR(use.Need(1, "weight"));
  const Values &x = use.in(0), &w = use.in(1);
  if (w.rank() != 2 || x.rank() < 1 || x.dim(-1) != w.dim(1)) {
    return absl::InvalidArgumentError(
        StrCat("x is ", x.ToString(), " and weight ", w.ToString(), "; [..., K] and [N, K] are needed"));
  }
  auto r = std::make_unique<MatrixProduct>();
  r->depth = x.dim(-1);
  r->rows = ProductOf(x.dims(), 0, x.rank() - 1);
  r->columns = w.dim(0);
  r->left_ = {&x, {0}, r->depth, 1};
  r->right_ = {&w, {0}, r->depth, 1};
  std::vector<int64_t> dims = x.dims();
  dims.back() = r->columns;
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), dims));
  PLINTH_RETURN_IF_ERROR(r->AddAddend(use, dims));
  r->Setup(use, port, arithmetic);
  return r;
}

ReferenceOr MatrixProduct::Matmul(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "a"));
  PLINTH_RETURN_IF_ERROR(use.Need(1, "b"));
  const Values &a = use.in(0), &b = use.in(1);
  if (a.rank() < 1 || b.rank() < 1) {
    return absl::InvalidArgumentError(
        StrCat("a is ", a.ToString(), " and b ", b.ToString(), "; at least one dimension each is needed"));
  }
  PLINTH_ASSIGN_OR_RETURN(const bool ta, use.Flag("transpose_a", false));
  PLINTH_ASSIGN_OR_RETURN(const bool tb, use.Flag("transpose_b", false));
  std::vector<int64_t> ad = a.dims(), bd = b.dims();
  const bool vector_a = ad.size() == 1, vector_b = bd.size() == 1;
  if (vector_a) ad.insert(ad.begin(), 1);
  if (vector_b) bd.push_back(1);
  const size_t ar = ad.size(), br = bd.size();
  auto r = std::make_unique<MatrixProduct>();
  r->rows = ta ? ad[ar - 1] : ad[ar - 2];
  r->depth = ta ? ad[ar - 2] : ad[ar - 1];
  r->columns = tb ? bd[br - 2] : bd[br - 1];
  if ((tb ? bd[br - 1] : bd[br - 2]) != r->depth) {
    return absl::InvalidArgumentError(StrCat("a is ", a.ToString(), " and b ", b.ToString(),
                                             ta || tb ? " (transposed)" : "",
                                             "; the inner dimensions differ"));
  }
  PLINTH_ASSIGN_OR_RETURN(std::vector<int64_t> dims,
                          BroadcastDims({ad.begin(), ad.end() - 2}, {bd.begin(), bd.end() - 2}));
  r->batch = ProductOf(dims, 0, dims.size());
  PLINTH_ASSIGN_OR_RETURN(const Broadcast at_a, Broadcast::Make({ad.begin(), ad.end() - 2}, dims));
  PLINTH_ASSIGN_OR_RETURN(const Broadcast at_b, Broadcast::Make({bd.begin(), bd.end() - 2}, dims));
  r->left_ = {&a, {}, ta ? 1 : r->depth, ta ? r->rows : 1};
  r->right_ = {&b, {}, tb ? r->depth : 1, tb ? 1 : r->columns};
  if (!vector_a) dims.push_back(r->rows);
  if (!vector_b) dims.push_back(r->columns);
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), dims));
  for (int64_t i = 0; i < r->batch; ++i) {
    r->left_.base.push_back(at_a(i) * r->rows * r->depth);
    r->right_.base.push_back(at_b(i) * r->depth * r->columns);
  }
  PLINTH_ASSIGN_OR_RETURN(r->alpha, use.Real("alpha", 1));
  PLINTH_ASSIGN_OR_RETURN(r->beta_, use.Real("beta", 1));
  PLINTH_RETURN_IF_ERROR(r->AddAddend(use, dims));
  r->Setup(use, port, arithmetic);
  return r;
}

}  // namespace

ReferenceOr MakeMatmul(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  return MatrixProduct::Matmul(use, port, arithmetic);
}

ReferenceOr MakeLinear(const OpUse& use, size_t port, const Arithmetic& arithmetic) {
  return MatrixProduct::Linear(use, port, arithmetic);
}

}  // namespace plinth::verify::replay
