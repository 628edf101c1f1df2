#include "plinth/verify/paired_digest.h"

#include <cpuid.h>

#include <algorithm>
#include <cstring>
#include <utility>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // of the header itself
#include <immintrin.h>
#pragma GCC diagnostic pop

namespace plinth::verify {
namespace {

#define PLINTH_SHA __attribute__((target("sha,sse4.1")))

constexpr size_t kBlock = 64;
// FIPS 180-4, 4.2.2 and 5.3.3.
alignas(16) constexpr uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
constexpr std::array<uint32_t, 8> kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

// The eight words as the instructions want them: a b e f and c d g h, the first in the highest place.
struct Working {
  __m128i abef, cdgh;
};

PLINTH_SHA inline Working Open(const std::array<uint32_t, 8>& state) {
  const __m128i dcba = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state.data()));
  const __m128i hgfe = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state.data() + 4));
  const __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
  return {_mm_alignr_epi8(cdab, efgh, 8), _mm_blend_epi16(efgh, cdab, 0xf0)};
}

PLINTH_SHA inline void Close(const Working& w, std::array<uint32_t, 8>* state) {
  const __m128i feba = _mm_shuffle_epi32(w.abef, 0x1b), dchg = _mm_shuffle_epi32(w.cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state->data()), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state->data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}

// Whole blocks of kLanes streams. The rounds of one stream wait for each other; those of two fill the gaps.
template <int kLanes>
PLINTH_SHA void Blocks(std::array<uint32_t, 8>* const* states, const std::byte* const* data, size_t blocks) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);  // words are big-endian
  Working now[kLanes];
  for (int k = 0; k < kLanes; ++k) now[k] = Open(*states[k]);
  for (size_t block = 0; block < blocks; ++block) {
    Working before[kLanes];
    __m128i words[kLanes][4];
    for (int k = 0; k < kLanes; ++k) {
      before[k] = now[k];
      const auto* from = reinterpret_cast<const __m128i*>(data[k] + block * kBlock);
      for (int i = 0; i < 4; ++i) words[k][i] = _mm_shuffle_epi8(_mm_loadu_si128(from + i), swap);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const __m128i constants = _mm_load_si128(reinterpret_cast<const __m128i*>(kRounds) + i);
      for (int k = 0; k < kLanes; ++k) {
        const __m128i sum = _mm_add_epi32(words[k][i % 4], constants);
        now[k].cdgh = _mm_sha256rnds2_epu32(now[k].cdgh, now[k].abef, sum);
        now[k].abef = _mm_sha256rnds2_epu32(now[k].abef, now[k].cdgh, _mm_shuffle_epi32(sum, 0x0e));
        if (i >= 12) continue;
        // The four words sixteen places on take the place of these.
        const __m128i next = words[k][(i + 1) % 4], last = words[k][(i + 3) % 4];
        const __m128i seventh = _mm_alignr_epi8(last, words[k][(i + 2) % 4], 4);
        words[k][i % 4] =
            _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(words[k][i % 4], next), seventh), last);
      }
    }
    for (int k = 0; k < kLanes; ++k) {
      now[k].abef = _mm_add_epi32(now[k].abef, before[k].abef);
      now[k].cdgh = _mm_add_epi32(now[k].cdgh, before[k].cdgh);
    }
  }
  for (int k = 0; k < kLanes; ++k) Close(now[k], states[k]);
}

void OneLane(std::array<uint32_t, 8>* state, std::span<const std::byte> bytes) {
  std::array<uint32_t, 8>* const states[] = {state};
  const std::byte* const data[] = {bytes.data()};
  Blocks<1>(states, data, bytes.size() / kBlock);
}

}  // namespace

bool PairedSha256::Supported() {
  static const bool supported = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kSha = 1u << 29, kSse41 = 1u << 19;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (b & kSha) == 0) return false;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kSse41) != 0;
  }();
  return supported;
}

PairedSha256::PairedSha256(std::optional<bool> accelerated)
    : accelerated_(accelerated.value_or(true) && Supported()) {
  for (Lane& lane : lanes_) lane.state = kStart;
}

// Completes the block that was begun; gives what is left.
std::span<const std::byte> PairedSha256::Lane::Fill(std::span<const std::byte> more) {
  bytes += more.size();
  if (held == 0) return more;
  const size_t taken = std::min(more.size(), kBlock - held);
  std::copy_n(more.data(), taken, block.data() + held);
  held += taken;
  if (held == kBlock) {
    OneLane(&state, block);
    held = 0;
  }
  return more.subspan(taken);
}

void PairedSha256::Update(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (!accelerated_) {
    library_[0].Update(a);
    library_[1].Update(b);
    return;
  }
  std::array<std::span<const std::byte>, 2> rest = {lanes_[0].Fill(a), lanes_[1].Fill(b)};
  const size_t both = std::min(rest[0].size(), rest[1].size()) / kBlock;
  std::array<uint32_t, 8>* const states[] = {&lanes_[0].state, &lanes_[1].state};
  const std::byte* const data[] = {rest[0].data(), rest[1].data()};
  if (both > 0) Blocks<2>(states, data, both);
  for (size_t k = 0; k < 2; ++k) {
    rest[k] = rest[k].subspan(both * kBlock);
    if (rest[k].size() >= kBlock) OneLane(&lanes_[k].state, rest[k]);
    rest[k] = rest[k].subspan(rest[k].size() / kBlock * kBlock);
    std::copy(rest[k].begin(), rest[k].end(),
              lanes_[k].block.begin() + static_cast<std::ptrdiff_t>(lanes_[k].held));
    lanes_[k].held += rest[k].size();
  }
}

// A one bit, zeros, and the length in bits.
void PairedSha256::Close(Lane* lane) {
  std::array<std::byte, 2 * kBlock> end{};
  std::copy_n(lane->block.data(), lane->held, end.data());
  end[lane->held] = std::byte{0x80};
  const size_t size = lane->held < kBlock - 8 ? kBlock : 2 * kBlock;
  for (size_t i = 0; i < 8; ++i) end[size - 1 - i] = static_cast<std::byte>(lane->bytes * 8 >> (8 * i));
  OneLane(&lane->state, std::span(end).first(size));
}

StatusOr<std::array<std::string, 2>> PairedSha256::Hex() {
  std::array<std::string, 2> hex;
  for (size_t k = 0; k < 2; ++k) {
    if (!accelerated_) {
      PLINTH_ASSIGN_OR_RETURN(hex[k], library_[k].Hex());
      continue;
    }
    Close(&lanes_[k]);
    for (const uint32_t word : lanes_[k].state) {
      for (int shift = 28; shift >= 0; shift -= 4) hex[k] += "0123456789abcdef"[word >> shift & 15];
    }
  }
  return hex;
}

}  // namespace plinth::verify
