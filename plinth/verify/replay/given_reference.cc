#include "plinth/verify/replay/given_reference.h"

#include <algorithm>
#include <cmath>

namespace plinth::verify::replay {
namespace {

constexpr int64_t kPiece = 1 << 16;

class GivenReference final : public Reference {
 public:
  GivenReference(const Values& truth, const NumberFormat& out, const Arithmetic& arithmetic) : truth_(truth) {
    line = {.kind = ops::ToleranceClass::kReduction, .exact = !out.floating};
    double squares = 0;
    for (int64_t i = 0; i < truth.size(); ++i) {
      const double v = truth[i];
      if (std::isfinite(v)) squares += v * v;
    }
    const double rms = truth.size() > 0 ? std::sqrt(squares / static_cast<double>(truth.size())) : 0;
    spread_ = LevelOf(out) * rms / arithmetic.accumulate;
  }
  int64_t pieces() const override { return (truth_.size() + kPiece - 1) / kPiece; }
  double piece_flops() const override { return kPiece; }
  void Compute(int64_t piece, TruthSink& sink) const override {
    const int64_t end = std::min(truth_.size(), (piece + 1) * kPiece);
    for (int64_t i = piece * kPiece; i < end; ++i) {
      const bool floating = truth_.format().floating;
      sink.Put(i,
               floating ? static_cast<long double>(truth_[i]) : static_cast<long double>(truth_.integer(i)),
               6 * spread_, spread_);
    }
  }

 private:
  const Values& truth_;
  double spread_ = 0;
};

}  // namespace

double LevelOf(const NumberFormat& format) {
  if (!format.floating) return 0;
  if (format.eight_bits) return format.roundoff();
  switch (format.storage) {
    case DType::kF64:
      return 1e-13;
    case DType::kF16:
      return 2e-3;
    case DType::kBF16:
      return 1e-2;
    default:
      return 1e-5;
  }
}

StatusOr<std::unique_ptr<Reference>> MakeGivenReference(const OpUse& use, size_t port, const Values& truth,
                                                        const Arithmetic& arithmetic) {
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), truth.dims()));
  return std::make_unique<GivenReference>(truth, use.out(port).format(), arithmetic);
}

}  // namespace plinth::verify::replay
