#include "plinth/evidence/environment_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plinth/base/text.h"

namespace plinth::evidence {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Told(const EnvironmentDiff& diff) {
  std::vector<std::string> out;
  for (const FactDifference& d : diff.differences) {
    out.push_back(
        StrCat(EffectName(d.effect), " ", d.path, ": ", d.in_a ? d.a : "?", " | ", d.in_b ? d.b : "?"));
  }
  return out;
}

Environment Machine() {
  Environment e;
  e.Add("cpu", "", "isa_plinth", std::string("x86-64-v4"), "s");
  e.Add("cpu", "", "cores_allowed", int64_t{8}, "s");
  e.Add("os", "", "kernel", std::string("5.10"), "s");
  e.Add("devices", "0", "product", std::string("BW1000"), "s");
  e.Add("variables", "", "OMP_NUM_THREADS", std::string("4"), "s");
  return e;
}

TEST(EnvironmentDiff, NothingDiffers) {
  Environment b = Machine();
  b.facts[0].sources = {"another"};  // where a value was read is no difference
  b.time = "later";
  const EnvironmentDiff diff = Diff(Machine(), b);
  EXPECT_TRUE(diff.differences.empty());
  EXPECT_FALSE(diff.CanChangeNumbers());
  EXPECT_EQ(diff.same, 5);
}

TEST(EnvironmentDiff, SortsByWhatADifferenceCanDo) {
  Environment b = Machine();
  b.facts[2].value = std::string("6.1");
  b.facts[1].value = int64_t{4};
  b.facts[0].value = std::string("x86-64-v3");
  const EnvironmentDiff diff = Diff(Machine(), b);
  EXPECT_THAT(Told(diff), ElementsAre("numbers cpu.isa_plinth: x86-64-v4 | x86-64-v3",
                                      "speed cpu.cores_allowed: 8 | 4", "recorded os.kernel: 5.10 | 6.1"));
  EXPECT_TRUE(diff.CanChangeNumbers());
  EXPECT_EQ(diff.differences[0].reason, "selects the instruction set of kernels");
  EXPECT_EQ(diff.differences[2].reason, "");
  EXPECT_EQ(diff.same, 2);
}

TEST(EnvironmentDiff, SpeedAloneDoesNotChangeNumbers) {
  Environment b = Machine();
  b.facts[1].value = int64_t{4};
  EXPECT_FALSE(Diff(Machine(), b).CanChangeNumbers());
}

TEST(EnvironmentDiff, VariablesThatAreSetOnOneSide) {
  Environment b = Machine();
  b.Add("variables", "", "NVIDIA_TF32_OVERRIDE", std::string("0"), "s");
  const EnvironmentDiff diff = Diff(Machine(), b);
  EXPECT_THAT(Told(diff), ElementsAre("numbers variables.NVIDIA_TF32_OVERRIDE: ? | 0"));
  EXPECT_EQ(diff.differences[0].reason, "turns TF32 on or off behind fp32");
}

TEST(EnvironmentDiff, WhatOneSideDoesNotKnowIsNotTheSame) {
  Environment b = Machine();
  b.Add("devices", "0", "gfx", std::string("gfx936"), "s");
  b.Add("devices", "1", "vendor", std::string("Hygon"), "s");
  b.Add("devices", "1", "pci_address", std::string("0000:01:00.0"), "s");
  b.Add("digests", "", "program", std::string("sha256:0"), "s");
  b.Add("digests", "", "model", std::string("sha256:1"), "s");
  const EnvironmentDiff diff = Diff(Machine(), b);
  EXPECT_THAT(Told(diff), ElementsAre("numbers digests: ? | 2 facts", "numbers devices.0.gfx: ? | gfx936",
                                      "numbers devices.1: ? | vendor Hygon, pci_address 0000:01:00.0"));
  // The other way round the sides change places.
  EXPECT_THAT(Told(Diff(b, Machine())),
              ElementsAre("numbers digests: 2 facts | ?", "numbers devices.0.gfx: gfx936 | ?",
                          "numbers devices.1: vendor Hygon, pci_address 0000:01:00.0 | ?"));
}

TEST(EnvironmentDiff, TypesCount) {
  Environment b = Machine();
  b.facts[1].value = std::string("8");
  EXPECT_EQ(Diff(Machine(), b).differences.size(), 1u);
}

}  // namespace
}  // namespace plinth::evidence
