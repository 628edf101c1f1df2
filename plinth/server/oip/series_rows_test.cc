#include "plinth/server/oip/series_rows.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/server/fields.h"

namespace plinth::server::oip {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

template <typename T>
Tensor Make(std::string_view name, std::string_view datatype, std::vector<int64_t> shape,
            const std::vector<T>& values) {
  StatusOr<Tensor> tensor = MakeInput("inputs[0]", name, datatype, std::move(shape), {});
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  // One byte off every boundary, as a body may have them.
  auto bytes = std::make_shared<std::string>(1 + values.size() * sizeof(T), '\0');
  std::memcpy(bytes->data() + 1, values.data(), values.size() * sizeof(T));
  tensor->owner = bytes;
  const Status set = SetData("inputs[0]", std::string_view(*bytes).substr(1), &*tensor);
  EXPECT_TRUE(set.ok()) << set;
  return *tensor;
}

std::string Wrong(const std::vector<Tensor>& inputs) {
  const auto rows = ReadRows(inputs, 100);
  EXPECT_FALSE(rows.ok());
  EXPECT_TRUE(absl::IsInvalidArgument(rows.status()));
  return StrCat(FieldOf(rows.status()), " | ", std::string(rows.status().message()));
}

TEST(SeriesRows, TakeTheLastStepsOfEachRow) {
  const std::vector<Tensor> inputs = {Make<double>("context", "FP64", {2, 3}, {1, 2, 3, 4, 5, 6}),
                                      Make<int64_t>("lengths", "INT64", {2}, {1, 3})};
  const auto all = ReadRows(inputs, 100), two = ReadRows(inputs, 2);
  ASSERT_TRUE(all.ok() && two.ok());
  EXPECT_THAT(all->rows[0], ElementsAre(1));
  EXPECT_THAT(all->rows[1], ElementsAre(4, 5, 6));
  EXPECT_THAT(two->rows[0], ElementsAre(1));
  EXPECT_THAT(two->rows[1], ElementsAre(5, 6));
}

TEST(SeriesRows, RefuseInfinity) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(
      Wrong({Make<double>("context", "FP64", {2, 2}, {1, 2, 3, -inf})}),
      "inputs[0].data[3] | inputs[0].data[3]: is infinite; a finite number, or NaN for a gap, is expected");
  EXPECT_THAT(Wrong({Make<float>("context", "FP32", {1, 2}, {float(inf), 1})}), HasSubstr("data[0]"));
}

TEST(SeriesRows, ReadGapsFromNaNAndMask) {
  const auto rows = ReadRows(
      std::vector<Tensor>{Make<uint8_t>("mask", "BOOL", {2, 3}, {1, 1, 0, 0, 1, 1}),
                          Make<float>("context", "FP32", {2, 3}, {1, float(kGap), 3, 4, 5.5F, 0.1F})},
      2);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_TRUE(std::isnan(rows->rows[0][0]) && std::isnan(rows->rows[0][1]));
  EXPECT_THAT(rows->rows[1], ElementsAre(5.5, static_cast<double>(0.1F)));
}

TEST(SeriesRows, RefuseWhatDoesNotFitTogether) {
  const Tensor context = Make<double>("context", "FP64", {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(Wrong({}), "inputs | inputs: the input context is missing");
  EXPECT_EQ(Wrong({context, context}), "inputs[1].name | inputs[1].name: context is given twice");
  EXPECT_THAT(Wrong({context, Make<int64_t>("lengths", "INT64", {3}, {1, 1, 1})}),
              HasSubstr("inputs[1].shape: has 3 lengths for 2 series"));
  EXPECT_THAT(Wrong({context, Make<uint8_t>("mask", "BOOL", {1, 4}, {1, 1, 1, 1})}),
              HasSubstr("inputs[1].shape: is [1, 4]; context has [2, 2]"));
  EXPECT_THAT(Wrong({context, Make<uint8_t>("mask", "BOOL", {2, 2}, {1, 1, 1, 2})}),
              HasSubstr("inputs[1].data[3]: is the byte 2; BOOL is 0 or 1"));
  for (const int64_t length : {int64_t{0}, int64_t{-1}, int64_t{3}, INT64_MIN, INT64_MAX}) {
    EXPECT_THAT(Wrong({context, Make<int64_t>("lengths", "INT64", {2}, {2, length})}),
                HasSubstr(StrCat("inputs[1].data[1]: is ", length, "; an integer in [1, 2] is expected")));
  }
}

TEST(Tensors, RefuseShapesBeforeAnythingIsMade) {
  const auto wrong = [](std::string_view name, std::string_view datatype, std::vector<int64_t> shape) {
    const auto tensor = MakeInput("inputs[7]", name, datatype, std::move(shape), {1000, 50000});
    EXPECT_FALSE(tensor.ok());
    return std::string(tensor.status().message());
  };
  EXPECT_EQ(wrong("past", "FP64", {1, 1}),
            "inputs[7].name: no input is named \"past\"; inputs are context, lengths, mask");
  EXPECT_EQ(wrong("context", "INT32", {1, 1}), "inputs[7].datatype: is \"INT32\"; context is FP64 or FP32");
  EXPECT_EQ(wrong("lengths", "FP64", {1}), "inputs[7].datatype: is \"FP64\"; lengths is INT64");
  EXPECT_EQ(wrong("context", "FP64", {4}),
            "inputs[7].shape: has 1 extents; context has two: [series, steps]");
  EXPECT_EQ(wrong("lengths", "INT64", {1, 1}), "inputs[7].shape: has 2 extents; lengths has one: [series]");
  EXPECT_EQ(wrong("context", "FP64", {}), "inputs[7].shape: has 0 extents; context has two: [series, steps]");
  EXPECT_EQ(wrong("context", "FP64", {0, 3}), "inputs[7].shape: is [0, 3]; extents begin at 1");
  EXPECT_EQ(wrong("context", "FP64", {2, -1}), "inputs[7].shape: is [2, -1]; extents begin at 1");
  EXPECT_THAT(wrong("context", "FP64", {1001, 1}), HasSubstr("1000 series are the most"));
  EXPECT_THAT(wrong("context", "FP64", {2, 25001}), HasSubstr("50000 values are the most"));
  // Products that wrap around to something small.
  EXPECT_THAT(wrong("context", "FP64", {8, int64_t{1} << 61}), HasSubstr("50000 values are the most"));
  EXPECT_THAT(wrong("context", "FP64", {int64_t{1} << 32, int64_t{1} << 32}), HasSubstr("1000 series"));
  EXPECT_THAT(wrong("mask", "BOOL", {1, INT64_MAX}), HasSubstr("50000 values are the most"));
  EXPECT_THAT(wrong("lengths", "INT64", {INT64_MAX}), HasSubstr("1000 series are the most"));
  EXPECT_TRUE(MakeInput("x", "context", "FP64", {2, 25000}, {1000, 50000}).ok());
}

TEST(Tensors, RefuseOtherAmountsOfData) {
  auto tensor = MakeInput("inputs[0]", "context", "FP32", {2, 3}, {});
  ASSERT_TRUE(tensor.ok());
  for (const size_t bytes : {size_t{0}, size_t{23}, size_t{25}, size_t{48}}) {
    const Status status = SetData("inputs[0]", std::string(bytes, 'x'), &*tensor);
    EXPECT_EQ(std::string(status.message()),
              StrCat("inputs[0]: has ", bytes, " bytes of data; FP32 [2, 3] has 24"));
  }
}

}  // namespace
}  // namespace plinth::server::oip
