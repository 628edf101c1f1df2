#include "plinth/verify/compare_row.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "plinth/verify/error_places.h"

namespace plinth::verify {
namespace {

std::string PaddingHint(const StridedRef& a, const StridedRef& b) {
  if (a.dims.size() != b.dims.size()) return "";
  int longer = 0;
  for (size_t k = 0; k < a.dims.size(); ++k) {
    if (b.dims[k] < a.dims[k]) return "";
    longer += b.dims[k] > a.dims[k] ? 1 : 0;
  }
  return longer == 1 ? "; if the candidate is padded, a layout rule with slice compares the rest" : "";
}

Status CheckDigests(const Pair& pair, const Difference& d) {
  const auto check = [](const SourcePart& part, const SourceTensor& t, const std::string& found) -> Status {
    if (t.entry == nullptr || t.entry->digest.empty() || t.entry->digest == found) return absl::OkStatus();
    return absl::DataLossError(StrCat(
        part.capture->folder(), ": tensor ", formats::QuotedShort(t.name + t.suffix), " has the sha256 ",
        found.substr(0, 12), "..., capture.json says ", t.entry->digest.substr(0, 12), "..."));
  };
  PLINTH_RETURN_IF_ERROR(check(*pair.part_a, *pair.a, d.sha256_a));
  return check(*pair.part_b, *pair.b, d.sha256_b);
}

}  // namespace

bool TakeShare(const Pair& pair, const StridedRef& b, StridedRef* a, CompareRow* row) {
  if (pair.concatenated < 0) return true;
  const auto k = static_cast<size_t>(pair.concatenated);
  if (a->dims.size() != b.dims.size() || pair.offset + b.dims[k] > a->dims[k]) {
    row->reasons = {StrCat("the ranks' parts reach to ", pair.offset + b.dims[k], " along dimension ", k,
                           ", beyond the reference [", Join(a->dims, ", "), "]")};
    return false;
  }
  a->offset += pair.offset * a->strides[k];
  a->dims[k] = b.dims[k];
  return true;
}

Status Explain(const Pair& pair, const StridedRef& a, const StridedRef& b, double limit, CompareRow* row) {
  DenseTensor dense_a, dense_b;
  PLINTH_RETURN_IF_ERROR(dense_a.Take(a));
  PLINTH_RETURN_IF_ERROR(dense_b.Take(b));
  DiagnosisHints hints = {.limit = limit};
  if (pair.before != nullptr) hints.earlier.push_back(*pair.before->tensor);
  row->findings = Diagnose(dense_a.ref(), dense_b.ref(), row->difference, hints);
  row->reference_grid = GridOf(dense_a.ref());
  row->candidate_grid = GridOf(dense_b.ref());
  return absl::OkStatus();
}

void RowComparer::Describe(const Pair& pair, CompareRow* row) const {
  const SourceTensor& named = pair.a != nullptr ? *pair.a : *pair.b;
  row->tensor = (pair.a != nullptr ? named.name : sides_.map.NameOf(named.name)) + named.suffix;
  row->index = named.index;
  row->op = named.op;
  row->ranks = sides_.several();
  row->rank = pair.part_b != nullptr ? pair.part_b->rank : pair.part_a->rank;
  row->repeat = pair.part_b != nullptr ? pair.part_b->repeat : pair.part_a->repeat;
  if (pair.a != nullptr) row->dtype = pair.a->dtype, row->dims = pair.a->dims;
  if (pair.b != nullptr) {
    row->candidate_dtype = pair.b->dtype, row->candidate_dims = pair.b->dims;
    if (pair.b->name != named.name || pair.a == nullptr) {
      const std::string old = pair.b->name + pair.b->suffix;
      if (old != row->tensor) row->candidate_name = old;
    }
  }
  row->bytes = pair.bytes();
}

StatusOr<CompareRow> RowComparer::Compare(const Pair& pair, Threads* threads) const {
  CompareRow row;
  Describe(pair, &row);
  if (pair.b == nullptr || pair.a == nullptr) {
    row.status = pair.b == nullptr ? CheckStatus::kMissing : CheckStatus::kExtra;
    row.reasons = {pair.b == nullptr ? "the candidate has no such tensor"
                                     : "the reference has no such tensor"};
    row.bytes = 0;
    const bool broken = pair.b == nullptr || !options_.allow_extra;
    if (broken) JudgeBroken(pair.b == nullptr ? "missing" : "extra", &row);
    return row;
  }
  if (pair.a->tensor == nullptr || pair.b->tensor == nullptr) {
    CompareStatistics(pair, &row);
    if (rules_ != nullptr) {
      row.judged = rules_->Unmeasured(row.reasons.front(), row.status == CheckStatus::kFailed);
      Mistrust(&row);
    }
    return row;
  }
  PLINTH_RETURN_IF_ERROR(Measure(pair, threads, &row));
  return row;
}

CompareRow RowComparer::OfMissingRank(const MissingRank& missing) const {
  CompareRow row;
  row.tensor = StrCat("(rank ", missing.rank, ")");
  row.status = CheckStatus::kMissing;
  row.rank = missing.rank;
  row.ranks = true;
  row.reasons = {StrCat(missing.path, " has no capture of rank ", missing.rank, " of ", missing.world)};
  JudgeBroken("ranks", &row);
  return row;
}

Status RowComparer::Measure(const Pair& pair, Threads* threads, CompareRow* row) const {
  PLINTH_ASSIGN_OR_RETURN(StridedRef a, sides_.map.LayOut(pair.a->name, false, *pair.a->tensor));
  PLINTH_ASSIGN_OR_RETURN(StridedRef b, sides_.map.LayOut(pair.a->name, true, *pair.b->tensor));
  const auto broken = [&](std::string reason) {
    row->reasons = {std::move(reason)};
    JudgeBroken("shape", row);
    return absl::OkStatus();
  };
  if (!TakeShare(pair, b, &a, row)) return broken(row->reasons.front());
  row->dims = a.dims, row->candidate_dims = b.dims;
  if (a.size() != b.size()) {
    return broken(
        StrCat("shape [", Join(b.dims, ", "), "] against [", Join(a.dims, ", "), "]", PaddingHint(a, b)));
  }
  if (a.size() == 0 && pair.bytes() > 0 && pair.concatenated < 0) {
    return broken(StrCat("the map leaves [", Join(a.dims, ", "), "] of [", Join(pair.a->dims, ", "),
                         "]: nothing was compared"));
  }
  const DifferOptions how = {
      .sha256 = options_.digest, .canary = options_.canary, .threads = threads, .isa = context_.isa};
  PLINTH_ASSIGN_OR_RETURN(row->difference, Differ(a, b, how));
  // Two tensors without one number in common show nothing.
  row->compared = row->difference.finite_both > 0;
  if (options_.digest) PLINTH_RETURN_IF_ERROR(CheckDigests(pair, row->difference));
  PLINTH_RETURN_IF_ERROR(JudgeLine(pair, a, b, row));
  if (rules_ != nullptr) PLINTH_RETURN_IF_ERROR(JudgeByRules(pair, a, b, threads, row));
  if (pair.truth != nullptr) PLINTH_RETURN_IF_ERROR(AgainstTruth(pair, a, b, threads, row));
  return absl::OkStatus();
}

Status RowComparer::JudgeLine(const Pair& pair, const StridedRef& a, const StridedRef& b,
                              CompareRow* row) const {
  const Difference& d = row->difference;
  PLINTH_ASSIGN_OR_RETURN(const ComparisonLine line,
                          LineFor(options_.class_name, d.unit_element, options_.k));
  row->limit = line.rel_l2.value_or(-1);
  row->level = LevelOfError(d.rel_l2);
  std::optional<ErrorPlaces> places;
  const bool shapes_agree = a.dims == b.dims;
  if (line.rel_l2.has_value() && *line.rel_l2 > 0 && shapes_agree && MayHavePlaces(d, *line.rel_l2)) {
    DenseTensor dense_a, dense_b;
    PLINTH_RETURN_IF_ERROR(dense_a.Take(a));
    PLINTH_RETURN_IF_ERROR(dense_b.Take(b));
    places = PlacesOf(dense_a.ref(), dense_b.ref(), d, *line.rel_l2);
  }
  LineVerdict verdict = JudgeByLine(d, places.has_value() ? &*places : nullptr, line);
  if (!shapes_agree) {
    verdict.broken.insert(verdict.broken.begin(),
                          StrCat("shape [", Join(b.dims, ", "), "] against [", Join(a.dims, ", "), "]"));
  }
  if (d.element_a != d.element_b) {
    verdict.warned.push_back(
        StrCat("type ", InfoOf(d.element_b).name, " against ", InfoOf(d.element_a).name));
  }
  row->status = !verdict.broken.empty()     ? CheckStatus::kFailed
                : !verdict.warned.empty()   ? CheckStatus::kWarned
                : !verdict.unproven.empty() ? CheckStatus::kUnproven
                                            : CheckStatus::kPassed;
  row->reasons = std::move(verdict.broken);
  row->reasons.insert(row->reasons.end(), verdict.warned.begin(), verdict.warned.end());
  if (!verdict.unproven.empty()) row->reasons.push_back(verdict.unproven);
  if (row->status != CheckStatus::kFailed) return absl::OkStatus();
  return Explain(pair, a, b, line.rel_l2.value_or(0), row);
}

Status RowComparer::AgainstTruth(const Pair& pair, const StridedRef& a, const StridedRef& b, Threads* threads,
                                 CompareRow* row) const {
  if (pair.truth->tensor == nullptr || pair.concatenated >= 0) return absl::OkStatus();
  PLINTH_ASSIGN_OR_RETURN(const StridedRef t, sides_.map.LayOut(pair.a->name, false, *pair.truth->tensor));
  if (t.size() != a.size()) return absl::OkStatus();
  const DifferOptions how = {.threads = threads, .isa = context_.isa};
  PLINTH_ASSIGN_OR_RETURN(const Difference of_a, Differ(t, a, how));
  PLINTH_ASSIGN_OR_RETURN(const Difference of_b, Differ(t, b, how));
  row->reference_error = of_a.rel_l2;
  row->candidate_error = of_b.rel_l2;
  const auto betray = [&](std::string_view side, const Difference& d, Element own) {
    const ArithmeticLevel level = LevelOfError(d.rel_l2);
    if (level <= LevelOfElement(own) || level == ArithmeticLevel::kWrong) return;
    char error[32];
    std::snprintf(error, sizeof(error), "%.2g", d.rel_l2);
    row->findings.push_back({"precision", StrCat("the ", side, " shows the error of ", LevelName(level), " (",
                                                 error, " against the truth), but is ", InfoOf(own).name)});
  };
  betray("reference", of_a, row->difference.element_a);
  betray("candidate", of_b, row->difference.element_b);
  return absl::OkStatus();
}

}  // namespace plinth::verify
