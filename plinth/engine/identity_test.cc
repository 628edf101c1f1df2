#include "plinth/engine/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace plinth::engine {
namespace {

std::string Source(const std::string& path) {
  const char* root = std::getenv("PLINTH_SOURCE_DIR");
  return StrCat(root == nullptr ? std::string(".") : std::string(root), "/", path);
}

plan::NumericsIdentity Identity(const std::string& folder, int threads, Isa isa,
                                const SessionOptions& options = {}) {
  Threads pool(threads);
  const Context context{&pool, isa};
  auto session = Session::Load(folder, context, options);
  EXPECT_TRUE(session.ok()) << session.status();
  auto identity = IdentityOf(**session);
  EXPECT_TRUE(identity.ok()) << identity.status();
  return *identity;
}

// The parts that differ, joined by spaces.
std::string Differ(const plan::NumericsIdentity& a, const plan::NumericsIdentity& b) {
  return Join(plan::Changes(a, b), " ", [](const plan::IdentityChange& change) { return change.part; });
}

TEST(IdentityTest, NamesItsParts) {
  const auto identity = Identity(Source("tests/golden/plinth_ts_rand"), 1, Isa::kV2);
  EXPECT_EQ(Join(identity.parts, " ", [](const auto& part) { return part.first; }),
            "model graph precision kernels isa libraries flags device driver version");
  EXPECT_TRUE(identity.Digest().ok()) << identity.Digest().status();
  EXPECT_EQ(identity.Find("model")->size(), 64U);
  EXPECT_EQ(identity.Find("graph")->size(), 64U);
  EXPECT_THAT(*identity.Find("kernels"), testing::HasSubstr("attention="));
  EXPECT_EQ(*identity.Find("isa"), "v2");
  EXPECT_THAT(*identity.Find("libraries"), testing::StartsWith("glibc 2."));
  EXPECT_THAT(*identity.Find("flags"), testing::HasSubstr("-ffp-contract"));
  EXPECT_THAT(*identity.Find("flags"), testing::EndsWith("-march=x86-64-v2"));
}

TEST(IdentityTest, ThreadsAndSizesAreNoPart) {
  const std::string folder = Source("tests/golden/plinth_ts_rand");
  const auto one = Identity(folder, 1, Isa::kV2);
  EXPECT_EQ(Differ(one, Identity(folder, 3, Isa::kV2)), "");
  // After runs of other sizes it is still the same.
  Threads pool(2);
  const Context context{&pool, Isa::kV2};
  auto session = Session::Load(folder, context);
  ASSERT_TRUE(session.ok());
  const std::vector<double> series(700, 1.5);
  for (const size_t batch : {1, 33}) {
    const std::vector<std::span<const double>> all(batch, series);
    ASSERT_TRUE((*session)->Run(all, {.horizon = 7, .levels = {0.5}}).ok());
    EXPECT_EQ(Differ(one, *IdentityOf(**session)), "");
  }
}

TEST(IdentityTest, KernelsInstructionsAndModelsAreParts) {
  const std::string folder = Source("tests/golden/plinth_ts_rand");
  const auto plain = Identity(folder, 1, Isa::kV2);
  if (HardwareIsa().value_or(Isa::kV2) == Isa::kV4) {  // where linear has a second kernel
    const std::string bolt = Source("tests/golden/chronos_bolt_rand");
    EXPECT_EQ(
        Differ(Identity(bolt, 1, Isa::kV4), Identity(bolt, 1, Isa::kV4, {.kernels = {{"linear", "onednn"}}})),
        "kernels libraries");
  }
  if (HardwareIsa().value_or(Isa::kV2) != Isa::kV2) {
    EXPECT_THAT(Differ(plain, Identity(folder, 1, Isa::kV3)), testing::HasSubstr("isa"));
  }
  EXPECT_EQ(Differ(plain, Identity(Source("tests/golden/chronos2_rand"), 1, Isa::kV2)).substr(0, 11),
            "model graph");
}

TEST(IdentityTest, WeightsAndConfigurationAreTheModel) {
  namespace fs = std::filesystem;
  const std::string from = Source("tests/golden/plinth_ts_rand");
  std::string name = (fs::temp_directory_path() / "plinth-identity-XXXXXX").string();
  const std::string folder = mkdtemp(name.data());
  for (const char* file : {"config.json", "model.safetensors"})
    fs::copy(from + "/" + file, folder + "/" + file);
  const auto plain = Identity(folder, 1, Isa::kV2);
  EXPECT_EQ(Differ(plain, Identity(from, 1, Isa::kV2)), "");  // the folder's name is no part
  {
    std::fstream file(folder + "/model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-1, std::ios::end);
    const char last = static_cast<char>(file.get() ^ 1);  // of a weight, in its smallest digit or so
    file.seekp(-1, std::ios::end);
    file.put(last);
  }
  EXPECT_EQ(Differ(plain, Identity(folder, 1, Isa::kV2)), "model");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace plinth::engine
