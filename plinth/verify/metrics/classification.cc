// Classification: accuracy, precision, recall and F1 in their averages, ROC AUC, average precision, crossings
// of declared thresholds, the confusion matrix. Definitions as in scikit-learn's metrics.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "plinth/formats/json_writer.h"
#include "plinth/verify/metrics/ranked_scores.h"
#include "plinth/verify/metrics/task.h"

namespace plinth::verify::metrics {
namespace {

using formats::JsonValue;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kMostConfusionClasses = 50;
constexpr size_t kMostCurveClasses = 100;
// Predictions that a score and the threshold make; which classes these are shows when all samples are read.
constexpr int32_t kByScorePositive = -1, kByScoreNegative = -2;

// Precision, recall and F1 of one class from its counts; 0 where nothing was predicted or nothing is true.
struct ClassScore {
  double precision, recall, f1;
};
ClassScore ScoreOf(double hits, double predicted, double actual) {
  return {predicted > 0 ? hits / predicted : 0, actual > 0 ? hits / actual : 0,
          predicted + actual > 0 ? 2 * hits / (predicted + actual) : 0};
}

// Averages over the classes that occur in truth or prediction.
class LabelMetrics : public JointMetrics {
 public:
  // truth, predicted: classes below `classes`; positive: the class of the binary scores, -1: none.
  LabelMetrics(std::vector<int32_t> truth, std::vector<int32_t> reference, std::vector<int32_t> candidate,
               size_t classes, int32_t positive)
      : truth_(std::move(truth)),
        predicted_{std::move(reference), std::move(candidate)},
        classes_(classes),
        positive_(positive) {
    for (const char* name : {"precision_macro", "recall_macro", "f1_macro", "f1_micro", "f1_weighted"}) {
      names_.push_back({name, Better::kHigher});
    }
    if (positive >= 0) {
      for (const char* name : {"precision", "recall", "f1"}) names_.push_back({name, Better::kHigher});
    }
  }
  const std::vector<Name>& names() const override { return names_; }
  double Steps() const override { return 4 * static_cast<double>(truth_.size() + classes_); }

  void Evaluate(bool of_candidate, std::span<const uint32_t> counts, std::span<double> out) const override {
    const std::vector<int32_t>& predicted = predicted_[of_candidate ? 1 : 0];
    std::vector<double> hits(classes_), guesses(classes_), actual(classes_);
    double total = 0, all_hits = 0;
    for (size_t i = 0; i < truth_.size(); ++i) {
      const double times = counts.empty() ? 1 : counts[i];
      const auto t = static_cast<size_t>(truth_[i]), p = static_cast<size_t>(predicted[i]);
      actual[t] += times;
      guesses[p] += times;
      total += times;
      if (t == p) hits[t] += times, all_hits += times;
    }
    double precision = 0, recall = 0, f1 = 0, weighted = 0, present = 0;
    for (size_t c = 0; c < classes_; ++c) {
      if (guesses[c] + actual[c] == 0) continue;
      const ClassScore score = ScoreOf(hits[c], guesses[c], actual[c]);
      precision += score.precision;
      recall += score.recall;
      f1 += score.f1;
      weighted += score.f1 * actual[c];
      present += 1;
    }
    const auto share = [](double sum, double n) { return n > 0 ? sum / n : kNan; };
    out[0] = share(precision, present), out[1] = share(recall, present), out[2] = share(f1, present);
    out[3] = share(all_hits, total), out[4] = share(weighted, total);
    if (positive_ < 0) return;
    const auto c = static_cast<size_t>(positive_);
    const ClassScore score = ScoreOf(hits[c], guesses[c], actual[c]);
    out[5] = score.precision, out[6] = score.recall, out[7] = score.f1;
  }

 private:
  std::vector<int32_t> truth_, predicted_[2];
  size_t classes_;
  int32_t positive_;
  std::vector<Name> names_;
};

// Areas under the curves of one or more classes against the rest; macro averages over those that have one.
class CurveMetrics : public JointMetrics {
 public:
  CurveMetrics(std::vector<Name> names, std::vector<RankedScores> reference,
               std::vector<RankedScores> candidate, size_t samples)
      : names_(std::move(names)), sides_{std::move(reference), std::move(candidate)}, samples_(samples) {}
  const std::vector<Name>& names() const override { return names_; }
  // Counts are fetched in the order of scores, from all over memory.
  double Steps() const override { return 16 * static_cast<double>(samples_ * sides_[0].size()); }
  void Evaluate(bool of_candidate, std::span<const uint32_t> counts, std::span<double> out) const override {
    double auc = 0, precision = 0, n = 0;
    for (const RankedScores& scores : sides_[of_candidate ? 1 : 0]) {
      const RankedScores::Areas areas = scores.Evaluate(counts);
      if (sides_[0].size() > 1 && std::isnan(areas.roc_auc)) continue;
      auc += areas.roc_auc;
      precision += areas.average_precision;
      n += 1;
    }
    out[0] = n > 0 ? auc / n : kNan;
    out[1] = n > 0 ? precision / n : kNan;
  }

 private:
  std::vector<Name> names_;
  std::vector<RankedScores> sides_[2];
  size_t samples_;
};

std::string Shortest(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

template <typename T>
void SetAt(std::vector<T>& column, size_t i, T value) {
  if (column.size() <= i) column.resize(i + 1);
  column[i] = value;
}

class ClassificationTask : public Task {
 public:
  explicit ClassificationTask(const MetricsOptions& options)
      : positive_name_(options.positive),
        thresholds_(options.thresholds.empty() ? std::vector<double>{0.5} : options.thresholds) {
    Between("agreement", Better::kHigher, 1);
    Mean("accuracy", Better::kHigher);
  }

  Status Add(const Sample& sample) override {
    const char* key = sample.TruthKey("label");
    if (sample.truth.Find(key) == nullptr) {
      return sample.truth.Refuse(key, nullptr, "the true class (here, or in a file given by --labels)");
    }
    PLINTH_ASSIGN_OR_RETURN(const std::string truth, sample.truth.Name(key));
    SetAt(truth_, sample.index, ClassOf(truth));
    PLINTH_RETURN_IF_ERROR(AddSide(sample, sample.reference, 0));
    PLINTH_RETURN_IF_ERROR(AddSide(sample, sample.candidate, 1));
    ++samples_;
    return absl::OkStatus();
  }

  Status Finish() override {
    PLINTH_RETURN_IF_ERROR(FindPositive());
    for (auto& side : predicted_) {
      for (int32_t& p : side) p = p == kByScorePositive ? positive_ : p == kByScoreNegative ? negative_ : p;
    }
    for (size_t i = 0; i < samples_; ++i) {
      metrics[0].Set(i, 0, predicted_[0][i] == predicted_[1][i] ? 1 : 0);
      metrics[1].Set(i, predicted_[0][i] == truth_[i] ? 1 : 0, predicted_[1][i] == truth_[i] ? 1 : 0);
    }
    AddCurves();
    // Details need the predictions that the metrics take over.
    details_ = MakeDetails();
    joint.insert(joint.begin(), std::make_unique<LabelMetrics>(truth_, predicted_[0], predicted_[1],
                                                               names_.size(), positive_));
    return absl::OkStatus();
  }

  std::string Details() const override { return details_; }

 private:
  int32_t ClassOf(const std::string& name) {
    const auto [at, is_new] = classes_.try_emplace(name, static_cast<int32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return at->second;
  }
  int32_t FindClass(const std::string& name) const {
    const auto at = classes_.find(name);
    return at == classes_.end() ? -1 : at->second;
  }

  Status AddSide(const Sample& sample, const Row& row, int side) {
    const JsonValue* label = row.Find("label");
    const JsonValue* score = row.Find("score");
    const JsonValue* scores = row.Find("scores");
    int32_t predicted = 0;
    if (score != nullptr) {
      PLINTH_ASSIGN_OR_RETURN(const double value, row.Real("score"));
      SetAt(score_[side], sample.index, value);
      ++with_score_[side];
      predicted = value >= thresholds_[0] ? kByScorePositive : kByScoreNegative;
    }
    if (scores != nullptr) {
      PLINTH_ASSIGN_OR_RETURN(predicted, AddScores(row, *scores, sample.index, side));
    }
    if (label != nullptr) {
      PLINTH_ASSIGN_OR_RETURN(const std::string name, row.Name("label"));
      predicted = ClassOf(name);
    } else if (score == nullptr && scores == nullptr) {
      return row.Refuse("label", nullptr, "a class, or a \"score\" or \"scores\",");
    }
    by_score_ |= predicted < 0;
    SetAt(predicted_[side], sample.index, predicted);
    return absl::OkStatus();
  }

  // Keeps the scores of all classes; gives the class of the highest, the first of equal ones.
  StatusOr<int32_t> AddScores(const Row& row, const JsonValue& scores, size_t index, int side) {
    std::vector<std::pair<std::string, double>> pairs;
    if (const JsonValue::Object* object = scores.object()) {
      for (const auto& [name, value] : *object) {
        double number = 0;
        if (!ToNumber(value, &number)) return row.Refuse(StrCat("scores.", name), &value, "a finite number");
        pairs.emplace_back(name, number);
      }
    } else {
      PLINTH_ASSIGN_OR_RETURN(const std::vector<double> list, row.Reals("scores"));
      for (size_t c = 0; c < list.size(); ++c) pairs.emplace_back(StrCat(c), list[c]);
    }
    if (pairs.empty()) return row.Refuse("scores", &scores, "an object {class: score}, or a list of scores,");
    const auto best = std::max_element(pairs.begin(), pairs.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const int32_t predicted = ClassOf(best->first);
    for (const auto& [name, value] : pairs) {
      const auto c = static_cast<size_t>(ClassOf(name));
      if (c >= kMostCurveClasses) continue;
      if (class_scores_[side].size() <= c) class_scores_[side].resize(c + 1);
      auto& column = class_scores_[side][c];
      if (column.size() <= index) column.resize(index + 1, kNan);
      column[index] = value;
    }
    return predicted;
  }

  // Which class is positive: the one asked for, else 1 or true where the truth knows no other than it and one
  // more.
  Status FindPositive() {
    std::vector<bool> in_truth(names_.size());
    for (const int32_t t : truth_) in_truth[static_cast<size_t>(t)] = true;
    const bool asked = !positive_name_.empty();
    if (!asked) {
      for (const char* name : {"1", "true"}) {
        if (positive_name_.empty() && FindClass(name) >= 0) positive_name_ = name;
      }
    }
    const auto others = [&](int32_t positive) {
      std::vector<int32_t> found;
      for (size_t c = 0; c < names_.size(); ++c) {
        if (in_truth[c] && static_cast<int32_t>(c) != positive) found.push_back(static_cast<int32_t>(c));
      }
      return found;
    };
    if (positive_name_.empty() && by_score_) {
      // Only negatives may be there, of a question whose positive is 1 or true.
      const bool flag = FindClass("false") >= 0;
      if (flag || FindClass("0") >= 0) positive_name_ = flag ? "true" : "1";
    }
    if (positive_name_.empty()) {
      if (!by_score_) return absl::OkStatus();
      return absl::InvalidArgumentError(
          "samples have a \"score\" and no \"label\": --positive CLASS says whose score it is, unless the "
          "classes are 0 "
          "and 1 or false and true");
    }
    const int32_t positive = FindClass(positive_name_);
    if (positive < 0 && asked) {
      return absl::InvalidArgumentError(StrCat("--positive ", formats::QuotedShort(positive_name_),
                                               ": no sample has this class; there are ", ClassList()));
    }
    const std::vector<int32_t> negatives = others(positive);
    if (by_score_ && negatives.size() > 1) {
      return absl::InvalidArgumentError(
          StrCat("samples have a \"score\" and no \"label\", but the truth holds more than two classes (",
                 ClassList(), "); \"label\" or \"scores\" is expected"));
    }
    if (negatives.size() > 1 && !asked) return absl::OkStatus();  // many classes, one of which is called 1
    positive_ = ClassOf(positive_name_);
    negative_ = negatives.empty() ? ClassOf(positive_name_ == "1"      ? "0"
                                            : positive_name_ == "true" ? "false"
                                                                       : StrCat("not ", positive_name_))
                                  : negatives[0];
    return absl::OkStatus();
  }

  std::string ClassList() const {
    const size_t shown = std::min<size_t>(names_.size(), 10);
    return StrCat(Join(std::span(names_).first(shown), ", ",
                       [](const std::string& n) { return formats::QuotedShort(n); }),
                  shown < names_.size() ? ", ..." : "");
  }

  bool Complete(int side, size_t c) const {
    const auto& columns = class_scores_[side];
    return c < columns.size() && columns[c].size() == samples_ &&
           std::none_of(columns[c].begin(), columns[c].end(), [](double v) { return std::isnan(v); });
  }

  void AddCurves() {
    const auto ranked = [&](const std::vector<double>& scores, int32_t c) {
      std::vector<bool> positive(samples_);
      for (size_t i = 0; i < samples_; ++i) positive[i] = truth_[i] == c;
      return RankedScores(scores, positive);
    };
    if (positive_ >= 0) {
      const auto p = static_cast<size_t>(positive_);
      for (int side = 0; side < 2; ++side) {
        if (with_score_[side] != samples_ && Complete(side, p)) {
          score_[side] = class_scores_[side][p];
          with_score_[side] = samples_;
        }
      }
      if (with_score_[0] == samples_ && with_score_[1] == samples_) {
        std::vector<RankedScores> sides[2];
        for (int side = 0; side < 2; ++side) sides[side].push_back(ranked(score_[side], positive_));
        joint.push_back(std::make_unique<CurveMetrics>(
            std::vector<JointMetrics::Name>{{"roc_auc"}, {"average_precision"}}, std::move(sides[0]),
            std::move(sides[1]), samples_));
        AddCrossings();
      }
      return;
    }
    std::vector<RankedScores> sides[2];
    for (size_t c = 0; c < names_.size(); ++c) {
      if (!Complete(0, c) || !Complete(1, c)) return;
      for (int side = 0; side < 2; ++side)
        sides[side].push_back(ranked(class_scores_[side][c], static_cast<int32_t>(c)));
    }
    joint.push_back(std::make_unique<CurveMetrics>(
        std::vector<JointMetrics::Name>{{"roc_auc_ovr"}, {"average_precision_ovr"}}, std::move(sides[0]),
        std::move(sides[1]), samples_));
  }

  void AddCrossings() {
    for (const double threshold : thresholds_) {
      const size_t m = Between(StrCat("crossings@", Shortest(threshold)), Better::kLower, 0);
      int64_t up = 0, down = 0;
      for (size_t i = 0; i < samples_; ++i) {
        const bool before = score_[0][i] >= threshold, after = score_[1][i] >= threshold;
        up += !before && after;
        down += before && !after;
        metrics[m].Set(i, 0, before != after ? 1 : 0);
      }
      crossings_.push_back({threshold, up, down});
    }
  }

  std::string MakeDetails() const {
    std::string text;
    formats::JsonWriter w(&text);
    w.BeginObject();
    if (positive_ >= 0) w.Key("positive"), w.String(names_[static_cast<size_t>(positive_)]);
    if (!crossings_.empty()) {
      w.Key("crossings"), w.BeginArray();
      for (const Crossings& c : crossings_) {
        w.BeginObject();
        w.Key("threshold"), w.Number(c.threshold), w.Key("up"), w.Int(c.up), w.Key("down"), w.Int(c.down);
        w.EndObject();
      }
      w.EndArray();
    }
    if (names_.size() <= kMostConfusionClasses) WriteConfusion(w);
    w.EndObject();
    return text;
  }

  // Rows are true classes, columns predicted ones; classes sorted by name, numbers by value.
  void WriteConfusion(formats::JsonWriter& w) const {
    std::vector<size_t> order(names_.size());
    for (size_t c = 0; c < order.size(); ++c) order[c] = c;
    const auto number = [&](size_t c, int64_t* value) {
      const std::string& n = names_[c];
      const auto [stop, error] = std::from_chars(n.data(), n.data() + n.size(), *value);
      return error == std::errc() && stop == n.data() + n.size();
    };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      int64_t x = 0, y = 0;
      const bool first = number(a, &x), second = number(b, &y);
      if (first != second) return first;
      return first && x != y ? x < y : names_[a] < names_[b];
    });
    w.Key("classes"), w.BeginArray();
    for (const size_t c : order) w.String(names_[c]);
    w.EndArray();
    w.Key("confusion"), w.BeginObject();
    for (int side = 0; side < 2; ++side) {
      std::vector<int64_t> cells(order.size() * order.size());
      for (size_t i = 0; i < samples_; ++i) {
        ++cells[static_cast<size_t>(truth_[i]) * order.size() + static_cast<size_t>(predicted_[side][i])];
      }
      w.Key(side == 0 ? "reference" : "candidate"), w.BeginArray();
      for (const size_t t : order) {
        w.BeginArray();
        for (const size_t p : order) w.Int(cells[t * order.size() + p]);
        w.EndArray();
      }
      w.EndArray();
    }
    w.EndObject();
  }

  struct Crossings {
    double threshold;
    int64_t up, down;
  };

  std::string positive_name_;
  const std::vector<double> thresholds_;
  std::map<std::string, int32_t> classes_;
  std::vector<std::string> names_;
  size_t samples_ = 0;
  std::vector<int32_t> truth_, predicted_[2];
  bool by_score_ = false;  // a prediction follows from the score
  std::vector<double> score_[2];
  size_t with_score_[2] = {};
  std::vector<std::vector<double>> class_scores_[2];  // [class][sample]
  int32_t positive_ = -1, negative_ = -1;
  std::vector<Crossings> crossings_;
  std::string details_;
};

}  // namespace

StatusOr<std::unique_ptr<Task>> MakeClassificationTask(const MetricsOptions& options) {
  return std::make_unique<ClassificationTask>(options);
}

}  // namespace plinth::verify::metrics
