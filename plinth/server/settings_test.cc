#include "plinth/server/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plinth/base/files.h"
#include "plinth/base/temporary_folder.h"
#include "plinth/base/text.h"

namespace plinth::server {
namespace {

using testing::HasSubstr;

class SettingsTest : public testing::Test {
 protected:
  StatusOr<Settings> Load(const std::string& toml, const std::map<std::string, std::string>& flags = {},
                          std::vector<const char*> environment = {}) {
    const std::string path = JoinPath(testing::TempDir(), "plinth.toml");
    EXPECT_TRUE(WriteFile(path, toml).ok());
    environment.push_back(nullptr);
    return LoadSettings(path, flags, environment.data());
  }
  std::string Error(const std::string& toml, const std::map<std::string, std::string>& flags = {},
                    const std::vector<const char*>& environment = {}) {
    const auto settings = Load(toml, flags, environment);
    EXPECT_FALSE(settings.ok()) << toml;
    return std::string(settings.status().message());
  }
};

TEST_F(SettingsTest, LaterSourcesWinAndAreNamed) {
  const auto s = Load("[http]\nport = 1\n[batch]\nwindow_milliseconds = 3\n", {{"http.port", "3"}},
                      {"PLINTH_HTTP_PORT=2", "PLINTH_LIMITS_QUEUE=9", "PATH=/bin"});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(s->http_port, 3);
  EXPECT_EQ(s->queue, 9);
  EXPECT_EQ(s->window_milliseconds, 3);
  EXPECT_EQ(s->origins.at("http.port"), "--http-port");
  EXPECT_EQ(s->origins.at("limits.queue"), "PLINTH_LIMITS_QUEUE");
  EXPECT_THAT(s->origins.at("batch.window_milliseconds"), HasSubstr("plinth.toml line "));
}

TEST_F(SettingsTest, ReadsModels) {
  const auto s = Load(
      "[[models]]\nname = \"a\"\npath = \"m/a\"\naliases = [\"incumbent\"]\n[[models]]\npath = \"/m/b\"\n");
  ASSERT_TRUE(s.ok()) << s.status();
  ASSERT_EQ(s->models.size(), 2u);
  EXPECT_EQ(s->models[0].path, JoinPath(testing::TempDir(), "m/a"));
  EXPECT_EQ(s->models[1].name, "b");
  EXPECT_THAT(s->models[0].aliases, testing::ElementsAre("incumbent"));
}

TEST_F(SettingsTest, RefusesWithFileAndLine) {
  EXPECT_THAT(Error("[http]\nport = 70000\n"),
              HasSubstr("plinth.toml: line 2: \"http.port\" is 70000; an integer in [0, 65535]"));
  EXPECT_THAT(Error("[http]\nprot = 1\n"), HasSubstr("line 2"));
  EXPECT_THAT(Error("[htpp]\nport = 1\n"), HasSubstr("line 1"));
  EXPECT_THAT(Error("[http\n"), HasSubstr("plinth.toml"));
  EXPECT_THAT(Error("[[models]]\nname = \"../x\"\npath = \"p\"\n"), HasSubstr("line 2"));
  EXPECT_THAT(Error("[[models]]\nname = \"x\"\npath = \"p\"\n[[models]]\nname = \"x\"\npath = \"q\"\n"),
              HasSubstr("line 5"));
  EXPECT_THAT(Error("[[models]]\nname = \"x\"\n"), HasSubstr("\"models[0].path\" is missing"));
  EXPECT_THAT(Error("", {{"http.port", "x"}}),
              HasSubstr("--http-port is \"x\"; an integer in [0, 65535] is expected"));
  EXPECT_THAT(Error("", {{"http.tcp", "x"}}), HasSubstr("there is no setting http.tcp"));
  EXPECT_THAT(Error("", {}, {"PLINTH_GRPC_ENABLED=yes"}),
              HasSubstr("PLINTH_GRPC_ENABLED is \"yes\"; true or false is expected"));
  EXPECT_THAT(Error("", {}, {"PLINTH_ACCESS_KEY=keys.toml"}),
              HasSubstr("the variable PLINTH_ACCESS_KEY is no setting"));
  EXPECT_TRUE(Load("", {}, {"PLINTH_ISA=v3", "PLINTH_SHARED=x", "HTTP_PORT=x"}).ok());
}

TEST_F(SettingsTest, RefusesContradictions) {
  EXPECT_THAT(Error("[http]\nenabled = false\n[grpc]\nenabled = false\n"),
              HasSubstr("nothing would be served"));
  EXPECT_THAT(Error("[http]\ntls_key = \"k\"\n"), HasSubstr("TLS needs both"));
  EXPECT_THAT(Error("[http]\ntls_client_ca = \"k\"\n"), HasSubstr("only where the server has one"));
  EXPECT_THAT(Error("[http]\nport = 8001\n"), HasSubstr("a port each"));
  EXPECT_THAT(Error("[limits]\nall_body_bytes = 2000\n"), HasSubstr("would never be taken"));
  EXPECT_THAT(Error("[batch]\nmost_series = 8\n"),
              testing::ContainsRegex(
                  "batch.preferred_series is 32, more than batch.most_series .*plinth.toml line 2."));
  EXPECT_THAT(Error("[service]\nlog_level = \"loud\"\n"), HasSubstr("debug, info, warn, error or off"));
}

TEST_F(SettingsTest, WhatIsShownReadsBack) {
  const auto s = Load(
      "[http]\nport = 5\n[evidence]\nkeys = [\"/a\", \"/b\"]\n[[models]]\nname = \"a\"\npath = \"/m\"\n");
  ASSERT_TRUE(s.ok()) << s.status();
  const auto again = Load(ToToml(*s));
  ASSERT_TRUE(again.ok()) << again.status();
  for (const Setting& setting : AllSettings()) {
    EXPECT_EQ(ValueText(*s, setting), ValueText(*again, setting)) << setting.key;
  }
  EXPECT_EQ(again->models.size(), 1u);
  EXPECT_TRUE(NeedRestart(*s, *again).empty());
}

TEST_F(SettingsTest, EveryRowIsWhole) {
  std::set<std::string_view> keys;
  const Settings defaults;
  for (const Setting& s : AllSettings()) {
    EXPECT_TRUE(keys.insert(s.key).second) << s.key;
    EXPECT_FALSE(s.about.empty()) << s.key;
    EXPECT_THAT(SettingsTable(), HasSubstr(StrCat("`", s.key, "`")));
    // The default lies in the setting's own range.
    if (!ValueText(defaults, s).empty()) {
      EXPECT_TRUE(Load("", {{std::string(s.key), ValueText(defaults, s)}}).ok()) << s.key;
    }
  }
}

TEST_F(SettingsTest, SomeChangesNeedARestart) {
  const auto before = Load("");
  const auto after = Load("[http]\nport = 9\n[limits]\nqueue = 3\n");
  EXPECT_THAT(NeedRestart(*before, *after), testing::ElementsAre("http.port"));
}

}  // namespace
}  // namespace plinth::server
