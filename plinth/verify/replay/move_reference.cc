// What only moves elements: embedding, concatenation, transposition, reshapes and gathers. Class A, bit for
// bit.
#include <algorithm>

#include "plinth/verify/replay/row_reference.h"

namespace plinth::verify::replay {
namespace {

constexpr int64_t kPiece = 1 << 15;

// Output element i is element Source(i) of one of the inputs.
class Move : public Reference {
 public:
  int64_t pieces() const override { return (size + kPiece - 1) / kPiece; }
  double piece_flops() const override { return 10.0 * kPiece; }
  void Compute(int64_t piece, TruthSink& sink) const override {
    const int64_t end = std::min(size, (piece + 1) * kPiece);
    for (int64_t i = piece * kPiece; i < end; ++i) {
      const Values* from = nullptr;
      int64_t at = 0;
      std::string wrong;
      if (!Source(i, &from, &at, &wrong)) {
        sink.Verdict(i, wrong);
      } else if (from->format().floating) {
        sink.Put(i, (*from)[at], 0, 0);
      } else {
        sink.Put(i, static_cast<long double>(from->integer(at)), 0, 0);
      }
    }
  }

 protected:
  // False where the data leave no right answer; `wrong` says why.
  virtual bool Source(int64_t i, const Values** from, int64_t* at, std::string* wrong) const = 0;
  Status Setup(const OpUse& use, size_t port, const std::vector<int64_t>& dims, const Values& from) {
    PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), dims));
    if (use.out(port).format().storage != from.format().storage ||
        use.out(port).format().fraction != from.format().fraction) {
      return absl::InvalidArgumentError(StrCat("output is ", use.out(port).ToString(),
                                               "; elements are moved, and they "
                                               "are ",
                                               from.format().name));
    }
    size = use.out(port).size();
    line = {.kind = ops::ToleranceClass::kExact, .exact = true, .zero_sign = from.format().floating};
    return absl::OkStatus();
  }
  int64_t size = 0;
};

// Rows of a table by index. `dim` 0: embedding; else index_select, with one index for the whole of an axis.
class Rows final : public Move {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port, size_t index_port, size_t table_port, int64_t dim);

 private:
  bool Source(int64_t i, const Values** from, int64_t* at, std::string* wrong) const override {
    const int64_t inner = i % inner_, row = i / inner_ % rows_, outer = i / inner_ / rows_;
    const int64_t picked = index_->index(row);
    if (picked < 0 || picked >= entries_) {
      *wrong = StrCat("index ", picked, " at ", row, " is outside [0, ", entries_, ")");
      return false;
    }
    *from = table_, *at = (outer * entries_ + picked) * inner_ + inner;
    return true;
  }
  const Values *index_ = nullptr, *table_ = nullptr;
  int64_t inner_ = 1, rows_ = 1, entries_ = 1;
};

ReferenceOr Rows::Make(const OpUse& use, size_t port, size_t index_port, size_t table_port, int64_t dim) {
  PLINTH_RETURN_IF_ERROR(use.Need(index_port, "index"));
  PLINTH_RETURN_IF_ERROR(use.Need(table_port, "weight"));
  const Values &index = use.in(index_port), &table = use.in(table_port);
  if (index.format().floating || table.rank() < 1) {
    return absl::InvalidArgumentError(StrCat("index is ", index.ToString(), " and weight ", table.ToString(),
                                             "; whole numbers and [N, ...] are needed"));
  }
  PLINTH_ASSIGN_OR_RETURN(const int64_t normal, AxisOf(dim, table.rank()));
  const auto axis = static_cast<size_t>(normal);
  auto r = std::make_unique<Rows>();
  r->index_ = &index, r->table_ = &table;
  r->entries_ = table.dims()[axis];
  r->rows_ = std::max<int64_t>(1, index.size());
  r->inner_ = std::max<int64_t>(1, ProductOf(table.dims(), axis + 1, table.rank()));
  std::vector<int64_t> dims(table.dims().begin(), table.dims().begin() + normal);
  dims.insert(dims.end(), index.dims().begin(), index.dims().end());
  dims.insert(dims.end(), table.dims().begin() + normal + 1, table.dims().end());
  PLINTH_RETURN_IF_ERROR(r->Setup(use, port, dims, table));
  return r;
}

class Concat final : public Move {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port);

 private:
  bool Source(int64_t i, const Values** from, int64_t* at, std::string*) const override {
    const int64_t inner = i % inner_, outer = i / inner_ / along_;
    int64_t row = i / inner_ % along_;
    for (const Values* part : parts_) {
      const int64_t length = part->dims()[axis_];
      if (row < length) {
        *from = part, *at = (outer * length + row) * inner_ + inner;
        return true;
      }
      row -= length;
    }
    return false;
  }
  std::vector<const Values*> parts_;
  size_t axis_ = 0;
  int64_t inner_ = 1, along_ = 0;
};

ReferenceOr Concat::Make(const OpUse& use, size_t port) {
  auto r = std::make_unique<Concat>();
  PLINTH_ASSIGN_OR_RETURN(const int64_t given, use.Int("axis", 0));
  PLINTH_ASSIGN_OR_RETURN(const int64_t dim, use.Int("dim", given));
  if (!use.Has("dim") && !use.Has("axis")) {
    return absl::FailedPreconditionError("along which axis it goes (attribute \"dim\") was not recorded");
  }
  for (size_t i = 0; i < use.inputs.size(); ++i) {
    PLINTH_RETURN_IF_ERROR(use.Need(i, "a part"));
    r->parts_.push_back(&use.in(i));
  }
  // PyTorch leaves out an empty part of one dimension beside parts of more.
  const auto ranked = [](const Values* part) { return part->rank() > 1; };
  if (std::any_of(r->parts_.begin(), r->parts_.end(), ranked)) {
    std::erase_if(r->parts_, [](const Values* part) { return part->dims() == std::vector<int64_t>{0}; });
  }
  if (r->parts_.empty())
    return absl::FailedPreconditionError("no input was recorded; capture the inputs in full");
  std::vector<int64_t> dims = r->parts_[0]->dims();
  PLINTH_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(dim, dims.size()));
  r->axis_ = static_cast<size_t>(axis);
  if (dims.empty())
    return absl::InvalidArgumentError("the parts are scalars; at least one dimension is needed");
  for (const Values* part : r->parts_) {
    std::vector<int64_t> other = part->dims();
    if (other.size() == dims.size()) other[r->axis_] = dims[r->axis_];
    PLINTH_RETURN_IF_ERROR(ExpectDims("a part, its own axis aside,", other, dims));
    r->along_ += part->dims()[r->axis_];
  }
  dims[r->axis_] = r->along_;
  r->inner_ = std::max<int64_t>(1, ProductOf(dims, r->axis_ + 1, dims.size()));
  r->along_ = std::max<int64_t>(1, r->along_);
  PLINTH_RETURN_IF_ERROR(r->Setup(use, port, dims, *r->parts_[0]));
  return r;
}

// Dimension d of the output is dimension order[d] of the input; a reshape keeps the order.
class Permute final : public Move {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port);

 private:
  bool Source(int64_t i, const Values** from, int64_t* at, std::string*) const override {
    *from = x_, *at = 0;
    if (order_.empty()) *at = i;
    for (size_t d = order_.size(); d-- > 0;) {
      *at += i % dims_[d] * strides_[d];
      i /= dims_[d];
    }
    return true;
  }
  static StatusOr<std::vector<int64_t>> Order(const OpUse& use, size_t rank);

  const Values* x_ = nullptr;
  std::vector<int64_t> order_, dims_, strides_;
};

StatusOr<std::vector<int64_t>> Permute::Order(const OpUse& use, size_t rank) {
  std::vector<int64_t> order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = static_cast<int64_t>(d);
  if (use.op == "permute") {
    if (!use.Has("dims"))
      return absl::FailedPreconditionError("the order of axes (attribute \"dims\") was not recorded");
    PLINTH_ASSIGN_OR_RETURN(order, use.Ints("dims", order));
  } else {
    const bool named = use.Has("dim0") && use.Has("dim1");
    if (!named && use.op != "t") {
      return absl::FailedPreconditionError("which axes change places (\"dim0\", \"dim1\") was not recorded");
    }
    PLINTH_ASSIGN_OR_RETURN(int64_t a, use.Int("dim0", 0));
    PLINTH_ASSIGN_OR_RETURN(int64_t b, use.Int("dim1", rank < 2 ? 0 : 1));
    PLINTH_ASSIGN_OR_RETURN(a, AxisOf(a, rank));
    PLINTH_ASSIGN_OR_RETURN(b, AxisOf(b, rank));
    if (rank > 0) std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  }
  std::vector<bool> seen(rank);
  bool all = order.size() == rank;
  for (int64_t& a : order) {
    PLINTH_ASSIGN_OR_RETURN(a, AxisOf(a, rank));
    all = all && !seen[static_cast<size_t>(a)];
    if (all) seen[static_cast<size_t>(a)] = true;
  }
  if (!all)
    return absl::InvalidArgumentError(StrCat("[", Join(order, ", "), "] is no order of ", rank, " axes"));
  return order;
}

ReferenceOr Permute::Make(const OpUse& use, size_t port) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  const Values& x = use.in(0);
  auto r = std::make_unique<Permute>();
  r->x_ = &x;
  std::vector<int64_t> dims = use.out(port).dims();
  if (use.op == "permute" || use.op == "transpose" || use.op == "t") {
    PLINTH_ASSIGN_OR_RETURN(r->order_, Order(use, x.rank()));
    dims.clear();
    for (const int64_t a : r->order_) {
      dims.push_back(x.dims()[static_cast<size_t>(a)]);
      r->strides_.push_back(ProductOf(x.dims(), static_cast<size_t>(a) + 1, x.rank()));
    }
    r->dims_ = dims;
  } else if (use.out(port).size() != x.size()) {
    return absl::InvalidArgumentError(StrCat("output is ", use.out(port).ToString(), " and x ", x.ToString(),
                                             "; equal numbers of elements are needed"));
  }
  PLINTH_RETURN_IF_ERROR(r->Setup(use, port, dims, x));
  return r;
}

}  // namespace

ReferenceOr MakeEmbedding(const OpUse& use, size_t port, const Arithmetic&) {
  if (use.op == "embedding") return Rows::Make(use, port, 0, 1, 0);
  if (!use.Has("dim"))
    return absl::FailedPreconditionError("along which axis it goes (attribute \"dim\") was not recorded");
  PLINTH_ASSIGN_OR_RETURN(const int64_t dim, use.Int("dim", 0));
  return Rows::Make(use, port, 1, 0, dim);
}

ReferenceOr MakeRearrangement(const OpUse& use, size_t port, const Arithmetic&) {
  if (use.op == "cat" || use.op == "concat") return Concat::Make(use, port);
  return Permute::Make(use, port);
}

}  // namespace plinth::verify::replay
