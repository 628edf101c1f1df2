// A row of `plinth compare` by the acceptance's rules.
#include "plinth/verify/compare_row.h"

namespace plinth::verify {
void RowComparer::JudgeBroken(std::string_view kind, CompareRow* row) const {
  if (rules_ == nullptr) return;
  row->judged = rules_->Broken(row->reasons.front(), kind);
  Mistrust(row);
}

// By rules that do not find planted faults nothing is right.
void RowComparer::Mistrust(CompareRow* row) const {
  if (rules_->missed().empty()) return;
  row->status = CheckStatus::kMistrusted;
  row->judged->verdict.verdict = Verdict::kFail;
  row->judged->verdict.reason = StrCat("the rule set's self-test missed ", rules_->missed());
  row->reasons = {row->judged->verdict.reason};
}

// Truth or incumbent, laid out as the reference; nothing where there is no such tensor.
Status RowComparer::Beside(const Pair& pair, const SourceTensor* t, const StridedRef& b, DenseTensor* copy,
                           std::optional<formats::ConstTensorRef>* out) const {
  if (t == nullptr || t->tensor == nullptr) return absl::OkStatus();
  PLINTH_ASSIGN_OR_RETURN(StridedRef view, sides_.map.LayOut(pair.a->name, false, *t->tensor));
  CompareRow unused;
  // One that is of ranks itself has the candidate's shape already; one that does not fit is found below.
  if (view.dims != b.dims) static_cast<void>(TakeShare(pair, b, &view, &unused));
  PLINTH_RETURN_IF_ERROR(copy->Take(view));
  *out = copy->ref();
  return absl::OkStatus();
}

// How the ranks differ where they must hold the same bits; else empty.
std::string RowComparer::RanksDiffer(const Pair& pair, std::string_view op) const {
  if (pair.concatenated >= 0 || !rules_->IdenticalRanks(op, options_.class_name)) return "";
  std::vector<formats::ConstTensorRef> ranks;
  for (const SourcePart& part : sides_.candidate->parts()) {
    if (part.repeat != pair.part_b->repeat) continue;
    for (const SourceTensor& t : part.tensors) {
      if (t.tensor != nullptr && t.name == pair.b->name && t.suffix == pair.b->suffix)
        ranks.push_back(*t.tensor);
    }
  }
  return RankDifference(ranks);
}

Status RowComparer::JudgeByRules(const Pair& pair, const StridedRef& a, const StridedRef& b, Threads* threads,
                                 CompareRow* row) const {
  DenseTensor d, first, second, reference;
  RowToJudge question;
  question.name = pair.a->name;
  TensorsToJudge& t = question.tensors;
  t.op = pair.a->op.empty() ? pair.b->op : pair.a->op;
  t.class_name = options_.class_name;
  t.canary = options_.canary;
  t.threads = threads;
  PLINTH_RETURN_IF_ERROR(d.Take(b));
  PLINTH_RETURN_IF_ERROR(reference.Take(a));
  t.candidate = d.ref();
  if (sides_.reference_is_truth) {
    t.truth = reference.ref();
  } else {
    PLINTH_RETURN_IF_ERROR(Beside(pair, pair.truth, b, &first, &t.truth));
    if (sides_.incumbent == nullptr) t.incumbent = reference.ref();
  }
  PLINTH_RETURN_IF_ERROR(Beside(pair, pair.incumbent, b, &second, &t.incumbent));
  // Of a rank's part of a tensor, a band of the whole says nothing.
  if (pair.concatenated < 0) t.band = rules_->Band(row->rank, pair.a->name + pair.a->suffix);
  t.structure = RanksDiffer(pair, t.op);
  if (!t.structure.empty()) t.structure_kind = "ranks";
  question.required = t.incumbent.has_value() ? *t.incumbent : reference.ref();
  PLINTH_ASSIGN_OR_RETURN(row->judged, rules_->Judge(question));
  PLINTH_RETURN_IF_ERROR(TakeVerdict(pair, a, b, row));
  Mistrust(row);
  return absl::OkStatus();
}

// The line that was asked first counts only where the rules could decide nothing about numbers.
Status RowComparer::TakeVerdict(const Pair& pair, const StridedRef& a, const StridedRef& b,
                                CompareRow* row) const {
  TensorVerdict& v = row->judged->verdict;
  if (row->judged->word() == "unproven") {
    if (row->status == CheckStatus::kFailed) {
      v.verdict = Verdict::kFail;
      v.reason = StrCat("rules 2 to 4 are undecided and the line without truth and bands is broken: ",
                        row->reasons.front());
      row->reasons.front() = v.reason;
      return absl::OkStatus();
    }
    row->status = CheckStatus::kUnproven;
    row->reasons = {v.reason};
    return absl::OkStatus();
  }
  const bool explained = row->status == CheckStatus::kFailed;
  row->status = v.verdict == Verdict::kPass   ? CheckStatus::kPassed
                : v.verdict == Verdict::kWarn ? CheckStatus::kWarned
                                              : CheckStatus::kFailed;
  const double line = row->limit;
  row->limit = -1;
  row->reasons.clear();
  if (v.verdict != Verdict::kPass) row->reasons = {v.reason};
  if (v.verdict == Verdict::kPass) row->findings.clear();
  if (v.verdict != Verdict::kFail || explained) return absl::OkStatus();
  return Explain(pair, a, b, std::max(line, 0.0), row);
}

}  // namespace plinth::verify
