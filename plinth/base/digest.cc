#include "plinth/base/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <vector>

#include "plinth/base/files.h"

namespace plinth {

struct Digester::State {
  const char* name;
  std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)> algorithm{EVP_MD_fetch(nullptr, name, nullptr),
                                                            &EVP_MD_free};
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
  bool good = algorithm != nullptr && context != nullptr &&
              EVP_DigestInit_ex(context.get(), algorithm.get(), nullptr) == 1;
};

Digester::Digester(const char* name) : state_(std::make_unique<State>(State{name})) {}
Digester::~Digester() = default;
Digester::Digester(Digester&&) noexcept = default;
Digester& Digester::operator=(Digester&&) noexcept = default;

void Digester::Update(std::span<const std::byte> bytes) {
  state_->good = state_->good && EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1;
}

void Digester::Update(std::string_view text) { Update(std::as_bytes(std::span(text))); }

StatusOr<std::string> Digester::Hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  state_->good = state_->good && EVP_DigestFinal_ex(state_->context.get(), digest, &size) == 1;
  if (!state_->good) return absl::UnavailableError(StrCat("the crypto library refuses ", state_->name));
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

StatusOr<std::string> Sm3Hex(std::string_view text) {
  Sm3 sm3;
  sm3.Update(text);
  return sm3.Hex();
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

bool IsHexDigest(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace plinth
