#include "plinth/formats/safetensors.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "gtest/gtest.h"
#include "plinth/tensor/half.h"

namespace plinth::formats {
namespace {

std::string SourceDir() {
  const char* folder = std::getenv("PLINTH_SOURCE_DIR");
  return folder != nullptr ? folder : ".";
}

// A folder that disappears with the test.
class SafetensorsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/plinth_safetensors_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

// A file's bytes: the length, the header, the data.
std::string FileOf(const std::string& header, const std::string& data = "") {
  const uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + data;
}

StatusOr<SafetensorsHeader> Parse(const std::string& file) {
  return ParseSafetensorsHeader(std::as_bytes(std::span(file)));
}

std::string Refusal(const std::string& header, const std::string& data = "") {
  const auto parsed = Parse(FileOf(header, data));
  return parsed.ok() ? "accepted" : std::string(parsed.status().message());
}

std::string One(const std::string& inside) { return "{\"a\":{" + inside + "}}"; }

TEST(SafetensorsHeader, ReadsAllElementTypes) {
  std::string header = R"({"__metadata__":{"format":"pt"},)";
  int64_t at = 0;
  for (const auto& [name, size] : std::vector<std::pair<std::string, int>>{{"F64", 8},
                                                                           {"F32", 4},
                                                                           {"F16", 2},
                                                                           {"BF16", 2},
                                                                           {"I64", 8},
                                                                           {"I32", 4},
                                                                           {"I16", 2},
                                                                           {"I8", 1},
                                                                           {"U8", 1},
                                                                           {"BOOL", 1}}) {
    header += StrCat(at > 0 ? "," : "", "\"t", name, "\":{\"dtype\":\"", name,
                     "\",\"shape\":[3],\"data_offsets\":[", at, ",", at + 3 * size, "]}");
    at += 3 * size;
  }
  const auto parsed = Parse(FileOf(header + "}  ", std::string(static_cast<size_t>(at), '\0')));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->entries.size(), 10u);
  EXPECT_EQ(parsed->metadata.at("format"), "pt");
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(parsed->entries[i].dtype, static_cast<DType>(i));
  EXPECT_EQ(parsed->entries[1].name, "tF32");
  EXPECT_EQ(parsed->entries[1].begin, static_cast<int64_t>(8 + header.size() + 3 + 24));
}

TEST(SafetensorsHeader, TakesScalarsAndEmptyTensors) {
  const auto parsed = Parse(FileOf(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},
    "e":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},"f":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}})",
                                   "1234"));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(Parse(FileOf("{}")).ok());
}

TEST(SafetensorsHeader, RefusesBrokenFiles) {
  EXPECT_EQ(Parse("1234567").status().message(),
            "holds 7 bytes; a safetensors file begins with 8 bytes of header length");
  std::string file = FileOf("{}");
  file[4] = 1;
  EXPECT_EQ(
      Parse(file).status().message(),
      "says its header has 4294967298 bytes; at most 100000000 are allowed (is it a safetensors file?)");
  file = FileOf("{}");
  file[0] = 3;
  EXPECT_EQ(Parse(file).status().message(),
            "says its header has 3 bytes, but only 2 follow; the file is cut off");
  EXPECT_EQ(Refusal(""), "the header does not begin with '{'");
  EXPECT_EQ(Refusal("[]"), "the header does not begin with '{'");
  EXPECT_EQ(Refusal("{\"a\""), "the header is not JSON at its byte 5");
  EXPECT_EQ(Refusal("{}x"), "the header is not JSON at its byte 3");
  EXPECT_EQ(Refusal("{\"\xff\":{}}"), "the header is not JSON at its byte 3");
}

TEST(SafetensorsHeader, RefusesWrongFields) {
  EXPECT_EQ(Refusal(R"({"a":1})"), "tensor \"a\" is a number; an object is expected");
  EXPECT_EQ(Refusal(R"({"__metadata__":{"k":1}})"), "__metadata__ \"k\" is a number; text is expected");
  EXPECT_EQ(Refusal(R"({"__metadata__":{"k":{}}})"), "__metadata__ \"k\" is an object; text is expected");
  EXPECT_EQ(Refusal(R"({"__metadata__":{"k":"","k":""}})"), "__metadata__ has \"k\" twice");
  EXPECT_EQ(Refusal(One(R"("shape":[1])")), "tensor \"a\" lacks dtype");
  EXPECT_EQ(Refusal(One(R"("dtype":"F32","data_offsets":[0,4])")), "tensor \"a\" lacks shape");
  EXPECT_EQ(Refusal(One(R"("dtype":"F32","shape":[1])")), "tensor \"a\" lacks data_offsets");
  EXPECT_EQ(Refusal(One(R"("dtype":"F32","dtype":"F32")")), "tensor \"a\" has dtype twice");
  EXPECT_EQ(Refusal(One(R"("x":1)")),
            "tensor \"a\" has the key \"x\"; dtype, shape and data_offsets are expected");
  EXPECT_EQ(Refusal(One(R"("dtype":4)")), "tensor \"a\": dtype is a number; text is expected");
  EXPECT_EQ(Refusal(One(R"("shape":"x")")), "tensor \"a\": shape is text; an array is expected");
  EXPECT_EQ(Refusal(One(R"("shape":[[1]])")), "tensor \"a\": shape holds an array; integers are expected");
  EXPECT_EQ(Refusal(One(R"("shape":[-1])")),
            "tensor \"a\": shape holds -1; integers in [0, 2^63) are expected");
  EXPECT_EQ(Refusal(One(R"("shape":[1.5])")),
            "tensor \"a\": shape holds 1.5; integers in [0, 2^63) are expected");
  EXPECT_EQ(Refusal(One(R"("shape":[9223372036854775808])")),
            "tensor \"a\": shape holds 9223372036854775808; integers in [0, 2^63) are expected");
  EXPECT_EQ(Refusal(One(R"("data_offsets":[1])")), "tensor \"a\": data_offsets has 1 numbers, not 2");
  EXPECT_EQ(
      Refusal(One(R"("dtype":"X9")")),
      "tensor \"a\" has the unknown element type \"X9\"; known are F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL");
  EXPECT_EQ(
      Refusal(One(R"("dtype":"f32")")),
      "tensor \"a\" has the unknown element type \"f32\"; known are F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL");
  const auto fp8 = Parse(FileOf(One(R"("dtype":"F8_E4M3")")));
  EXPECT_EQ(fp8.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(
      fp8.status().message(),
      "tensor \"a\" has the element type \"F8_E4M3\", which Plinth does not read; it reads F64 F32 F16 BF16 "
      "I64 I32 I16 I8 U8 BOOL");
  std::string many = "\"shape\":[0";
  for (int i = 0; i < 64; ++i) many += ",0";
  EXPECT_EQ(Refusal(One(many + "]")), "tensor \"a\": shape holds more than 64 numbers");
}

TEST(SafetensorsHeader, RefusesWrongRanges) {
  EXPECT_EQ(Refusal(One(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), "1234"),
            "tensor \"a\": data_offsets [0, 8] lie outside the 4 bytes of data");
  EXPECT_EQ(Refusal(One(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), "12345678"),
            "tensor \"a\": data_offsets [8, 0] lie outside the 8 bytes of data");
  EXPECT_EQ(Refusal(One(R"("dtype":"F32","shape":[2,3],"data_offsets":[0,8])"), "12345678"),
            "tensor \"a\": data_offsets [0, 8] hold 8 bytes; f32[2, 3] needs 24");
  EXPECT_EQ(Refusal(One(R"("dtype":"F32","shape":[4294967296,4294967296,0],"data_offsets":[0,0])")),
            "tensor \"a\": the size of f32[4294967296, 4294967296, 0] does not fit 63 bits");
  EXPECT_EQ(Refusal(One(R"("dtype":"I8","shape":[1],"data_offsets":[0,1])"), "12"),
            "1 bytes after the last tensor belong to no tensor");
  const auto two = [](const std::string& a, const std::string& b, const std::string& data) {
    return Refusal(R"({"a":{"dtype":"I8","shape":[2],"data_offsets":)" + a +
                       R"(},"b":{"dtype":"I8","shape":[2],"data_offsets":)" + b + "}}",
                   data);
  };
  EXPECT_EQ(two("[0,2]", "[2,4]", "1234"), "accepted");
  EXPECT_EQ(two("[2,4]", "[0,2]", "1234"), "accepted");
  EXPECT_EQ(two("[0,2]", "[1,3]", "123"), "tensors \"a\" and \"b\" overlap at byte 1 of the data");
  EXPECT_EQ(two("[0,2]", "[3,5]", "12345"),
            "bytes 2 to 3 of the data, before tensor \"b\", belong to no tensor");
  EXPECT_EQ(Refusal(R"({"a":{"dtype":"I8","shape":[0],"data_offsets":[0,0]},"a":{}})"),
            "the name \"a\" appears twice");
  EXPECT_EQ(Refusal(R"({"__metadata__":{},"__metadata__":{}})"), "the name \"__metadata__\" appears twice");
}

TEST(SafetensorsHeader, DoesNotRecurse) {
  EXPECT_EQ(Refusal("{\"a\":" + std::string(1 << 20, '[')),
            "tensor \"a\" is an array; an object is expected");
}

TEST_F(SafetensorsTest, ReadsTheGoldenModel) {
  const auto file = SafetensorsFile::Open(SourceDir() + "/tests/golden/plinth_ts_rand/model.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE(file->tensors().empty());
  for (const auto& t : file->tensors()) EXPECT_EQ(file->Find(t.name)->data, t.data);
  EXPECT_EQ(file->Find("nothing"), nullptr);
  EXPECT_EQ(file->Find(""), nullptr);
}

TEST_F(SafetensorsTest, WritesWhatItReads) {
  const std::vector<int64_t> dims = {2, 3};
  const float values[6] = {1, -2, 0.5f, 1e30f, std::numeric_limits<float>::infinity(), -0.0f};
  const uint8_t flags[2] = {1, 0};
  const std::vector<int64_t> two = {2}, none = {0}, scalar;
  const double number = 1e-300;
  const std::vector<ConstTensorRef> tensors = {
      {"flags", DType::kBool, two, reinterpret_cast<const std::byte*>(flags), 2},
      {"w \"q\" \xc3\xa9", DType::kF32, dims, reinterpret_cast<const std::byte*>(values), 24},
      {"none", DType::kF16, none, nullptr, 0},
      {"scalar", DType::kF64, scalar, reinterpret_cast<const std::byte*>(&number), 8}};
  const std::string path = folder_ + "/x.safetensors";
  ASSERT_TRUE(WriteSafetensors(path, tensors, {{"k", "v\n"}}).ok());
  auto opened = SafetensorsFile::Open(path);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const SafetensorsFile file = std::move(*opened);
  EXPECT_EQ(file.metadata().at("k"), "v\n");
  ASSERT_EQ(file.tensors().size(), 4u);
  for (const auto& t : tensors) {
    const ConstTensorRef* read = file.Find(t.name);
    ASSERT_NE(read, nullptr) << t.name;
    EXPECT_TRUE(read->aligned());
    EXPECT_EQ(ToString(read->dtype, read->dims), ToString(t.dtype, t.dims));
    ASSERT_EQ(read->bytes, t.bytes);
    EXPECT_TRUE(std::equal(t.data, t.data + t.bytes, read->data));
    file.ReleasePages(*read);
    EXPECT_TRUE(std::equal(t.data, t.data + t.bytes, read->data));
  }
}

TEST_F(SafetensorsTest, HandsOutStandInsWhenAsked) {
  const std::string bytes = "abcdefgh";
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  const std::vector<int64_t> eight = {8}, four = {2, 2};
  const std::string path = folder_ + "/a.safetensors";
  const std::vector<ConstTensorRef> tensors = {{"x", DType::kU8, eight, data, 8, "F8_E5M2FNUZ"},
                                               {"y", DType::kI16, four, data, 8, "U16"},
                                               {"z", DType::kU8, eight, data, 8}};
  ASSERT_TRUE(WriteSafetensors(path, tensors).ok());
  EXPECT_EQ(SafetensorsFile::Open(path).status().code(), absl::StatusCode::kUnimplemented);
  const auto file = SafetensorsFile::Open(path, {.stand_ins = true});
  ASSERT_TRUE(file.ok()) << file.status();
  for (const ConstTensorRef& wrote : tensors) {
    const ConstTensorRef* read = file->Find(wrote.name);
    ASSERT_NE(read, nullptr);
    EXPECT_EQ(read->dtype, wrote.dtype);
    EXPECT_EQ(read->stored, wrote.stored);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(read->data), 8), bytes);
  }
  // What is not whole bytes stays refused.
  const std::string half = FileOf(One(R"("dtype":"F4","shape":[2],"data_offsets":[0,1])"), "a");
  EXPECT_EQ(ParseSafetensorsHeader(std::as_bytes(std::span(half)), {.stand_ins = true}).status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(WriteSafetensors(path, std::vector<ConstTensorRef>{{"x", DType::kI8, eight, data, 8, "F8_E4M3"}})
                .message(),
            path + ": tensor \"x\": i8 cannot stand in for \"F8_E4M3\"");
}

TEST_F(SafetensorsTest, RefusesToWriteNonsense) {
  const std::vector<int64_t> two = {2};
  const std::byte data[2] = {};
  const ConstTensorRef good = {"a", DType::kI8, two, data, 2};
  const std::string path = folder_ + "/x";
  const auto message = [&](const std::vector<ConstTensorRef>& tensors) {
    return std::string(WriteSafetensors(path, tensors).message()).substr(path.size());
  };
  EXPECT_EQ(message({good, good}), ": tensor \"a\" is given twice");
  EXPECT_EQ(message({{"", DType::kI8, two, data, 2}}), ": a tensor cannot be named \"\"");
  EXPECT_EQ(message({{"__metadata__", DType::kI8, two, data, 2}}),
            ": a tensor cannot be named \"__metadata__\"");
  EXPECT_EQ(message({{"\xff", DType::kI8, two, data, 2}}), ": a tensor cannot be named \"(not UTF-8)\"");
  EXPECT_EQ(message({{"a", DType::kF32, two, data, 2}}), ": tensor \"a\" is f32[2] but has 2 bytes");
  EXPECT_FALSE(FileExists(path));
}

TEST(CopyTo, ConvertsUnalignedData) {
  // One byte in front makes every element type unaligned.
  const auto copy = [](DType dtype, const auto& values, DType to) {
    using T = std::remove_cvref_t<decltype(values[0])>;
    std::vector<std::byte> bytes(1 + sizeof(T) * std::size(values));
    std::memcpy(bytes.data() + 1, std::data(values), bytes.size() - 1);
    const std::vector<int64_t> dims = {static_cast<int64_t>(std::size(values))};
    auto tensor = CopyTo({"t", dtype, dims, bytes.data() + 1, static_cast<int64_t>(bytes.size() - 1)}, to);
    EXPECT_TRUE(tensor.ok()) << tensor.status();
    return tensor.ok() ? *std::move(tensor) : Tensor(to, dims);
  };
  const std::vector<uint16_t> halves = {0x3C00, 0xC000, 0x0001, 0x7C00};  // 1, -2, 2^-24, inf
  Tensor t = copy(DType::kF16, halves, DType::kF64);
  EXPECT_EQ(t.data<double>()[0], 1);
  EXPECT_EQ(t.data<double>()[1], -2);
  EXPECT_EQ(t.data<double>()[2], 0x1p-24);
  EXPECT_EQ(t.data<double>()[3], std::numeric_limits<double>::infinity());
  EXPECT_EQ(copy(DType::kBF16, std::vector<uint16_t>{0x3F80, 0x4049}, DType::kF32).data<float>()[1],
            3.140625f);
  EXPECT_EQ(copy(DType::kF64, std::vector<double>{0.1}, DType::kF32).data<float>()[0], 0.1f);
  EXPECT_EQ(copy(DType::kI64, std::vector<int64_t>{-(1LL << 40)}, DType::kF64).data<double>()[0], -0x1p40);
  EXPECT_EQ(copy(DType::kI32, std::vector<int32_t>{-5}, DType::kF32).data<float>()[0], -5);
  EXPECT_EQ(copy(DType::kI16, std::vector<int16_t>{-5}, DType::kF32).data<float>()[0], -5);
  EXPECT_EQ(copy(DType::kI8, std::vector<int8_t>{-5}, DType::kF32).data<float>()[0], -5);
  EXPECT_EQ(copy(DType::kU8, std::vector<uint8_t>{250}, DType::kF32).data<float>()[0], 250);
  EXPECT_EQ(copy(DType::kBool, std::vector<uint8_t>{0, 7}, DType::kF32).data<float>()[1], 1);
  EXPECT_EQ(copy(DType::kF32, std::vector<float>{0.1f}, DType::kF32).data<float>()[0], 0.1f);
}

TEST(CopyTo, RefusesOtherPairs) {
  const float value = 1;
  const std::vector<int64_t> dims = {1}, deep(7, 1);
  const auto* data = reinterpret_cast<const std::byte*>(&value);
  EXPECT_EQ(CopyTo({"t", DType::kF32, dims, data, 4}, DType::kI32).status().message(),
            "tensor \"t\" is f32; it can be read as that, f32 or f64, not as i32");
  EXPECT_EQ(CopyTo({"t", DType::kF32, deep, data, 4}, DType::kF32).status().message(),
            "tensor \"t\" is f32[1, 1, 1, 1, 1, 1, 1]; at most 6 dimensions can be used");
}

TEST_F(SafetensorsTest, NamesTheFileInErrors) {
  const std::string path = folder_ + "/short";
  ASSERT_TRUE(WriteFile(path, "abc").ok());
  EXPECT_EQ(SafetensorsFile::Open(path).status().message(),
            path + ": holds 3 bytes; a safetensors file begins with 8 bytes of header length");
  ASSERT_TRUE(WriteFile(path, "").ok());
  EXPECT_EQ(SafetensorsFile::Open(path).status().message(),
            path + ": holds 0 bytes; a safetensors file begins with 8 bytes of header length");
  EXPECT_EQ(SafetensorsFile::Open(folder_).status().message(), folder_ + ": is a folder; a file is expected");
  EXPECT_EQ(SafetensorsFile::Open(folder_ + "/no").status().message(),
            folder_ + "/no: cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace plinth::formats
