// Every level adds in the same order and without fused multiply-add where that would round differently, so
// that all levels give the same bits.
#include "plinth/verify/difference_kernel.h"

#include "plinth/verify/difference_bits.h"
#include "plinth/verify/difference_elements.h"
#include "plinth/verify/difference_sums.h"
#include "plinth/verify/difference_wide.h"

namespace plinth::verify::PLINTH_KERNEL_LEVEL {
namespace {

// Full blocks of one type on both sides, as they are.
template <typename Type>
class NarrowBlocks {
 public:
  explicit NarrowBlocks(const DifferPiece& piece) : piece_(piece) {}

  // Gives false, having done nothing but spoil the sums, where an element is not finite.
  bool Take(const std::byte* a, const std::byte* b, int64_t begin, Accumulators* sums, DifferTally* tally) {
    if (!Type::kKeepsInfinity && (Infinite(a) || Infinite(b))) return false;
    if (SameBits(a, b, kDifferBlock * Type::kBytes)) {
      if (!AddEqualBlock<Type>(a, sums)) return false;
      bits_.TakeEqual(a, tally);
      return true;
    }
    if (!AddBlock<Type>(piece_, a, b, sums, &errors_)) return false;
    bits_.Take(a, b, tally);
    TakeBlockErrors<Type>(piece_, a, begin, &errors_, tally);
    return true;
  }

  void Finish(DifferTally* tally) const { bits_.Finish(tally); }

 private:
  static bool Infinite(const std::byte* p) {
    Ints any{};
    for (int64_t i = 0; i < kDifferBlock; i += kWords)
      any |= As<Ints>((Type::Bits(p + i * Type::kBytes) & Type::kInfinity) == Type::kInfinity);
    return Any(any);
  }

  const DifferPiece& piece_;
  PieceBits<Type> bits_;
  BlockErrors errors_;
};

template <typename Blocks>
void TakeBlocks(const DifferPiece& piece, const Pairing& pairing, Blocks* blocks, Accumulators* sums,
                DifferTally* tally) {
  for (int64_t at = 0; at < piece.count; at += kDifferBlock) {
    const int64_t n = piece.count - at < kDifferBlock ? piece.count - at : kDifferBlock;
    const std::byte* a = piece.a + at * pairing.bytes_a;
    const std::byte* b = piece.b + at * pairing.bytes_b;
    const Accumulators before = *sums;
    if (n < kDifferBlock || !blocks->Take(a, b, piece.begin + at, sums, tally)) {
      *sums = before;
      TakeAny(piece, pairing, a, b, piece.begin + at, n, sums, tally);
    }
    if (piece.check_canary) {
      TakeCanary(a, n, pairing.bytes_a, piece.canary, &tally->a.canary);
      TakeCanary(b, n, pairing.bytes_b, piece.canary, &tally->b.canary);
    }
  }
}

template <typename Type>
void TakeNarrow(const DifferPiece& piece, const Pairing& pairing, Accumulators* sums, DifferTally* tally) {
  NarrowBlocks<Type> blocks(piece);
  TakeBlocks(piece, pairing, &blocks, sums, tally);
  blocks.Finish(tally);
}

}  // namespace

void DifferOnePiece(const DifferPiece& piece, DifferSums* out, DifferTally* tally) {
  const ElementInfo& a = kElementInfo[static_cast<int>(piece.element_a)];
  const ElementInfo& b = kElementInfo[static_cast<int>(piece.element_b)];
  const ElementInfo& unit = kElementInfo[static_cast<int>(piece.unit_element)];
  const Pairing pairing = {.same = piece.element_a == piece.element_b,
                           .whole = !a.floating && !b.floating,
                           .bytes_a = a.bytes,
                           .bytes_b = b.bytes,
                           .digits = unit.digits,
                           .smallest_normal = unit.smallest_normal};
  Accumulators sums{};
  if (pairing.same && piece.element_a == Element::kF32) {
    TakeNarrow<F32>(piece, pairing, &sums, tally);
  } else if (pairing.same && piece.element_a == Element::kBF16) {
    TakeNarrow<BF16>(piece, pairing, &sums, tally);
  } else if (pairing.same && piece.element_a == Element::kF16) {
    TakeNarrow<F16>(piece, pairing, &sums, tally);
  } else {
    WideBlocks blocks(piece, pairing);
    TakeBlocks(piece, pairing, &blocks, &sums, tally);
  }
  *out = {Sum(sums.a), Sum(sums.d), Sum(sums.aa), Sum(sums.bb), Sum(sums.ab), Sum(sums.dd)};
}

}  // namespace plinth::verify::PLINTH_KERNEL_LEVEL
