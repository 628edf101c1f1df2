#include "plinth/server/oip/json_infer.h"

#include <cmath>
#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/base/text.h"
#include "plinth/server/fields.h"

namespace plinth::server::oip {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
std::vector<T> Values(const Tensor& tensor) {
  EXPECT_EQ(tensor.data.size(), tensor.count() * sizeof(T));
  std::vector<T> values(tensor.data.size() / sizeof(T));
  std::memcpy(values.data(), tensor.data.data(), values.size() * sizeof(T));
  return values;
}

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

StatusOr<InferRequest> Parse(const std::string& json, const std::string& behind = {}, bool binary = false) {
  return ParseInferRequest(json + behind, binary ? StrCat(json.size()) : "", {1000, 50000});
}

// "field | message".
std::string Wrong(const std::string& json, const std::string& behind = {}, bool binary = false) {
  const auto request = Parse(json, behind, binary);
  EXPECT_FALSE(request.ok()) << json;
  EXPECT_TRUE(absl::IsInvalidArgument(request.status())) << request.status();
  EXPECT_LT(request.status().message().size(), 400U);
  return StrCat(FieldOf(request.status()), " | ", std::string(request.status().message()));
}

std::string Context(const std::string& shape, const std::string& rest, const std::string& type = "FP64") {
  return StrCat(R"({"inputs":[{"name":"context","datatype":")", type, R"(","shape":)", shape, rest, "}]}");
}

TEST(JsonInfer, ReadsFlatAndNestedData) {
  for (const char* data : {"[1, 2.5, null, 4]", "[[1, 2.5], [null, 4]]"}) {
    const auto request = Parse(Context("[2,2]", StrCat(",\"data\":", data)));
    ASSERT_TRUE(request.ok()) << request.status();
    const std::vector<double> values = Values<double>(request->inputs[0]);
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[1], 2.5);
    EXPECT_TRUE(std::isnan(values[2]));
    EXPECT_EQ(values[3], 4);
  }
}

TEST(JsonInfer, ReadsAllTensorsInTheirTypes) {
  const auto request = Parse(
      R"({"id":"a","inputs":[
          {"name":"context","datatype":"FP32","shape":[2,2],"data":[0.1,2,3,4]},
          {"name":"lengths","datatype":"INT64","shape":[2],"data":[1,2.0]},
          {"name":"mask","datatype":"BOOL","shape":[2,2],"data":[[true,false],[1,0]]}],
          "parameters":{"horizon":3,"quantiles":[0.1,0.2],"x":true,"y":0.5,"z":"t","n":null},
          "outputs":[{"name":"mean"}]})");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->id, "a");
  EXPECT_THAT(Values<float>(request->inputs[0]), ElementsAre(0.1F, 2, 3, 4));
  EXPECT_THAT(Values<int64_t>(request->inputs[1]), ElementsAre(1, 2));
  EXPECT_THAT(Values<uint8_t>(request->inputs[2]), ElementsAre(1, 0, 1, 0));
  ASSERT_EQ(request->parameters.size(), 5U);
  EXPECT_EQ(std::get<int64_t>(request->parameters[0].value), 3);
  EXPECT_THAT(std::get<std::vector<double>>(request->parameters[1].value), ElementsAre(0.1, 0.2));
  EXPECT_EQ(std::get<bool>(request->parameters[2].value), true);
  EXPECT_EQ(std::get<double>(request->parameters[3].value), 0.5);
  EXPECT_EQ(std::get<std::string>(request->parameters[4].value), "t");
  ASSERT_EQ(request->outputs.size(), 1U);
  EXPECT_EQ(request->outputs[0].name, "mean");
  EXPECT_FALSE(request->outputs[0].binary);
}

TEST(JsonInfer, ReadsBytesBehindTheJson) {
  const std::string json =
      R"({"parameters":{"binary_data_output":true},"inputs":[
          {"name":"lengths","datatype":"INT64","shape":[1],"parameters":{"binary_data_size":8}},
          {"name":"context","datatype":"FP64","shape":[1,2],"parameters":{"binary_data_size":16}},
          {"name":"mask","datatype":"BOOL","shape":[1,2],"data":[true,true]}]})";
  const std::string behind = Bytes<int64_t>({2}) + Bytes<double>({1.5, 2.5});
  const std::string body = json + behind;
  const auto request = ParseInferRequest(body, StrCat(json.size()), {1000, 50000});
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(Values<int64_t>(request->inputs[0]), ElementsAre(2));
  EXPECT_THAT(Values<double>(request->inputs[1]), ElementsAre(1.5, 2.5));
  EXPECT_THAT(request->parameters, ::testing::IsEmpty());
  ASSERT_EQ(request->outputs.size(), 2U);
  EXPECT_TRUE(request->outputs[0].binary && request->outputs[1].binary);
}

TEST(JsonInfer, LetsAnOutputSayHowItComes) {
  const auto request = Parse(R"({"parameters":{"binary_data_output":true},
      "outputs":[{"name":"mean","parameters":{"binary_data":false}},{"name":"quantiles"}],
      "inputs":[{"name":"context","datatype":"FP64","shape":[1,1],"data":[1]}]})");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_FALSE(request->outputs[0].binary);
  EXPECT_TRUE(request->outputs[1].binary);
}

TEST(JsonInfer, RefusesOtherCountsThanTheShapeSays) {
  EXPECT_EQ(Wrong(Context("[2,2]", R"(,"data":[1,2,3])")),
            "inputs[0].data | inputs[0].data: has 3 values; the shape says 4");
  EXPECT_THAT(Wrong(Context("[2,2]", R"(,"data":[1,2,3,4,5])")), HasSubstr("has more than 4 values"));
  EXPECT_THAT(Wrong(Context("[2,2]", R"(,"data":[])")), HasSubstr("has 0 values; the shape says 4"));
  EXPECT_THAT(Wrong(Context("[2,2]", R"(,"data":[[1,2,3],[4]])")), HasSubstr("inputs[0].data[0]"));
  EXPECT_THAT(Wrong(Context("[2,2]", R"(,"data":[[1,2],[4]])")),
              HasSubstr("inputs[0].data[1]: has 1 values; the shape says 2"));
  EXPECT_THAT(Wrong(Context("[2,2]", R"(,"data":[[1,2]])")), HasSubstr("has 1 lists; the shape says 2"));
  EXPECT_THAT(Wrong(Context("[2,2]", R"(,"data":[[1,2],[3,4],[5,6]])")), HasSubstr("at most 2 are taken"));
  EXPECT_THAT(Wrong(Context("[2,2]", R"(,"data":[[1,2],3,4])")), HasSubstr("inputs[0].data"));
  EXPECT_THAT(Wrong(Context("[2,2]", R"(,"data":[1,2,[3,4]])")), HasSubstr("inputs[0].data[2]"));
  EXPECT_THAT(Wrong(Context("[1,1]", R"(,"data":[[[1]]])")), HasSubstr("inputs[0].data[0][0]"));
}

TEST(JsonInfer, RefusesValuesOfAnotherKind) {
  EXPECT_THAT(Wrong(Context("[1,2]", R"(,"data":[1,"2"])")), HasSubstr("inputs[0].data[1]"));
  EXPECT_THAT(Wrong(Context("[1,2]", R"(,"data":{"a":1})")), HasSubstr("a list of numbers is expected"));
  EXPECT_THAT(Wrong(Context("[1,2]", R"(,"data":[1,NaN])")), HasSubstr("the body is not JSON"));
  EXPECT_EQ(Wrong(Context("[1,2]", R"(,"data":[1,-1e39])", "FP32")),
            "inputs[0].data[1] | inputs[0].data[1]: is more than FP32 can hold");
  const std::string head = R"({"inputs":[{"name":)";
  EXPECT_THAT(Wrong(head + R"("mask","datatype":"BOOL","shape":[1,2],"data":[true,2]}]})"),
              HasSubstr("inputs[0].data[1]: is neither true nor false"));
  EXPECT_THAT(Wrong(head + R"("mask","datatype":"BOOL","shape":[1,2],"data":[true,null]}]})"),
              HasSubstr("inputs[0].data[1]: is neither true nor false"));
  EXPECT_THAT(Wrong(head + R"("lengths","datatype":"INT64","shape":[2],"data":[1,1.5]}]})"),
              HasSubstr("inputs[0].data[1]: is no integer"));
  EXPECT_THAT(Wrong(head + R"("lengths","datatype":"INT64","shape":[2],"data":[null,1]}]})"),
              HasSubstr("inputs[0].data[0]: is no integer"));
  EXPECT_THAT(Wrong(head + R"("lengths","datatype":"INT64","shape":[2],"data":[[1,1]]}]})"),
              HasSubstr("inputs[0].data[0]"));
}

TEST(JsonInfer, RefusesBytesThatDoNotAddUp) {
  const auto binary = [](int64_t size) {
    return Context("[1,2]", StrCat(R"(,"parameters":{"binary_data_size":)", size, "}"));
  };
  const std::string two = Bytes<double>({1, 2});
  EXPECT_TRUE(Parse(binary(16), two, true).ok());
  EXPECT_THAT(Wrong(binary(16), two), HasSubstr("the body is not JSON"));
  EXPECT_THAT(Wrong(binary(16)), HasSubstr("the request has no field inference-header-content-length"));
  EXPECT_THAT(Wrong(binary(16), two.substr(1), true), HasSubstr("is 16, but only 15 more bytes follow"));
  EXPECT_THAT(Wrong(binary(16), "", true), HasSubstr("is 16, but only 0 more bytes follow"));
  EXPECT_THAT(Wrong(binary(16), two + "x", true), HasSubstr("inputs: 1 bytes behind the JSON belong to no"));
  EXPECT_THAT(Wrong(binary(8), two, true), HasSubstr("has 8 bytes of data; FP64 [1, 2] has 16"));
  EXPECT_THAT(Wrong(binary(0), two, true), HasSubstr("has 0 bytes of data"));
  EXPECT_THAT(Wrong(binary(-16), two, true), HasSubstr("binary_data_size: is -16"));
  EXPECT_THAT(Wrong(binary(INT64_MAX), two, true), HasSubstr("binary_data_size"));
  EXPECT_THAT(Wrong(Context("[1,2]", R"(,"data":[1,2],"parameters":{"binary_data_size":16})"), two, true),
              HasSubstr("inputs[0].data: is given beside binary_data_size"));
  EXPECT_THAT(Wrong(Context("[1,2]", "")), HasSubstr("inputs[0].data: is missing"));
}

TEST(JsonInfer, RefusesHeaderLengthsThatAreNone) {
  const std::string json = Context("[1,1]", R"(,"data":[1])");
  for (const std::string length : {"x", "-1", " 5", "5 ", "0x10", "99999999999999999999999", "1000000"}) {
    const auto request = ParseInferRequest(json, length, {});
    EXPECT_THAT(std::string(request.status().message()),
                HasSubstr(StrCat("inference-header-content-length: is \"", length)));
  }
  EXPECT_THAT(std::string(ParseInferRequest(json, "0", {}).status().message()),
              HasSubstr("a body of bytes alone cannot tell the shape"));
  EXPECT_THAT(std::string(ParseInferRequest(json, "5", {}).status().message()),
              HasSubstr("the body is not JSON"));
}

TEST(JsonInfer, RefusesShapesBeforeItLooksAtData) {
  EXPECT_THAT(Wrong(Context("[8,2305843009213693952]", R"(,"data":[])")),
              HasSubstr("50000 values are the most"));
  EXPECT_THAT(Wrong(Context("[4294967296,4294967296]", R"(,"data":[])")),
              HasSubstr("1000 series are the most"));
  EXPECT_THAT(Wrong(Context("[-1,-1]", R"(,"data":[1])")), HasSubstr("extents begin at 1"));
  EXPECT_THAT(Wrong(Context("[1.5,1]", R"(,"data":[1])")), HasSubstr("inputs[0].shape[0]"));
  EXPECT_THAT(Wrong(Context("[1,18446744073709551615]", R"(,"data":[1])")), HasSubstr("inputs[0].shape[1]"));
  EXPECT_THAT(Wrong(Context("[1,1,1,1,1,1,1,1,1]", R"(,"data":[1])")), HasSubstr("at most 8"));
  EXPECT_THAT(Wrong(Context("3", R"(,"data":[1])")), HasSubstr("a list is expected"));
  EXPECT_THAT(Wrong(Context("null", R"(,"data":[1])")), HasSubstr("inputs[0].shape: is missing"));
}

TEST(JsonInfer, RefusesBodiesThatAreNoRequest) {
  EXPECT_THAT(Wrong(""), HasSubstr("the body is empty"));
  EXPECT_THAT(Wrong("[]"), HasSubstr("an object is expected"));
  EXPECT_THAT(Wrong("{}"), HasSubstr("inputs: is missing"));
  EXPECT_THAT(Wrong("{\"inputs\":"), HasSubstr("the body is not JSON"));
  EXPECT_THAT(Wrong(std::string(100000, '[')), HasSubstr("the body is not JSON"));
  EXPECT_THAT(Wrong(R"({"inputs":{}})"), HasSubstr("a list is expected"));
  EXPECT_THAT(Wrong(R"({"inputs":[3]})"), HasSubstr("inputs[0]: is 3; an object is expected"));
  EXPECT_THAT(Wrong(R"({"inputs":[{}]})"), HasSubstr("inputs[0].name: is missing"));
  EXPECT_THAT(Wrong(R"({"inputs":[],"model":"x"})"), HasSubstr("model: is not known"));
  EXPECT_THAT(Wrong(R"({"inputs":[],"id":7})"), HasSubstr("id: is 7; text is expected"));
  EXPECT_THAT(Wrong(StrCat(R"({"inputs":[],"id":")", std::string(2000, 'x'), "\"}")),
              HasSubstr("longer than"));
  EXPECT_THAT(Wrong(R"({"inputs":[],"parameters":[]})"), HasSubstr("parameters: is a list; an object"));
  EXPECT_THAT(Wrong(R"({"inputs":[],"parameters":{"horizon":{}}})"), HasSubstr("parameters.horizon"));
  EXPECT_THAT(Wrong(R"({"inputs":[],"parameters":{"quantiles":["a"]}})"),
              HasSubstr("parameters.quantiles[0]"));
  EXPECT_THAT(Wrong(R"({"inputs":[],"parameters":{"binary_data_output":1}})"), HasSubstr("true or false"));
  EXPECT_THAT(Wrong(R"({"inputs":[],"outputs":[{"name":"median"}]})"),
              HasSubstr("outputs[0].name: no output is named \"median\"; outputs are quantiles, mean"));
  EXPECT_THAT(Wrong(R"({"inputs":[],"outputs":[{"name":"mean"},{"name":"mean"}]})"),
              HasSubstr("outputs[1].name: mean is asked for twice"));
  EXPECT_THAT(Wrong(R"({"inputs":[],"outputs":[{"name":"mean","parameters":{"classification":3}}]})"),
              HasSubstr("classification: is not known"));
  EXPECT_THAT(Wrong(Context("[1,1]", R"(,"data":[1],"parameters":{"shared_memory_region":"x"})")),
              HasSubstr("inputs[0].parameters.shared_memory_region: is not known"));
  std::string many = R"({"inputs":[)";
  for (int i = 0; i < 17; ++i) many += i == 0 ? "{}" : ",{}";
  EXPECT_THAT(Wrong(many + "]}"), HasSubstr("at most 16 are taken"));
}

// Every body that is cut short somewhere is refused, and none is read beyond its end.
TEST(JsonInfer, RefusesEveryBodyThatIsCutShort) {
  const std::string json = Context("[1,2]", R"(,"parameters":{"binary_data_size":16})");
  const std::string body = json + Bytes<double>({1, 2});
  for (size_t length = 0; length < body.size(); ++length) {
    // Copies of exactly that size, so that a sanitizer sees what is read beyond.
    const std::vector<char> cut(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(length));
    const auto request = ParseInferRequest({cut.data(), cut.size()}, StrCat(json.size()), {});
    EXPECT_FALSE(request.ok()) << length;
  }
}

}  // namespace
}  // namespace plinth::server::oip
