#include "plinth/verify/compare_pairs.h"

#include <re2/re2.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "plinth/formats/json.h"

namespace plinth::verify {
namespace {

using ByKey = std::unordered_map<std::string, const SourceTensor*>;

ByKey KeysOf(const SourcePart& part, const std::vector<std::string>* names) {
  ByKey keys;
  for (size_t i = 0; i < part.tensors.size(); ++i) {
    const SourceTensor& t = part.tensors[i];
    keys.emplace((names == nullptr ? t.name : (*names)[i]) + t.suffix, &t);
  }
  return keys;
}

// The part that stands against the candidate's: same rank and repeat, else the nearest there is.
const SourcePart* Counterpart(const TensorSource& source, const SourcePart& b) {
  const SourcePart* found = nullptr;
  const bool one_rank = source.parts().front().rank == source.parts().back().rank;
  for (const SourcePart& a : source.parts()) {
    if (a.rank != b.rank && !one_rank) continue;
    if (found == nullptr || a.repeat == b.repeat) found = &a;
  }
  return found;
}

ByKey KeysBeside(const TensorSource* source, const SourcePart& b) {
  const SourcePart* part = source == nullptr ? nullptr : Counterpart(*source, b);
  return part == nullptr ? ByKey() : KeysOf(*part, nullptr);
}

class PairMaker {
 public:
  PairMaker(const CompareSides& sides, const re2::RE2* only) : sides_(sides), only_(only) {}

  StatusOr<std::vector<Pair>> Make() {
    std::set<const SourcePart*> met;
    for (const SourcePart& b : sides_.candidate->parts()) {
      const SourcePart* a = Counterpart(*sides_.reference, b);
      if (a == nullptr) {
        for (const SourceTensor& t : b.tensors) pairs_.push_back({.part_b = &b, .b = &t});
        continue;
      }
      met.insert(a);
      PLINTH_RETURN_IF_ERROR(PairParts(*a, b));
    }
    for (const SourcePart& a : sides_.reference->parts()) {
      // A repeat more on this side is no loss; a rank is.
      const bool rank_met =
          std::any_of(met.begin(), met.end(), [&](const SourcePart* m) { return m->rank == a.rank; });
      if (rank_met) continue;
      for (const SourceTensor& t : a.tensors) pairs_.push_back({.part_a = &a, .a = &t});
    }
    return std::move(pairs_);
  }

 private:
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
    PLINTH_ASSIGN_OR_RETURN(const auto mapped, sides_.map.MapNames(unique));
    std::vector<std::string> names;
    for (const SourceTensor& t : part.tensors) names.push_back(mapped[place.at(t.name)]);
    return names;
  }

  Status PairParts(const SourcePart& a, const SourcePart& b) {
    PLINTH_ASSIGN_OR_RETURN(const auto names, Mapped(b));
    const ByKey candidates = KeysOf(b, &names), references = KeysOf(a, nullptr);
    const ByKey truths = KeysBeside(sides_.truth.get(), b),
                incumbents = KeysBeside(sides_.incumbent.get(), b);
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
      pairs_.push_back(pair);
      if (t.tensor != nullptr) before = &t;
    }
    for (size_t i = 0; i < b.tensors.size(); ++i) {
      const std::string key = names[i] + b.tensors[i].suffix;
      if (references.contains(key) || !Wanted(names[i])) continue;
      pairs_.push_back({.part_a = &a, .part_b = &b, .b = &b.tensors[i]});
    }
    return absl::OkStatus();
  }

  // Where ranks hold parts of one reference tensor, which part this one is.
  void FindShare(const std::string& key, Pair* pair) const {
    const auto& parts = sides_.reference->parts();
    if (pair->part_a->rank == pair->part_b->rank && parts.front().rank != parts.back().rank) return;
    const auto along = sides_.map.ConcatenatedAlong(pair->a->name);
    if (!along.has_value() || *along >= static_cast<int64_t>(pair->b->dims.size())) return;
    pair->concatenated = *along;
    for (const SourcePart& part : sides_.candidate->parts()) {
      if (part.rank >= pair->part_b->rank || part.repeat != pair->part_b->repeat) continue;
      for (const SourceTensor& t : part.tensors) {
        if (sides_.map.NameOf(t.name) + t.suffix != key || t.dims.size() != pair->b->dims.size()) continue;
        pair->offset += t.dims[static_cast<size_t>(*along)];
      }
    }
  }

  const CompareSides& sides_;
  const re2::RE2* only_;
  std::vector<Pair> pairs_;
};

}  // namespace

int64_t Pair::bytes() const {
  return (a != nullptr && a->tensor != nullptr ? a->tensor->bytes : 0) +
         (b != nullptr && b->tensor != nullptr ? b->tensor->bytes : 0);
}

StatusOr<std::vector<Pair>> MakePairs(const CompareSides& sides, const std::string& only) {
  if (only.empty()) return PairMaker(sides, nullptr).Make();
  re2::RE2::Options quiet;
  quiet.set_log_errors(false);
  const re2::RE2 wanted(only, quiet);
  if (!wanted.ok()) {
    return absl::InvalidArgumentError(
        StrCat("--only ", formats::QuotedShort(only), " is no regular expression: ", wanted.error()));
  }
  return PairMaker(sides, &wanted).Make();
}

std::vector<MissingRank> FindMissingRanks(const CompareSides& sides) {
  constexpr int64_t kShown = 4096;
  std::vector<MissingRank> missing;
  for (const TensorSource* source : {sides.reference.get(), sides.candidate.get()}) {
    std::set<int64_t> ranks;
    int64_t world = 1;
    for (const SourcePart& part : source->parts()) {
      ranks.insert(part.rank);
      world = std::max(world, part.world);
    }
    for (int64_t rank = 0; rank < std::min(world, kShown); ++rank) {
      if (!ranks.contains(rank)) missing.push_back({source->path(), rank, world});
    }
  }
  return missing;
}

}  // namespace plinth::verify
