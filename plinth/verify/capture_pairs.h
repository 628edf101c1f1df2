// Pairs the entries of two runs and measures how far a value of one lies from the other's. Internal to the
// search for drift.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plinth/formats/capture.h"
#include "plinth/verify/element.h"
#include "plinth/verify/tensor_map.h"

namespace plinth::verify {

// How far apart two recorded values are.
struct Drift {
  enum class By : uint8_t { kDigest, kTensors, kStatistics };
  By by = By::kDigest;
  // |out - ref|_2 / |ref|_2; infinite for a broken structure. By statistics it is the largest lower bound
  // that they give.
  double rel_l2 = 0;
  double limit = 0;  // what is significant lies above
  std::string note;  // what is broken in the structure; empty: nothing

  bool significant() const { return rel_l2 > limit; }
};
std::string_view ByName(Drift::By by);  // "digest", "tensors", "statistics"

// A lower bound of the relative L2 difference of two tensors whose statistics these are. With e = b - a,
// | |b| - |a| | <= |e| for every norm, so that differences of l2, of mean and std (times sqrt(n)) and of the
// extremes are each at most |e|_2. Infinite where the counts of NaN or infinities differ.
double DriftBound(const formats::TensorStats& a, const formats::TensorStats& b);

// How many errors of a value are independent of each other in a free run, where what came in moves whole rows
// or columns at once: the lesser of their counts.
int64_t IndependentErrors(const std::vector<int64_t>& dims);

// What share of a line significance begins at where statistics alone are compared. Independent errors of the
// line's size move a mean, an l2 or a std by the line / sqrt(n); 6 of those standard deviations are allowed,
// n being IndependentErrors; the share is at most 1.
double StatisticsShare(const std::vector<int64_t>& dims);

// The relative L2 differences that count as rounding, by the element type of a value.
struct DriftLines {
  double f64 = 1e-12, f32 = 1e-5, f16 = 2e-3, bf16 = 1e-2, f8_e4m3 = 0.16, f8_e5m2 = 0.32;
  double LineOf(std::string_view dtype) const;  // 0 for integers, which are equal or not
};

// Entries of one run that carry the same values: repeats of it.
struct RunCaptures {
  std::vector<const formats::Capture*> free, forced;
};

// One output that both sides have recorded, in the order of the reference.
struct Pair {
  std::string key, name, op;
  int64_t step = 0, port = 0;
  formats::CaptureDirection direction = formats::CaptureDirection::kOutput;
  double line = 0;  // of the coarsest type so far on either side: a coarse value makes all that follow coarse
  // The candidate's type, where it is coarser than the reference's and the candidate's `precision` names none
  // of it: then the reference's alone makes the line.
  std::string undeclared;
};

class PairedRuns {
 public:
  // `reference.free` and one list of `output` are not empty; all borrowed. `map` (null: none) brings names
  // and layouts of `output` to the reference's. `check_digests`: hash what is read. Error: InvalidArgument
  // for names that the map makes equal.
  static StatusOr<std::unique_ptr<PairedRuns>> Make(const RunCaptures& reference, const RunCaptures& output,
                                                    const DriftLines& lines, const TensorMap* map = nullptr,
                                                    bool check_digests = true);

  // In the order of execution; of both directions.
  const std::vector<Pair>& pairs() const { return pairs_; }
  bool has_forced() const { return !output_.forced.empty(); }

  int64_t Elements(size_t pair) const;  // of the reference
  // Whether Look would give an answer.
  bool Comparable(size_t pair, bool forced) const;
  // The worst of all repeats, from tensors where both sides have them. nullopt: nothing can be compared (one
  // side has not recorded it, or lays it out in another way). Results are kept.
  std::optional<Drift> Look(size_t pair, bool forced);
  // The same without reading a tensor: from digests and statistics; nullopt where these are not there.
  std::optional<Drift> Glance(size_t pair, bool forced);

  // What was wrong with a tensor that Look read: DataLoss for bytes that are not those of the recorded
  // digest, InvalidArgument where the map does not fit a shape. The first of them; results after it mean
  // nothing.
  const Status& problem() const { return problem_; }
  // What the candidate's type says about differences, in sentences.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // One capture, and its entries by the reference's keys where the map changed names.
  struct Side {
    const formats::Capture* capture = nullptr;
    bool output = false;  // the map applies
    const std::map<std::string, const formats::CaptureEntry*>* keys = nullptr;
    const formats::CaptureEntry* Find(const std::string& key) const;
  };

  PairedRuns(const RunCaptures& reference, const RunCaptures& output, const DriftLines& lines,
             const TensorMap* map, bool check_digests)
      : reference_(reference), output_(output), lines_(lines), map_(map), check_digests_(check_digests) {}
  Status MapNames(const formats::Capture& capture);
  void MakePairs();
  void NoteType(const Pair& pair, const std::string& own, const std::string& theirs, bool declared);
  Side SideOf(const formats::Capture* capture, bool output) const;

  std::optional<Drift> Measure(size_t pair, bool forced, bool tensors);
  // Between two captures' entries of that key; without the limit.
  std::optional<Drift> Distance(const Side& a, const Side& b, const Pair& pair, bool tensors);
  std::optional<Drift> DistanceOfTensors(const Side& a, const Side& b, const Pair& pair,
                                         const formats::CaptureEntry& x, const formats::CaptureEntry& y);
  bool RightDigest(const Side& side, const formats::CaptureEntry& entry);
  // The largest distance of a repeat from the first one of its side; 0 without repeats.
  double Band(const Pair& pair, bool tensors);

  RunCaptures reference_, output_;
  DriftLines lines_;
  const TensorMap* map_;
  bool check_digests_;
  std::map<const formats::Capture*, std::map<std::string, const formats::CaptureEntry*>>
      keys_;  // of `output`
  std::vector<Pair> pairs_;
  std::vector<std::optional<std::optional<Drift>>> known_[2][2];         // [forced][tensors], by pair
  std::map<std::pair<const formats::Capture*, int64_t>, bool> checked_;  // by entry, whose digest was taken
  Status problem_;
  std::set<std::string> noted_;  // pairs of types
  std::vector<std::string> notes_;
};

}  // namespace plinth::verify
