// Makes a view a tensor of its own shape, for the looks that need one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plinth/base/files.h"
#include "plinth/base/temporary_folder.h"
#include "plinth/verify/difference.h"

namespace plinth::verify {

// The same bytes where they lie densely, else a copy: in memory, or, if it is large, in a temporary file, so
// that memory stays bounded whatever the size.
class DenseTensor {
 public:
  static constexpr int64_t kMostInMemory = 24 << 20;

  DenseTensor() = default;
  DenseTensor(const DenseTensor&) = delete;
  DenseTensor& operator=(const DenseTensor&) = delete;

  // The view's tensor must outlive this. Errors: FileError where the copy cannot be written.
  Status Take(const StridedRef& view);
  // Borrows from this.
  const formats::ConstTensorRef& ref() const { return ref_; }

 private:
  Status Spill(const StridedRef& view);

  std::vector<int64_t> dims_;
  std::vector<std::byte> bytes_;
  std::optional<TemporaryFolder> folder_;
  MappedFile file_;
  formats::ConstTensorRef ref_;
};

}  // namespace plinth::verify
