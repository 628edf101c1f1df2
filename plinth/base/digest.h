// Computes SHA-256 digests (FIPS 180-4) of bytes and files.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "plinth/base/status.h"

namespace plinth {

// Takes bytes piece by piece. A failure of the crypto library shows in Hex's status.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view text);
  // 64 lower-case hex digits; call it once, at the end.
  // Error: Unavailable where the crypto library refuses (a policy without SHA-256).
  StatusOr<std::string> Hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

StatusOr<std::string> Sha256Hex(std::string_view text);
// Reads the file once, in pieces. Errors: as InputFile.
StatusOr<std::string> Sha256OfFile(const std::string& path);

}  // namespace plinth
