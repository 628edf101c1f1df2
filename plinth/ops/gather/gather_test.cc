// Tests what the generic operator checks cannot: indices outside the table.
#include "plinth/ops/gather/op.h"
#include "plinth/ops/step_fixture.h"

namespace plinth::ops {
namespace {

template <typename T>
void ExpectFault(DType dtype, std::vector<T> index, int64_t value, int64_t position) {
  const Tensor data = TensorOf<float>(DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor at = TensorOf<T>(dtype, {static_cast<int64_t>(index.size())}, index);
  for (Isa isa : LevelsHere()) {
    StepRun run{.spec = &GatherSpec(), .inputs = {data.view(), at.view()}, .isa = isa};
    run.Go();
    EXPECT_EQ(ToStatus(GatherSpec(), run.fault).message(),
              StrCat("gather: an index is outside the rows of data (value ", value, " at position ", position,
                     ")"));
    const std::vector<float> y = run.Values<float>();
    for (size_t i = 0; i < y.size(); ++i) {
      const int64_t row = static_cast<int64_t>(index[i / 2]);
      const bool inside = row >= 0 && row < 3;
      EXPECT_EQ(y[i], inside ? static_cast<float>(2 * row + 1 + static_cast<int64_t>(i % 2)) : 0.0f) << i;
    }
  }
}

TEST(Gather, IndexOutsideIsAFaultAndGivesZeros) {
  ExpectFault<int32_t>(DType::kI32, {2, 3, 0}, 3, 1);
  ExpectFault<int32_t>(DType::kI32, {-1}, -1, 0);
  ExpectFault<int32_t>(DType::kI32, {0, 1, INT32_MIN, 5}, INT32_MIN, 2);
  ExpectFault<int64_t>(DType::kI64, {0, INT64_MAX, 1}, INT64_MAX, 1);
  ExpectFault<int64_t>(DType::kI64, {int64_t{1} << 32}, int64_t{1} << 32, 0);
}

}  // namespace
}  // namespace plinth::ops
