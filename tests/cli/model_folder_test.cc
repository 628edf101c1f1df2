// Model folders that are not there, not whole, or hostile.
#include <filesystem>

#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

constexpr char kKnown[] = "; known families are chronos2, chronos_bolt, plinth_ts";

class ModelFolderTest : public CliTest {
 protected:
  void SetUp() override { Write("d.csv", HourlyCsv(48)); }

  static std::string Text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // A small whole model, with one text in its config replaced.
  void MakeModel(const std::string& replace = "", const std::string& by = "") {
    std::string config = Text(Source("tests/golden/plinth_ts_rand/config.json"));
    if (!replace.empty()) {
      const size_t at = config.find(replace);
      ASSERT_NE(at, config.npos) << replace;
      config.replace(at, replace.size(), by);
    }
    Write("m/config.json", config);
    Write("m/model.safetensors", Weights());
  }
  static std::string Weights() { return Text(Source("tests/golden/plinth_ts_rand/model.safetensors")); }
  // Rewrites the header; the data keep their place.
  static std::string WithHeader(const std::string& header, const std::string& data) {
    std::string text(8, '\0');
    for (size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(header.size() >> (8 * i));
    return text + header + data;
  }
  static std::pair<std::string, std::string> Split(const std::string& file) {
    size_t length = 0;
    for (size_t i = 0; i < 8; ++i) length |= size_t{static_cast<unsigned char>(file[i])} << (8 * i);
    return {file.substr(8, length), file.substr(8 + length)};
  }
  void Refuse(const std::string& message) {
    ExpectError({"forecast", "-m", "m", "-d", "d.csv"}, 2, message);
    const RunResult show = Run({"models", "show", "m"});
    EXPECT_EQ(show.exit_code, 2);
    EXPECT_EQ(show.err, "plinth: error: " + message + "\n");
  }
};

TEST_F(ModelFolderTest, Missing) {
  Refuse("m: no such folder; a model folder is expected");
  std::filesystem::create_directory(Path("m"));
  Refuse("m: holds no config.json; a model folder is expected");
  Write("m/config.json", Text(Source("tests/golden/plinth_ts_rand/config.json")));
  Refuse("m: holds no weights; model.safetensors or model.safetensors.index.json is expected");
  ExpectError({"models", "show", "d.csv"}, 2,
              "d.csv: is a file; a model folder (config.json and model.safetensors) is expected");
}

TEST_F(ModelFolderTest, BadConfigurations) {
  MakeModel("\"plinth_ts\"", "\"chronos\"");
  Refuse(std::string("m/config.json: \"model_type\" is \"chronos\"") + kKnown);
  MakeModel("\"model_type\"", "\"type\"");
  Refuse("m/config.json: \"model_type\" is missing; text is expected");
  MakeModel("\"num_layers\": ", "\"num_layers\": -");
  EXPECT_THAT(
      Run({"models", "show", "m"}).err,
      testing::MatchesRegex("plinth: error: m/config.json: \"num_layers\" is -[0-9]+; an integer in \\[0, "
                            "1024\\] is expected\n"));
  MakeModel("\"num_layers\": ", "\"num_layers\": 1.5, \"was\": ");
  Refuse("m/config.json: \"num_layers\" is 1.5; an integer in [0, 1024] is expected");
  MakeModel("\"quantiles\"", "\"quantiles\": [0.1, 0.5], \"was\"");
  Refuse(
      "m/config.json: \"quantiles\" must be ascending levels, an odd number of them, with 0.5 in the middle");
  MakeModel();
  Write("m/config.json", "{\"model_type\": ");
  const RunResult run = Run({"models", "show", "m"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, StartsWith("plinth: error: m/config.json: "));
  EXPECT_THAT(run.err, HasSubstr("JSON"));
  Write("m/config.json", "[]");
  EXPECT_THAT(Run({"models", "show", "m"}).err, HasSubstr("m/config.json: is "));
}

TEST_F(ModelFolderTest, TruncatedAndCorruptWeights) {
  MakeModel();
  const std::string whole = Weights();
  struct Case {
    std::string text, part;
  };
  const auto [header, data] = Split(whole);
  const Case cases[] = {
      {"", "m/model.safetensors: holds 0 bytes; a safetensors file begins with 8 bytes of header length"},
      {whole.substr(0, 7),
       "m/model.safetensors: holds 7 bytes; a safetensors file begins with 8 bytes of header length"},
      {whole.substr(0, 100), "m/model.safetensors: says its header has "},
      {whole.substr(0, whole.size() - 1), "m/model.safetensors: tensor "},
      {whole + "x", "m/model.safetensors: 1 bytes after the last tensor belong to no tensor"},
      {std::string(8, '\xff') + whole.substr(8),
       "m/model.safetensors: says its header has 18446744073709551615 "},
      {WithHeader("{}" + header.substr(2), data), "m/model.safetensors: the header is not JSON at its byte "},
  };
  for (const Case& c : cases) {
    Write("m/model.safetensors", c.text);
    const RunResult run = Run({"forecast", "-m", "m", "-d", "d.csv"});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, StartsWith("plinth: error: " + c.part));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

TEST_F(ModelFolderTest, WeightsThatAreNotFinite) {
  MakeModel();
  const std::string whole = Weights();
  const auto [header, data] = Split(whole);
  const size_t begin = json::parse(header)["norm.weight"]["data_offsets"][0];
  std::string damaged = whole;
  const std::string nan("\x00\x00\xc0\x7f", 4);
  damaged.replace(whole.size() - data.size() + begin + 8, 4, nan);  // the third element
  Write("m/model.safetensors", damaged);
  Refuse("m: tensor \"norm.weight\" holds nan at element 2; weights must be finite, so the file is damaged");
}

TEST_F(ModelFolderTest, AnotherVersion) {
  MakeModel("\"version\": 0", "\"version\": 7");
  Refuse("m/config.json: \"version\" is 7; an integer in [0, 0] is expected");
}

TEST_F(ModelFolderTest, TensorsThatDoNotFit) {
  MakeModel();
  const auto [header, data] = Split(Weights());
  const json tensors = json::parse(header);
  const std::string name = std::prev(tensors.end()).key();
  // Another name: one is missing and one is extra.
  json renamed = tensors;
  renamed["other"] = renamed[name];
  renamed.erase(name);
  Write("m/model.safetensors", WithHeader(renamed.dump(), data));
  RunResult run = Run({"forecast", "-m", "m", "-d", "d.csv"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, StartsWith("plinth: error: m/model.safetensors: "));
  EXPECT_THAT(run.err,
              testing::AllOf(HasSubstr("missing"), HasSubstr("\"" + name + "\""), HasSubstr("\"other\"")));
  // The same bytes in another shape.
  json reshaped = tensors;
  reshaped[name]["shape"].insert(reshaped[name]["shape"].begin(), 1);
  Write("m/model.safetensors", WithHeader(reshaped.dump(), data));
  run = Run({"forecast", "-m", "m", "-d", "d.csv"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, testing::AllOf(HasSubstr("\"" + name + "\" is f32[1"), HasSubstr(", expected ")));
}

TEST_F(ModelFolderTest, ShowTellsWhatIsThere) {
  MakeModel();
  Write("m/plinth.toml", "licence = \"Apache-2.0\"\nnotes = \"for tests\"\n");
  const json sheet = RunJson({"models", "show", "m", "--json"});
  for (const char* key : {"path", "family", "description", "context_length", "horizon", "quantiles", "sizes",
                          "parameters", "weight_bytes", "flops", "licence", "notes", "digest", "evidence"}) {
    EXPECT_TRUE(sheet.contains(key)) << key;
  }
  EXPECT_EQ(sheet["family"], "plinth_ts");
  EXPECT_EQ(sheet["licence"], "Apache-2.0");
  EXPECT_EQ(sheet["evidence"], "unproven");
  const std::string text = Run({"models", "show", "m"}).out;
  EXPECT_THAT(text, testing::AllOf(StartsWith("m\n"), HasSubstr("licence           Apache-2.0"),
                                   HasSubstr("digest            sha256:")));
  Write("m/plinth.toml", "license = \"Apache-2.0\"\n");
  Refuse("m/plinth.toml: line 1: unknown key \"license\"; licence and notes are expected");
}

TEST_F(ModelFolderTest, ListNamesBrokenFoldersToo) {
  MakeModel();
  Write("broken/config.json", "{\"model_type\": \"chronos\"}");
  Write("broken/model.safetensors", Weights());
  const std::string why = std::string("./broken/config.json: \"model_type\" is \"chronos\"") + kKnown;
  RunResult run = Run({"models", "list", "."});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, testing::MatchesRegex("broken: .*\n\\./m: plinth_ts, [0-9]+ parameters, unproven\n"));
  EXPECT_THAT(run.out, HasSubstr(why));
  run = Run({"models", "list", ".", "--json"});
  EXPECT_EQ(run.exit_code, 1);
  const json first = json::parse(run.out.substr(0, run.out.find('\n')));
  EXPECT_EQ(first, (json{{"path", "./broken"}, {"error", why}}));
  EXPECT_EQ(json::parse(run.out.substr(run.out.find('\n')))["path"], "./m");
  run = Run({"models", "list", "m"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, StartsWith("m: plinth_ts, "));
  std::filesystem::create_directory(Path("nothing"));
  run = Run({"models", "list", "nothing"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "plinth: note: nothing: no folder in it holds a config.json\n");
  ExpectError({"models", "list", "nosuch"}, 2, "nosuch: cannot be listed: No such file or directory");
  EXPECT_THAT(Run({"models", "list"}).out, HasSubstr("plinth-ts-0: plinth_ts, 705392 parameters, "));
}

}  // namespace
}  // namespace plinth::cli
