#include "plinth/server/grpc/infer_messages.h"

#include <cmath>
#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/base/text.h"
#include "plinth/server/fields.h"

namespace plinth::server::rpc {
namespace {

using inference::ModelInferRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
std::vector<T> Values(const oip::Tensor& tensor) {
  EXPECT_EQ(tensor.data.size(), tensor.count() * sizeof(T));
  std::vector<T> values(tensor.data.size() / sizeof(T));
  std::memcpy(values.data(), tensor.data.data(), values.size() * sizeof(T));
  return values;
}

ModelInferRequest::InferInputTensor* AddInput(ModelInferRequest* message, const std::string& name,
                                              const std::string& datatype,
                                              const std::vector<int64_t>& shape) {
  auto* input = message->add_inputs();
  input->set_name(name);
  input->set_datatype(datatype);
  for (const int64_t extent : shape) input->add_shape(extent);
  return input;
}

ModelInferRequest WithRaw(const std::vector<int64_t>& shape, const std::string& bytes) {
  ModelInferRequest message;
  AddInput(&message, "context", "FP64", shape);
  message.add_raw_input_contents(bytes);
  return message;
}

std::string Wrong(const ModelInferRequest& message) {
  const auto request = ReadInferRequest(message, {1000, 50000});
  EXPECT_FALSE(request.ok());
  EXPECT_TRUE(absl::IsInvalidArgument(request.status()));
  EXPECT_FALSE(FieldOf(request.status()).empty());
  EXPECT_LT(request.status().message().size(), 400U);
  return std::string(request.status().message());
}

TEST(InferMessages, ReadBytes) {
  ModelInferRequest message = WithRaw({1, 2}, Bytes<double>({1.5, 2.5}));
  message.set_id("x");
  const auto request = ReadInferRequest(message, {});
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->id, "x");
  EXPECT_THAT(Values<double>(request->inputs[0]), ElementsAre(1.5, 2.5));
  EXPECT_EQ(request->outputs.size(), 2U);
}

TEST(InferMessages, ReadTypedContents) {
  ModelInferRequest message;
  auto* context = AddInput(&message, "context", "FP32", {1, 2})->mutable_contents();
  context->add_fp32_contents(1.5F), context->add_fp32_contents(-2);
  AddInput(&message, "lengths", "INT64", {1})->mutable_contents()->add_int64_contents(2);
  auto* mask = AddInput(&message, "mask", "BOOL", {1, 2})->mutable_contents();
  mask->add_bool_contents(true), mask->add_bool_contents(false);
  message.add_outputs()->set_name("mean");
  const auto request = ReadInferRequest(message, {});
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(Values<float>(request->inputs[0]), ElementsAre(1.5F, -2));
  EXPECT_THAT(Values<int64_t>(request->inputs[1]), ElementsAre(2));
  EXPECT_THAT(Values<uint8_t>(request->inputs[2]), ElementsAre(1, 0));
  ASSERT_EQ(request->outputs.size(), 1U);
  EXPECT_EQ(request->outputs[0].name, "mean");
}

TEST(InferMessages, ReadParametersOfEveryKind) {
  ModelInferRequest message = WithRaw({1, 1}, Bytes<double>({1}));
  auto& parameters = *message.mutable_parameters();
  parameters["a"].set_bool_param(true);
  parameters["b"].set_int64_param(-3);
  parameters["c"].set_string_param("t");
  parameters["d"].set_double_param(0.5);
  parameters["e"].set_uint64_param(7);
  parameters["f"].set_uint64_param(~uint64_t{0});
  const auto request = ReadInferRequest(message, {});
  ASSERT_TRUE(request.ok()) << request.status();
  ASSERT_EQ(request->parameters.size(), 6U);
  // In the order of their names.
  const auto& read = request->parameters;
  EXPECT_TRUE(std::get<bool>(read[0].value));
  EXPECT_EQ(std::get<int64_t>(read[1].value), -3);
  EXPECT_EQ(std::get<std::string>(read[2].value), "t");
  EXPECT_EQ(std::get<double>(read[3].value), 0.5);
  EXPECT_EQ(std::get<int64_t>(read[4].value), 7);
  EXPECT_EQ(std::get<double>(read[5].value), 0x1p64);
}

TEST(InferMessages, RefuseBytesThatDoNotFitTheShape) {
  const std::string two = Bytes<double>({1, 2});
  EXPECT_EQ(Wrong(WithRaw({1, 2}, two.substr(1))), "inputs[0]: has 15 bytes of data; FP64 [1, 2] has 16");
  EXPECT_THAT(Wrong(WithRaw({1, 2}, two + "x")), HasSubstr("has 17 bytes"));
  EXPECT_THAT(Wrong(WithRaw({1, 2}, "")), HasSubstr("has 0 bytes"));
  EXPECT_THAT(Wrong(WithRaw({8, int64_t{1} << 61}, "")), HasSubstr("50000 values are the most"));
  EXPECT_THAT(Wrong(WithRaw({-1, -1}, two)), HasSubstr("extents begin at 1"));
  EXPECT_THAT(Wrong(WithRaw({}, two)), HasSubstr("has 0 extents"));
  EXPECT_THAT(Wrong(WithRaw(std::vector<int64_t>(9, 1), two)), HasSubstr("at most 8"));
}

TEST(InferMessages, RefuseContentsInTheWrongPlace) {
  ModelInferRequest both = WithRaw({1, 1}, Bytes<double>({1}));
  both.mutable_inputs(0)->mutable_contents()->add_fp64_contents(1);
  EXPECT_THAT(Wrong(both), HasSubstr("inputs[0].contents: is given beside raw_input_contents"));
  ModelInferRequest more = WithRaw({1, 1}, Bytes<double>({1}));
  more.add_raw_input_contents("");
  EXPECT_THAT(Wrong(more), HasSubstr("raw_input_contents: has 2 elements for 1 inputs"));
  ModelInferRequest none;
  AddInput(&none, "context", "FP64", {1, 1});
  EXPECT_THAT(Wrong(none), HasSubstr("hold values in the field of FP64 and in no other"));
  none.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  EXPECT_THAT(Wrong(none), HasSubstr("hold values in the field of FP64 and in no other"));
  none.mutable_inputs(0)->mutable_contents()->add_fp64_contents(1);
  EXPECT_THAT(Wrong(none), HasSubstr("hold values in the field of FP64 and in no other"));
  none.mutable_inputs(0)->mutable_contents()->clear_fp32_contents();
  EXPECT_TRUE(ReadInferRequest(none, {}).ok());
  none.mutable_inputs(0)->mutable_contents()->add_fp64_contents(2);
  EXPECT_THAT(Wrong(none), HasSubstr("has 16 bytes of data; FP64 [1, 1] has 8"));
}

TEST(InferMessages, RefuseWhatIsNotOffered) {
  const ModelInferRequest good = WithRaw({1, 1}, Bytes<double>({1}));
  ModelInferRequest message = good;
  (*message.mutable_inputs(0)->mutable_parameters())["shared_memory_region"].set_string_param("x");
  EXPECT_THAT(Wrong(message), HasSubstr("inputs[0].parameters.shared_memory_region: is not known"));
  message = good;
  (*message.add_outputs()->mutable_parameters())["classification"].set_int64_param(1);
  EXPECT_THAT(Wrong(message), HasSubstr("outputs[0].parameters.classification: is not known"));
  message = good;
  message.add_outputs()->set_name("median");
  EXPECT_THAT(Wrong(message), HasSubstr("outputs[0].name: no output is named \"median\""));
  message = good;
  (*message.mutable_parameters())["horizon"];
  EXPECT_THAT(Wrong(message), HasSubstr("parameters.horizon: has no value"));
  message = good;
  message.set_id(std::string(2000, 'x'));
  EXPECT_THAT(Wrong(message), HasSubstr("id: is longer than 1024 bytes"));
  message = good;
  for (int i = 0; i < 40; ++i) (*message.mutable_parameters())[StrCat("p", i)].set_bool_param(true);
  EXPECT_THAT(Wrong(message), HasSubstr("parameters: has 40 elements; at most 32"));
  message = good;
  for (int i = 0; i < 16; ++i) message.add_inputs();
  EXPECT_THAT(Wrong(message), HasSubstr("inputs: has 17 elements; at most 16"));
}

TEST(InferMessages, WriteRawOutputs) {
  auto model = std::make_shared<ServedModel>();
  model->setting.name = "m";
  const std::string bytes = Bytes<double>({1, 2});
  oip::InferAnswer answer{
      model, "7", {0.1, 0.9}, {{"mean", oip::Datatype::kFp64, {1, 2}, bytes, nullptr}}, {true}};
  inference::ModelInferResponse response;
  ASSERT_TRUE(WriteInferResponse(answer, &response).ok());
  EXPECT_EQ(response.ShortDebugString(),
            R"(model_name: "m" model_version: "1" id: "7" parameters { key: "quantiles" value { )"
            R"(string_param: "0.1,0.9" } } outputs { name: "mean" datatype: "FP64" shape: 1 shape: 2 } )"
            R"(raw_output_contents: "\000\000\000\000\000\000\360?\000\000\000\000\000\000\000@")");
}

}  // namespace
}  // namespace plinth::server::rpc
