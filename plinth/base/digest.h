// Computes SHA-256 (FIPS 180-4) and SM3 (GB/T 32905-2016) digests of bytes and files.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "plinth/base/status.h"

namespace plinth {

// Takes bytes piece by piece. A failure of the crypto library shows in Hex's status.
class Digester {
 public:
  ~Digester();
  Digester(Digester&&) noexcept;
  Digester& operator=(Digester&&) noexcept;

  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view text);
  // 64 lower-case hex digits; call it once, at the end.
  // Error: Unavailable where the crypto library refuses (a policy without this digest).
  StatusOr<std::string> Hex();

 protected:
  // `name` as the crypto library knows it; a literal.
  explicit Digester(const char* name);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Sha256 : public Digester {
 public:
  Sha256() : Digester("SHA256") {}
};

class Sm3 : public Digester {
 public:
  Sm3() : Digester("SM3") {}
};

StatusOr<std::string> Sha256Hex(std::string_view text);
StatusOr<std::string> Sm3Hex(std::string_view text);
// Reads the file once, in pieces. Errors: as InputFile.
StatusOr<std::string> Sha256OfFile(const std::string& path);

// Whether `text` is what Hex gives: 64 digits, lower case.
bool IsHexDigest(std::string_view text);

}  // namespace plinth
