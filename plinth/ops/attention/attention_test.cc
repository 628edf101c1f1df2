// Tests what the generic operator checks cannot: that a sequence keeps its bits whatever batch it is in,
// whatever its hidden keys hold and however pieces are grouped; and that hostile offsets are faults.
#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "plinth/ops/attention/op.h"
#include "plinth/ops/step_fixture.h"

namespace plinth::ops {
namespace {

constexpr int64_t kHeads = 3, kDim = 20, kWidth = kHeads * kDim;
// Heads whose values are no whole vectors, are, and whose keys are too long to be packed.
constexpr int64_t kDims[] = {kDim, 32, 144};

// A fused [rows, q|k|v] with the columns of one part as a view.
struct Fused {
  int64_t width;
  Tensor x;
  explicit Fused(int64_t rows, uint32_t seed = 1, int64_t dim = kDim)
      : width(kHeads * dim), x(DType::kF32, {rows, 3 * width}) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = normal(random);
  }
  View Part(int part, int64_t first, int64_t rows) const {
    View v = x.view();
    v.data = x.data<float>() + first * 3 * width + part * width;
    v.dims[0] = rows;
    v.dims[1] = width;
    return v;
  }
};

Tensor Int32(const std::vector<int32_t>& values) {
  return TensorOf(DType::kI32, {static_cast<int64_t>(values.size())}, values);
}

struct Options {
  bool causal = false;
  View mask = {}, bias = {}, kv_offsets = {};
};

StepRun Make(const Fused& f, int64_t first, int64_t rows, const Tensor& offsets, const Options& o, Isa isa) {
  return {.spec = &AttentionSpec(),
          .inputs = {f.Part(0, first, rows), f.Part(1, first, rows), f.Part(2, first, rows), offsets.view(),
                     o.kv_offsets, o.mask, o.bias},
          .attributes = {{"heads", kHeads}, {"causal", o.causal}},
          .isa = isa};
}

std::vector<std::byte> Rows(const StepRun& run, int64_t first, int64_t rows) {
  const size_t row = static_cast<size_t>(run.out.dims[1]) * sizeof(float);
  return {run.output.begin() + static_cast<int64_t>(row) * first,
          run.output.begin() + static_cast<int64_t>(row) * (first + rows)};
}

// Lengths around vector widths, row tiles, pieces (128) and key blocks (256).
const std::vector<int32_t> kOffsets = {0, 38, 39, 39, 167, 295, 424, 1000, 1017, 1275};

void ExpectTheBitsOfEachAlone(int64_t dim, Isa isa, bool causal, bool masked) {
  const int64_t rows = kOffsets.back();
  const Fused f(rows, 1, dim);
  Tensor mask(DType::kBool, {rows});
  for (int64_t i = 0; i < rows; ++i) mask.data<uint8_t>()[i] = i % 7 != 3;
  const Tensor offsets = Int32(kOffsets);
  StepRun batch = Make(f, 0, rows, offsets, {.causal = causal, .mask = masked ? mask.view() : View{}}, isa);
  batch.Go();
  for (size_t b = 0; b + 1 < kOffsets.size(); ++b) {
    const int64_t first = kOffsets[b], count = kOffsets[b + 1] - first;
    if (count == 0) continue;
    const Tensor own = Int32({0, static_cast<int32_t>(count)});
    View own_mask = mask.view();
    own_mask.data = mask.data<uint8_t>() + first;
    own_mask.dims[0] = count;
    StepRun alone = Make(f, first, count, own, {.causal = causal, .mask = masked ? own_mask : View{}}, isa);
    alone.Go();
    EXPECT_EQ(Rows(batch, first, count), alone.output)
        << "sequence " << b << " at " << IsaName(isa) << ", dim " << dim << (causal ? ", causal" : "")
        << (masked ? ", masked" : "");
  }
}

TEST(Attention, SequenceKeepsItsBitsInAnyBatch) {
  for (Isa isa : LevelsHere()) {
    for (int64_t dim : kDims) {
      for (bool causal : {false, true}) {
        for (bool masked : {false, true}) ExpectTheBitsOfEachAlone(dim, isa, causal, masked);
      }
    }
  }
}

TEST(Attention, PiecesMayRunInAnyOrderAndGrouping) {
  const int64_t rows = kOffsets.back();
  const Tensor offsets = Int32(kOffsets);
  for (int64_t dim : kDims) {
    const Fused f(rows, 1, dim);
    for (Isa isa : LevelsHere()) {
      for (bool causal : {false, true}) {
        StepRun whole = Make(f, 0, rows, offsets, {.causal = causal}, isa);
        whole.Go();
        for (int64_t group : {1, 2, 5}) {
          StepRun split = Make(f, 0, rows, offsets, {.causal = causal}, isa);
          split.pieces_per_launch = group;
          split.reversed = true;
          split.Go();
          EXPECT_EQ(whole.output, split.output) << group << " at " << IsaName(isa) << ", dim " << dim;
        }
      }
    }
  }
}

// Padding a sequence with hidden keys, wherever they stand and whatever they hold, changes no bit of the
// rows of visible tokens.
void ExpectNoTrace(int64_t dim, int64_t length, int64_t padding) {
  const Fused f(length, 1, dim);
  Fused padded(length + padding, 2, dim);
  Tensor mask(DType::kU8, {length + padding});
  std::vector<int64_t> place;
  int64_t token = 0;
  const int64_t columns = 3 * f.width;
  for (int64_t i = 0; i < length + padding; ++i) {
    float* row = padded.x.data<float>() + i * columns;
    const bool hidden = i < padding / 2 || (i % 3 == 0 && i - token < padding) || token == length;
    mask.data<uint8_t>()[i] = hidden ? 0 : 255;
    if (hidden) {
      std::fill(row, row + columns, i % 2 ? NAN : INFINITY);
    } else {
      std::memcpy(row, f.x.data<float>() + token++ * columns, static_cast<size_t>(columns) * sizeof(float));
      place.push_back(i);
    }
  }
  ASSERT_EQ(token, length);
  for (Isa isa : LevelsHere()) {
    const Tensor own = Int32({0, static_cast<int32_t>(length)});
    const Tensor all = Int32({0, static_cast<int32_t>(length + padding)});
    StepRun plain = Make(f, 0, length, own, {}, isa);
    plain.Go();
    StepRun hidden = Make(padded, 0, length + padding, all, {.mask = mask.view()}, isa);
    hidden.Go();
    for (int64_t i = 0; i < length; ++i) {
      EXPECT_EQ(Rows(plain, i, 1), Rows(hidden, place[static_cast<size_t>(i)], 1))
          << "row " << i << " of " << length << " at " << IsaName(isa) << ", dim " << dim;
    }
  }
}

// Lengths around what is packed, read in place, and one or two blocks of keys.
TEST(Attention, HiddenKeysLeaveNoTrace) {
  for (int64_t dim : kDims) {
    for (int64_t length : {1, 4, 12, 16, 17, 20, 33, 37, 129, 256, 258, 300}) {
      ExpectNoTrace(dim, length, length < 20 ? 14 : 45);
    }
  }
}

// Query heads that share a key head equal heads of their own that hold the same keys.
TEST(Attention, SharedKeyHeadsEqualCopies) {
  const int64_t rows = 300, dim = 32;
  const Fused f(rows, 1, dim);
  Tensor copies(DType::kF32, {rows, 6 * dim});
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t c = 0; c < 6 * dim; ++c) {
      copies.data<float>()[i * 6 * dim + c] =
          f.x.data<float>()[i * 9 * dim + 3 * dim + c / (3 * dim) * dim + c % dim];
    }
  }
  Tensor q(DType::kF32, {rows, 6 * dim});
  for (int64_t i = 0; i < q.size(); ++i) q.data<float>()[i] = f.x.data<float>()[i];
  View shared = f.Part(1, 0, rows);
  shared.dims[1] = 2 * dim;
  const Tensor offsets = Int32({0, 7, 40, 300});
  for (Isa isa : LevelsHere()) {
    StepRun grouped{.spec = &AttentionSpec(),
                    .inputs = {q.view(), shared, shared, offsets.view(), View{}, View{}, View{}},
                    .attributes = {{"heads", int64_t{6}}, {"kv_heads", int64_t{2}}},
                    .isa = isa};
    grouped.Go();
    StepRun plain{.spec = &AttentionSpec(),
                  .inputs = {q.view(), copies.view(), copies.view(), offsets.view(), View{}, View{}, View{}},
                  .attributes = {{"heads", int64_t{6}}},
                  .isa = isa};
    plain.Go();
    EXPECT_EQ(plain.output, grouped.output) << IsaName(isa);
    StepRun split = grouped;
    split.pieces_per_launch = 1;
    split.reversed = true;
    split.Go();
    EXPECT_EQ(plain.output, split.output) << IsaName(isa);
  }
}

struct Hostile {
  std::vector<int32_t> offsets;
  const char* says;
};
TEST(Attention, HostileOffsetsAreFaultsAndGiveZeros) {
  const Fused f(200);
  const std::vector<float> zeros(200 * kWidth, 0.0f);
  for (const Hostile& h : {Hostile{{1, 200}, "do not start at 0"},
                           {{-5, 10, 200}, "do not start at 0"},
                           {{0, 150, 140, 200}, "decrease"},
                           {{0, -1, 200}, "decrease"},
                           {{0, 201}, "behind the last row"},
                           {{0, 10, 2147483647}, "behind the last row"},
                           {{0, -2147483647 - 1, 2147483647}, "decrease"}}) {
    const Tensor bad = Int32(h.offsets);
    std::vector<int32_t> fine(h.offsets.size(), 0);
    fine.back() = 200;
    const Tensor good = Int32(fine);
    for (bool keys : {false, true}) {
      StepRun run =
          Make(f, 0, 200, keys ? good : bad, {.kv_offsets = keys ? bad.view() : good.view()}, Isa::kV2);
      run.pieces_per_launch = 1;
      run.Go();
      ASSERT_NE(run.fault.what, nullptr);
      EXPECT_THAT(run.fault.what, testing::HasSubstr(h.says));
      EXPECT_EQ(run.Values<float>(), zeros);
    }
  }
}

TEST(Attention, SequenceLongerThanTheBiasIsAFault) {
  const Fused f(20);
  const Tensor offsets = Int32({0, 5, 16, 20});
  Tensor bias(DType::kF32, {1, 8, 11});
  StepRun run = Make(f, 0, 20, offsets, {.bias = bias.view()}, Isa::kV2);
  run.Go();
  EXPECT_EQ(ToStatus(AttentionSpec(), run.fault).message(),
            "attention: a sequence has more queries than the bias (value 11 at position 1)");
  const std::vector<float> y = run.Values<float>();
  for (int64_t i = 0; i < 20 * kWidth; ++i) {
    const bool cleared = i / kWidth >= 5 && i / kWidth < 16;
    EXPECT_EQ(y[static_cast<size_t>(i)] == 0, cleared) << i;
  }
  Tensor narrow(DType::kF32, {kHeads, 11, 10});
  StepRun keys = Make(f, 0, 20, offsets, {.bias = narrow.view()}, Isa::kV2);
  keys.Go();
  EXPECT_STREQ(keys.fault.what, "a sequence has more keys than the bias");
}

// The same numbers as a table of all pairs give the same bits, alone as in a batch, masked and causal too.
TEST(Attention, BiasByDistanceEqualsItsTable) {
  const int64_t rows = kOffsets.back(), longest = 600, distances = 2 * longest - 1;
  const Fused f(rows);
  Tensor by_distance(DType::kF32, {kHeads, distances}), table(DType::kF32, {kHeads, longest, longest});
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < by_distance.size(); ++i) by_distance.data<float>()[i] = normal(random);
  for (int64_t i = 0; i < table.size(); ++i) {
    const int64_t head = i / (longest * longest), query = i / longest % longest, key = i % longest;
    table.data<float>()[i] = by_distance.data<float>()[head * distances + key - query + longest - 1];
  }
  Tensor mask(DType::kBool, {rows});
  for (int64_t i = 0; i < rows; ++i) mask.data<uint8_t>()[i] = i % 7 != 3;
  const Tensor offsets = Int32(kOffsets), last = Int32({0, 258});
  for (Isa isa : LevelsHere()) {
    for (bool causal : {false, true}) {
      for (bool masked : {false, true}) {
        Options o{.causal = causal, .mask = masked ? mask.view() : View{}, .bias = table.view()};
        StepRun all_pairs = Make(f, 0, rows, offsets, o, isa);
        all_pairs.Go();
        o.bias = by_distance.view();
        StepRun distant = Make(f, 0, rows, offsets, o, isa);
        distant.Go();
        EXPECT_EQ(distant.fault.what, nullptr);
        EXPECT_EQ(all_pairs.output, distant.output) << IsaName(isa) << causal << masked;
        if (masked) {
          o.mask.data = mask.data<uint8_t>() + 1017;
          o.mask.dims[0] = 258;
        }
        StepRun alone = Make(f, 1017, 258, last, o, isa);
        alone.Go();
        EXPECT_EQ(Rows(distant, 1017, 258), alone.output) << IsaName(isa) << causal << masked;
      }
    }
  }
}

TEST(Attention, HiddenKeysAtTheEndLeaveNoTraceInABiasByDistance) {
  const Fused f(345);
  Tensor bias(DType::kF32, {kHeads, 2 * 345 - 1}), mask(DType::kBool, {345});
  for (int64_t i = 0; i < bias.size(); ++i) bias.data<float>()[i] = static_cast<float>(i % 31) / 8;
  std::fill(mask.data<uint8_t>(), mask.data<uint8_t>() + 300, 1);
  const Tensor own = Int32({0, 300}), all = Int32({0, 345});
  for (Isa isa : LevelsHere()) {
    StepRun plain = Make(f, 0, 300, own, {.bias = bias.view()}, isa);
    plain.Go();
    StepRun hidden = Make(f, 0, 345, all, {.mask = mask.view(), .bias = bias.view()}, isa);
    hidden.Go();
    EXPECT_EQ(plain.output, Rows(hidden, 0, 300)) << IsaName(isa);
  }
}

TEST(Attention, SequenceLongerThanTheBiasByDistanceIsAFault) {
  const Fused f(20);
  const Tensor offsets = Int32({0, 5, 16, 20}), few = Int32({0, 1, 2, 3});
  Tensor bias(DType::kF32, {1, 19});
  StepRun run = Make(f, 0, 20, offsets, {.bias = bias.view()}, Isa::kV2);
  run.Go();
  EXPECT_EQ(ToStatus(AttentionSpec(), run.fault).message(),
            "attention: a sequence has more queries than the bias (value 11 at position 1)");
  const std::vector<float> y = run.Values<float>();
  for (int64_t i = 0; i < 20 * kWidth; ++i) {
    EXPECT_EQ(y[static_cast<size_t>(i)] == 0, i / kWidth >= 5 && i / kWidth < 16) << i;
  }
  StepRun keys = Make(f, 0, 20, few, {.bias = bias.view(), .kv_offsets = offsets.view()}, Isa::kV2);
  keys.Go();
  EXPECT_EQ(ToStatus(AttentionSpec(), keys.fault).message(),
            "attention: a sequence has more keys than the bias (value 11 at position 1)");
}

TEST(Attention, RowsThatSeeNothingAreZeros) {
  const Fused f(6);
  const Tensor offsets = Int32({0, 3});
  const Tensor mask = TensorOf<uint8_t>(DType::kBool, {6}, {0, 0, 1, 1, 1, 1});
  for (Isa isa : LevelsHere()) {
    StepRun run = Make(f, 0, 6, offsets, {.causal = true, .mask = mask.view()}, isa);
    run.Go();
    EXPECT_EQ(run.fault.what, nullptr);
    const std::vector<float> y = run.Values<float>();
    for (int64_t i = 0; i < 6 * kWidth; ++i) {
      const int64_t row = i / kWidth;
      // Row 2 sees key 2 alone, so it is that key's value; rows 3 to 5 belong to nobody.
      const float want = row == 2 ? f.x.data<float>()[2 * 3 * kWidth + 2 * kWidth + i % kWidth] : 0.0f;
      EXPECT_EQ(y[static_cast<size_t>(i)], want) << i;
    }
  }
}

}  // namespace
}  // namespace plinth::ops
