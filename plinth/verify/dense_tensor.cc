#include "plinth/verify/dense_tensor.h"

#include <algorithm>

namespace plinth::verify {

Status DenseTensor::Take(const StridedRef& view) {
  dims_ = view.dims;
  ref_ = view.tensor;
  ref_.dims = dims_;
  const int64_t size = SizeOf(view.tensor.dtype);
  ref_.bytes = view.size() * size;
  if (view.dense()) {
    ref_.data = view.tensor.data + view.offset * size;
    return absl::OkStatus();
  }
  if (ref_.bytes > kMostInMemory) return Spill(view);
  bytes_.resize(static_cast<size_t>(ref_.bytes));
  CopyElements(view, 0, view.size(), bytes_.data());
  ref_.data = bytes_.data();
  return absl::OkStatus();
}

Status DenseTensor::Spill(const StridedRef& view) {
  PLINTH_ASSIGN_OR_RETURN(folder_, TemporaryFolder::Make());
  const std::string path = JoinPath(folder_->path(), "tensor");
  PLINTH_ASSIGN_OR_RETURN(AtomicWriter writer, AtomicWriter::Create(path));
  const int64_t size = SizeOf(view.tensor.dtype), most = (1 << 20) / size, count = view.size();
  std::vector<std::byte> piece(static_cast<size_t>(most * size));
  for (int64_t begin = 0; begin < count; begin += most) {
    const int64_t n = std::min(most, count - begin);
    CopyElements(view, begin, n, piece.data());
    PLINTH_RETURN_IF_ERROR(writer.Write(std::span(piece).first(static_cast<size_t>(n * size))));
  }
  PLINTH_RETURN_IF_ERROR(writer.Commit());
  PLINTH_ASSIGN_OR_RETURN(file_, MappedFile::Open(path));
  ref_.data = file_.bytes().data();
  return absl::OkStatus();
}

}  // namespace plinth::verify
