#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plinth/base/text.h"
#include "plinth/evidence/environment.h"

namespace plinth::evidence {
namespace {

Environment Example() {
  Environment e;
  e.time = "2026-01-02T03:04:05Z";
  e.root = "tree";
  e.Add("cpu", "", "model", std::string("A \"b\"\n"), "/proc/cpuinfo");
  e.Add("cpu", "", "cores", int64_t{64}, "/proc/cpuinfo");
  e.Add("devices", "0", "gfx", std::string("gfx936"), "kfd node 1");
  e.Add("devices", "1", "gfx", std::string("gfx936"), "kfd node 2");
  e.Add("devices", "0", "open", true, "/dev/kfd");
  e.Add("cpu", "", "features", std::vector<std::string>{"avx2", "fma"}, "/proc/cpuinfo");
  e.findings.push_back({"x-y", Severity::kWarning, "what", "how"});
  return e;
}

TEST(EnvironmentJson, KeepsEverything) {
  const Environment e = Example();
  const std::string text = ToJson(e);
  const auto read = ParseEnvironment(text, "f");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToJson(*read), text);
  EXPECT_EQ(read->Text("cpu", "", "model"), "A \"b\"\n");
  EXPECT_EQ(read->Text("devices", "0", "open"), "true");
  EXPECT_EQ(read->Text("cpu", "", "features"), "avx2, fma");
  EXPECT_EQ(read->Text("cpu", "", "nothing"), "");
  EXPECT_EQ(read->Items("devices"), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(read->findings.at(0).severity, Severity::kWarning);
}

TEST(EnvironmentJson, KeepsSectionsAndItemsTogether) {
  std::vector<std::string> paths;
  for (const Fact& fact : Example().facts) paths.push_back(fact.Path());
  EXPECT_EQ(paths, (std::vector<std::string>{"cpu.model", "cpu.cores", "cpu.features", "devices.0.gfx",
                                             "devices.0.open", "devices.1.gfx"}));
}

TEST(EnvironmentJson, TwoSourcesThatAgreeAndTwoThatDoNot) {
  Environment e;
  e.Add("devices", "0", "gfx", std::string("gfx936"), "kfd");
  e.Add("devices", "0", "gfx", std::string("gfx936"), "rocminfo");
  e.Add("devices", "0", "gfx", std::string("gfx928"), "table");
  ASSERT_EQ(e.facts.size(), 2u);
  EXPECT_EQ(e.facts[0].sources, (std::vector<std::string>{"kfd", "rocminfo"}));
  EXPECT_EQ(e.Text("devices", "0", "gfx"), "gfx936");
  EXPECT_EQ(e.Text("devices", "0", "gfx (table)"), "gfx928");
}

TEST(EnvironmentJson, RefusesWhatItCannotRead) {
  const std::string head = R"({"schema":"plinth.environment/1","time":"","root":"",)";
  const std::pair<std::string, std::string> cases[] = {
      {"[]", "f: \"schema\" is missing; it must be \"plinth.environment/1\""},
      {R"({"schema":"plinth.environment/2"})",
       "f: \"schema\" is \"plinth.environment/2\"; it must be \"plinth.environment/1\""},
      {R"({"schema":"plinth.environment/1","time":1})", "f: \"time\" is 1; it must be text"},
      {head + R"("facts":[]})", "f: \"facts\" is a list of 0; it must be an object"},
      {head + R"("facts":{"cpu":3}})", "f: \"cpu\" is 3; it must be an object of facts"},
      {head + R"("facts":{"cpu":{"model":3}}})",
       "f: \"model\" is 3; it must be a fact with \"value\" and \"sources\""},
      {head + R"("facts":{"cpu":{"":{}}}})",
       "f: \"\" is an object of 0; it must be a fact with \"value\" and \"sources\""},
      {head + R"("facts":{"cpu":{"0":{"model":3}}}})",
       "f: \"model\" is 3; it must be a fact with \"value\" and \"sources\""},
      {head + R"("facts":{"cpu":{"model":{"value":1.5,"sources":[]}}}})",
       "f: \"cpu.model\" is 1.5; it must be text, a whole number, true, false or a list of text"},
      {head + R"("facts":{"cpu":{"model":{"value":[1],"sources":[]}}}})",
       "f: \"cpu.model\" is 1; it must be text"},
      {head + R"("facts":{},"findings":{}})", "f: \"findings\" is an object of 0; it must be a list"},
      {head + R"("facts":{},"findings":[{"id":"a","severity":"bad","sentence":"","resolve":""}]})",
       "f: \"severity\" is \"bad\"; it must be \"note\", \"warning\" or \"error\""},
  };
  for (const auto& [text, message] : cases) {
    const auto read = ParseEnvironment(text, "f");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().message(), message);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace plinth::evidence
