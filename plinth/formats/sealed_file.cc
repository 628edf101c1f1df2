#include "plinth/formats/sealed_file.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "plinth/base/check.h"
#include "plinth/base/faults.h"
#include "plinth/base/text.h"

namespace plinth::formats {
namespace {

constexpr std::string_view kMagic = "PLNSEAL1";
constexpr int64_t kLeastChunk = 4096, kMostChunk = 16 << 20;
constexpr int64_t kMostChunks = int64_t{1} << 32;
constexpr size_t kNameBytes = 16, kCheckBytes = 8, kKeyBytes = 32;

using Header = std::array<std::byte, kSealedHeaderBytes>;
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

// Whatever it held is wiped.
struct FileKey {
  std::array<std::byte, kKeyBytes> bytes{};
  ~FileKey() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
};

const unsigned char* Raw(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }
unsigned char* Raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

template <typename T>
void Put(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof(T));  // little-endian machines alone are built for (safetensors.cc)
}

template <typename T>
T Get(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

Status Refused() {
  ERR_clear_error();
  return absl::UnavailableError("the crypto library refuses AES-256-GCM");
}

int64_t ChunksOf(int64_t plain, int64_t chunk) { return std::max<int64_t>((plain + chunk - 1) / chunk, 1); }

std::array<unsigned char, 12> NonceOf(int64_t chunk, bool last) {
  std::array<unsigned char, 12> nonce{};
  for (size_t i = 0; i < 4; ++i) nonce[7 + i] = static_cast<unsigned char>(chunk >> (24 - 8 * i));
  nonce[11] = last ? 1 : 0;
  return nonce;
}

std::array<std::byte, kNameBytes> NameMark(std::string_view plain_name) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(plain_name.data()), plain_name.size(), digest);
  std::array<std::byte, kNameBytes> mark;
  std::memcpy(mark.data(), digest, kNameBytes);
  return mark;
}

Status DeriveKeys(const Credential& credential, std::span<const std::byte> salt, FileKey* key,
                  std::span<std::byte, kCheckBytes> check) {
  PLINTH_RETURN_IF_ERROR(credential.Derive(salt, "plinth sealed file 1: key", key->bytes));
  return credential.Derive(salt, "plinth sealed file 1: check", check);
}

// Sets a cipher up for one chunk: its nonce and the additional data. `encrypt`: 1 or 0.
bool Begin(EVP_CIPHER_CTX* context, const FileKey& key, const Header& header, int64_t chunk, bool last,
           int encrypt) {
  const auto nonce = NonceOf(chunk, last);
  std::array<std::byte, 8> index;
  Put(static_cast<uint64_t>(chunk), index.data());
  int ignored = 0;
  return EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nullptr, Raw(key.bytes.data()), nonce.data(),
                           encrypt) == 1 &&
         EVP_CipherUpdate(context, nullptr, &ignored, Raw(header.data()), kSealedHeaderBytes) == 1 &&
         EVP_CipherUpdate(context, nullptr, &ignored, Raw(index.data()), index.size()) == 1;
}

// Runs the text through; chunks are far below what an int counts.
bool Through(EVP_CIPHER_CTX* context, std::span<const std::byte> from, std::byte* to) {
  int done = 0;
  return from.empty() ||
         (EVP_CipherUpdate(context, Raw(to), &done, Raw(from.data()), static_cast<int>(from.size())) == 1 &&
          done == static_cast<int>(from.size()));
}

Status Damaged(std::string_view path, std::string_view what) {
  return absl::DataLossError(StrCat(path, ": ", what));
}

// The sizes that a header states; what it says is proven by the first chunk only.
Status CheckHeader(std::string_view path, std::span<const std::byte> file) {
  if (static_cast<int64_t>(file.size()) < kSealedHeaderBytes + kSealedTagBytes ||
      std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) {
    return Damaged(path,
                   StrCat("is no file that `plinth models encrypt` wrote, or its first bytes are damaged; "
                          "encrypt it again from the original"));
  }
  const int64_t chunk = Get<uint32_t>(file.data() + 8), plain = Get<int64_t>(file.data() + 16);
  if (chunk < kLeastChunk || chunk > kMostChunk || !std::has_single_bit(static_cast<uint64_t>(chunk)) ||
      Get<uint32_t>(file.data() + 12) != 0 || plain < 0 || plain > chunk * kMostChunks) {
    return Damaged(path,
                   "has a header of sizes that cannot be; it is damaged: copy it again from where it came");
  }
  const int64_t wanted = kSealedHeaderBytes + plain + ChunksOf(plain, chunk) * kSealedTagBytes;
  const int64_t found = static_cast<int64_t>(file.size());
  if (found == wanted) return absl::OkStatus();
  return Damaged(path, StrCat("has ", found, " bytes, and its header wants ", wanted,
                              found < wanted ? "; it was cut short: copy it again from where it came"
                                             : "; something was appended: copy it again from where it came"));
}

}  // namespace

bool IsSealedName(std::string_view path) { return path.ends_with(kSealedSuffix); }

std::string PlainName(std::string_view path) {
  std::string name = BaseName(path);
  if (IsSealedName(name)) name.resize(name.size() - kSealedSuffix.size());
  return name;
}

StatusOr<SecretMemory> SecretMemory::Make(int64_t bytes) {
  SecretMemory memory;
  if (bytes == 0) return memory;
  void* data = FaultDue(Syscall::kMmap) ? MAP_FAILED
                                        : mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return absl::ResourceExhaustedError(StrCat("memory for ", bytes, " decrypted bytes is not there"));
  memory.data_ = static_cast<std::byte*>(data);
  memory.size_ = static_cast<size_t>(bytes);
  madvise(data, memory.size_, MADV_DONTDUMP);
  madvise(data, memory.size_, MADV_DONTFORK);
  return memory;
}

SecretMemory::~SecretMemory() {
  if (data_ == nullptr) return;
  // Pages go back to the kernel, which clears them before anybody else has them; those that were never
  // touched need not come into being for that.
  madvise(data_, size_, MADV_DONTNEED);
  munmap(data_, size_);
}

SecretMemory::SecretMemory(SecretMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SecretMemory& SecretMemory::operator=(SecretMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void SecretMemory::Forget(int64_t begin, int64_t end) const {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t first = (begin + page - 1) / page * page;
  // The rest of the last page is nobody's.
  const int64_t last = end == static_cast<int64_t>(size_) ? end : end / page * page;
  if (first >= last) return;
  OPENSSL_cleanse(data_ + first, static_cast<size_t>(last - first));
  madvise(data_ + first, static_cast<size_t>(last - first), MADV_DONTNEED);
}

struct SealedFile::State {
  MappedFile mapped;
  std::span<const std::byte> bytes;
  std::string path;
  Header header;
  FileKey key;
  int64_t chunk_bytes = 0, plain_bytes = 0;
};

SealedFile::SealedFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
SealedFile::~SealedFile() = default;
SealedFile::SealedFile(SealedFile&&) noexcept = default;
SealedFile& SealedFile::operator=(SealedFile&&) noexcept = default;

const std::string& SealedFile::path() const { return state_->path; }
int64_t SealedFile::plain_bytes() const { return state_->plain_bytes; }
int64_t SealedFile::chunk_bytes() const { return state_->chunk_bytes; }
int64_t SealedFile::chunks() const { return ChunksOf(state_->plain_bytes, state_->chunk_bytes); }
int64_t SealedFile::ChunkEnd(int64_t chunk) const {
  return std::min((chunk + 1) * chunk_bytes(), plain_bytes());
}

StatusOr<SealedFile> SealedFile::Open(const std::string& path, const CredentialPtr& credential) {
  PLINTH_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  PLINTH_ASSIGN_OR_RETURN(SealedFile file, OfBytes(mapped.bytes(), path, credential));
  file.state_->mapped = std::move(mapped);
  return file;
}

StatusOr<SealedFile> SealedFile::OfBytes(std::span<const std::byte> bytes, std::string path,
                                         const CredentialPtr& credential) {
  if (credential == nullptr) {
    return absl::PermissionDeniedError(
        StrCat(path,
               ": is encrypted; name the file of its key with --credential (or PLINTH_CREDENTIAL; "
               "a server: service.credential)"));
  }
  PLINTH_RETURN_IF_ERROR(CheckHeader(path, bytes));
  auto state = std::make_unique<State>();
  state->bytes = bytes;
  state->path = std::move(path);
  std::memcpy(state->header.data(), bytes.data(), kSealedHeaderBytes);
  state->chunk_bytes = Get<uint32_t>(bytes.data() + 8);
  state->plain_bytes = Get<int64_t>(bytes.data() + 16);
  std::array<std::byte, kCheckBytes> check;
  PLINTH_RETURN_IF_ERROR(DeriveKeys(*credential, bytes.subspan(24, kSealedSaltBytes), &state->key, check));
  if (CRYPTO_memcmp(check.data(), bytes.data() + 72, kCheckBytes) != 0) {
    return Damaged(state->path,
                   "is encrypted with another key than the credential's, or its header is damaged");
  }
  const std::string name = PlainName(state->path);
  const auto mark = NameMark(name);
  if (CRYPTO_memcmp(mark.data(), bytes.data() + 56, kNameBytes) != 0) {
    return Damaged(state->path, StrCat("was not encrypted as \"", name,
                                       "\"; it was renamed or another file was put in its place"));
  }
  return SealedFile(std::move(state));
}

Status SealedFile::Read(int64_t chunk, std::span<std::byte> out) const {
  PLINTH_CHECK(chunk >= 0 && chunk < chunks());
  PLINTH_CHECK(static_cast<int64_t>(out.size()) == ChunkEnd(chunk) - ChunkBegin(chunk));
  const bool last = chunk == chunks() - 1;
  const std::byte* from =
      state_->bytes.data() + kSealedHeaderBytes + chunk * (state_->chunk_bytes + kSealedTagBytes);
  std::array<std::byte, kSealedTagBytes> tag;
  std::memcpy(tag.data(), from + out.size(), tag.size());
  const Cipher context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  if (context == nullptr || !Begin(context.get(), state_->key, state_->header, chunk, last, 0) ||
      !Through(context.get(), {from, out.size()}, out.data()) ||
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kSealedTagBytes, tag.data()) != 1) {
    OPENSSL_cleanse(out.data(), out.size());
    return Refused();
  }
  int ignored = 0;
  unsigned char nothing[16];
  if (EVP_CipherFinal_ex(context.get(), nothing, &ignored) == 1) return absl::OkStatus();
  ERR_clear_error();
  OPENSSL_cleanse(out.data(), out.size());
  return Damaged(
      path(),
      StrCat("chunk ", chunk, " of ", chunks(), " (plain bytes ", ChunkBegin(chunk), " to ", ChunkEnd(chunk),
             ") is not what was encrypted: it was damaged, changed or moved; copy the file "
             "again from where it came"));
}

StatusOr<UnsealedFile> UnsealedFile::Open(const std::string& path, const CredentialPtr& credential) {
  PLINTH_ASSIGN_OR_RETURN(SealedFile sealed, SealedFile::Open(path, credential));
  UnsealedFile file(std::move(sealed));
  PLINTH_ASSIGN_OR_RETURN(file.memory_, SecretMemory::Make(file.file_.plain_bytes()));
  file.there_.assign(static_cast<size_t>(file.file_.chunks()), false);
  PLINTH_RETURN_IF_ERROR(file.Fetch(0, file.file_.plain_bytes()));
  // Where there are no bytes, that too is to be proven.
  if (file.file_.plain_bytes() == 0) PLINTH_RETURN_IF_ERROR(file.file_.Read(0, {}));
  return file;
}

void UnsealedFile::Release(int64_t offset, int64_t length) {
  // Chunks at the ends may hold what a neighbour still needs.
  const int64_t end = offset + length;
  int64_t chunk = (offset + file_.chunk_bytes() - 1) / file_.chunk_bytes();
  for (; chunk < file_.chunks() && file_.ChunkEnd(chunk) <= end; ++chunk) {
    if (!there_[static_cast<size_t>(chunk)]) continue;
    there_[static_cast<size_t>(chunk)] = false;
    memory_.Forget(file_.ChunkBegin(chunk), file_.ChunkEnd(chunk));
  }
}

Status UnsealedFile::Fetch(int64_t offset, int64_t length) {
  if (length <= 0) return absl::OkStatus();
  for (int64_t chunk = offset / file_.chunk_bytes(); chunk * file_.chunk_bytes() < offset + length; ++chunk) {
    if (there_[static_cast<size_t>(chunk)]) continue;
    const int64_t begin = file_.ChunkBegin(chunk);
    PLINTH_RETURN_IF_ERROR(
        file_.Read(chunk, memory_.bytes().subspan(static_cast<size_t>(begin),
                                                  static_cast<size_t>(file_.ChunkEnd(chunk) - begin))));
    there_[static_cast<size_t>(chunk)] = true;
  }
  return absl::OkStatus();
}

struct Sealer::State {
  Header header{};
  FileKey key;
  int64_t chunk_bytes = 0, plain_bytes = 0, next = 0;
  std::vector<std::byte> out;
};

Sealer::Sealer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sealer::~Sealer() = default;
Sealer::Sealer(Sealer&&) noexcept = default;
Sealer& Sealer::operator=(Sealer&&) noexcept = default;

std::span<const std::byte> Sealer::header() const { return state_->header; }
int64_t Sealer::chunks() const { return ChunksOf(state_->plain_bytes, state_->chunk_bytes); }

StatusOr<Sealer> Sealer::Make(const Credential& credential, std::string_view plain_name, int64_t plain_bytes,
                              int64_t chunk_bytes) {
  std::array<std::byte, kSealedSaltBytes> salt;
  if (RAND_bytes(Raw(salt.data()), static_cast<int>(salt.size())) != 1) {
    ERR_clear_error();
    return absl::UnavailableError("the crypto library has no random numbers");
  }
  return Make(credential, plain_name, plain_bytes, chunk_bytes, salt);
}

StatusOr<Sealer> Sealer::Make(const Credential& credential, std::string_view plain_name, int64_t plain_bytes,
                              int64_t chunk_bytes, std::span<const std::byte, kSealedSaltBytes> salt) {
  PLINTH_CHECK(chunk_bytes >= kLeastChunk && chunk_bytes <= kMostChunk);
  PLINTH_CHECK(std::has_single_bit(static_cast<uint64_t>(chunk_bytes)));
  if (plain_bytes > chunk_bytes * kMostChunks) {
    return absl::InvalidArgumentError(StrCat(plain_bytes, " bytes are more than an encrypted file can hold"));
  }
  auto state = std::make_unique<State>();
  state->chunk_bytes = chunk_bytes;
  state->plain_bytes = plain_bytes;
  std::byte* header = state->header.data();
  std::memcpy(header, kMagic.data(), kMagic.size());
  Put(static_cast<uint32_t>(chunk_bytes), header + 8);
  Put(plain_bytes, header + 16);
  std::memcpy(header + 24, salt.data(), salt.size());
  const auto mark = NameMark(plain_name);
  std::memcpy(header + 56, mark.data(), mark.size());
  std::array<std::byte, kCheckBytes> check;
  PLINTH_RETURN_IF_ERROR(DeriveKeys(credential, salt, &state->key, check));
  std::memcpy(header + 72, check.data(), check.size());
  return Sealer(std::move(state));
}

StatusOr<std::span<const std::byte>> Sealer::Next(std::span<const std::byte> plain) {
  State& s = *state_;
  const int64_t begin = s.next * s.chunk_bytes;
  PLINTH_CHECK(s.next < chunks());
  PLINTH_CHECK(static_cast<int64_t>(plain.size()) == std::min(s.chunk_bytes, s.plain_bytes - begin));
  s.out.resize(plain.size() + static_cast<size_t>(kSealedTagBytes));
  const Cipher context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int ignored = 0;
  unsigned char nothing[16];
  if (context == nullptr || !Begin(context.get(), s.key, s.header, s.next, s.next == chunks() - 1, 1) ||
      !Through(context.get(), plain, s.out.data()) ||
      EVP_CipherFinal_ex(context.get(), nothing, &ignored) != 1 ||
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kSealedTagBytes,
                          s.out.data() + plain.size()) != 1) {
    return Refused();
  }
  ++s.next;
  return std::span<const std::byte>(s.out);
}

}  // namespace plinth::formats
