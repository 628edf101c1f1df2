#include "plinth/base/digest.h"

#include <openssl/evp.h>

#include <vector>

#include "plinth/base/files.h"

namespace plinth {

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
  bool good = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(std::span<const std::byte> bytes) {
  state_->good = state_->good && EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1;
}

void Sha256::Update(std::string_view text) { Update(std::as_bytes(std::span(text))); }

StatusOr<std::string> Sha256::Hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  state_->good = state_->good && EVP_DigestFinal_ex(state_->context.get(), digest, &size) == 1;
  if (!state_->good) return absl::UnavailableError("the crypto library refuses SHA-256");
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += "0123456789abcdef"[digest[i] >> 4];
    hex += "0123456789abcdef"[digest[i] & 15];
  }
  state_->good = false;
  return hex;
}

StatusOr<std::string> Sha256Hex(std::string_view text) {
  Sha256 sha;
  sha.Update(text);
  return sha.Hex();
}

StatusOr<std::string> Sha256OfFile(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  Sha256 sha;
  std::vector<char> piece(1 << 20);
  while (true) {
    PLINTH_ASSIGN_OR_RETURN(const size_t got, file.Read(piece.data(), piece.size()));
    sha.Update(std::string_view(piece.data(), got));
    if (got < piece.size()) return sha.Hex();
  }
}

}  // namespace plinth
