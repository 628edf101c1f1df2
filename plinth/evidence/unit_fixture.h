// Gives tests a folder of their own, a key that is trusted, and units of evidence.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "plinth/base/files.h"
#include "plinth/evidence/sample_unit.h"

namespace plinth::evidence {

// A folder of its own and a key; the key is trusted as local.
class EvidenceTest : public ::testing::Test {
 protected:
  EvidenceTest() : key_(*SigningKey::Generate()) {
    std::string name = (std::filesystem::temp_directory_path() / "plinth-evidence-XXXXXX").string();
    folder_ = std::filesystem::canonical(mkdtemp(name.data())).string();
    keys_.Add(key_.public_key(), /*local=*/true);
  }
  ~EvidenceTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return JoinPath(folder_, name); }
  WrittenEvidence WriteUnit(const Unit& unit = SampleUnit(),
                            const std::vector<EvidenceFile>& files = SampleFiles()) {
    auto written = WriteEvidence(Path("evidence"), unit, files, key_);
    EXPECT_TRUE(written.ok()) << written.status();
    return written.ok() ? *written : WrittenEvidence{};
  }
  static std::string Text(const std::string& path) { return *ReadFile(path, 1 << 30); }

  std::string folder_;
  SigningKey key_;
  TrustedKeys keys_;
};

}  // namespace plinth::evidence
