// Object detection: average precision and recall as COCO defines them and pycocotools 2.0 computes them.
#include <algorithm>
#include <cmath>
#include <map>

#include "plinth/verify/metrics/detection_match.h"
#include "plinth/verify/metrics/task.h"

namespace plinth::verify::metrics {
namespace {

using formats::JsonValue;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kRecalls = 101;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// As numpy's linspace(0, 1, 101) rounds them.
double RecallPoint(int i) { return i == kRecalls - 1 ? 1 : i * (1.0 / (kRecalls - 1)); }

// All images of one class on one side.
class ClassMatches {
 public:
  void Add(size_t image, ImageMatches matches) { images_.emplace_back(image, std::move(matches)); }

  // Sorts detections of all images by falling score, equal ones by image.
  void Sort() {
    std::sort(images_.begin(), images_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < images_.size(); ++i) {
      const auto& detections = images_[i].second.detections;
      for (size_t d = 0; d < detections.size(); ++d) {
        order_.push_back({detections[d].score, static_cast<uint32_t>(i), static_cast<uint32_t>(d)});
      }
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [](const Place& a, const Place& b) { return a.score > b.score; });
  }
  size_t detections() const { return order_.size(); }

  double Objects(int area, std::span<const uint32_t> counts) const {
    double n = 0;
    for (const auto& [image, matches] : images_)
      n += Times(image, counts) * static_cast<double>(matches.objects[static_cast<size_t>(area)]);
    return n;
  }

  // Mean precision at the 101 points of recall, for one threshold; `objects` > 0.
  double Precision(int threshold, int area, double objects, std::span<const uint32_t> counts) const {
    std::vector<double> recall, precision;
    recall.reserve(order_.size());
    precision.reserve(order_.size());
    double right = 0, wrong = 0;
    for (const Place& place : order_) {
      const auto& [image, matches] = images_[place.image];
      const MatchedDetection& d = matches.detections[place.detection];
      const auto a = static_cast<size_t>(area);
      if ((d.ignored[a] >> threshold & 1) != 0) continue;
      const double times = Times(image, counts);
      if (times == 0) continue;
      ((d.matched[a] >> threshold & 1) != 0 ? right : wrong) += times;
      recall.push_back(right / objects);
      precision.push_back(right / (right + wrong + kEpsilon));
    }
    for (size_t i = precision.size(); i-- > 1;) precision[i - 1] = std::max(precision[i - 1], precision[i]);
    double sum = 0;
    size_t at = 0;
    for (int r = 0; r < kRecalls; ++r) {
      while (at < recall.size() && recall[at] < RecallPoint(r)) ++at;
      if (at == recall.size()) break;
      sum += precision[at];
    }
    return sum / kRecalls;
  }

  // Share of the objects that the first `most` detections of each image find.
  double Recall(int threshold, int area, size_t most, double objects,
                std::span<const uint32_t> counts) const {
    double right = 0;
    const auto a = static_cast<size_t>(area);
    for (const auto& [image, matches] : images_) {
      const size_t n = std::min(most, matches.detections.size());
      int64_t found = 0;
      for (size_t d = 0; d < n; ++d) {
        const MatchedDetection& m = matches.detections[d];
        found += (m.matched[a] & ~m.ignored[a]) >> threshold & 1;
      }
      right += Times(image, counts) * static_cast<double>(found);
    }
    return right / objects;
  }

 private:
  struct Place {
    double score;
    uint32_t image, detection;
  };
  static double Times(size_t image, std::span<const uint32_t> counts) {
    return counts.empty() ? 1 : counts[image];
  }

  std::vector<std::pair<size_t, ImageMatches>> images_;
  std::vector<Place> order_;
};

class DetectionMetrics : public JointMetrics {
 public:
  explicit DetectionMetrics(std::map<std::string, ClassMatches> (&sides)[2]) {
    for (const char* name : {"map", "ap50", "ap75", "ap_small", "ap_medium", "ap_large", "ar_1", "ar_10",
                             "ar_100", "ar_small", "ar_medium", "ar_large"}) {
      names_.push_back({name, Better::kHigher});
    }
    for (int side = 0; side < 2; ++side) {
      for (auto& [name, matches] : sides[side]) {
        matches.Sort();
        detections_ += static_cast<double>(matches.detections());
        sides_[side].push_back(std::move(matches));
      }
    }
  }
  const std::vector<Name>& names() const override { return names_; }
  double Steps() const override { return detections_ * kOverlaps * kAreas * 3; }

  void Evaluate(bool of_candidate, std::span<const uint32_t> counts, std::span<double> out) const override {
    std::fill(out.begin(), out.end(), 0.0);
    double classes[kAreas] = {};
    for (const ClassMatches& matches : sides_[of_candidate ? 1 : 0]) {
      for (int a = 0; a < kAreas; ++a) {
        const double objects = matches.Objects(a, counts);
        if (objects == 0) continue;  // a class without objects has no recall
        classes[a] += 1;
        for (int t = 0; t < kOverlaps; ++t) AddThreshold(matches, t, a, objects, counts, out);
      }
    }
    const auto mean = [&](size_t i, int area, int thresholds) {
      out[i] = classes[area] > 0 ? out[i] / (classes[area] * thresholds) : kNan;
    };
    mean(0, 0, kOverlaps), mean(1, 0, 1), mean(2, 0, 1);
    for (int i = 6; i < 9; ++i) mean(static_cast<size_t>(i), 0, kOverlaps);
    for (int a = 1; a < kAreas; ++a) {
      mean(static_cast<size_t>(2 + a), a, kOverlaps);
      mean(static_cast<size_t>(8 + a), a, kOverlaps);
    }
  }

 private:
  static void AddThreshold(const ClassMatches& matches, int t, int a, double objects,
                           std::span<const uint32_t> counts, std::span<double> out) {
    const double precision = matches.Precision(t, a, objects, counts);
    if (a > 0) {
      out[static_cast<size_t>(2 + a)] += precision;
      out[static_cast<size_t>(8 + a)] += matches.Recall(t, a, kMostDetections, objects, counts);
      return;
    }
    out[0] += precision;
    if (t == 0) out[1] += precision;
    if (t == 5) out[2] += precision;
    constexpr size_t kMost[] = {1, 10, kMostDetections};
    for (size_t i = 0; i < 3; ++i) out[6 + i] += matches.Recall(t, a, kMost[i], objects, counts);
  }

  std::vector<Name> names_;
  std::vector<ClassMatches> sides_[2];
  double detections_ = 0;
};

using Detections = std::map<std::string, std::vector<DetectedObject>>;
using Truths = std::map<std::string, std::vector<TrueObject>>;

class DetectionTask : public Task {
 public:
  explicit DetectionTask(double least_score) : least_score_(least_score) {
    Between("agreement", Better::kHigher, 1);
  }

  Status Add(const Sample& sample) override {
    Truths truth;
    Detections sides[2];
    PLINTH_RETURN_IF_ERROR(ReadTruth(sample.truth, sample.TruthKey("objects"), &truth));
    PLINTH_RETURN_IF_ERROR(ReadDetections(sample.reference, &sides[0]));
    PLINTH_RETURN_IF_ERROR(ReadDetections(sample.candidate, &sides[1]));
    metrics[0].Set(sample.index, 0, Agree(sides[0], sides[1]) ? 1 : 0);
    for (int side = 0; side < 2; ++side) {
      for (const auto& [name, objects] : truth) {
        matches_[side][name].Add(sample.index, MatchImage(objects, sides[side][name]));
        sides[side].erase(name);
      }
      for (const auto& [name, detected] : sides[side])
        matches_[side][name].Add(sample.index, MatchImage({}, detected));
    }
    return absl::OkStatus();
  }
  Status Finish() override {
    joint.push_back(std::make_unique<DetectionMetrics>(matches_));
    return absl::OkStatus();
  }

 private:
  static StatusOr<const JsonValue::Array*> List(const Row& row, const char* key, std::string_view wanted) {
    const JsonValue* value = row.Find(key);
    if (value == nullptr || value->array() == nullptr) return row.Refuse(key, value, wanted);
    return value->array();
  }

  static StatusOr<Box> ReadBox(const Row& object) {
    PLINTH_ASSIGN_OR_RETURN(const std::vector<double> numbers, object.Reals("box"));
    if (numbers.size() != 4 || numbers[2] < 0 || numbers[3] < 0) {
      return object.Refuse("box", object.Find("box"), "[x, y, width, height] with sizes of at least 0");
    }
    return Box{numbers[0], numbers[1], numbers[2], numbers[3]};
  }

  static Status ReadTruth(const Row& row, const char* key, Truths* truth) {
    PLINTH_ASSIGN_OR_RETURN(
        const auto* list, List(row, key, "the list of true objects (here, or in a file given by --labels)"));
    for (size_t i = 0; i < list->size(); ++i) {
      const Row object = row.Inside((*list)[i], StrCat(key, "[", i, "]"));
      PLINTH_ASSIGN_OR_RETURN(const std::string name, object.Name("class"));
      PLINTH_ASSIGN_OR_RETURN(const Box box, ReadBox(object));
      double area = box[2] * box[3];
      if (object.Find("area") != nullptr) {
        PLINTH_ASSIGN_OR_RETURN(area, object.Real("area"));
      }
      PLINTH_ASSIGN_OR_RETURN(const bool crowd, object.FlagOr("crowd", false));
      (*truth)[name].push_back({box, area, crowd});
    }
    return absl::OkStatus();
  }

  static Status ReadDetections(const Row& row, Detections* detections) {
    PLINTH_ASSIGN_OR_RETURN(const auto* list,
                            List(row, "objects", "a list of detected objects, empty for none,"));
    for (size_t i = 0; i < list->size(); ++i) {
      const Row object = row.Inside((*list)[i], StrCat("objects[", i, "]"));
      PLINTH_ASSIGN_OR_RETURN(const std::string name, object.Name("class"));
      PLINTH_ASSIGN_OR_RETURN(const Box box, ReadBox(object));
      PLINTH_ASSIGN_OR_RETURN(const double score, object.Real("score"));
      (*detections)[name].push_back({box, score});
    }
    return absl::OkStatus();
  }

  // Whether each side's objects at or above the score find one another: class by class, one to one, by
  // falling score of the reference, each taking the free one with the largest overlap of at least a half.
  bool Agree(const Detections& reference, const Detections& candidate) const {
    const auto kept = [&](const Detections& side, const std::string& name) {
      std::vector<DetectedObject> objects;
      const auto at = side.find(name);
      if (at == side.end()) return objects;
      std::copy_if(at->second.begin(), at->second.end(), std::back_inserter(objects),
                   [&](const DetectedObject& d) { return d.score >= least_score_; });
      std::stable_sort(objects.begin(), objects.end(),
                       [](const auto& a, const auto& b) { return a.score > b.score; });
      return objects;
    };
    const auto class_agrees = [&](const std::string& name) {
      const std::vector<DetectedObject> a = kept(reference, name);
      std::vector<DetectedObject> b = kept(candidate, name);
      if (a.size() != b.size()) return false;
      for (const DetectedObject& object : a) {
        auto best = b.end();
        double most = 0.5;
        for (auto other = b.begin(); other != b.end(); ++other) {
          const double overlap = BoxOverlap(other->box, object.box, false);
          if (overlap >= most) most = overlap, best = other;
        }
        if (best == b.end()) return false;
        b.erase(best);
      }
      return true;
    };
    return std::all_of(reference.begin(), reference.end(),
                       [&](const auto& c) { return class_agrees(c.first); }) &&
           std::all_of(candidate.begin(), candidate.end(),
                       [&](const auto& c) { return class_agrees(c.first); });
  }

  const double least_score_;
  std::map<std::string, ClassMatches> matches_[2];
};

}  // namespace

StatusOr<std::unique_ptr<Task>> MakeDetectionTask(const MetricsOptions& options) {
  return std::make_unique<DetectionTask>(options.thresholds.empty() ? 0.5 : options.thresholds[0]);
}

}  // namespace plinth::verify::metrics
