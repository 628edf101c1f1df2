#include "plinth/verify/difference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "plinth/base/digest.h"
#include "plinth/verify/difference_kernel.h"
#include "plinth/verify/error_sketch.h"
#include "plinth/verify/paired_digest.h"

namespace plinth::verify {
namespace {

constexpr int64_t kPieceElements = 65536;
constexpr int64_t kSampled = 8192;        // elements that choose which relative errors are worth recording
constexpr double kRecordedShare = 0.015;  // of all: enough that the largest hundredth is among them
constexpr double kScaleDown = 0x1p-600;

DifferFn* KernelFor(std::optional<Isa> wanted) {
  Isa isa = Isa::kV2;
  if (wanted.has_value()) {
    isa = *wanted;
  } else if (const auto best = HardwareIsa(); best.ok()) {
    isa = *best;
  }
  switch (isa) {
    case Isa::kV4:
      return &v4::DifferOnePiece;
    case Isa::kV3:
      return &v3::DifferOnePiece;
    default:
      return &v2::DifferOnePiece;
  }
}

// One worker's counts.
struct Worker {
  DifferTally tally{};
  std::vector<std::byte> gathered_a, gathered_b;
  bool used = false;

  Worker() = default;
  ~Worker() { Reset(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void Start() {
    tally.sketch.counts = TakeSketchTable();
    tally.a.min = tally.b.min = INFINITY;
    tally.a.max = tally.b.max = -INFINITY;
    tally.first_mismatch = tally.worst = -1;
    tally.lane_least = 0;
    used = true;
  }
  void Reset() {
    if (used) GiveBackSketchTable(tally.sketch);
    tally = {};
    used = false;
  }
};

int64_t OffsetOf(const StridedRef& ref, int64_t index) {
  int64_t at = ref.offset;
  for (size_t k = ref.dims.size(); k-- > 0;) {
    at += index % ref.dims[k] * ref.strides[k];
    index /= ref.dims[k];
  }
  return at;
}

// One comparison of two views.
class Run {
 public:
  Run(const StridedRef& a, const StridedRef& b, const DifferOptions& options)
      : a_(a),
        b_(b),
        options_(options),
        kernel_(KernelFor(options.isa)),
        count_(a.size()),
        workers_(options.threads == nullptr ? 1 : static_cast<size_t>(options.threads->count())) {
    piece_.element_a = ElementOf(a.tensor);
    piece_.element_b = ElementOf(b.tensor);
    piece_.unit_element = CoarserOf(piece_.element_a, piece_.element_b);
    bytes_a_ = InfoOf(piece_.element_a).bytes;
    bytes_b_ = InfoOf(piece_.element_b).bytes;
    piece_.row = a.dims.empty() ? 1 : std::max<int64_t>(a.dims.back(), 1);
    piece_.tile = std::max<int64_t>(1, (count_ + kDifferTiles - 1) / kDifferTiles);
    if (piece_.tile > kDifferBlock)
      piece_.tile = (piece_.tile + kDifferBlock - 1) / kDifferBlock * kDifferBlock;
    piece_.scale = 1;
    piece_.check_close = options.close.has_value();
    if (piece_.check_close) piece_.atol = options.close->atol, piece_.rtol = options.close->rtol;
    piece_.check_canary = options.canary.has_value();
    piece_.canary = options.canary.value_or(0);
  }

  StatusOr<Difference> Go() {
    piece_.record_above = ChooseRecordAbove();
    piece_.sketch_base = SketchBase();
    Difference out;
    if (options_.sha256) {
      PLINTH_RETURN_IF_ERROR(PassWithDigests(&out));
    } else {
      Pass();
    }
    // Values of f64 beyond 1e150 or all below 1e-150 have squares out of range: once more, scaled.
    if (InfoOf(piece_.element_a).digits == 53 || InfoOf(piece_.element_b).digits == 53) Rescale();
    Finish(&out);
    if (!quantiles_certain_) {
      piece_.record_above = 0;
      Pass();
      Finish(&out);
    }
    return out;
  }

 private:
  static constexpr int64_t kRun = 64;  // sampled elements that lie together

  static void ReadRun(const StridedRef& ref, Element element, int64_t begin, double* out) {
    if (ref.dense()) return ReadValues(element, ref.tensor.data, ref.offset + begin, kRun, out);
    for (int64_t i = 0; i < kRun; ++i) out[i] = ValueAt(element, ref.tensor.data, OffsetOf(ref, begin + i));
  }

  // The sampled relative error that all but kRecordedShare stay below; 0 for small tensors: then all are
  // recorded.
  double ChooseRecordAbove() const {
    if (count_ < 2 * kSampled) return 0;
    const int64_t runs = kSampled / kRun, apart = count_ / runs;
    std::vector<double> errors;
    errors.reserve(kSampled);
    for (int64_t r = 0; r < runs; ++r) {
      // Runs begin at varying distances from a round number, so that no period of the data is met.
      const int64_t begin = r * apart + r * 7919 % (apart - kRun + 1);
      double a[kRun], b[kRun];
      ReadRun(a_, piece_.element_a, begin, a);
      ReadRun(b_, piece_.element_b, begin, b);
      for (int64_t i = 0; i < kRun; ++i) {
        const double d = std::abs(b[i] - a[i]);
        errors.push_back(std::isfinite(d) ? (d == 0 ? 0 : d / std::abs(a[i])) : 0);
      }
    }
    const auto at =
        errors.begin() + static_cast<int64_t>((1 - kRecordedShare) * static_cast<double>(kSampled));
    std::nth_element(errors.begin(), at, errors.end());
    if (!std::isfinite(*at) || *at == 0) return 0;
    // Its whole bin is recorded: errors of narrow types come in steps, so that the quantiles may lie in it
    // too.
    const uint64_t edge = std::bit_cast<uint64_t>(*at) >> ErrorSketch::kBinShift << ErrorSketch::kBinShift;
    return std::nextafter(std::bit_cast<double>(edge), 0.0);
  }

  // Rows of the sketch reach from 2^-149 to 2^138, which holds all but f64; there around the first number.
  int SketchBase() const {
    if (piece_.element_a != Element::kF64) return 1023 - 149;
    for (int64_t i = 0; i < std::min<int64_t>(count_, kPieceElements); ++i) {
      const double a = ValueAt(Element::kF64, a_.tensor.data, OffsetOf(a_, i)) * piece_.scale;
      if (a != 0 && std::isfinite(a)) {
        return static_cast<int>(std::bit_cast<uint64_t>(std::abs(a)) >> 52) - 160;
      }
    }
    return 1023 - 149;
  }

  int64_t Pieces() const { return (count_ + kPieceElements - 1) / kPieceElements; }

  void Restart() {
    for (Worker& worker : workers_) worker.Reset();
    sums_.assign(static_cast<size_t>(Pieces()), DifferSums{});
  }

  void OnePiece(int64_t index, int worker_index) {
    Worker& worker = workers_[static_cast<size_t>(worker_index)];
    if (!worker.used) worker.Start();
    DifferPiece piece = piece_;
    piece.begin = index * kPieceElements;
    piece.count = std::min(kPieceElements, count_ - piece.begin);
    piece.a = Place(a_, bytes_a_, piece, &worker.gathered_a);
    piece.b = Place(b_, bytes_b_, piece, &worker.gathered_b);
    kernel_(piece, &sums_[static_cast<size_t>(index)], &worker.tally);
  }

  static const std::byte* Place(const StridedRef& ref, int64_t bytes, const DifferPiece& piece,
                                std::vector<std::byte>* gathered) {
    if (ref.dense()) return ref.tensor.data + (ref.offset + piece.begin) * bytes;
    gathered->resize(static_cast<size_t>(kPieceElements * bytes));
    CopyElements(ref, piece.begin, piece.count, gathered->data());
    return gathered->data();
  }

  void For(int64_t pieces, absl::FunctionRef<void(int64_t, int)> body) const {
    if (options_.threads != nullptr && pieces > 1) return options_.threads->For(pieces, body);
    for (int64_t i = 0; i < pieces; ++i) body(i, 0);
  }

  void Pass() {
    Restart();
    For(Pieces(), [&](int64_t i, int worker) { OnePiece(i, worker); });
  }

  // Windows that stay in the cache are hashed and compared together; a digest has to go from front to back.
  Status PassWithDigests(Difference* out) {
    Restart();
    const int64_t window = std::max<int64_t>(4, 4 * static_cast<int64_t>(workers_.size()));
    const int64_t windows = std::max<int64_t>(1, (Pieces() + window - 1) / window);
    // Two streams on one thread, or a thread for each.
    const bool paired = workers_.size() <= 2;
    PairedSha256 both;
    Sha256 sha_a, sha_b;
    const auto share = [&](const formats::ConstTensorRef& t, int64_t w) {
      const int64_t each = (t.bytes + windows - 1) / windows;
      const int64_t begin = std::min(t.bytes, w * each);
      return std::span(t.data + begin, static_cast<size_t>(std::min(each, t.bytes - begin)));
    };
    for (int64_t w = 0; w < windows; ++w) {
      const int64_t first = w * window, pieces = std::min(window, Pieces() - first);
      For(pieces + (paired ? 1 : 2), [&](int64_t i, int worker) {
        if (paired && i == 0) return both.Update(share(a_.tensor, w), share(b_.tensor, w));
        if (paired) return OnePiece(first + i - 1, worker);
        if (i == 0) return sha_a.Update(share(a_.tensor, w));
        if (i == 1) return sha_b.Update(share(b_.tensor, w));
        OnePiece(first + i - 2, worker);
      });
    }
    if (paired) {
      PLINTH_ASSIGN_OR_RETURN(auto hex, both.Hex());
      out->sha256_a = std::move(hex[0]), out->sha256_b = std::move(hex[1]);
      return absl::OkStatus();
    }
    PLINTH_ASSIGN_OR_RETURN(out->sha256_a, sha_a.Hex());
    PLINTH_ASSIGN_OR_RETURN(out->sha256_b, sha_b.Hex());
    return absl::OkStatus();
  }

  DifferSums Total() const {
    DifferSums t{};
    for (const DifferSums& s : sums_) {
      t.a += s.a, t.d += s.d, t.aa += s.aa, t.bb += s.bb, t.ab += s.ab, t.dd += s.dd;
    }
    return t;
  }

  void Rescale() {
    const DifferSums t = Total();
    double most = 0;
    for (const Worker& w : workers_) {
      if (!w.used) continue;
      for (const double x : {w.tally.a.min, w.tally.a.max, w.tally.b.min, w.tally.b.max}) {
        if (std::isfinite(x)) most = std::max(most, std::abs(x));
      }
    }
    if (!std::isfinite(t.aa) || !std::isfinite(t.bb) || !std::isfinite(t.dd)) {
      piece_.scale = kScaleDown;
    } else if (most > 0 && most < 1e-140) {
      piece_.scale = 1 / kScaleDown;
    } else {
      return;
    }
    piece_.sketch_base = SketchBase();
    Pass();
  }

  void Finish(Difference* out);
  void Counts(Difference* out) const;
  void Relative(Difference* out);

  const StridedRef& a_;
  const StridedRef& b_;
  const DifferOptions& options_;
  DifferFn* kernel_;
  const int64_t count_;
  int64_t bytes_a_ = 0, bytes_b_ = 0;
  DifferPiece piece_{};
  std::vector<Worker> workers_;
  std::vector<DifferSums> sums_;
  bool quantiles_certain_ = true;
};

void AddSide(const SideTally& from, double back, SideCounts* to) {
  to->nan += from.nan;
  to->pos_inf += from.pos_inf;
  to->neg_inf += from.neg_inf;
  to->zero += from.zero;
  to->subnormal += from.subnormal;
  to->canary += from.canary;
  to->min = std::min(to->min, from.min * back);
  to->max = std::max(to->max, from.max * back);
}

void Run::Counts(Difference* out) const {
  const double back = 1 / piece_.scale;
  out->a.min = out->b.min = INFINITY;
  out->a.max = out->b.max = -INFINITY;
  int64_t positive = 0, negative = 0;
  double max_abs = 0;
  for (const Worker& w : workers_) {
    if (!w.used) continue;
    const DifferTally& t = w.tally;
    AddSide(t.a, back, &out->a);
    AddSide(t.b, back, &out->b);
    out->finite_both += t.finite;
    out->nan_mismatch += t.nan_mismatch;
    out->inf_mismatch += t.inf_mismatch;
    out->zero_sign_mismatch += t.zero_sign;
    out->unequal += t.unequal;
    out->outside += t.outside;
    positive += t.positive;
    negative += t.negative;
    if (t.first_mismatch >= 0 && (out->first_mismatch < 0 || t.first_mismatch < out->first_mismatch)) {
      out->first_mismatch = t.first_mismatch;
    }
    if (t.worst >= 0 && (t.max_abs > max_abs || (t.max_abs == max_abs && t.worst < out->worst))) {
      max_abs = t.max_abs;
      out->worst = t.worst;
    }
    out->max_ulp = std::max(out->max_ulp, t.max_ulp);
    for (size_t i = 0; i < out->ulp_histogram.size(); ++i) out->ulp_histogram[i] += t.ulp[i];
    for (size_t i = 0; i < out->lane_max.size(); ++i) {
      out->lane_max[i] = std::max(out->lane_max[i], t.lane[i] * back);
    }
    for (size_t i = 0; i < out->tile_max.size(); ++i) {
      out->tile_max[i] = std::max(out->tile_max[i], t.tile[i] * back);
    }
  }
  if (out->finite_both == 0) out->a.min = out->a.max = out->b.min = out->b.max = 0;
  out->max_abs = max_abs * back;
  out->balance = positive + negative == 0
                     ? 0
                     : static_cast<double>(positive - negative) / static_cast<double>(positive + negative);
}

// The largest power of two that is not above x; 0 where that is no normal number.
double PowerBelow(double x) { return std::bit_cast<double>(std::bit_cast<uint64_t>(x) >> 52 << 52); }

void Run::Finish(Difference* out) {
  Difference d;
  d.sha256_a = std::move(out->sha256_a);
  d.sha256_b = std::move(out->sha256_b);
  d.count = count_;
  d.element_a = piece_.element_a;
  d.element_b = piece_.element_b;
  d.unit_element = piece_.unit_element;
  d.tile_elements = count_ == 0 ? 0 : piece_.tile;
  d.tile_max.resize(static_cast<size_t>((count_ + piece_.tile - 1) / piece_.tile));
  Counts(&d);
  if (d.worst >= 0) {
    d.worst_a = ValueAt(piece_.element_a, a_.tensor.data, OffsetOf(a_, d.worst));
    d.worst_b = ValueAt(piece_.element_b, b_.tensor.data, OffsetOf(b_, d.worst));
  }
  const DifferSums t = Total();
  const double back = 1 / piece_.scale, n = static_cast<double>(std::max<int64_t>(d.finite_both, 1));
  d.a.l2 = std::sqrt(t.aa) * back, d.b.l2 = std::sqrt(t.bb) * back, d.l2 = std::sqrt(t.dd) * back;
  d.a.rms = std::sqrt(t.aa / n) * back, d.b.rms = std::sqrt(t.bb / n) * back,
  d.rmse = std::sqrt(t.dd / n) * back;
  d.a.mean = t.a / n * back, d.b.mean = (t.a + t.d) / n * back, d.mean_error = t.d / n * back;
  d.rel_l2 = t.aa > 0 ? std::sqrt(t.dd / t.aa) : t.dd > 0 ? INFINITY : 0;
  if (t.aa > 0 && t.bb > 0) {
    d.cosine = std::clamp(t.ab / std::sqrt(t.aa) / std::sqrt(t.bb), -1.0, 1.0);
    double sine2 = 1 - d.cosine * d.cosine;
    if (d.cosine > 0.9 && t.dd < t.bb) {
      // sin^2 = (|d|^2 |a|^2 - (a.d)^2) / (|a|^2 |b|^2): no cancellation, as the part of d along a is small.
      const double along = t.ab - t.aa;
      sine2 = std::max(0.0, (t.dd - along / t.aa * along) / t.bb);
      d.cosine = std::sqrt(1 - sine2);
    }
    d.implied_rel_l2 = std::sqrt(std::max(0.0, sine2));
  } else if (t.aa > 0 || t.bb > 0) {
    d.cosine = 0;
    d.implied_rel_l2 = 1;
  }
  const ElementInfo& unit = InfoOf(d.unit_element);
  // A power of two, see ErrorSketch; of integers one step.
  d.floor = unit.floating ? PowerBelow(d.a.rms * std::min(unit.unit, 0x1p-8)) : 1;
  Relative(&d);
  *out = std::move(d);
}

void Run::Relative(Difference* out) {
  std::vector<ErrorGroup> groups;
  out->max_rel = 0;
  for (const Worker& worker : workers_) {
    if (!worker.used) continue;
    const double floor = out->floor * piece_.scale;
    out->max_rel =
        std::max(out->max_rel, ReadSketch(worker.tally.sketch, piece_.sketch_base, floor, &groups));
  }
  std::sort(groups.begin(), groups.end(),
            [](const ErrorGroup& x, const ErrorGroup& y) { return x.value > y.value; });
  quantiles_certain_ = true;
  const auto quantile = [&](double share) {
    const int64_t n = out->finite_both;
    // The k-th largest.
    const int64_t k = n - static_cast<int64_t>(std::ceil(share * static_cast<double>(n))) + 1;
    int64_t seen = 0;
    for (const ErrorGroup& g : groups) {
      seen += g.count;
      if (seen < k) continue;
      if (piece_.record_above > 0 && !(g.at_least > piece_.record_above)) quantiles_certain_ = false;
      return std::min(g.value, out->max_rel);
    }
    if (piece_.record_above > 0) quantiles_certain_ = false;
    return 0.0;
  };
  if (out->finite_both == 0) return;
  out->p99_rel = quantile(0.99);
  out->p999_rel = quantile(0.999);
}

}  // namespace

Element CoarserOf(Element a, Element b) {
  const ElementInfo& x = InfoOf(a);
  const ElementInfo& y = InfoOf(b);
  if (x.floating != y.floating) return x.floating ? a : b;
  return (x.floating ? x.digits <= y.digits : x.digits >= y.digits) ? a : b;
}

StatusOr<Difference> Differ(const StridedRef& a, const StridedRef& b, const DifferOptions& options) {
  if (a.size() != b.size()) {
    return absl::InvalidArgumentError(StrCat("tensor \"", a.tensor.name, "\" has ", a.size(),
                                             " elements in the reference and ", b.size(),
                                             " in the other; as many are expected"));
  }
  return Run(a, b, options).Go();
}

}  // namespace plinth::verify
