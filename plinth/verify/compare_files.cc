#include "plinth/verify/compare_files.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "plinth/verify/compare_pairs.h"
#include "plinth/verify/compare_row.h"
#include "plinth/verify/compare_rules.h"

namespace plinth::verify {
namespace {

constexpr int64_t kLargeBytes = 4 << 20;  // pairs beyond are cut into pieces, smaller ones go side by side
constexpr int64_t kBatchBytes = 64 << 20;
constexpr size_t kBatch = 256;

class Comparer {
 public:
  Comparer(const Context& context, const CompareOptions& options) : context_(context), options_(options) {}

  StatusOr<CompareSummary> Run(const std::function<void(const CompareRow&)>& sink) {
    const auto start = std::chrono::steady_clock::now();
    PLINTH_RETURN_IF_ERROR(Open());
    PLINTH_ASSIGN_OR_RETURN(const std::vector<Pair> pairs, MakePairs(sides_, options_.only));
    const RowComparer comparer(context_, options_, sides_, rules_.get());
    summary_.extra_allowed = options_.allow_extra;
    for (size_t begin = 0; begin < pairs.size();) {
      if (options_.interrupted && options_.interrupted()) return absl::CancelledError("interrupted");
      const size_t end = BatchEnd(pairs, begin);
      PLINTH_RETURN_IF_ERROR(OneBatch(comparer, std::span(pairs).subspan(begin, end - begin), sink));
      begin = end;
    }
    for (const MissingRank& missing : FindMissingRanks(sides_)) {
      const CompareRow row = comparer.OfMissingRank(missing);
      Count(row);
      sink(row);
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
    sides_.reference = std::make_unique<TensorSource>(std::move(reference));
    sides_.candidate = std::make_unique<TensorSource>(std::move(candidate));
    if (!options_.truth.empty()) {
      PLINTH_ASSIGN_OR_RETURN(auto truth, TensorSource::Open(options_.truth));
      sides_.truth = std::make_unique<TensorSource>(std::move(truth));
    }
    if (!options_.map.empty()) {
      PLINTH_ASSIGN_OR_RETURN(sides_.map, TensorMap::Load(options_.map));
    }
    PLINTH_RETURN_IF_ERROR(LineFor(options_.class_name, Element::kF32, options_.k).status());
    if (!options_.allow_different)
      PLINTH_RETURN_IF_ERROR(CheckSameOrigin(*sides_.reference, *sides_.candidate));
    return OpenRules();
  }

  // What each side is to the rules.
  Status OpenRules() {
    if (!options_.rules.has_value()) return absl::OkStatus();
    const std::string& path = options_.rules->incumbent;
    if (!path.empty()) {
      PLINTH_ASSIGN_OR_RETURN(auto incumbent, TensorSource::Open(path));
      sides_.incumbent = std::make_unique<TensorSource>(std::move(incumbent));
      if (!options_.allow_different)
        PLINTH_RETURN_IF_ERROR(CheckSameOrigin(*sides_.candidate, *sides_.incumbent));
    }
    std::error_code error;
    sides_.reference_is_truth = sides_.truth == nullptr
                                    ? sides_.incumbent != nullptr
                                    : std::filesystem::equivalent(options_.truth, options_.reference, error);
    const TensorSource* same = options_.allow_different ? nullptr : sides_.candidate.get();
    PLINTH_ASSIGN_OR_RETURN(auto rules, RuleJudge::Open(*options_.rules, same, context_.threads));
    rules_ = std::make_unique<RuleJudge>(std::move(rules));
    return absl::OkStatus();
  }

  size_t BatchEnd(const std::vector<Pair>& pairs, size_t begin) const {
    if (context_.threads->count() == 1 || pairs[begin].bytes() > kLargeBytes) return begin + 1;
    int64_t bytes = 0;
    size_t end = begin;
    while (end < pairs.size() && end - begin < kBatch) {
      const int64_t more = pairs[end].bytes();
      if (more > kLargeBytes || bytes + more > kBatchBytes) break;
      bytes += more;
      ++end;
    }
    return std::max(end, begin + 1);
  }

  // Side by side where there are several; rows come out in order.
  Status OneBatch(const RowComparer& comparer, std::span<const Pair> pairs,
                  const std::function<void(const CompareRow&)>& sink) {
    std::vector<StatusOr<CompareRow>> rows(pairs.size(), StatusOr<CompareRow>(CompareRow()));
    if (pairs.size() == 1) {
      rows[0] = comparer.Compare(pairs[0], context_.threads);
    } else {
      context_.threads->For(static_cast<int64_t>(pairs.size()), [&](int64_t i, int) {
        rows[static_cast<size_t>(i)] = comparer.Compare(pairs[static_cast<size_t>(i)], nullptr);
      });
    }
    for (auto& row : rows) {
      if (!row.ok()) return row.status();
      Count(*row);
      sink(*row);
    }
    for (const Pair& pair : pairs) Release(pair);
    return absl::OkStatus();
  }

  void Count(const CompareRow& row) {
    ++summary_.tensors;
    if (row.judged.has_value()) rules_->Count(*row.judged, LabelOf(row));
    summary_.compared += row.compared ? 1 : 0;
    if (row.difference.nan_both() > 0 && summary_.with_nan++ == 0) summary_.first_with_nan = row.tensor;
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
    if (!sides_.several()) return;
    int64_t most = 0;
    for (const auto& [rank, failed] : failed_of_rank_) {
      if (failed > most) most = failed, summary_.worst_rank = rank;
    }
  }

  void Release(const Pair& pair) const {
    // What is small, or still needed as an earlier entry, is left to the system.
    if (pair.bytes() < kLargeBytes) return;
    if (pair.a != nullptr) sides_.reference->ReleasePages(*pair.part_a, *pair.a);
    if (pair.b != nullptr) sides_.candidate->ReleasePages(*pair.part_b, *pair.b);
  }

  const Context& context_;
  const CompareOptions& options_;
  CompareSides sides_;
  std::unique_ptr<RuleJudge> rules_;
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
