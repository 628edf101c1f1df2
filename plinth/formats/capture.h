// Reads and writes captures: what one run of a model computed, value by value, as statistics or in full.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/formats/json.h"
#include "plinth/formats/safetensors.h"
#include "plinth/tensor/view.h"

namespace plinth::formats {

// Limits of what is read; a file beyond them is refused with one line.
inline constexpr int64_t kMaxCaptureJson = 256 << 20;  // bytes of capture.json
inline constexpr int64_t kMaxCaptureName = 4096;       // bytes of a name
inline constexpr int64_t kMaxCaptureShards = 99'999;   // tensor files

// Over all elements; min, max, mean, std (population) and l2 over the finite ones, in double; 0 where none
// is.
struct TensorStats {
  int64_t count = 0, finite = 0, nan = 0, pos_inf = 0, neg_inf = 0, zero = 0, subnormal = 0;
  double min = 0, max = 0, mean = 0, std = 0, l2 = 0;
};

// One pass over a floating, integer or boolean tensor of any strides. Sums are taken in blocks and merged
// (Chan, Golub and LeVeque 1983, "Algorithms for computing the sample variance"), so that a large mean does
// not swallow a small spread. Subnormal is counted by the tensor's own type.
TensorStats StatsOf(const View& view);
// The same over dense elements at any alignment.
TensorStats StatsOf(const ConstTensorRef& tensor);

enum class CaptureDirection : uint8_t { kInput, kOutput };

struct CaptureEntry {
  int64_t index = 0;  // order of execution
  std::string name;   // module path; a functional operator inside it: "path/softmax.0"
  std::string op;     // operator or module kind: "linear", "softmax", "module" ...
  CaptureDirection direction = CaptureDirection::kOutput;
  int64_t port = 0;   // which input or output
  int64_t step = 0;   // generation step or pass; 0 where there is one
  std::string dtype;  // a safetensors name in lower case: "f32", "bf16", "f8_e4m3", "i64" ...
  std::vector<int64_t> dims;
  std::optional<TensorStats> stats;
  std::string tensor;    // key in the tensor files; empty: statistics alone
  std::string digest;    // sha256 of the tensor's bytes, 64 hex digits; empty: not taken
  JsonValue attributes;  // object of the operator's attributes (eps, axis, stride, padding, ...), or null
  // How the value lies: "" as the model's framework has it; else a named layout ("nchw", "nhwc", "packed") or
  // a permutation; see docs/captures.md.
  std::string layout;

  // name + direction + port + step, unique in one capture of one rank: "name:out0@0".
  std::string Key() const;
  // The type that its tensor is handed out in: an integer for what DType lacks (StandInFor); nullopt for what
  // Plinth does not read.
  std::optional<DType> ReadAs() const;
};

struct CaptureInfo {
  JsonValue producer;  // object: {"name","version","framework",...}
  std::string run_id;
  int64_t repeat = 0;
  int64_t seed = 0;
  bool forced = false;  // reference inputs were fed to each layer
  int64_t rank = 0, world = 1;
  std::string model_name, model_digest;  // digest: sha256 of the weights; may be empty
  std::string inputs_digest;             // sha256; empty: unknown
  JsonValue precision;                   // object, or null
};

// What a capture.json says by itself.
struct CaptureText {
  CaptureInfo info;
  std::vector<CaptureEntry> entries;  // by index
};

// Checks everything that can be seen without the tensor files; `where` (the path) begins every message.
// Errors: InvalidArgument for bad JSON, another schema, missing or wrong keys, counts that contradict each
// other or the shape, repeated entries, names beyond the limits.
StatusOr<CaptureText> ParseCaptureJson(std::string_view text, std::string_view where);

// A capture folder, opened and checked. Tensors are mapped, not read. Several folders of one run (ranks) are
// several Captures.
class Capture {
 public:
  // `folder` holds capture.json, which its name may also be. Errors: NotFound; InvalidArgument with file and
  // place (schema, entry, key) for anything that contradicts itself: as ParseCaptureJson, a truncated tensor
  // file, files of two captures, a tensor that an entry names and no file holds or the other way round,
  // shapes or types that differ from the entry's.
  static StatusOr<Capture> Open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const CaptureInfo& info() const { return info_; }
  const std::vector<CaptureEntry>& entries() const { return entries_; }  // by index
  // Null where there is none. Logarithmic time.
  const CaptureEntry* Find(std::string_view key) const;
  // The recorded tensor of one of entries(); null where only statistics were taken. 8-bit floats come as u8
  // and the like (see dtype of the entry and ConstTensorRef::stored).
  const ConstTensorRef* Tensor(const CaptureEntry& entry) const;
  // environment.json as it stands; null value where there is none.
  const JsonValue& environment() const { return environment_; }
  // Gives pages back to the system.
  void ReleasePages(const CaptureEntry& entry) const;
  // Hashes the recorded tensors and compares with the entries' digests. Error: DataLoss naming the first one.
  Status VerifyDigests() const;
  // The same of one of entries(); what has no tensor or no digest is right.
  Status VerifyDigest(const CaptureEntry& entry) const;

 private:
  Capture() = default;
  Status OpenShards();
  Status BindTensors();
  Status CheckTensor(const CaptureEntry& entry, const ConstTensorRef& tensor,
                     const SafetensorsFile& file) const;

  struct Place {
    int32_t shard = -1, tensor = 0;
  };
  std::string folder_;
  CaptureInfo info_;
  std::vector<CaptureEntry> entries_;
  std::vector<SafetensorsFile> shards_;
  std::vector<Place> places_;                            // by entry
  std::vector<std::pair<std::string, int32_t>> by_key_;  // sorted; places in entries_
  JsonValue environment_;
};

// Whether dense tensors of these shapes hold the same elements in the same order: one only groups the
// dimensions of the other ([2, 3, 8] and [6, 8] or [1, 2, 24], but not [3, 2, 8] or [8, 6]).
bool SameOrder(std::span<const int64_t> a, std::span<const int64_t> b);

// Whether the folder holds a capture.json.
bool IsCapture(const std::string& folder);
// The capture in `folder`, or those in the folders right below it (repeats, ranks), by name.
// Errors: as Capture::Open; NotFound where there is none.
StatusOr<std::vector<Capture>> OpenCaptures(const std::string& folder);

// Writes a capture beside its final place and moves it there at the end; one that is dropped leaves nothing.
// Tensors are streamed to the disk as they come.
class CaptureWriter {
 public:
  // Errors: AlreadyExists where `folder` exists; FileError.
  static StatusOr<CaptureWriter> Create(const std::string& folder, CaptureInfo info);
  CaptureWriter(CaptureWriter&&) noexcept;
  CaptureWriter& operator=(CaptureWriter&&) noexcept;
  ~CaptureWriter();

  // Adds an entry and sets its index, in the order of calls. `view` (optional: null data) is what dtype,
  // dims, stats and digest are computed from; it is written where `full`. Without a view the entry keeps what
  // it says. An entry whose `tensor` is set already shares the tensor that an earlier one wrote under that
  // key, with its stats and digest, and needs no view. Errors: InvalidArgument for a name that the reader
  // would refuse or an entry given twice; FileError, after which the writer takes nothing more.
  Status Add(CaptureEntry entry, const View& view, bool full);
  // The last entry added, as it will be written. Only after an Add.
  const CaptureEntry& last() const;
  // The text of environment.json.
  void SetEnvironment(std::string json);
  // Flushes to the disk and moves the folder to its place. Call it once. Errors: FileError; AlreadyExists.
  Status Finish();

 private:
  struct State;
  explicit CaptureWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plinth::formats
