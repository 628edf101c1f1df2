#include "plinth/ops/linear/spec_onednn.h"

#include <cstring>
#include <vector>

#include "plinth/ops/linear/cpu.h"
#include "plinth/ops/linear/onednn_product.h"
#include "plinth/ops/matrix_grid.h"

namespace plinth::ops {
namespace {

enum Input : size_t { kX, kWeight, kBias, kResidual };

// Rows of a piece, and the sizes that oneDNN is asked for: any number of rows is a sum of these, so that
// nothing is computed for padding.
constexpr int64_t kRows = 128;

struct Prepared {
  std::vector<OneDnnProduct> products;  // for kRows, kRows / 2, ... 1 rows
  int64_t inputs = 0, outputs = 0;
};

// Scratch of a worker: rows of x brought together, sums (with a panel to spare, which the epilogue may
// read), and what oneDNN asks for, which Prepare holds to the room that is left.
int64_t RowFloats(int64_t columns) { return MatrixCeil(kRows * columns, 16) * 16; }
constexpr int64_t kSpare = 64;
int64_t ForeignBytes(int64_t inputs, int64_t outputs) {
  return (int64_t{1} << 20) + static_cast<int64_t>(sizeof(float)) * (RowFloats(inputs) + RowFloats(outputs));
}

bool Multiply(const Prepared& prepared, const float* x, int64_t rows, float* sums, std::byte* scratch) {
  size_t i = 0;
  for (int64_t size = kRows; size >= 1; size /= 2, ++i) {
    for (; rows >= size; rows -= size, x += size * prepared.inputs, sums += size * prepared.outputs) {
      if (!prepared.products[i].Run(x, sums, scratch).ok()) return false;
    }
  }
  return true;
}

void Run(const CpuArgs& args, int64_t begin, int64_t end, CpuFn* finish) {
  const auto& prepared = *static_cast<const Prepared*>(args.prepared);
  const View& x = args.in[kX];
  const int64_t rows = x.rows(), step = x.rank < 2 ? 0 : x.row_stride();
  auto* gathered = reinterpret_cast<float*>(args.scratch);
  float* sums = gathered + RowFloats(prepared.inputs);
  auto* scratch = reinterpret_cast<std::byte*>(sums + RowFloats(prepared.outputs) + kSpare);
  for (int64_t piece = begin; piece < end; ++piece) {
    const int64_t first = piece * kRows, count = MatrixMin(kRows, rows - first);
    const float* from = x.as<float>() + first * step;
    if (step != prepared.inputs) {
      for (int64_t r = 0; r < count; ++r) {
        std::memcpy(gathered + r * prepared.inputs, from + r * step, sizeof(float) * prepared.inputs);
      }
      from = gathered;
    }
    if (!Multiply(prepared, from, count, sums, scratch)) {
      args.fault->what = "oneDNN could not run the product at row";
      args.fault->value = args.fault->position = first;
      return;
    }
    CpuArgs rest = args;
    rest.scratch = reinterpret_cast<std::byte*>(sums);
    finish(rest, first, first + count);
  }
}

template <int kLevel>
void RunAt(const CpuArgs& args, int64_t begin, int64_t end) {
  constexpr CpuFns kFinish = PLINTH_CPU_FNS(LinearFinishF32);
  Run(args, begin, end, kFinish.at[kLevel]);
}

std::string Refuse(const OpCall& call, Isa isa) {
  if (isa != Isa::kV4) {
    return "below AVX-512 the bits of oneDNN's rows depend on how many rows there are";
  }
  if (call.attributes.Text("activation", "none") == "swiglu") return "swiglu needs paired panels";
  const Shape& w = call.in(kWeight).shape;
  if (!w[0].constant() || !w[1].constant()) return "the weight's size must be known at plan time";
  if (w[0].offset() == 0 || w[1].offset() == 0) return "the weight is empty";
  return "";
}

StatusOr<CpuKernel::Prepared> Prepare(const OpCall&, const View* constants, Isa) {
  const View& w = constants[kWeight];
  if (w.data == nullptr) return absl::UnimplementedError("the weight is known only at run time");
  auto prepared = std::make_shared<Prepared>();
  prepared->outputs = w.dims[0];
  prepared->inputs = w.dims[1];
  int64_t bytes = 0;
  for (int64_t rows = kRows; rows >= 1; rows /= 2) {
    PLINTH_ASSIGN_OR_RETURN(OneDnnProduct product,
                            OneDnnProduct::Make(rows, w.dims[0], w.dims[1], w.as<float>(), w.dims[1],
                                                w.dims[0], prepared->products));
    if (!std::string_view(product.implementation()).starts_with("brg:avx512")) {
      return absl::UnimplementedError(StrCat("oneDNN would use ", product.implementation(),
                                             ", whose rows are not known to keep their bits"));
    }
    if (const int64_t room = ForeignBytes(w.dims[1], w.dims[0]); product.scratch_bytes() > room) {
      return absl::UnimplementedError(
          StrCat("oneDNN asks for ", product.scratch_bytes(), " bytes of scratch; there are ", room));
    }
    bytes += product.owned_bytes();
    prepared->products.push_back(std::move(product));
  }
  return CpuKernel::Prepared{std::move(prepared), bytes, 1u << kWeight};
}

int64_t ScratchBytes(const OpCall& call, const View* in, const View*, Isa) {
  const int64_t inputs = in[kX].last(), outputs = call.in(kWeight).shape[0].offset();
  return static_cast<int64_t>(sizeof(float)) * (RowFloats(inputs) + RowFloats(outputs) + kSpare) +
         ForeignBytes(inputs, outputs);
}

int64_t Pieces(const View* in, const View*, const Params&) { return MatrixCeil(in[kX].rows(), kRows); }

}  // namespace

CpuKernel LinearOneDnnKernel(Params (*params)(const OpCall&)) {
  return {.name = "onednn",
          .run = {{&RunAt<0>, &RunAt<1>, &RunAt<2>}},
          .refuse = Refuse,
          .params = params,
          .pieces = Pieces,
          .scratch_bytes = ScratchBytes,
          .prepare = Prepare,
          .foreign = true};
}

}  // namespace plinth::ops
