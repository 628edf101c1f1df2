// Retrieval: recall, precision and nDCG at cut-offs, reciprocal rank, average precision; as trec_eval 9
// computes them, ties included.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "plinth/verify/metrics/task.h"

namespace plinth::verify::metrics {
namespace {

using formats::JsonValue;

using Grades = std::unordered_map<std::string, int64_t>;

// One ranking against the grades of its query.
class Ranking {
 public:
  Ranking(const std::vector<std::string>& documents, const Grades& grades) {
    for (const std::string& document : documents) {
      const auto at = grades.find(document);
      found_.push_back(at == grades.end() ? 0 : at->second);
    }
    for (const auto& [document, grade] : grades) {
      if (grade > 0) ideal_.push_back(grade);
    }
    std::sort(ideal_.begin(), ideal_.end(), std::greater<>());
  }
  double Hits(size_t k) const {
    const auto end = found_.begin() + static_cast<int64_t>(std::min(k, found_.size()));
    return static_cast<double>(std::count_if(found_.begin(), end, [](int64_t grade) { return grade > 0; }));
  }
  double Recall(size_t k) const { return ideal_.empty() ? 0 : Hits(k) / static_cast<double>(ideal_.size()); }
  double Precision(size_t k) const { return Hits(k) / static_cast<double>(k); }
  double Ndcg(size_t k) const {
    const double best = Gain(ideal_, k);
    return best > 0 ? Gain(found_, k) / best : 0;
  }
  double ReciprocalRank() const {
    const auto first = std::find_if(found_.begin(), found_.end(), [](int64_t grade) { return grade > 0; });
    return first == found_.end() ? 0 : 1 / static_cast<double>(first - found_.begin() + 1);
  }
  double AveragePrecision() const {
    double hits = 0, sum = 0;
    for (size_t i = 0; i < found_.size(); ++i) {
      if (found_[i] <= 0) continue;
      hits += 1;
      sum += hits / static_cast<double>(i + 1);
    }
    return ideal_.empty() ? 0 : sum / static_cast<double>(ideal_.size());
  }

 private:
  // Grades below 1 gain nothing.
  static double Gain(const std::vector<int64_t>& grades, size_t k) {
    double sum = 0;
    for (size_t i = 0; i < std::min(k, grades.size()); ++i) {
      if (grades[i] > 0) sum += static_cast<double>(grades[i]) / std::log2(static_cast<double>(i) + 2);
    }
    return sum;
  }
  std::vector<int64_t> found_, ideal_;
};

class RetrievalTask : public Task {
 public:
  explicit RetrievalTask(std::vector<int64_t> ks) : ks_(std::move(ks)) {
    Between("agreement", Better::kHigher, 1);
    for (const int64_t k : ks_)
      at_.push_back({static_cast<size_t>(k), Mean(StrCat("recall@", k), Better::kHigher), 0, 0});
    for (At& at : at_) at.precision = Mean(StrCat("precision@", at.k), Better::kHigher);
    for (At& at : at_) at.ndcg = Mean(StrCat("ndcg@", at.k), Better::kHigher);
    ndcg_ = Mean("ndcg", Better::kHigher);
    mrr_ = Mean("mrr", Better::kHigher);
    map_ = Mean("map", Better::kHigher);
  }

  Status Add(const Sample& sample) override {
    Grades grades;
    PLINTH_RETURN_IF_ERROR(ReadGrades(sample.truth, &grades));
    PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> reference, ReadRanking(sample.reference));
    PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> candidate, ReadRanking(sample.candidate));
    const Ranking a(reference, grades), b(candidate, grades);
    const size_t i = sample.index;
    for (const At& at : at_) {
      metrics[at.recall].Set(i, a.Recall(at.k), b.Recall(at.k));
      metrics[at.precision].Set(i, a.Precision(at.k), b.Precision(at.k));
      metrics[at.ndcg].Set(i, a.Ndcg(at.k), b.Ndcg(at.k));
    }
    constexpr size_t kAll = std::numeric_limits<size_t>::max();
    metrics[ndcg_].Set(i, a.Ndcg(kAll), b.Ndcg(kAll));
    metrics[mrr_].Set(i, a.ReciprocalRank(), b.ReciprocalRank());
    metrics[map_].Set(i, a.AveragePrecision(), b.AveragePrecision());
    const size_t first_a = std::min(reference.size(), at_.back().k),
                 first_b = std::min(candidate.size(), at_.back().k);
    const bool same =
        first_a == first_b &&
        std::equal(reference.begin(), reference.begin() + static_cast<int64_t>(first_a), candidate.begin());
    metrics[0].Set(i, 0, same ? 1 : 0);
    return absl::OkStatus();
  }

 private:
  struct At {
    size_t k, recall, precision, ndcg;
  };

  // {"document": grade}, or a list of relevant documents.
  static Status ReadGrades(const Row& row, Grades* grades) {
    constexpr std::string_view kWanted =
        "an object {document: grade}, or a list of relevant documents (here, or in a file given by "
        "--labels),";
    const JsonValue* value = row.Find("relevant");
    if (value == nullptr) return row.Refuse("relevant", nullptr, kWanted);
    if (value->array() != nullptr) {
      PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> documents, row.Texts("relevant"));
      for (const std::string& document : documents) {
        if (!grades->emplace(document, 1).second) return Twice(row, "relevant", document);
      }
      return absl::OkStatus();
    }
    if (value->object() == nullptr) return row.Refuse("relevant", value, kWanted);
    for (const auto& [document, grade] : *value->object()) {
      if (grade.integer() == nullptr) return row.Refuse(StrCat("relevant.", document), &grade, "an integer");
      (*grades)[document] = *grade.integer();
    }
    return absl::OkStatus();
  }

  static Status Twice(const Row& row, const char* key, const std::string& document) {
    return row.Refuse(StrCat("\"", key, "\" holds ", formats::QuotedShort(document),
                             " twice; each document once is expected"));
  }

  // "ranking" as it stands, or "scores" by falling score. trec_eval holds scores in single precision and puts
  // documents of equal score in falling order of their names' bytes.
  static StatusOr<std::vector<std::string>> ReadRanking(const Row& row) {
    const JsonValue* ranking = row.Find("ranking");
    if (ranking != nullptr) {
      if (ranking->array() == nullptr)
        return row.Refuse("ranking", ranking, "a list of documents, best first,");
      PLINTH_ASSIGN_OR_RETURN(std::vector<std::string> documents, row.Texts("ranking"));
      std::unordered_set<std::string_view> seen;
      for (const std::string& document : documents) {
        if (!seen.insert(document).second) return Twice(row, "ranking", document);
      }
      return documents;
    }
    const JsonValue* scores = row.Find("scores");
    if (scores == nullptr || scores->object() == nullptr) {
      return row.Refuse(scores == nullptr ? "ranking" : "scores", scores,
                        "a list of documents, best first, or \"scores\" with an object {document: score},");
    }
    std::vector<std::pair<float, std::string>> pairs;
    for (const auto& [document, score] : *scores->object()) {
      double number = 0;
      if (!ToNumber(score, &number))
        return row.Refuse(StrCat("scores.", document), &score, "a finite number");
      pairs.emplace_back(static_cast<float>(number), document);
    }
    std::sort(pairs.begin(), pairs.end(), std::greater<>());
    std::vector<std::string> documents;
    for (auto& [score, document] : pairs) documents.push_back(std::move(document));
    return documents;
  }

  const std::vector<int64_t> ks_;
  std::vector<At> at_;
  size_t ndcg_, mrr_, map_;
};

}  // namespace

StatusOr<std::unique_ptr<Task>> MakeRetrievalTask(const MetricsOptions& options) {
  PLINTH_ASSIGN_OR_RETURN(std::vector<int64_t> ks, SortedKs(options));
  return std::make_unique<RetrievalTask>(std::move(ks));
}

}  // namespace plinth::verify::metrics
