#include "apps/plinth/output_sink.h"

#include <algorithm>
#include <cerrno>

#include "apps/plinth/command.h"

namespace plinth::app {

Sink::~Sink() {
  if (spill_ != nullptr) std::fclose(spill_);
}

StatusOr<std::unique_ptr<Sink>> Sink::Open(const std::string& path) {
  auto sink = std::make_unique<Sink>();
  if (!path.empty()) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == path.npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
    if (!IsFolder(folder)) {
      return absl::NotFoundError(StrCat("--out ", path, ": there is no folder ", folder, "; make it first"));
    }
    PLINTH_ASSIGN_OR_RETURN(auto file, AtomicWriter::Create(path));
    sink->file_ = std::make_unique<AtomicWriter>(std::move(file));
  }
  return sink;
}

Status Sink::Write(std::string_view text) {
  constexpr size_t kMostHeld = 16 << 20;  // bytes
  if (file_ != nullptr) return file_->Write(text);
  held_ += text;
  return held_.size() < kMostHeld ? absl::OkStatus() : Spill();
}

Status Sink::Drain(std::string* text) {
  const Status status = Write(*text);
  text->clear();
  return status;
}

Status Sink::Finish() {
  if (file_ != nullptr) return file_->Commit();
  if (spill_ != nullptr) PLINTH_RETURN_IF_ERROR(CopySpill());
  PLINTH_RETURN_IF_ERROR(Print(held_));
  return FlushOutput();
}

Status Sink::Spill() {
  if (spill_ == nullptr) spill_ = std::tmpfile();
  if (spill_ == nullptr || std::fwrite(held_.data(), 1, held_.size(), spill_) != held_.size()) {
    return FileError("the temporary folder", "written", errno);
  }
  held_.clear();
  return absl::OkStatus();
}

Status Sink::CopySpill() {
  std::rewind(spill_);
  std::string piece(1 << 16, '\0');
  while (const size_t n = std::fread(piece.data(), 1, piece.size(), spill_)) {
    PLINTH_RETURN_IF_ERROR(Print({piece.data(), n}));
  }
  return std::ferror(spill_) == 0 ? absl::OkStatus() : FileError("the temporary folder", "read", errno);
}

}  // namespace plinth::app
