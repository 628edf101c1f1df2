// Tests what the generic operator checks cannot: faults of positions, and work in place.
#include <cmath>

#include "plinth/ops/rotary/op.h"
#include "plinth/ops/step_fixture.h"

namespace plinth::ops {
namespace {

TEST(Rotary, UnusablePositionIsAFaultAndGivesNan) {
  const Tensor x = TensorOf<float>(DType::kF32, {3, 6}, std::vector<float>(18, 1.0f));
  for (float bad : {NAN, INFINITY, -INFINITY, 2.2e9f, -2.2e9f}) {
    const Tensor positions = TensorOf<float>(DType::kF32, {3}, {0.0f, bad, 0.0f});
    for (Isa isa : LevelsHere()) {
      StepRun run{.spec = &RotarySpec(),
                  .inputs = {x.view(), positions.view()},
                  .attributes = {{"heads", int64_t{1}}, {"head_dim", int64_t{4}}},
                  .isa = isa};
      run.Go();
      EXPECT_EQ(ToStatus(RotarySpec(), run.fault).message(),
                "rotary: a position is not a finite number of at most 2^31 (value 0 at position 1)");
      const std::vector<float> y = run.Values<float>();
      for (size_t i = 0; i < 18; ++i) {
        if (i >= 6 && i < 10) {
          EXPECT_TRUE(std::isnan(y[i])) << i;
        } else {
          EXPECT_EQ(y[i], 1.0f) << i;
        }
      }
    }
  }
}

TEST(Rotary, InPlaceGivesTheSameBits) {
  Tensor x(DType::kF32, {50, 100});
  Tensor positions(DType::kI32, {50});
  for (int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = std::sin(static_cast<float>(i));
  for (int64_t i = 0; i < 50; ++i) positions.data<int32_t>()[i] = static_cast<int32_t>(i * 977);
  for (const char* style : {"halves", "interleaved"}) {
    for (Isa isa : LevelsHere()) {
      StepRun run{.spec = &RotarySpec(),
                  .inputs = {x.view(), positions.view()},
                  .attributes = {{"heads", int64_t{2}},
                                 {"head_dim", int64_t{38}},
                                 {"rotary_dims", int64_t{34}},
                                 {"style", std::string(style)}},
                  .isa = isa};
      run.Go();
      Tensor y(DType::kF32, {50, 100});
      std::memcpy(y.raw(), x.raw(), static_cast<size_t>(x.bytes()));
      auto call = MakeCall(RotarySpec(), {ValueType{DType::kF32, {50, 100}}, ValueType{DType::kI32, {50}}},
                           run.attributes);
      ASSERT_TRUE(call.ok());
      auto step = CpuStep::Make(*call, {}, isa);
      ASSERT_TRUE(step.ok());
      const View in[] = {y.view(), positions.view()}, out = y.view();
      const AlignedBytes scratch = AllocateAligned(step->ScratchBytes(in, &out));
      KernelFault fault;
      step->Run(in, &out, 0, step->Pieces(in, &out), scratch.get(), &fault);
      EXPECT_EQ(std::memcmp(y.raw(), run.output.data(), run.output.size()), 0) << style;
    }
  }
}

}  // namespace
}  // namespace plinth::ops
