#include "plinth/evidence/gpu_code.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "plinth/base/text.h"
#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {
namespace {

// Little-endian numbers at any place; nothing beyond the end.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

  size_t size() const { return text_.size(); }
  std::string_view text() const { return text_; }
  bool Has(size_t at, size_t length) const { return at <= text_.size() && length <= text_.size() - at; }
  // The caller has checked Has(at, sizeof(T)).
  template <typename T>
  T Number(size_t at) const {
    T value;
    std::memcpy(&value, text_.data() + at, sizeof(T));
    return value;
  }
  // The next place of `what` from `from` on; npos where there is none. memmem is the C library's, vectorised.
  size_t Find(std::string_view what, size_t from) const {
    if (from >= text_.size()) return std::string_view::npos;
    const void* found = memmem(text_.data() + from, text_.size() - from, what.data(), what.size());
    return found == nullptr ? std::string_view::npos
                            : static_cast<size_t>(static_cast<const char*>(found) - text_.data());
  }

 private:
  std::string_view text_;
};

// ELF-64: whether the tables that the header names lie inside the file.
void ReadElf(const Bytes& bytes, GpuCode* code) {
  code->is_elf = bytes.text().starts_with("\177ELF");
  if (!code->is_elf) return;
  if (!bytes.Has(0, 64)) {
    code->truncated = true;
    return;
  }
  const bool is_64 = bytes.text()[4] == 2;
  if (!is_64) return;
  const auto inside = [&](uint64_t offset, uint64_t entry, uint64_t count) {
    return offset <= bytes.size() && entry * count <= bytes.size() - offset;
  };
  const uint64_t programs = bytes.Number<uint64_t>(32), sections = bytes.Number<uint64_t>(40);
  const uint64_t program_size = bytes.Number<uint16_t>(54), program_count = bytes.Number<uint16_t>(56);
  const uint64_t section_size = bytes.Number<uint16_t>(58), section_count = bytes.Number<uint16_t>(60);
  if (!inside(programs, program_size, program_count) || !inside(sections, section_size, section_count)) {
    code->truncated = true;
    return;
  }
  // Loadable pieces must lie inside too: a file cut in its middle may have lost its section table.
  for (uint64_t i = 0; i < program_count && program_size >= 56; ++i) {
    const size_t at = static_cast<size_t>(programs + i * program_size);
    const uint64_t offset = bytes.Number<uint64_t>(at + 8), size = bytes.Number<uint64_t>(at + 32);
    if (bytes.Number<uint32_t>(at) == 1 && !inside(offset, size, 1)) code->truncated = true;
  }
}

// "hipv4-amdgcn-amd-amdhsa--gfx936:sramecc+" -> "gfx936:sramecc+"; empty for the host's entry.
std::string TargetOf(std::string_view triple) {
  if (triple.starts_with("host")) return "";
  const size_t at = triple.rfind("-gfx");
  if (at == triple.npos || triple.find("amdgcn") == triple.npos) return "";
  const std::string target = FirstLine(triple.substr(at + 1));
  return target.size() <= 64 ? target : "";
}

// One bundle that begins at `at`, with the table of its entries at `place`. Moves `place` to where it stopped
// reading, so that no byte is looked at twice however many bundles a file claims to hold. False where the
// table does not fit.
bool ReadBundle(const Bytes& bytes, size_t at, size_t* reached, GpuCode* code) {
  constexpr uint64_t kMostEntries = 1024, kMostTriple = 256;
  size_t& place = *reached;
  if (!bytes.Has(place, 8)) return false;
  const uint64_t count = bytes.Number<uint64_t>(place);
  if (count == 0 || count > kMostEntries) return false;
  place += 8;
  for (uint64_t i = 0; i < count; ++i) {
    if (!bytes.Has(place, 24)) return false;
    const uint64_t offset = bytes.Number<uint64_t>(place), size = bytes.Number<uint64_t>(place + 8);
    const uint64_t length = bytes.Number<uint64_t>(place + 16);
    place += 24;
    if (length > kMostTriple || !bytes.Has(place, static_cast<size_t>(length))) return false;
    const std::string target = TargetOf(bytes.text().substr(place, static_cast<size_t>(length)));
    place += static_cast<size_t>(length);
    const size_t rest = bytes.size() - at;
    if (offset > rest || size > rest - offset) return false;
    if (!target.empty() && size > 0) ++code->amd[target];
  }
  return true;
}

void ReadBundles(const Bytes& bytes, GpuCode* code) {
  constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
  for (size_t at = 0; (at = bytes.Find(kMagic, at)) != std::string_view::npos;) {
    size_t place = at + kMagic.size();
    if (!ReadBundle(bytes, at, &place, code)) ++code->broken_bundles;
    at = place;
  }
  // CCOB, a 16-bit version from 1 to 3, and a 16-bit method that is small: four letters alone prove nothing.
  constexpr std::string_view kCompressed = "CCOB";
  for (size_t at = 0; (at = bytes.Find(kCompressed, at)) != std::string_view::npos;
       at += kCompressed.size()) {
    if (!bytes.Has(at, 24)) break;
    const auto version = bytes.Number<uint16_t>(at + 4), method = bytes.Number<uint16_t>(at + 6);
    if (version >= 1 && version <= 3 && method <= 2) ++code->compressed_bundles;
  }
}

// One fat binary at `at`: a header of 16 bytes (magic, version, header size, size of what follows), then
// entries, each with its own header: kind (1 PTX, 2 machine code), header size, payload size, ...,
// architecture at 28. Gives the place where it stopped reading.
size_t ReadFatBinary(const Bytes& bytes, size_t at, GpuCode* code) {
  constexpr size_t kMagicSize = 4;
  if (!bytes.Has(at, 16)) return at + kMagicSize;
  const auto version = bytes.Number<uint16_t>(at + 4), header = bytes.Number<uint16_t>(at + 6);
  const auto size = bytes.Number<uint64_t>(at + 8);
  if (version != 1 || header < 16 || header > 64) return at + kMagicSize;  // the same bytes by chance
  if (!bytes.Has(at, header) || size > bytes.size() - at - header) {
    ++code->broken_bundles;
    return at + kMagicSize;
  }
  size_t place = at + header;
  const size_t end = place + static_cast<size_t>(size);
  while (end - place >= 32) {
    const auto kind = bytes.Number<uint16_t>(place);
    const auto entry_header = bytes.Number<uint32_t>(place + 4);
    const auto payload = bytes.Number<uint64_t>(place + 8);
    const auto arch = bytes.Number<uint32_t>(place + 28);
    if (entry_header < 32 || entry_header > end - place || payload > end - place - entry_header) {
      ++code->broken_bundles;
      return std::max(place, at + kMagicSize);
    }
    if (arch >= 10 && arch < 1000 && (kind == 1 || kind == 2)) {
      ++code->nvidia[StrCat(kind == 1 ? "compute_" : "sm_", arch)];
    }
    place += entry_header + static_cast<size_t>(payload);
  }
  return end;
}

void ReadFatBinaries(const Bytes& bytes, GpuCode* code) {
  constexpr std::string_view kMagic("\x50\xed\x55\xba", 4);
  for (size_t at = 0; (at = bytes.Find(kMagic, at)) != std::string_view::npos;) {
    at = ReadFatBinary(bytes, at, code);
  }
}

}  // namespace

GpuCode FindGpuCode(std::span<const std::byte> file) {
  GpuCode code;
  const Bytes bytes(file);
  ReadElf(bytes, &code);
  ReadBundles(bytes, &code);
  ReadFatBinaries(bytes, &code);
  return code;
}

}  // namespace plinth::evidence
