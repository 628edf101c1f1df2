// The trees below cases/environments, each against what its expected.json says by hand.
#include <algorithm>
#include <map>
#include <set>

#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/evidence/environment_diff.h"
#include "plinth/evidence/tree_fixture.h"
#include "plinth/formats/json.h"

namespace plinth::evidence {
namespace {

using formats::JsonValue;

std::string CasesFolder() {
  const char* source = std::getenv("PLINTH_SOURCE_DIR");
  return StrCat(source == nullptr ? "." : source, "/cases/environments");
}

StatusOr<Environment> CollectCase(const std::string& folder) {
  Threads threads(2);
  EnvironmentOptions options;
  options.root = folder;
  options.threads = &threads;
  return CollectEnvironment(options);
}

// Type and text, so that "1" is not 1.
std::string Typed(const FactValue& value) { return StrCat(value.index(), ":", FactText(value)); }
std::string Typed(const JsonValue& value) {
  if (value.text() != nullptr) return Typed(FactValue(*value.text()));
  if (value.integer() != nullptr) return Typed(FactValue(*value.integer()));
  if (value.flag() != nullptr) return Typed(FactValue(*value.flag()));
  std::vector<std::string> list;
  for (const JsonValue& item : *value.array()) list.push_back(*item.text());
  return Typed(FactValue(list));
}

std::map<std::string, std::string> FactsByPath(const Environment& environment) {
  std::map<std::string, std::string> facts;
  for (const Fact& fact : environment.facts) {
    EXPECT_FALSE(fact.sources.empty()) << fact.Path();
    EXPECT_TRUE(facts.emplace(fact.Path(), Typed(fact.value)).second) << fact.Path() << " twice";
  }
  return facts;
}

class EnvironmentCase : public ::testing::TestWithParam<std::string> {};

TEST_P(EnvironmentCase, FindsWhatIsExpected) {
  const std::string folder = JoinPath(CasesFolder(), GetParam());
  const auto text = ReadFile(folder + "/expected.json", 1 << 20);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto expected = formats::ParseJson(*text, "expected.json");
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto environment = CollectCase(folder);
  ASSERT_TRUE(environment.ok()) << environment.status();
  const auto facts = FactsByPath(*environment);
  for (const auto& [path, value] : *expected->Find("facts")->object()) {
    const auto found = facts.find(path);
    EXPECT_EQ(found == facts.end() ? "absent" : found->second, Typed(value)) << path;
  }
  for (const JsonValue& path : *expected->Find("absent")->array()) {
    EXPECT_EQ(facts.count(*path.text()), 0u) << *path.text();
  }
  std::multiset<std::string> wanted, found;
  for (const JsonValue& finding : *expected->Find("findings")->array()) {
    wanted.insert(StrCat(*finding.Find("severity")->text(), " ", *finding.Find("id")->text()));
  }
  for (const Finding& finding : environment->findings) {
    found.insert(StrCat(SeverityName(finding.severity), " ", finding.id));
  }
  EXPECT_EQ(found, wanted);
}

TEST_P(EnvironmentCase, ReadsBackAndDiffersFromItselfInNothing) {
  const auto environment = CollectCase(JoinPath(CasesFolder(), GetParam()));
  ASSERT_TRUE(environment.ok());
  const auto read = ParseEnvironment(ToJson(*environment), "f");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToJson(*read), ToJson(*environment));
  const EnvironmentDiff diff = Diff(*environment, *read);
  EXPECT_TRUE(diff.differences.empty());
  EXPECT_EQ(diff.same, static_cast<int64_t>(environment->facts.size()));
}

INSTANTIATE_TEST_SUITE_P(Trees, EnvironmentCase,
                         ::testing::Values("synthetic-z100l", "synthetic-k100_ai", "synthetic-bw1000",
                                           "synthetic-h200", "synthetic-cpu", "synthetic-container",
                                           "synthetic-no-kfd-permission", "synthetic-driver-without-device",
                                           "synthetic-mixed-versions"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// A tree that no line above names would never be looked at.
TEST(EnvironmentCases, AreAllListed) {
  const auto names = ListFolder(CasesFolder());
  ASSERT_TRUE(names.ok()) << names.status();
  size_t trees = 0;
  for (const std::string& name : *names)
    trees += name.starts_with("synthetic-") || name.starts_with("recorded-");
  EXPECT_EQ(trees, 9u);
}

}  // namespace
}  // namespace plinth::evidence
