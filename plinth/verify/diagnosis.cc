#include "plinth/verify/diagnosis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "plinth/verify/comparison_line.h"
#include "plinth/verify/error_places.h"
#include "plinth/verify/fingerprint.h"
#include "plinth/verify/misplaced.h"

namespace plinth::verify {
namespace {

using formats::ConstTensorRef;

std::string Short(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", x);
  return text;
}
std::string Percent(int64_t part, int64_t whole) {
  return StrCat(Short(100 * static_cast<double>(part) / static_cast<double>(whole)), " %");
}

// Bytes with which allocators and debuggers fill fresh memory.
constexpr std::array<uint32_t, 9> kFills = {0xdeadbeef, 0xbaadf00d, 0xfeeefeee, 0xcdcdcdcd, 0xa5a5a5a5,
                                            0xabababab, 0xcccccccc, 0xdddddddd, 0x5a5a5a5a};

class Diagnoser {
 public:
  Diagnoser(const ConstTensorRef& a, const ConstTensorRef& b, const Difference& d,
            const DiagnosisHints& hints)
      : a_(a),
        b_(b),
        d_(d),
        hints_(hints),
        limit_(hints.limit > 0 ? hints.limit : DefaultLimit(d.unit_element)) {}

  std::vector<Finding> Run() {
    Unwritten();
    NotFinite();
    Zeros();
    Subnormals();
    const bool far = !(d_.rel_l2 <= std::max(limit_, 1e-3));
    if (far && !HasExplanation()) Take(FindStale(b_, hints_.earlier));
    if (far && !HasExplanation() && SameShape()) {
      Take(FindTransposed(a_, b_));
      // A shift moves rows too.
      if (!HasExplanation()) Take(FindShifted(a_, b_));
      if (!HasExplanation()) Take(FindPermutedRows(a_, b_));
    }
    if (!HasExplanation()) Scale();
    if (!HasExplanation()) Offset();
    if (!moved_) Places();
    Precision();
    Bias();
    if (findings_.empty()) Level();
    return std::move(findings_);
  }

 private:
  void Add(std::string id, std::string text) { findings_.push_back({std::move(id), std::move(text)}); }
  void Take(std::optional<Finding> found) {
    if (!found.has_value()) return;
    findings_.push_back(*std::move(found));
    explained_ = moved_ = true;
  }
  bool HasExplanation() const { return explained_; }
  bool SameShape() const {
    return std::equal(a_.dims.begin(), a_.dims.end(), b_.dims.begin(), b_.dims.end());
  }

  int64_t CountFill(const ConstTensorRef& t, uint32_t fill) const {
    const int64_t size = SizeOf(t.dtype), per = std::min<int64_t>(size, 4);
    int64_t found = 0;
    for (int64_t i = 0; i < t.size(); ++i) {
      found += std::memcmp(t.data + i * size, &fill, static_cast<size_t>(per)) == 0 &&
               (size < 8 || std::memcmp(t.data + i * size + 4, &fill, 4) == 0);
    }
    return found;
  }
  void Unwritten() {
    if (d_.b.canary > 0) {
      explained_ = true;
      return Add("unwritten", StrCat(d_.b.canary, " of ", d_.count,
                                     " elements still hold the fill pattern: nothing wrote them"));
    }
    if (d_.unequal < 4 || SizeOf(b_.dtype) < 2) return;
    for (const uint32_t fill : kFills) {
      const int64_t found = CountFill(b_, fill);
      if (found < 4 || CountFill(a_, fill) > 0) continue;
      char hex[16];
      std::snprintf(hex, sizeof(hex), "0x%08x", fill);
      explained_ = true;
      return Add("unwritten", StrCat(found, " of ", d_.count, " elements hold ", hex,
                                     ", a fill pattern of fresh memory: nothing wrote them"));
    }
  }
  void NotFinite() {
    if (d_.first_mismatch < 0) return;
    const std::string at = PositionText(b_.dims, d_.first_mismatch);
    if (d_.nan_mismatch > 0) {
      Add("not-finite", StrCat(d_.nan_mismatch, " of ", d_.count, " elements are NaN on one side only (",
                               d_.b.nan > d_.a.nan ? "the candidate's" : "the reference's",
                               " has more), the first at ", at));
    }
    if (d_.inf_mismatch > 0) {
      const bool overflow = d_.b.pos_inf + d_.b.neg_inf > d_.a.pos_inf + d_.a.neg_inf;
      Add("not-finite", StrCat(d_.inf_mismatch, " infinities differ, the first mismatch at ", at,
                               overflow ? ": the candidate overflows" : ""));
    }
  }
  void Zeros() {
    if (d_.count == 0 || d_.max_abs == 0) return;
    if (d_.b.zero == d_.count) {
      explained_ = moved_ = true;
      return Add("all-zero", "all elements are zero");
    }
    if (d_.finite_both == d_.count && d_.count > 1 && d_.b.min == d_.b.max && d_.a.min != d_.a.max) {
      explained_ = moved_ = true;
      return Add("constant", StrCat("all elements are ", Short(d_.b.min)));
    }
    const int64_t more = d_.b.zero - d_.a.zero - std::max<int64_t>(0, d_.a.subnormal - d_.b.subnormal);
    if (more < 2 || more * 50 < d_.count) return;
    const double share = static_cast<double>(more) / static_cast<double>(d_.count);
    Add("zeros", StrCat(std::abs(share - 0.5) < 0.05 ? "half" : Percent(more, d_.count),
                        " of the elements are zero that are not in the reference"));
    explained_ = true;
  }
  void Subnormals() {
    if (d_.a.subnormal < 16 || d_.subnormals_kept() * 10 >= d_.a.subnormal) return;
    Add("subnormals", StrCat("subnormals are flushed to zero: ", d_.a.subnormal, " in the reference, ",
                             d_.subnormals_kept(), " in the candidate"));
  }
  void Scale() {
    if (d_.a.l2 == 0 || d_.b.l2 == 0 || d_.finite_both < 2) return;
    // The error that the best factor leaves is the sine of the angle between the tensors.
    if (d_.rel_l2 <= limit_ || d_.implied_rel_l2 > 0.05 || d_.implied_rel_l2 * 10 > d_.rel_l2) return;
    const double factor = d_.b.l2 / d_.a.l2 * d_.cosine;
    std::string text =
        StrCat("scale ", Short(factor), ": the candidate is the reference times ", Short(factor));
    for (const auto& [known, why] :
         {std::pair{448.0 / 240.0, "448/240, the ranges of e4m3 and e4m3fnuz"},
          std::pair{2.0, "2, as between the fn and fnuz encodings of 8-bit floats"}}) {
      if (std::abs(factor / known - 1) < 0.01) StrAppend(&text, " (", why, ")");
      if (std::abs(factor * known - 1) < 0.01) StrAppend(&text, " (1 over ", why, ")");
    }
    Add("scale", text);
    explained_ = moved_ = true;
  }
  void Offset() {
    if (d_.finite_both < 2 || d_.rel_l2 <= limit_) return;
    if (std::abs(d_.mean_error) < 0.99 * d_.rmse) return;
    Add("offset", StrCat("the candidate is the reference plus ", Short(d_.mean_error)));
    explained_ = moved_ = true;
  }
  void Places() {
    if (!SameShape() || !MayHavePlaces(d_, limit_)) return;
    const ErrorPlaces p = PlacesOf(a_, b_, d_, limit_);
    const auto rows = static_cast<int64_t>(p.bad_rows.size()),
               columns = static_cast<int64_t>(p.bad_columns.size());
    if (!p.bad_lanes.empty()) {
      const std::vector<int64_t> lanes(p.bad_lanes.begin(), p.bad_lanes.end());
      Add("lanes", StrCat("lanes ", RangesText(lanes), " differ (columns modulo 64)"));
    } else if (columns > 0 && columns < p.columns &&
               (rows == 0 || rows == p.rows || columns * p.rows <= rows * p.columns)) {
      const bool tail = p.bad_columns.back() == p.columns - 1 &&
                        p.bad_columns.back() - p.bad_columns.front() == columns - 1;
      const std::string which = StrCat(RangesText(p.bad_columns), " of ", p.columns);
      Add("columns", tail ? StrCat("last columns differ: ", which) : StrCat("columns ", which, " differ"));
    } else if (rows > 0 && rows < p.rows) {
      const bool tail = p.bad_rows.back() == p.rows - 1 && p.bad_rows.back() - p.bad_rows.front() == rows - 1;
      const std::string which = StrCat(RangesText(p.bad_rows), " of ", p.rows);
      Add(tail ? "last-rows" : "rows",
          tail ? StrCat("last rows differ: ", which) : StrCat("rows ", which, " differ"));
    } else if (p.spikes > 0 && p.spikes * 10 <= d_.count) {
      Add("spikes", StrCat(p.spikes, p.spikes == 1 ? " element stands" : " elements stand",
                           " far out, the first at ", PositionText(a_.dims, p.first_spike)));
    }
  }
  void Precision() {
    const auto own = LevelOfElement(d_.unit_element);
    const auto grid_a = GridOf(a_), grid_b = GridOf(b_);
    const std::string_view type = InfoOf(d_.unit_element).name;
    if (grid_a != grid_b) {
      if (grid_b.has_value()) {
        Add("precision",
            StrCat("the candidate's values are all ", GridName(*grid_b), " numbers: ", GridName(*grid_b),
                   d_.element_b == Element::kF16 ? " through " : " behind ", InfoOf(d_.element_b).name));
      }
      if (grid_a.has_value()) {
        Add("precision", StrCat("the reference's values are all ", GridName(*grid_a),
                                " numbers: ", GridName(*grid_a), " behind ", InfoOf(d_.element_a).name));
      }
      return;
    }
    const auto level = LevelOfError(d_.rel_l2);
    if (explained_ || own == ArithmeticLevel::kExact || level <= own || level >= ArithmeticLevel::kFp8)
      return;
    // Few wrong elements make a level by chance.
    if (d_.finite_both < 32 || d_.unequal * 2 < d_.finite_both || d_.max_abs > 30 * d_.rmse) return;
    std::string text;
    if (type == "f32" && level == ArithmeticLevel::kTf32OrF16) {
      text = "tf32 (or f16) behind f32";
    } else if (type == "f16" && level == ArithmeticLevel::kBF16) {
      text = "f16 through bf16";
    } else {
      text = StrCat(LevelName(level), " behind ", type);
    }
    Add("precision", StrCat(text, ", on one side: relative L2 error ", Short(d_.rel_l2)));
  }
  void Bias() {
    if (d_.finite_both == 0 || explained_ || d_.unequal < 100) return;
    const double standard = d_.rmse / std::sqrt(static_cast<double>(d_.finite_both));
    if (std::abs(d_.mean_error) > 4 * standard &&
        (std::abs(d_.balance) > 0.5 || std::abs(d_.mean_error) > d_.rmse / 2)) {
      Add("bias",
          StrCat("errors lean to one side: mean ", Short(d_.mean_error), ", balance ", Short(d_.balance)));
    }
  }

  // Nothing else explains it: how far, and whether anything is left of the reference at all.
  void Level() {
    if (d_.rel_l2 > limit_ && d_.cosine < 0.5) {
      Add("unrelated",
          StrCat("the candidate has little to do with the reference: cosine ", Short(d_.cosine)));
    } else if (d_.rel_l2 > limit_) {
      Add("level", StrCat("errors everywhere: relative L2 ", Short(d_.rel_l2), ", up to ", Short(d_.max_ulp),
                          " units"));
    }
  }

  const ConstTensorRef& a_;
  const ConstTensorRef& b_;
  const Difference& d_;
  const DiagnosisHints& hints_;
  const double limit_;
  std::vector<Finding> findings_;
  bool explained_ = false;  // a cause is named
  bool moved_ = false;      // one that makes places meaningless
};

}  // namespace

std::vector<Finding> Diagnose(const ConstTensorRef& a, const ConstTensorRef& b, const Difference& difference,
                              const DiagnosisHints& hints) {
  return Diagnoser(a, b, difference, hints).Run();
}

}  // namespace plinth::verify
