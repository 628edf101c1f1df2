// Computes SHA-256 (FIPS 180-4) of two streams side by side: instructions for it are slow one after the other
// and fast in pairs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "plinth/base/digest.h"
#include "plinth/base/status.h"

namespace plinth::verify {

class PairedSha256 {
 public:
  // `accelerated`: whether to use the processor's own instructions; nullopt: where it has them. Without them
  // the crypto library computes both.
  explicit PairedSha256(std::optional<bool> accelerated = std::nullopt);

  static bool Supported();

  // Takes the next bytes of each stream, as many as there are.
  void Update(std::span<const std::byte> a, std::span<const std::byte> b);
  // 64 lower-case hex digits each; call it once, at the end. Error: as Sha256::Hex.
  StatusOr<std::array<std::string, 2>> Hex();

 private:
  struct Lane {
    std::array<uint32_t, 8> state;
    std::array<std::byte, 64> block;  // bytes that do not fill one yet
    size_t held = 0;
    uint64_t bytes = 0;

    std::span<const std::byte> Fill(std::span<const std::byte> bytes);
  };
  void Close(Lane* lane);

  bool accelerated_;
  std::array<Lane, 2> lanes_;
  std::array<Sha256, 2> library_;
};

}  // namespace plinth::verify
