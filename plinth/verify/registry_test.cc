// Sees that the operators' folders, the CMake list, the registry and the table of checks agree.
#include "plinth/ops/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "plinth/ops/checks.h"

namespace plinth::ops {
namespace {

namespace fs = std::filesystem;

std::string OpsFolder() {
  const char* source = std::getenv("PLINTH_SOURCE_DIR");
  return source == nullptr ? "" : StrCat(source, "/plinth/ops");
}

// The names between "set(PLINTH_OPERATORS" and the closing parenthesis.
std::vector<std::string> CMakeList() {
  std::ifstream file(OpsFolder() + "/CMakeLists.txt");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str(), start = "set(PLINTH_OPERATORS";
  const size_t at = all.find(start);
  if (at == std::string::npos) return {};
  std::istringstream words(all.substr(at + start.size(), all.find(')', at) - at - start.size()));
  return {std::istream_iterator<std::string>(words), {}};
}

std::vector<std::string> Folders() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(OpsFolder())) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> RegistryNames() {
  std::vector<std::string> names;
  for (const OpSpec* spec : AllOps()) names.emplace_back(spec->name);
  return names;
}

class RegistryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (OpsFolder().empty()) GTEST_SKIP() << "PLINTH_SOURCE_DIR is not set; ctest sets it";
  }
};

TEST_F(RegistryTest, FoldersTablesAndBuildAgree) {
  const std::vector<std::string> registry = RegistryNames();
  EXPECT_TRUE(std::is_sorted(registry.begin(), registry.end()));
  EXPECT_EQ(registry, Folders());
  EXPECT_EQ(registry, CMakeList());
  std::vector<std::string> checked;
  for (const OpChecks* checks : AllChecks()) checked.emplace_back(checks->spec->name);
  EXPECT_EQ(registry, checked);
}

TEST_F(RegistryTest, EveryFolderHasItsFiles) {
  for (const std::string& op : Folders()) {
    for (const char* file : {"op.h", "spec.cc", "cpu.cc", "reference.cc", "cases.cc"}) {
      EXPECT_TRUE(fs::exists(StrCat(OpsFolder(), "/", op, "/", file))) << op << "/" << file;
    }
  }
}

class EveryOpTest : public testing::TestWithParam<const OpChecks*> {};

TEST_P(EveryOpTest, SaysWhatItIsAndHowItIsChecked) {
  const OpChecks& checks = *GetParam();
  const OpSpec& spec = *checks.spec;
  EXPECT_EQ(FindOp(spec.name), &spec);
  EXPECT_NE(std::string(spec.summary), "");
  EXPECT_NE(spec.infer, nullptr);
  EXPECT_NE(spec.cost, nullptr);
  EXPECT_FALSE(spec.cpu.empty());
  ASSERT_NE(checks.reference, nullptr);
  EXPECT_NE(std::string(checks.attacks), "");
  const auto kind = checks.tolerance.kind;
  if (kind != ToleranceClass::kExact && kind != ToleranceClass::kOrder) {
    EXPECT_TRUE(checks.tolerance.limit) << "a tolerance without limits";
    EXPECT_NE(std::string(checks.tolerance.derivation), "") << "a tolerance without derivation";
  }
}

TEST_P(EveryOpTest, RefusesSomething) { EXPECT_FALSE(GetParam()->refusals().empty()); }

// A name goes into a reproduce line: it must need no quotes.
void ExpectPlain(const std::string& name) {
  EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-"), std::string::npos) << name;
}

TEST_P(EveryOpTest, NamesItsCasesUniquely) {
  std::set<std::string> cases, refusals;
  for (const Case& c : GetParam()->cases()) {
    EXPECT_TRUE(cases.insert(c.name).second) << c.name;
    ExpectPlain(c.name);
  }
  for (const Refusal& r : GetParam()->refusals()) {
    EXPECT_TRUE(refusals.insert(r.name).second) << r.name;
    ExpectPlain(r.name);
  }
}

TEST_P(EveryOpTest, NamesItsKernelsUniquely) {
  std::set<std::string> names;
  for (const CpuKernel& k : GetParam()->spec->cpu) {
    EXPECT_TRUE(names.insert(k.name).second) << k.name;
    for (CpuFn* fn : k.run.at) EXPECT_NE(fn, nullptr) << k.name;
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, EveryOpTest, testing::ValuesIn(AllChecks()),
                         [](const auto& info) { return std::string(info.param->spec->name); });

}  // namespace
}  // namespace plinth::ops
