// Feeds bytes to the reader of encrypted files: as they are, and as changes to a good file, which is then
// refused or gives the very bytes that went in.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plinth/base/check.h"
#include "plinth/formats/sealed_file.h"

namespace {

using plinth::formats::Credential;
using plinth::formats::CredentialPtr;
using plinth::formats::SealedFile;
using plinth::formats::Sealer;
using Bytes = std::vector<std::byte>;

constexpr char kPath[] = "D/config.json.enc";
constexpr int64_t kChunk = 4096;

CredentialPtr Key() {
  static const CredentialPtr key = Credential::Of(std::array<std::byte, Credential::kBytes>{});
  return key;
}

// False where it was refused.
bool Open(std::span<const std::byte> file, Bytes* plain) {
  const auto sealed = SealedFile::OfBytes(file, kPath, Key());
  if (!sealed.ok()) return false;
  plain->resize(static_cast<size_t>(sealed->plain_bytes()));
  for (int64_t i = 0; i < sealed->chunks(); ++i) {
    const auto begin = static_cast<size_t>(sealed->ChunkBegin(i));
    const auto out = std::span(*plain).subspan(begin, static_cast<size_t>(sealed->ChunkEnd(i)) - begin);
    if (!sealed->Read(i, out).ok()) return false;
  }
  return true;
}

Bytes Seal(const Bytes& plain) {
  auto sealer = Sealer::Make(*Key(), "config.json", static_cast<int64_t>(plain.size()), kChunk);
  PLINTH_CHECK(sealer.ok());
  Bytes out(sealer->header().begin(), sealer->header().end());
  for (int64_t i = 0; i < sealer->chunks(); ++i) {
    const auto begin = static_cast<size_t>(i * kChunk);
    const auto next =
        sealer->Next(std::span(plain).subspan(begin, std::min(plain.size() - begin, size_t{kChunk})));
    PLINTH_CHECK(next.ok());
    out.insert(out.end(), next->begin(), next->end());
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  Bytes plain;
  static_cast<void>(Open(bytes, &plain));
  if (size < 3) return 0;
  // Two bytes say how long the plain file is, the others change its sealed one: place, place, exclusive or.
  const Bytes original(static_cast<size_t>(data[0] | data[1] << 8) % 10000, std::byte{7});
  const Bytes good = Seal(original);
  Bytes changed = good;
  for (size_t i = 2; i + 2 < size; i += 3) {
    const size_t at = static_cast<size_t>(data[i] | data[i + 1] << 8);
    if (at < changed.size()) changed[at] ^= static_cast<std::byte>(data[i + 2]);
    if (at == 0xffff && !changed.empty()) changed.resize(changed.size() - data[i + 2] % changed.size());
    if (at == 0xfffe) changed.resize(changed.size() + data[i + 2]);
  }
  const bool opened = Open(changed, &plain);
  PLINTH_CHECK(opened == (changed == good));
  PLINTH_CHECK(!opened || plain == original);
  return 0;
}
