#include <cmath>

#include "plinth/verify/compare_row.h"

namespace plinth::verify {

// Statistics alone can show that something is wrong, not that it is right.
void CompareStatistics(const Pair& pair, CompareRow* row) {
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

}  // namespace plinth::verify
