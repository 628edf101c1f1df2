// Reads and writes safetensors files: a JSON header with names, types, shapes and byte ranges, then data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/files.h"
#include "plinth/base/status.h"
#include "plinth/formats/sealed_file.h"
#include "plinth/tensor/tensor.h"

namespace plinth::formats {

// The limit that the format's own reader sets.
inline constexpr int64_t kMaxSafetensorsHeader = 100'000'000;  // bytes

// One tensor of a file: borrows from whoever handed it out. Data are dense, row-major, little-endian,
// and may begin at any byte: copy them out before reading elements.
struct ConstTensorRef {
  std::string_view name;
  DType dtype = DType::kF32;
  std::span<const int64_t> dims;
  const std::byte* data = nullptr;  // may be null where bytes is 0
  int64_t bytes = 0;
  // The type that the bytes stand for where DType has no name for it, as the format writes it ("F8_E4M3");
  // dtype is then an integer of the same size (SafetensorsOptions). Empty: dtype says all.
  std::string_view stored = {};

  int64_t size() const { return bytes / SizeOf(dtype); }  // elements
  bool aligned() const {
    return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(SizeOf(dtype)) == 0;
  }
};

// "f32[2, 3]".
std::string ToString(DType dtype, std::span<const int64_t> dims);

// The integer type that stands in for a type of the format that DType lacks ("F8_E4M3", "U16"); nullopt for
// types that need none, that are not whole bytes, or that nobody knows.
std::optional<DType> StandInFor(std::string_view stored);

// Copies the elements to `out` (any alignment), which holds tensor.size() of them.
// From any type to its own, and to f32 and f64, rounding to nearest, ties to even; booleans become
// 0 and 1. Error: Unimplemented for another pair, naming the tensor.
Status ConvertTo(const ConstTensorRef& tensor, DType dtype, void* out);
// The same into a new tensor. Further error: Unimplemented for more than kMaxRank dimensions.
StatusOr<Tensor> CopyTo(const ConstTensorRef& tensor, DType dtype);

struct SafetensorsOptions {
  // Element types of whole bytes that DType lacks (8-bit floats, unsigned integers of 16 to 64 bits) come as
  // an integer of the same size, their name in `stored`; else such a file is refused.
  bool stand_ins = false;
};

// What a header says, checked against the bytes that follow it.
struct SafetensorsHeader {
  struct Entry {
    std::string name;
    DType dtype;
    std::vector<int64_t> dims;
    int64_t begin, end;       // bytes from the start of the file
    std::string stored = {};  // as ConstTensorRef::stored
  };
  std::vector<Entry> entries;                   // in the order of their bytes
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

// Checks everything: `file` is the whole file. Errors: InvalidArgument, one line that says which
// tensor and what would be right; Unimplemented for element types we do not read.
StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::span<const std::byte> file,
                                                   const SafetensorsOptions& options = {});

class SafetensorsFile {
 public:
  // Maps the file; one whose name ends in ".enc" is decrypted to memory with CredentialInUse() and verified
  // to its end before it is parsed. Errors: as MappedFile::Open, UnsealedFile::Open and
  // ParseSafetensorsHeader, with the path in front.
  static StatusOr<SafetensorsFile> Open(const std::string& path, const SafetensorsOptions& options = {});

  const std::string& path() const { return unsealed_ ? unsealed_->path() : file_.path(); }
  int64_t file_bytes() const { return static_cast<int64_t>(bytes().size()); }
  // In the order of their bytes. They live as long as this object, and survive its moves.
  const std::vector<ConstTensorRef>& tensors() const { return tensors_; }
  // Null where there is none of that name. Logarithmic time.
  const ConstTensorRef* Find(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  // Gives the tensor's pages back to the system once they were copied or packed.
  void ReleasePages(const ConstTensorRef& tensor) const;
  // For encrypted files, which have no pages to fetch again from: wipes the tensor as far as no other shares
  // its chunks, and decrypts it again. Between the two it must not be read. Not thread-safe. Without work for
  // plain files. Errors: as SealedFile::Read.
  void Forget(const ConstTensorRef& tensor) const;
  Status Fetch(const ConstTensorRef& tensor) const;

 private:
  SafetensorsFile() = default;
  std::span<const std::byte> bytes() const { return unsealed_ ? unsealed_->bytes() : file_.bytes(); }
  MappedFile file_;
  std::unique_ptr<UnsealedFile> unsealed_;  // in the place of file_
  SafetensorsHeader header_;
  std::vector<ConstTensorRef> tensors_;
  std::vector<int32_t> by_name_;  // indices into tensors_
};

// Writes the tensors (under the type in `stored` where there is one), wide element types first and else in
// the order given, so that each is aligned to its type in the file, and replaces `path` only when all is on
// the disk. Errors: InvalidArgument for a repeated name, a name that is empty, "__metadata__" or not UTF-8,
// bytes that do not fit the shape, or a `stored` type that dtype cannot stand in for; FileError.
Status WriteSafetensors(const std::string& path, std::span<const ConstTensorRef> tensors,
                        const std::map<std::string, std::string>& metadata = {});

}  // namespace plinth::formats
