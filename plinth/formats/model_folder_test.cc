#include "plinth/formats/model_folder.h"

#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"
#include "plinth/base/digest.h"
#include "plinth/base/files.h"

namespace plinth::formats {
namespace {

class ModelFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/plinth_model_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, std::string_view text) {
    ASSERT_TRUE(WriteFile(folder_ + "/" + name, text).ok());
  }
  // One file with f32[2] tensors of these names.
  void WriteTensors(const std::string& file, const std::vector<std::string>& names) {
    std::vector<ConstTensorRef> tensors;
    for (const auto& name : names) {
      tensors.push_back({name, DType::kF32, two_, reinterpret_cast<const std::byte*>(values_), 8});
    }
    ASSERT_TRUE(WriteSafetensors(folder_ + "/" + file, tensors).ok());
  }
  template <typename T>
  std::string Message(const StatusOr<T>& result) {
    if (result.ok()) return "accepted";
    std::string text(result.status().message());
    std::string shown;
    for (size_t at; (at = text.find(folder_)) != text.npos; text.erase(0, at + folder_.size())) {
      shown += text.substr(0, at) + "D";
    }
    return shown + text;
  }

  std::string folder_;
  const std::vector<int64_t> two_ = {2};
  const float values_[2] = {1, 2};
};

TEST_F(ModelFolderTest, OpensTheShippedModel) {
  const char* source = std::getenv("PLINTH_SOURCE_DIR");
  const std::string path = StrCat(source != nullptr ? source : ".", "/models/plinth-ts-0");
  const auto model = ModelFolder::Open(path + "/");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->name(), "plinth-ts-0");
  EXPECT_EQ(*model->config().Text("model_type"), "plinth_ts");
  EXPECT_EQ(model->card(), path + "/CARD.md");
  EXPECT_GT(model->weights().total_bytes(), 2'000'000);
}

TEST_F(ModelFolderTest, DigestIsWhatSha256sumPrints) {
  Write("config.json", "{}");
  WriteTensors("model.safetensors", {"a"});
  const auto model = ModelFolder::Open(folder_);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->DigestFiles(), (std::vector<std::string>{"config.json", "model.safetensors"}));
  const std::string command =
      "cd '" + folder_ + "' && sha256sum config.json model.safetensors | sha256sum > digest";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(*model->Digest() + "  -\n", *ReadFile(folder_ + "/digest", 1000));
}

TEST_F(ModelFolderTest, SaysWhatIsMissing) {
  EXPECT_EQ(Message(ModelFolder::Open(folder_)), "D: holds no config.json; a model folder is expected");
  EXPECT_EQ(Message(ModelFolder::Open(folder_ + "/no")), "D/no: no such folder; a model folder is expected");
  Write("config.json", "{}");
  EXPECT_EQ(Message(ModelFolder::Open(folder_ + "/config.json")),
            "D/config.json: is a file; a model folder (config.json and model.safetensors) is expected");
  EXPECT_EQ(Message(ModelFolder::Open(folder_)),
            "D: holds no weights; model.safetensors or model.safetensors.index.json is expected");
  EXPECT_EQ(Message(OpenWeights(folder_ + "/no")), "D/no: no such folder; a model folder is expected");
}

TEST_F(ModelFolderTest, ReadsNotes) {
  Write("config.json", "{}");
  WriteTensors("model.safetensors", {"a"});
  Write("plinth.toml", "licence = \"MIT\"\nnotes = \"n\"\n");
  const auto model = ModelFolder::Open(folder_);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->notes().licence, "MIT");
  EXPECT_EQ(model->notes().notes, "n");
  EXPECT_EQ(model->card(), "");
  EXPECT_EQ(Message(ParseModelNotes("\nx = 1", "F")),
            "F: line 2: unknown key \"x\"; licence and notes are expected");
  EXPECT_EQ(Message(ParseModelNotes("licence = 1", "F")),
            "F: line 1: \"licence\" is not text; text in quotes is expected");
  EXPECT_TRUE(Message(ParseModelNotes("a\nb = [", "F")).starts_with("F: line 1: not TOML: "));
  const std::string deep = "a = " + std::string(100000, '[');
  EXPECT_TRUE(Message(ParseModelNotes(deep, "F")).starts_with("F: line 1: not TOML: "));
}

TEST(LicenceOfCard, ReadsTheFrontMatterOnly) {
  EXPECT_EQ(LicenceOfCard("---\nlibrary_name: x\nlicense: apache-2.0\ntags:\n---\n# Card\n"), "apache-2.0");
  EXPECT_EQ(LicenceOfCard("---\r\nlicense: \"mit\"\r\n---\r\n"), "mit");
  EXPECT_EQ(LicenceOfCard("---\nlicense:\n---\n"), "");
  EXPECT_EQ(LicenceOfCard("---\nlicense: bsd"), "bsd");
  EXPECT_EQ(LicenceOfCard("---\ntags:\n---\nlicense: mit\n"), "");
  EXPECT_EQ(LicenceOfCard("# Card\nlicense: mit\n"), "");
  EXPECT_EQ(LicenceOfCard(""), "");
}

TEST_F(ModelFolderTest, JoinsShards) {
  WriteTensors("a.safetensors", {"x", "y"});
  WriteTensors("b.safetensors", {"w"});
  const std::string index =
      R"({"metadata":{},"weight_map":{"x":"a.safetensors","y":"a.safetensors","w":"b.safetensors"}})";
  Write("model.safetensors.index.json", index);
  auto opened = OpenWeights(folder_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const WeightFiles weights = *std::move(opened);
  ASSERT_EQ(weights.tensors().size(), 3u);
  EXPECT_EQ(weights.tensors()[0].name, "w");
  EXPECT_EQ(weights.total_bytes(), 24);
  EXPECT_EQ(BaseName(weights.FileOf(*weights.Find("w"))), "b.safetensors");
  EXPECT_EQ(weights.files().size(), 3u);
  EXPECT_EQ(weights.Find("z"), nullptr);
  weights.ReleasePages();
  EXPECT_EQ(CopyTo(*weights.Find("y"), DType::kF32)->data<float>()[1], 2);
}

TEST_F(ModelFolderTest, RefusesBadIndices) {
  WriteTensors("a.safetensors", {"x", "y"});
  WriteTensors("b.safetensors", {"x"});
  const auto with = [&](const std::string& map) {
    Write("model.safetensors.index.json", R"({"weight_map":)" + map + "}");
    return Message(OpenWeights(folder_));
  };
  const std::string where = "D/model.safetensors.index.json: ";
  EXPECT_EQ(with("3"), where + "an object \"weight_map\" is expected");
  EXPECT_EQ(with("{}"), where + "\"weight_map\" is empty");
  for (const std::string bad : {"\"../a\"", "\"/etc/passwd\"", "\"\"", "\"..\"", "3"}) {
    EXPECT_EQ(with("{\"x\":" + bad + "}"),
              where + "\"weight_map\" gives " + bad +
                  " for \"x\"; the plain name of a file in this folder is expected");
  }
  EXPECT_EQ(with(R"({"x":"a.safetensors","q":"c.safetensors"})"),
            where + "names files that are not there: c.safetensors");
  EXPECT_EQ(with(R"({"1":"1","2":"2","3":"3","4":"4","5":"5","6":"6","7":"7"})"),
            where + "names files that are not there: 1, 2, 3, 4, 5 and 2 more");
  EXPECT_EQ(with(R"({"x":"a.safetensors"})"), where + "lacks tensor \"y\", which is in a.safetensors");
  EXPECT_EQ(with(R"({"x":"a.safetensors","y":"b.safetensors"})"),
            where + "says that tensor \"y\" is in b.safetensors, which does not hold it");
  WriteTensors("b.safetensors", {"x", "z"});
  EXPECT_EQ(with(R"({"x":"a.safetensors","y":"a.safetensors","z":"b.safetensors"})"),
            where + "tensor \"x\" is in two files, a.safetensors and b.safetensors");
}

TEST_F(ModelFolderTest, ChecksTensors) {
  WriteTensors("model.safetensors", {"a", "b", "c"});
  const auto weights = OpenWeights(folder_);
  ASSERT_TRUE(weights.ok()) << weights.status();
  const auto check = [&](const std::vector<ExpectedTensor>& expected) {
    const Status status = CheckTensors(expected, *weights);
    return status.ok() ? "accepted" : Message(StatusOr<int>(status));
  };
  const std::vector<ExpectedTensor> all = {{"a", {2}, {}}, {"b", {2}, {DType::kF32}}, {"c", {2}, {}}};
  EXPECT_EQ(check(all), "accepted");
  auto more = all;
  more.push_back({"o", {1}, {}, true});
  EXPECT_EQ(check(more), "accepted");
  EXPECT_EQ(
      check({{"a", {2, 1}, {}}, {"b", {2}, {DType::kI8, DType::kU8}}, {"d", {3}, {}}}),
      "D/model.safetensors: 1 tensor is missing: \"d\" f64|f32|f16|bf16[3]; 1 tensor is not expected: \"c\" "
      "f32[2]; 2 tensors are not as expected: \"a\" is f32[2], expected f64|f32|f16|bf16[2, 1], \"b\" is "
      "f32[2], expected i8|u8[2]");
  std::vector<ExpectedTensor> many = all;
  for (int i = 0; i < 7; ++i) many.push_back({StrCat("m", i), {1}, {DType::kF32}});
  EXPECT_EQ(check(many),
            "D/model.safetensors: 7 tensors are missing: \"m0\" f32[1], \"m1\" f32[1], \"m2\" f32[1], \"m3\" "
            "f32[1], "
            "\"m4\" f32[1] and 2 more");
}

}  // namespace
}  // namespace plinth::formats
