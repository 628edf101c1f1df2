// Matches the detections of one image and class to the true objects, as pycocotools does, and keeps only what
// average precision needs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace plinth::verify::metrics {

// x, y of the corner, width, height; in pixels.
using Box = std::array<double, 4>;

struct TrueObject {
  Box box;
  double area;
  bool crowd;  // many objects in one box: what lies in it is neither right nor wrong
};
struct DetectedObject {
  Box box;
  double score;
};

// Intersection over union; over the detection's own area where the true object is a crowd.
double BoxOverlap(const Box& detected, const Box& truth, bool crowd);

// The ten thresholds 0.50, 0.55 ... 0.95 and four ranges of area (all, below 32^2, between, above 96^2).
inline constexpr int kOverlaps = 10, kAreas = 4;
inline constexpr size_t kMostDetections = 100;  // of one image and class that count

struct MatchedDetection {
  double score;
  // One bit per threshold.
  std::array<uint16_t, kAreas> matched, ignored;
};
struct ImageMatches {
  std::array<int64_t, kAreas> objects{};     // that count
  std::vector<MatchedDetection> detections;  // by falling score, at most kMostDetections
};

// Method: COCOeval.evaluateImg of pycocotools 2.0. Detections are taken by falling score, equal ones in the
// order given; each takes the free object with the largest overlap at or above the threshold, objects that
// count before those that do not (crowds, areas outside the range), of equal overlaps the last.
ImageMatches MatchImage(std::span<const TrueObject> truth, std::span<const DetectedObject> detected);

}  // namespace plinth::verify::metrics
