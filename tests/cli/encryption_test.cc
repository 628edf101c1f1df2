// Encrypted model folders as users meet them.
#include <sys/stat.h>

#include <algorithm>

#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

class EncryptionTest : public CliTest {
 protected:
  void SetUp() override {
    Write("d.csv", HourlyCsv(48));
    Write("key", std::string(64, 'a') + "\n");
    chmod(Path("key").c_str(), 0600);
    std::filesystem::create_directory(Path("m"));
    for (const char* name : {"config.json", "model.safetensors"}) {
      std::filesystem::copy(Source(std::string("tests/golden/plinth_ts_rand/") + name), Path("m/") + name);
    }
  }
};

TEST_F(EncryptionTest, ForecastsWithTheSameNumbersAndIdentity) {
  const RunResult made = Run({"models", "encrypt", "m", "e", "--credential", "key"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, StartsWith("e: encrypted config.json.enc, model.safetensors.enc ("));
  const std::vector<std::string> forecast = {"forecast", "-d", "d.csv", "--json", "-m"};
  const auto with = [&](const std::string& model, std::vector<std::string> more) {
    std::vector<std::string> words = forecast;
    words.push_back(model);
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  json plain = RunJson(with("m", {})), sealed = RunJson(with("e", {"--credential", "key"}));
  EXPECT_EQ(plain["items"], sealed["items"]);
  EXPECT_EQ(plain["identity"], sealed["identity"]);
  EXPECT_EQ(
      RunJson({"models", "show", "e", "--json"}, {.settings = {{"PLINTH_CREDENTIAL", "key"}}})["digest"],
      RunJson({"models", "show", "m", "--json"})["digest"]);
  EXPECT_EQ(Run({"models", "list", ".", "--credential", "key"}).exit_code, 0);
  ExpectError(
      with("e", {}), 3,
      "e/config.json.enc: is encrypted; name the file of its key with --credential (or PLINTH_CREDENTIAL; "
      "a server: service.credential)");
  Write("other", std::string(64, 'b'));
  chmod(Path("other").c_str(), 0600);
  ExpectError(
      with("e", {"--credential", "other"}), 2,
      "e/config.json.enc: is encrypted with another key than the credential's, or its header is damaged");
  ExpectError(with("e", {"--credential", "none"}), 2, "none: cannot be opened: No such file or directory");
}

TEST_F(EncryptionTest, WritesAllOrNothing) {
  ExpectError(
      {"models", "encrypt", "m", "e"}, 2,
      "--credential is missing: the file of the key, 32 bytes or 64 hexadecimal digits, for its owner alone "
      "(umask 077; openssl rand -hex 32 > model.key)");
  ExpectError({"models", "encrypt", "d.csv", "e", "--credential", "key"}, 2,
              "d.csv: no such folder; a model folder is expected");
  chmod(Path("key").c_str(), 0644);
  ExpectError(
      {"models", "encrypt", "m", "e", "--credential", "key"}, 3,
      "key: others may read or write this key (mode 0644); take a new key, or set mode 0600 if nobody has "
      "seen it");
  chmod(Path("key").c_str(), 0600);
  // A disk that is full.
  const RunResult full = Run({"models", "encrypt", "m", "e", "--credential", "key"}, {.file_bytes = 20'000});
  EXPECT_EQ(full.exit_code, 3);
  EXPECT_EQ(Files(), (std::vector<std::string>{"d.csv", "key", "m"}));
  const json report = RunJson({"models", "encrypt", "m", "e", "--credential", "key", "--json"});
  EXPECT_EQ(report["encrypted"], (json{"config.json.enc", "model.safetensors.enc"}));
  EXPECT_EQ(Run({"models", "encrypt", "m", "e", "--credential", "key"}).exit_code, 2);
  EXPECT_EQ(Run({"models", "decrypt", "e", "d", "--credential", "key"}).exit_code, 0);
  EXPECT_EQ(Read("d/model.safetensors"), Read("m/model.safetensors"));
  EXPECT_EQ(Read("d/config.json"), Read("m/config.json"));
}

}  // namespace
}  // namespace plinth::cli
