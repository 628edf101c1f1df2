// Opens what `plinth compare` takes as a side: safetensors in one file or many, a capture, captures of many
// ranks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plinth/formats/capture.h"
#include "plinth/formats/weights.h"

namespace plinth::verify {

struct SourceTensor {
  std::string name;    // the module path, or the tensor's name
  std::string suffix;  // of captures ":out0@0"; name and suffix are unique in a part
  int64_t index = 0;   // order of execution; of safetensors the order in the files
  std::string op;
  std::vector<int64_t> dims;
  std::string dtype;
  const formats::ConstTensorRef* tensor = nullptr;  // null: only statistics were recorded
  const formats::CaptureEntry* entry = nullptr;     // null for safetensors
};

// All tensors of one rank and repeat, in the order of execution.
struct SourcePart {
  int64_t rank = 0, world = 1, repeat = 0;
  const formats::CaptureInfo* info = nullptr;  // null for safetensors
  const formats::Capture* capture = nullptr;
  std::vector<SourceTensor> tensors;
};

// Tensors are mapped and borrow from this object, which may be moved.
class TensorSource {
 public:
  // `path`: a safetensors file, an index of shards, a folder of either, a capture folder (or its
  // capture.json), or a folder of captures. Errors: as OpenWeights and Capture::Open; NotFound for a folder
  // of neither kind; InvalidArgument where two captures are of one rank and repeat.
  static StatusOr<TensorSource> Open(const std::string& path);

  const std::string& path() const { return path_; }
  bool is_capture() const { return captures_ != nullptr; }
  const std::vector<SourcePart>& parts() const { return parts_; }  // by rank, then repeat
  void ReleasePages(const SourcePart& part, const SourceTensor& tensor) const;

 private:
  TensorSource() = default;
  void TakeWeights();
  Status TakeCaptures();

  std::string path_;
  std::unique_ptr<formats::WeightFiles> weights_;
  std::unique_ptr<std::vector<formats::Capture>> captures_;
  std::vector<SourcePart> parts_;
};

// Numbers of another model or other inputs say nothing. Error: InvalidArgument where both sides are captures
// and the digest of weights or inputs differs.
Status CheckSameOrigin(const TensorSource& reference, const TensorSource& candidate);

}  // namespace plinth::verify
