#include "plinth/verify/paired_digest.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace plinth::verify {
namespace {

using Pair = std::array<std::string, 2>;

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

Pair HexOf(std::string_view a, std::string_view b, bool accelerated) {
  PairedSha256 sha(accelerated);
  sha.Update(Bytes(a), Bytes(b));
  return *sha.Hex();
}

TEST(PairedSha256, GivesTheStandardsExamples) {
  constexpr std::string_view kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  constexpr std::string_view kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  constexpr std::string_view kTwoBlocks = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
  const std::string two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  for (const bool accelerated : {false, true}) {
    if (accelerated && !PairedSha256::Supported()) continue;
    EXPECT_EQ(HexOf("", "abc", accelerated), (Pair{std::string(kEmpty), std::string(kAbc)}));
    EXPECT_EQ(HexOf(two, "", accelerated), (Pair{std::string(kTwoBlocks), std::string(kEmpty)}));
  }
}

// Pieces of any length, also of different lengths on both sides, against the crypto library.
TEST(PairedSha256, AgreesWithTheCryptoLibrary) {
  if (!PairedSha256::Supported()) GTEST_SKIP() << "this processor has no instructions for SHA-256";
  std::mt19937_64 random(1);
  for (int run = 0; run < 300; ++run) {
    PairedSha256 paired;
    Sha256 alone[2];
    for (int piece = 0; piece < 4; ++piece) {
      std::vector<std::byte> bytes[2];
      for (int k = 0; k < 2; ++k) {
        bytes[k].resize(run < 140 ? (piece == 0 ? static_cast<size_t>(run) : 0) : random() % 700);
        for (std::byte& b : bytes[k]) b = static_cast<std::byte>(random());
        alone[k].Update(bytes[k]);
      }
      paired.Update(bytes[0], bytes[1]);
    }
    const auto hex = paired.Hex();
    ASSERT_TRUE(hex.ok()) << hex.status();
    EXPECT_EQ((*hex)[0], *alone[0].Hex()) << run;
    EXPECT_EQ((*hex)[1], *alone[1].Hex()) << run;
  }
}

}  // namespace
}  // namespace plinth::verify
