// What the small readers make of texts: fields, versions, wheels, tools, variables.
#include <fstream>

#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/evidence/kfd.h"
#include "plinth/evidence/pci.h"
#include "plinth/evidence/python_packages.h"
#include "plinth/evidence/rocminfo.h"
#include "plinth/evidence/smi.h"
#include "plinth/evidence/text_fields.h"
#include "plinth/evidence/tree_fixture.h"
#include "plinth/evidence/variables.h"

namespace plinth::evidence {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(TextFields, TakeLinesApart) {
  EXPECT_THAT(Lines("a\r\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(Words("  a\tb  "), ElementsAre("a", "b"));
  EXPECT_EQ(Field("x : 1\n key\t: value : more \n", "key"), "value : more");
  EXPECT_EQ(Field("keys: 1\n", "key"), "");
  EXPECT_EQ(ToInteger(" 0x1d94 ", 16), 0x1d94);
  EXPECT_EQ(ToInteger("12x"), std::nullopt);
  EXPECT_EQ(ToInteger(""), std::nullopt);
  EXPECT_EQ(ToInteger("99999999999999999999"), std::nullopt);
  EXPECT_EQ(VersionAfter("dtk-25.04.4/lib", "dtk-"), "25.04.4");
  EXPECT_EQ(VersionAfter("release 12.6, V12.6.20", "release"), "12.6");
  EXPECT_EQ(VersionAfter("ends 1.2.", ""), "1.2");
  EXPECT_EQ(VersionAfter("none", "dtk-"), "");
}

TEST(Kfd, NamesTargets) {
  EXPECT_EQ(GfxName(90006), "gfx906");
  EXPECT_EQ(GfxName(90010), "gfx90a");
  EXPECT_EQ(GfxName(90208), "gfx928");
  EXPECT_EQ(GfxName(90210), "gfx92a");
  EXPECT_EQ(GfxName(90306), "gfx936");
  EXPECT_EQ(GfxName(110000), "gfx1100");
  EXPECT_EQ(GfxName(0), "");
  EXPECT_EQ(GfxName(-90006), "");
  EXPECT_EQ(GfxName(90016), "");
}

TEST(Pci, CountsCardsByVendorAndClass) {
  const auto is_card = [](int vendor, int kind) {
    PciFunction f;
    f.vendor = vendor, f.class_code = kind;
    return f.IsCard();
  };
  EXPECT_TRUE(is_card(kVendorHygon, 0x0b4000));
  EXPECT_TRUE(is_card(kVendorHygon, 0x038000));
  EXPECT_FALSE(is_card(kVendorHygon, 0x060000));
  EXPECT_FALSE(is_card(kVendorHygon, 0x030000));
  EXPECT_TRUE(is_card(kVendorNvidia, 0x030200));
  EXPECT_FALSE(is_card(kVendorNvidia, 0x040300));  // its sound
  EXPECT_TRUE(is_card(kVendorAmd, 0x120000));
  EXPECT_FALSE(is_card(kVendorAmd, 0x060400));
  EXPECT_FALSE(is_card(0x8086, 0x030000));
}

TEST(PythonPackages, ReadVersionsOfWheels) {
  const auto told = [](std::string_view version) {
    const WheelVersion wheel = ParseWheelVersion(version);
    return StrCat(wheel.base, "|", wheel.das, "|", wheel.dtk);
  };
  EXPECT_EQ(told("2.4.1+das.opt1.dtk2504"), "2.4.1|opt1|25.04");
  EXPECT_EQ(told("2.4.1+das.opt2.dtk25044"), "2.4.1|opt2|25.04.4");
  EXPECT_EQ(told("2.1.0+das1.1.git1234567.abi1.dtk2404"), "2.1.0||24.04");
  EXPECT_EQ(told("2.9.0+das.opt1.dtk26.04"), "2.9.0|opt1|26.04");
  EXPECT_EQ(told("2.5.1+cu124"), "2.5.1||");
  EXPECT_EQ(told("1.0"), "1.0||");
  EXPECT_EQ(told("1.0+das.dtk"), "1.0||");
  EXPECT_EQ(told(""), "||");
}

TEST(PythonPackages, TheRecorderAsksTheSame) {
  const char* source = std::getenv("PLINTH_SOURCE_DIR");
  const auto script =
      ReadFile(StrCat(source == nullptr ? "." : source, "/tools/record_environment"), 1 << 20);
  ASSERT_TRUE(script.ok()) << script.status();
  EXPECT_NE(script->find(kPackageScript), std::string::npos);
}

TEST(Rocminfo, ReadsAgents) {
  const auto agents = ParseRocminfo(
      "Agent 1\n  Name: cpu\n  Device Type: CPU\nAgent 2\n  Name:   gfx928\n  Marketing Name: K100_AI\n"
      "  Device Type: GPU\n  Wavefront Size: 64(0x40)\n  Compute Unit: 120\n  BDFID: 13056\n  Domain: 1\n"
      "  ISA 1\n   Name: amdgcn-amd-amdhsa--gfx928:sramecc+:xnack-\n");
  ASSERT_EQ(agents.size(), 1u);
  EXPECT_EQ(agents[0].gfx, "gfx928");
  EXPECT_EQ(agents[0].gfx_target, "gfx928:sramecc+:xnack-");
  EXPECT_EQ(agents[0].market_name, "K100_AI");
  EXPECT_EQ(agents[0].wave_width, 64);
  EXPECT_EQ(agents[0].compute_units, 120);
  EXPECT_EQ(agents[0].address, "0001:33:00.0");
  EXPECT_THAT(ParseRocminfo(""), IsEmpty());
  EXPECT_THAT(ParseRocminfo("Agent 1\nDevice Type: GPU").at(0).gfx, "");
}

TEST(Smi, CountsRows) {
  EXPECT_EQ(CountSmiRows("====\nHCU  Temp AvgPwr Perf\n0  40C 90W auto\n1  40C 90W auto\n====\n"), 2);
  EXPECT_EQ(CountSmiRows("GPU  Temp (DieEdge)  AvgPwr\n0    36.0c           20W\n"), 1);
  EXPECT_EQ(CountSmiRows("DCU Temp AvgPwr\n"), 0);
  EXPECT_EQ(CountSmiRows("No AMD GPUs specified\n"), 0);
  EXPECT_EQ(CountSmiRows("something else\n"), std::nullopt);
  EXPECT_EQ(CountSmiRows(""), std::nullopt);
}

TEST(Smi, ReadsNvidiaCards) {
  const auto cards = ParseNvidiaCards(
      "00000000:3B:00.0, NVIDIA H200, 550.1, 9.0, 96.00, 143771 MiB\nnonsense\n0, 1, 2, 3, 4, 5\n");
  ASSERT_EQ(cards.size(), 1u);
  EXPECT_EQ(cards[0].address, "0000:3b:00.0");
  EXPECT_EQ(cards[0].name, "NVIDIA H200");
  EXPECT_EQ(cards[0].compute_capability, "9.0");
  EXPECT_EQ(cards[0].memory_mib, 143771);
}

class VariablesTest : public TreeTest {
 protected:
  std::map<std::string, std::string> Read(const std::string& environ) {
    Write("/plinth-recorded/environ", environ);
    return ReadVariables(*SystemTree::Open(root_)).values;
  }
};

TEST_F(VariablesTest, TakesOnlyThoseOnTheList) {
  const auto values =
      Read("HOME=/x\nNCCL_ALGO=Tree\nPATH=/bin\n=x\nbroken\nMIOPEN_FIND_MODE=\nAWS_SECRET_KEY=1\n");
  EXPECT_EQ(values, (std::map<std::string, std::string>{{"MIOPEN_FIND_MODE", ""}, {"NCCL_ALGO", "Tree"}}));
}

TEST_F(VariablesTest, RecordsNoSecrets) {
  const std::string secret = "(set; looks like a secret, so it is not recorded)";
  const auto values = Read(
      "TRITON_API_KEY=1\nVLLM_USE_TOKEN=1\nNCCL_PASSWORD=x\nTRITON_URL=http://a:b@host\nHSA_AUTH=1\n"
      "TRITON_CACHE=http://host\nNCCL_secret_x=1\n");
  for (const auto& [name, value] : values)
    EXPECT_EQ(value, name == "TRITON_CACHE" ? "http://host" : secret) << name;
  EXPECT_EQ(values.size(), 7u);
}

TEST_F(VariablesTest, CutsLongValues) {
  const auto values =
      Read("LD_LIBRARY_PATH=" + std::string(5000, 'a') + "\nROCM_PATH=" + std::string(1024, 'b') + "\n");
  EXPECT_EQ(values.at("ROCM_PATH").size(), 1024u);
  EXPECT_THAT(values.at("LD_LIBRARY_PATH"), HasSubstr("aa... (5000 bytes, sha256 "));
}

TEST(VariableRules, TheRecorderKnowsEveryPattern) {
  const char* source = std::getenv("PLINTH_SOURCE_DIR");
  const auto script =
      ReadFile(StrCat(source == nullptr ? "." : source, "/tools/record_environment"), 1 << 20);
  ASSERT_TRUE(script.ok()) << script.status();
  const size_t begin = script->find("patterns='") + 10;
  const auto patterns = Words(std::string_view(*script).substr(begin, script->find('\'', begin) - begin));
  // Every pattern of the recorder names variables that have a rule...
  for (const std::string_view pattern : patterns) {
    std::string name(pattern);
    if (name.ends_with('*')) name.back() = 'X';
    EXPECT_NE(FindVariableRule(name), nullptr) << pattern;
  }
  // ... and every rule's variables are matched by one of the recorder's.
  for (const std::string_view rule : VariablePatterns()) {
    const bool known = std::any_of(patterns.begin(), patterns.end(), [&](std::string_view p) {
      return p == rule || (p.ends_with('*') && rule.starts_with(p.substr(0, p.size() - 1)));
    });
    EXPECT_TRUE(known) << rule;
  }
}

}  // namespace
}  // namespace plinth::evidence
