#include "plinth/verify/compare_files.h"

#include <re2/re2.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

#include "plinth/verify/compare_rules.h"
#include "plinth/verify/compare_sources.h"
#include "plinth/verify/error_places.h"
#include "plinth/verify/tensor_map.h"

namespace plinth::verify {
namespace {

constexpr int64_t kLargeBytes = 4 << 20;  // pairs beyond are cut into pieces, smaller ones go side by side
constexpr int64_t kBatchBytes = 64 << 20;
constexpr size_t kBatch = 256;
constexpr int64_t kCopiedBytes =
    64 << 20;  // a view with a layout of its own is copied for a second look up to this

// Two tensors to be compared, or one that has no counterpart.
struct Pair {
  const SourcePart* part_a = nullptr;
  const SourcePart* part_b = nullptr;
  const SourceTensor* a = nullptr;
  const SourceTensor* b = nullptr;
  const SourceTensor* truth = nullptr;
  const SourceTensor* incumbent = nullptr;  // where it is not the reference
  const SourceTensor* before = nullptr;     // the reference's entry of the same shape before this one
  int64_t concatenated = -1, offset = 0;  // the candidate is the part of the reference at `offset` along this
};

using ByKey = std::unordered_map<std::string, const SourceTensor*>;

ByKey KeysOf(const SourcePart& part, const std::vector<std::string>* names) {
  ByKey keys;
  for (size_t i = 0; i < part.tensors.size(); ++i) {
    const SourceTensor& t = part.tensors[i];
    keys.emplace((names == nullptr ? t.name : (*names)[i]) + t.suffix, &t);
  }
  return keys;
}

// A dense copy of a view, for the looks that need one.
struct Copied {
  std::vector<std::byte> bytes;
  std::vector<int64_t> dims;
  formats::ConstTensorRef ref;
};

bool MakeDense(const StridedRef& view, Copied* out, int64_t most = kCopiedBytes) {
  out->dims = view.dims;
  out->ref = view.tensor;
  out->ref.dims = out->dims;
  const int64_t size = SizeOf(view.tensor.dtype);
  out->ref.bytes = view.size() * size;
  if (view.dense()) {
    out->ref.data = view.tensor.data + view.offset * size;
    return true;
  }
  if (out->ref.bytes > most) return false;
  out->bytes.resize(static_cast<size_t>(out->ref.bytes));
  CopyElements(view, 0, view.size(), out->bytes.data());
  out->ref.data = out->bytes.data();
  return true;
}

class Comparer {
 public:
  Comparer(const Context& context, const CompareOptions& options) : context_(context), options_(options) {}

  StatusOr<CompareSummary> Run(const std::function<void(const CompareRow&)>& sink) {
    const auto start = std::chrono::steady_clock::now();
    PLINTH_RETURN_IF_ERROR(Open());
    std::vector<Pair> pairs;
    PLINTH_RETURN_IF_ERROR(MakePairs(&pairs));
    summary_.extra_allowed = options_.allow_extra;
    for (size_t begin = 0; begin < pairs.size();) {
      if (options_.interrupted && options_.interrupted()) return absl::CancelledError("interrupted");
      const size_t end = BatchEnd(pairs, begin);
      std::vector<StatusOr<CompareRow>> rows(end - begin, StatusOr<CompareRow>(CompareRow()));
      if (end - begin == 1) {
        rows[0] = CompareOne(pairs[begin], context_.threads);
      } else {
        const auto one = [&](int64_t i, int) {
          rows[static_cast<size_t>(i)] = CompareOne(pairs[begin + static_cast<size_t>(i)], nullptr);
        };
        context_.threads->For(static_cast<int64_t>(end - begin), one);
      }
      for (auto& row : rows) {
        if (!row.ok()) return row.status();
        Count(*row);
        sink(*row);
      }
      for (size_t i = begin; i < end; ++i) Release(pairs[i]);
      begin = end;
    }
    for (CompareRow& row : missing_ranks_) {
      JudgeBroken("ranks", &row);
      Count(row), sink(row);
    }
    summary_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    WorstRank();
    if (rules_ != nullptr) {
      PLINTH_RETURN_IF_ERROR(rules_->WriteBand());
      summary_.rules = rules_->summary();
    }
    return summary_;
  }

 private:
  Status Open() {
    PLINTH_ASSIGN_OR_RETURN(auto reference, TensorSource::Open(options_.reference));
    PLINTH_ASSIGN_OR_RETURN(auto candidate, TensorSource::Open(options_.candidate));
    reference_ = std::make_unique<TensorSource>(std::move(reference));
    candidate_ = std::make_unique<TensorSource>(std::move(candidate));
    if (!options_.truth.empty()) {
      PLINTH_ASSIGN_OR_RETURN(auto truth, TensorSource::Open(options_.truth));
      truth_ = std::make_unique<TensorSource>(std::move(truth));
    }
    if (!options_.map.empty()) {
      PLINTH_ASSIGN_OR_RETURN(map_, TensorMap::Load(options_.map));
    }
    PLINTH_RETURN_IF_ERROR(LineFor(options_.class_name, Element::kF32, options_.k).status());
    if (!options_.allow_different) PLINTH_RETURN_IF_ERROR(CheckSameOrigin(*reference_, *candidate_));
    return OpenRules();
  }

  // What each side is to the rules.
  Status OpenRules() {
    if (!options_.rules.has_value()) return absl::OkStatus();
    const std::string& path = options_.rules->incumbent;
    if (!path.empty()) {
      PLINTH_ASSIGN_OR_RETURN(auto incumbent, TensorSource::Open(path));
      incumbent_ = std::make_unique<TensorSource>(std::move(incumbent));
      if (!options_.allow_different) PLINTH_RETURN_IF_ERROR(CheckSameOrigin(*candidate_, *incumbent_));
    }
    std::error_code error;
    reference_is_truth_ = truth_ == nullptr
                              ? incumbent_ != nullptr
                              : std::filesystem::equivalent(options_.truth, options_.reference, error);
    const TensorSource* same = options_.allow_different ? nullptr : candidate_.get();
    PLINTH_ASSIGN_OR_RETURN(auto rules, RuleJudge::Open(*options_.rules, same, context_.threads));
    rules_ = std::make_unique<RuleJudge>(std::move(rules));
    return absl::OkStatus();
  }

  static bool SameRank(const SourcePart& x, const SourcePart& y) { return x.rank == y.rank; }

  // The part that stands against the candidate's: same rank and repeat, else the nearest there is.
  static const SourcePart* Counterpart(const TensorSource& source, const SourcePart& b) {
    const SourcePart* found = nullptr;
    const bool one_rank = source.parts().front().rank == source.parts().back().rank;
    for (const SourcePart& a : source.parts()) {
      if (a.rank != b.rank && !one_rank) continue;
      if (found == nullptr || a.repeat == b.repeat) found = &a;
    }
    return found;
  }
  static ByKey KeysBeside(const TensorSource* source, const SourcePart& b) {
    const SourcePart* part = source == nullptr ? nullptr : Counterpart(*source, b);
    return part == nullptr ? ByKey() : KeysOf(*part, nullptr);
  }

  Status MakePairs(std::vector<Pair>* pairs) {
    std::unique_ptr<re2::RE2> only;
    if (!options_.only.empty()) {
      re2::RE2::Options quiet;
      quiet.set_log_errors(false);
      only = std::make_unique<re2::RE2>(options_.only, quiet);
      if (!only->ok()) {
        return absl::InvalidArgumentError(StrCat("--only ", formats::QuotedShort(options_.only),
                                                 " is no regular expression: ", only->error()));
      }
    }
    only_ = only.get();
    MissingRanks(*reference_, options_.reference);
    MissingRanks(*candidate_, options_.candidate);
    several_ = candidate_->parts().size() > 1 || reference_->parts().size() > 1;
    std::set<const SourcePart*> met;
    for (const SourcePart& b : candidate_->parts()) {
      const SourcePart* a = Counterpart(*reference_, b);
      if (a == nullptr) {
        for (const SourceTensor& t : b.tensors) pairs->push_back({.part_b = &b, .b = &t});
        continue;
      }
      met.insert(a);
      PLINTH_RETURN_IF_ERROR(PairParts(*a, b, pairs));
    }
    for (const SourcePart& a : reference_->parts()) {
      // A repeat more on this side is no loss; a rank is.
      const bool rank_met =
          std::any_of(met.begin(), met.end(), [&](const SourcePart* m) { return SameRank(*m, a); });
      if (rank_met) continue;
      for (const SourceTensor& t : a.tensors) pairs->push_back({.part_a = &a, .a = &t});
    }
    only_ = nullptr;
    return absl::OkStatus();
  }

  // A verdict about some of the ranks is none.
  void MissingRanks(const TensorSource& source, const std::string& path) {
    std::set<int64_t> ranks;
    int64_t world = 1;
    for (const SourcePart& part : source.parts())
      ranks.insert(part.rank), world = std::max(world, part.world);
    constexpr int64_t kShown = 4096;
    for (int64_t rank = 0; rank < std::min(world, kShown); ++rank) {
      if (ranks.contains(rank)) continue;
      CompareRow row;
      row.tensor = StrCat("(rank ", rank, ")");
      row.status = CheckStatus::kMissing;
      row.rank = rank;
      row.ranks = true;
      row.reasons = {StrCat(path, " has no capture of rank ", rank, " of ", world)};
      missing_ranks_.push_back(std::move(row));
    }
  }

  bool Wanted(const std::string& name) const {
    return only_ == nullptr || re2::RE2::FullMatch(re2::StringPiece(name.data(), name.size()), *only_);
  }

  StatusOr<std::vector<std::string>> Mapped(const SourcePart& part) const {
    // Entries of a capture share names; each name is mapped once.
    std::vector<std::string> unique;
    std::unordered_map<std::string, size_t> place;
    for (const SourceTensor& t : part.tensors) {
      if (place.emplace(t.name, unique.size()).second) unique.push_back(t.name);
    }
    PLINTH_ASSIGN_OR_RETURN(const auto mapped, map_.MapNames(unique));
    std::vector<std::string> names;
    for (const SourceTensor& t : part.tensors) names.push_back(mapped[place.at(t.name)]);
    return names;
  }

  Status PairParts(const SourcePart& a, const SourcePart& b, std::vector<Pair>* pairs) {
    PLINTH_ASSIGN_OR_RETURN(const auto names, Mapped(b));
    const ByKey candidates = KeysOf(b, &names), references = KeysOf(a, nullptr);
    const ByKey truths = KeysBeside(truth_.get(), b), incumbents = KeysBeside(incumbent_.get(), b);
    const SourceTensor* before = nullptr;
    for (const SourceTensor& t : a.tensors) {
      if (!Wanted(t.name)) continue;
      const std::string key = t.name + t.suffix;
      const auto at = candidates.find(key);
      Pair pair = {.part_a = &a,
                   .part_b = &b,
                   .a = &t,
                   .b = at == candidates.end() ? nullptr : at->second,
                   .before = before};
      if (const auto truth = truths.find(key); truth != truths.end()) pair.truth = truth->second;
      if (const auto n = incumbents.find(key); n != incumbents.end()) pair.incumbent = n->second;
      if (pair.b != nullptr) FindShare(key, &pair);
      pairs->push_back(pair);
      if (t.tensor != nullptr) before = &t;
    }
    for (size_t i = 0; i < b.tensors.size(); ++i) {
      const std::string key = names[i] + b.tensors[i].suffix;
      if (references.contains(key) || !Wanted(names[i])) continue;
      pairs->push_back({.part_a = &a, .part_b = &b, .b = &b.tensors[i]});
    }
    return absl::OkStatus();
  }

  // Where ranks hold parts of one reference tensor, which part this one is.
  void FindShare(const std::string& key, Pair* pair) const {
    if (pair->part_a->rank == pair->part_b->rank &&
        reference_->parts().front().rank != reference_->parts().back().rank)
      return;
    const auto along = map_.ConcatenatedAlong(pair->a->name);
    if (!along.has_value() || *along >= static_cast<int64_t>(pair->b->dims.size())) return;
    pair->concatenated = *along;
    for (const SourcePart& part : candidate_->parts()) {
      if (part.rank >= pair->part_b->rank || part.repeat != pair->part_b->repeat) continue;
      for (const SourceTensor& t : part.tensors) {
        if (map_.NameOf(t.name) + t.suffix != key || t.dims.size() != pair->b->dims.size()) continue;
        pair->offset += t.dims[static_cast<size_t>(*along)];
      }
    }
  }

  static int64_t BytesOf(const Pair& pair) {
    return (pair.a != nullptr && pair.a->tensor != nullptr ? pair.a->tensor->bytes : 0) +
           (pair.b != nullptr && pair.b->tensor != nullptr ? pair.b->tensor->bytes : 0);
  }

  size_t BatchEnd(const std::vector<Pair>& pairs, size_t begin) const {
    if (context_.threads->count() == 1 || BytesOf(pairs[begin]) > kLargeBytes) return begin + 1;
    int64_t bytes = 0;
    size_t end = begin;
    while (end < pairs.size() && end - begin < kBatch) {
      const int64_t more = BytesOf(pairs[end]);
      if (more > kLargeBytes || bytes + more > kBatchBytes) break;
      bytes += more;
      ++end;
    }
    return std::max(end, begin + 1);
  }

  void Describe(const Pair& pair, CompareRow* row) const {
    const SourceTensor& named = pair.a != nullptr ? *pair.a : *pair.b;
    row->tensor = (pair.a != nullptr ? named.name : map_.NameOf(named.name)) + named.suffix;
    row->index = named.index;
    row->op = named.op;
    row->ranks = several_;
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
    row->bytes = BytesOf(pair);
  }

  StatusOr<CompareRow> CompareOne(const Pair& pair, Threads* threads) {
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
    PLINTH_ASSIGN_OR_RETURN(StridedRef a, map_.LayOut(pair.a->name, false, *pair.a->tensor));
    PLINTH_ASSIGN_OR_RETURN(StridedRef b, map_.LayOut(pair.a->name, true, *pair.b->tensor));
    if (!TakeShare(pair, b, &a, &row)) {
      JudgeBroken("shape", &row);
      return row;
    }
    row.dims = a.dims, row.candidate_dims = b.dims;
    if (a.size() != b.size()) {
      row.reasons = {
          StrCat("shape [", Join(b.dims, ", "), "] against [", Join(a.dims, ", "), "]", PaddingHint(a, b))};
      JudgeBroken("shape", &row);
      return row;
    }
    DifferOptions how = {
        .sha256 = options_.digest, .canary = options_.canary, .threads = threads, .isa = context_.isa};
    PLINTH_ASSIGN_OR_RETURN(row.difference, Differ(a, b, how));
    // Two tensors without one number in common show nothing.
    row.compared = row.difference.finite_both > 0;
    if (options_.digest) PLINTH_RETURN_IF_ERROR(CheckDigests(pair, row.difference));
    PLINTH_RETURN_IF_ERROR(Judge(pair, a, b, &row));
    if (rules_ != nullptr) PLINTH_RETURN_IF_ERROR(JudgeByRules(pair, a, b, threads, &row));
    if (pair.truth != nullptr) PLINTH_RETURN_IF_ERROR(AgainstTruth(pair, a, b, threads, &row));
    return row;
  }

  void JudgeBroken(std::string_view kind, CompareRow* row) const {
    if (rules_ == nullptr) return;
    row->judged = rules_->Broken(row->reasons.front(), kind);
    Mistrust(row);
  }

  // By rules that do not find planted faults nothing is right.
  void Mistrust(CompareRow* row) const {
    if (rules_->missed().empty()) return;
    row->status = CheckStatus::kMistrusted;
    row->judged->verdict.verdict = Verdict::kFail;
    row->judged->verdict.reason = StrCat("the rule set's self-test missed ", rules_->missed());
    row->reasons = {row->judged->verdict.reason};
  }

  // Truth or incumbent, laid out as the reference; nothing where there is no such tensor.
  Status Beside(const Pair& pair, const SourceTensor* t, const StridedRef& b, Copied* copy,
                std::optional<formats::ConstTensorRef>* out) const {
    if (t == nullptr || t->tensor == nullptr) return absl::OkStatus();
    PLINTH_ASSIGN_OR_RETURN(StridedRef view, map_.LayOut(pair.a->name, false, *t->tensor));
    CompareRow unused;
    // One that is of ranks itself has the candidate's shape already; one that does not fit is found below.
    if (view.dims != b.dims) static_cast<void>(TakeShare(pair, b, &view, &unused));
    MakeDense(view, copy, std::numeric_limits<int64_t>::max());
    *out = copy->ref;
    return absl::OkStatus();
  }

  // How the ranks differ where they must hold the same bits; else empty.
  std::string RanksDiffer(const Pair& pair, std::string_view op) const {
    if (pair.concatenated >= 0 || !rules_->IdenticalRanks(op, options_.class_name)) return "";
    std::vector<formats::ConstTensorRef> ranks;
    for (const SourcePart& part : candidate_->parts()) {
      if (part.repeat != pair.part_b->repeat) continue;
      for (const SourceTensor& t : part.tensors) {
        if (t.tensor != nullptr && t.name == pair.b->name && t.suffix == pair.b->suffix)
          ranks.push_back(*t.tensor);
      }
    }
    return RankDifference(ranks);
  }

  Status JudgeByRules(const Pair& pair, const StridedRef& a, const StridedRef& b, Threads* threads,
                      CompareRow* row) const {
    Copied d, first, second, reference;
    RowToJudge question;
    question.name = pair.a->name;
    TensorsToJudge& t = question.tensors;
    t.op = pair.a->op.empty() ? pair.b->op : pair.a->op;
    t.class_name = options_.class_name;
    t.canary = options_.canary;
    t.threads = threads;
    MakeDense(b, &d, std::numeric_limits<int64_t>::max());
    MakeDense(a, &reference, std::numeric_limits<int64_t>::max());
    t.candidate = d.ref;
    if (reference_is_truth_) {
      t.truth = reference.ref;
    } else {
      PLINTH_RETURN_IF_ERROR(Beside(pair, pair.truth, b, &first, &t.truth));
      if (incumbent_ == nullptr) t.incumbent = reference.ref;
    }
    PLINTH_RETURN_IF_ERROR(Beside(pair, pair.incumbent, b, &second, &t.incumbent));
    // Of a rank's part of a tensor, a band of the whole says nothing.
    if (pair.concatenated < 0) t.band = rules_->Band(row->rank, pair.a->name + pair.a->suffix);
    t.structure = RanksDiffer(pair, t.op);
    if (!t.structure.empty()) t.structure_kind = "ranks";
    question.required = t.incumbent.has_value() ? *t.incumbent : reference.ref;
    PLINTH_ASSIGN_OR_RETURN(row->judged, rules_->Judge(question));
    TakeVerdict(pair, a, b, row);
    Mistrust(row);
    return absl::OkStatus();
  }

  // The line that was asked first counts only where the rules could decide nothing about numbers.
  void TakeVerdict(const Pair& pair, const StridedRef& a, const StridedRef& b, CompareRow* row) const {
    TensorVerdict& v = row->judged->verdict;
    if (row->judged->word() == "unproven") {
      if (row->status == CheckStatus::kFailed) {
        v.verdict = Verdict::kFail;
        v.reason = StrCat("rules 2 to 4 are undecided and the line without truth and bands is broken: ",
                          row->reasons.front());
        row->reasons.front() = v.reason;
        return;
      }
      row->status = CheckStatus::kUnproven;
      row->reasons = {v.reason};
      return;
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
    if (v.verdict == Verdict::kFail && !explained) Explain(pair, a, b, std::max(line, 0.0), row);
  }

  bool TakeShare(const Pair& pair, const StridedRef& b, StridedRef* a, CompareRow* row) const {
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

  static std::string PaddingHint(const StridedRef& a, const StridedRef& b) {
    if (a.dims.size() != b.dims.size()) return "";
    int longer = 0;
    for (size_t k = 0; k < a.dims.size(); ++k) {
      if (b.dims[k] < a.dims[k]) return "";
      longer += b.dims[k] > a.dims[k] ? 1 : 0;
    }
    return longer == 1 ? "; if the candidate is padded, a layout rule with slice compares the rest" : "";
  }

  static Status CheckDigests(const Pair& pair, const Difference& d) {
    const auto check = [](const SourcePart& part, const SourceTensor& t, const std::string& found) -> Status {
      if (t.entry == nullptr || t.entry->digest.empty() || t.entry->digest == found) return absl::OkStatus();
      return absl::DataLossError(StrCat(
          part.capture->folder(), ": tensor ", formats::QuotedShort(t.name + t.suffix), " has the sha256 ",
          found.substr(0, 12), "..., capture.json says ", t.entry->digest.substr(0, 12), "..."));
    };
    PLINTH_RETURN_IF_ERROR(check(*pair.part_a, *pair.a, d.sha256_a));
    return check(*pair.part_b, *pair.b, d.sha256_b);
  }

  Status Judge(const Pair& pair, const StridedRef& a, const StridedRef& b, CompareRow* row) const {
    const Difference& d = row->difference;
    PLINTH_ASSIGN_OR_RETURN(const ComparisonLine line,
                            LineFor(options_.class_name, d.unit_element, options_.k));
    row->limit = line.rel_l2.value_or(-1);
    row->level = LevelOfError(d.rel_l2);
    Copied dense_a, dense_b;
    const auto dense = [&] { return MakeDense(a, &dense_a) && MakeDense(b, &dense_b); };
    std::optional<ErrorPlaces> places;
    const bool shapes_agree = a.dims == b.dims;
    if (line.rel_l2.has_value() && *line.rel_l2 > 0 && shapes_agree && MayHavePlaces(d, *line.rel_l2) &&
        dense()) {
      places = PlacesOf(dense_a.ref, dense_b.ref, d, *line.rel_l2);
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
    row->status = !verdict.broken.empty()   ? CheckStatus::kFailed
                  : !verdict.warned.empty() ? CheckStatus::kWarned
                  : !line.unproven.empty()  ? CheckStatus::kUnproven
                                            : CheckStatus::kPassed;
    row->reasons = std::move(verdict.broken);
    row->reasons.insert(row->reasons.end(), verdict.warned.begin(), verdict.warned.end());
    if (!line.unproven.empty()) row->reasons.push_back(line.unproven);
    if (row->status == CheckStatus::kFailed) Explain(pair, a, b, line.rel_l2.value_or(0), row);
    return absl::OkStatus();
  }

  static void Explain(const Pair& pair, const StridedRef& a, const StridedRef& b, double limit,
                      CompareRow* row) {
    Copied dense_a, dense_b;
    if (!MakeDense(a, &dense_a) || !MakeDense(b, &dense_b)) return;
    DiagnosisHints hints = {.limit = limit};
    if (pair.before != nullptr) hints.earlier.push_back(*pair.before->tensor);
    row->findings = Diagnose(dense_a.ref, dense_b.ref, row->difference, hints);
    row->reference_grid = GridOf(dense_a.ref);
    row->candidate_grid = GridOf(dense_b.ref);
  }

  Status AgainstTruth(const Pair& pair, const StridedRef& a, const StridedRef& b, Threads* threads,
                      CompareRow* row) const {
    if (pair.truth->tensor == nullptr || pair.concatenated >= 0) return absl::OkStatus();
    PLINTH_ASSIGN_OR_RETURN(const StridedRef t, map_.LayOut(pair.a->name, false, *pair.truth->tensor));
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
      row->findings.push_back(
          {"precision", StrCat("the ", side, " shows the error of ", LevelName(level), " (", error,
                               " against the truth), but is ", InfoOf(own).name)});
    };
    betray("reference", of_a, row->difference.element_a);
    betray("candidate", of_b, row->difference.element_b);
    return absl::OkStatus();
  }

  // Statistics alone can show that something is wrong, not that it is right.
  void CompareStatistics(const Pair& pair, CompareRow* row) const {
    const auto stats = [](const SourceTensor& t) -> std::optional<formats::TensorStats> {
      if (t.entry != nullptr && t.entry->stats.has_value()) return t.entry->stats;
      if (t.tensor != nullptr) return formats::StatsOf(*t.tensor);
      return std::nullopt;
    };
    const auto a = stats(*pair.a), b = stats(*pair.b);
    row->bytes = 0;
    row->status = CheckStatus::kUnproven;
    if (!a.has_value() || !b.has_value()) {
      row->reasons = {"neither tensor nor statistics were recorded on both sides"};
      return;
    }
    const auto element = ElementFromName(row->dtype);
    const double limit = element.has_value() ? DefaultLimit(*element) : 0;
    const auto near = [&](double x, double y, double size) { return std::abs(x - y) <= 4 * limit * size; };
    std::vector<std::string>& reasons = row->reasons;
    if (row->dims != row->candidate_dims) reasons.push_back("the shapes differ");
    if (a->nan != b->nan || a->pos_inf != b->pos_inf || a->neg_inf != b->neg_inf) {
      reasons.push_back("the counts of NaN and infinities differ");
    }
    const double rms = a->finite > 0 ? a->l2 / std::sqrt(static_cast<double>(a->finite)) : 0;
    if (!near(a->l2, b->l2, a->l2)) reasons.push_back("the norms differ beyond the limit");
    if (!near(a->mean, b->mean, rms)) reasons.push_back("the means differ beyond the limit");
    if (!reasons.empty()) {
      row->status = CheckStatus::kFailed;
      return;
    }
    reasons = {"statistics alone agree; tensors were not recorded"};
  }

  void Count(const CompareRow& row) {
    ++summary_.tensors;
    if (row.judged.has_value()) rules_->Count(*row.judged, LabelOf(row));
    summary_.compared += row.compared ? 1 : 0;
    summary_.bytes += row.bytes;
    switch (row.status) {
      case CheckStatus::kPassed:
        ++summary_.passed;
        return;
      case CheckStatus::kWarned:
        ++summary_.warned;
        return;
      case CheckStatus::kUnproven:
        ++summary_.unproven;
        return;
      case CheckStatus::kMissing:
        ++summary_.missing;
        break;
      case CheckStatus::kExtra:
        ++summary_.extra;
        if (options_.allow_extra) return;
        break;
      default:
        ++summary_.failed;
    }
    if (summary_.first_failed.empty()) summary_.first_failed = row.tensor;
    ++failed_of_rank_[row.rank];
  }

  static std::string LabelOf(const CompareRow& row) {
    return StrCat(row.tensor, row.ranks ? StrCat(" (rank ", row.rank, ", repeat ", row.repeat, ")") : "");
  }

  void WorstRank() {
    if (!several_) return;
    int64_t most = 0;
    for (const auto& [rank, failed] : failed_of_rank_) {
      if (failed > most) most = failed, summary_.worst_rank = rank;
    }
  }

  void Release(const Pair& pair) const {
    // What is small, or still needed as an earlier entry, is left to the system.
    if (BytesOf(pair) < kLargeBytes) return;
    if (pair.a != nullptr) reference_->ReleasePages(*pair.part_a, *pair.a);
    if (pair.b != nullptr) candidate_->ReleasePages(*pair.part_b, *pair.b);
  }

  const Context& context_;
  const CompareOptions& options_;
  std::unique_ptr<TensorSource> reference_, candidate_, truth_, incumbent_;
  std::unique_ptr<RuleJudge> rules_;
  bool reference_is_truth_ = false;
  TensorMap map_;
  const re2::RE2* only_ = nullptr;
  bool several_ = false;
  std::vector<CompareRow> missing_ranks_;
  std::map<int64_t, int64_t> failed_of_rank_;
  CompareSummary summary_;
};

}  // namespace

std::string_view CompareSummary::verdict() const {
  const auto broken = [](const RequirementResult& r) { return r.status == "failed"; };
  const bool refused =
      rules.has_value() &&
      (!rules->missed.empty() || std::any_of(rules->requirements.begin(), rules->requirements.end(), broken));
  if (compared == 0 || all_failed() > 0 || refused) return "fail";
  return warned > 0 || unproven > 0 ? "warn" : "pass";
}

StatusOr<CompareSummary> CompareFiles(const Context& context, const CompareOptions& options,
                                      const std::function<void(const CompareRow&)>& sink) {
  return Comparer(context, options).Run(sink);
}

}  // namespace plinth::verify
