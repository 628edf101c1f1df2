#include "plinth/measure/product.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plinth/base/random.h"
#include "plinth/ops/linear/op.h"

namespace plinth::measure {
namespace {

Tensor NormalTensor(int64_t rows, int64_t columns, uint64_t seed) {
  Tensor t(DType::kF32, {rows, columns});
  Random random(seed);
  for (int64_t i = 0; i < t.size(); ++i) t.data<float>()[i] = static_cast<float>(random.Normal());
  return t;
}

ValueType TypeOf(const Tensor& t) { return {DType::kF32, Shape(t.dims().begin(), t.dims().end())}; }

}  // namespace

StatusOr<Product> Product::Make(const ProductShape& shape, Isa isa, std::string_view kernel, int parts) {
  Product p;
  p.shape_ = shape;
  p.x_ = NormalTensor(shape.rows, shape.depth, 1);
  p.weight_ = NormalTensor(shape.columns, shape.depth, 2);
  p.own_out_ = Tensor(DType::kF32, {shape.rows, shape.columns});
  p.onednn_out_ = Tensor(DType::kF32, {shape.rows, shape.columns});
  PLINTH_ASSIGN_OR_RETURN(
      ops::OpCall call,
      ops::MakeCall(ops::LinearSpec(), {TypeOf(p.x_), TypeOf(p.weight_), std::nullopt, std::nullopt}, {}));
  const View constants[] = {View{}, p.weight_.view()};
  PLINTH_ASSIGN_OR_RETURN(p.step_, ops::CpuStep::Make(std::move(call), constants, isa, kernel));
  p.kernel_ = p.step_.kernel().name;
  const View in[] = {p.x_.view(), p.weight_.view(), View{}, View{}}, out = p.own_out_.view();
  p.scratch_bytes_ = p.step_.ScratchBytes(in, &out);
  p.part_rows_ = (shape.rows + parts - 1) / parts;
  p.parts_ = (shape.rows + p.part_rows_ - 1) / p.part_rows_;
  const int64_t rest = shape.rows - (p.parts_ - 1) * p.part_rows_;
  for (const int64_t rows : {p.part_rows_, rest}) {
    PLINTH_ASSIGN_OR_RETURN(ops::OneDnnProduct product,
                            ops::OneDnnProduct::Make(rows, shape.columns, shape.depth,
                                                     p.weight_.data<float>(), shape.depth, shape.columns));
    p.scratch_bytes_ = std::max(p.scratch_bytes_, product.scratch_bytes());
    p.onednn_.push_back(std::move(product));
    if (rest == p.part_rows_) break;
  }
  for (int i = 0; i < parts; ++i) p.scratch_.push_back(AllocateAligned(p.scratch_bytes_));
  return p;
}

std::byte* Product::ScratchOf(int worker) { return scratch_[static_cast<size_t>(worker)].get(); }

void Product::RunOwn() {
  const View in[] = {x_.view(), weight_.view(), View{}, View{}}, out = own_out_.view();
  ops::KernelFault fault;
  step_.Run(in, &out, 0, step_.Pieces(in, &out), ScratchOf(0), &fault);
}

void Product::RunOwn(Threads& threads) {
  const View in[] = {x_.view(), weight_.view(), View{}, View{}}, out = own_out_.view();
  threads.For(step_.Pieces(in, &out), [&](int64_t piece, int worker) {
    ops::KernelFault fault;
    step_.Run(in, &out, piece, piece + 1, ScratchOf(worker), &fault);
  });
}

void Product::RunPart(int64_t part, int worker) {
  const ops::OneDnnProduct& product = part + 1 == parts_ ? onednn_.back() : onednn_.front();
  const int64_t row = part * part_rows_;
  const Status status = product.Run(x_.data<float>() + row * shape_.depth,
                                    onednn_out_.data<float>() + row * shape_.columns, ScratchOf(worker));
  PLINTH_CHECK(status.ok());
}

void Product::RunOneDnn() {
  for (int64_t part = 0; part < parts_; ++part) RunPart(part, 0);
}

void Product::RunOneDnn(Threads& threads) {
  threads.For(parts_, [&](int64_t part, int worker) { RunPart(part, worker); });
}

double Product::Difference() const {
  double difference = 0, largest = 0;
  for (int64_t i = 0; i < own_out_.size(); ++i) {
    const double a = own_out_.data<float>()[i], b = onednn_out_.data<float>()[i];
    difference = std::max(difference, std::abs(a - b));
    largest = std::max(largest, std::abs(b));
  }
  return largest > 0 ? difference / largest : difference;
}

}  // namespace plinth::measure
