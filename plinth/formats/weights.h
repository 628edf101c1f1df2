// Finds a model's weights by name, whether they lie in one safetensors file or in many.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/formats/safetensors.h"

namespace plinth::formats {

// All tensors of a model, sorted by name. Tensors borrow from this object and survive its moves.
class WeightFiles {
 public:
  const std::vector<ConstTensorRef>& tensors() const { return tensors_; }
  // Null where there is none of that name. Logarithmic time.
  const ConstTensorRef* Find(std::string_view name) const;
  // Sum over the tensors, in bytes.
  int64_t total_bytes() const;
  // The folder or file that was opened, for messages.
  const std::string& where() const { return where_; }
  // Paths of the safetensors files, and of the index where there is one, as they are on the disk; sorted.
  const std::vector<std::string>& files() const { return files_; }
  // The file that a tensor of this source lies in.
  const std::string& FileOf(const ConstTensorRef& tensor) const;

  // Gives pages back to the system once they were copied or packed; they can still be read.
  void ReleasePages(const ConstTensorRef& tensor) const;
  void ReleasePages() const;
  // As those of SafetensorsFile.
  void Forget(const ConstTensorRef& tensor) const { Holder(tensor).Forget(tensor); }
  Status Fetch(const ConstTensorRef& tensor) const { return Holder(tensor).Fetch(tensor); }

 private:
  friend StatusOr<WeightFiles> OpenWeights(const std::string& folder, const SafetensorsOptions& options);
  friend StatusOr<WeightFiles> OpenWeightsFile(const std::string& path, const SafetensorsOptions& options);
  WeightFiles() = default;
  Status AddFile(const std::string& path, const SafetensorsOptions& options);
  void Gather();
  const SafetensorsFile& Holder(const ConstTensorRef& tensor) const;

  std::string where_;
  std::vector<std::string> files_;
  std::vector<SafetensorsFile> shards_;
  std::vector<ConstTensorRef> tensors_;
};

// Opens `folder`/model.safetensors, else the shards that `folder`/model.safetensors.index.json names; each
// file may be encrypted (FindModelFile).
// Errors: NotFound naming what is expected; as SafetensorsFile::Open; InvalidArgument for an index
// that leads out of the folder, names a tensor its shard lacks, or leaves one out, and for a tensor
// that two shards hold.
StatusOr<WeightFiles> OpenWeights(const std::string& folder, const SafetensorsOptions& options = {});
// One file, whatever its name.
StatusOr<WeightFiles> OpenWeightsFile(const std::string& path, const SafetensorsOptions& options = {});

// What a model wants of one tensor.
struct ExpectedTensor {
  std::string name;
  std::vector<int64_t> dims;
  std::vector<DType> dtypes;  // allowed types; empty: f64, f32, f16 and bf16
  bool optional = false;
};
// One line that names the tensors that are missing, not expected, or of wrong shape or type (a few of
// each, then a count). Error: InvalidArgument.
Status CheckTensors(const std::vector<ExpectedTensor>& expected, const WeightFiles& weights,
                    const std::vector<std::string>& ignored = {});

}  // namespace plinth::formats
