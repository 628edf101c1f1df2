// Gives tests of recorded trees a folder of their own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/threads.h"
#include "plinth/evidence/environment.h"

namespace plinth::evidence {

class TreeTest : public ::testing::Test {
 protected:
  TreeTest() {
    std::string name = (std::filesystem::temp_directory_path() / "plinth-tree-XXXXXX").string();
    folder_ = std::filesystem::canonical(mkdtemp(name.data())).string();
    root_ = folder_ + "/root";
    std::filesystem::create_directories(root_);
  }
  ~TreeTest() override { std::filesystem::remove_all(folder_); }

  // `path` begins with a slash.
  void Write(const std::string& path, std::string_view text) const { WriteAt(root_ + path, text); }
  static void WriteAt(const std::string& path, std::string_view text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  void Link(const std::string& path, const std::string& target) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::filesystem::create_symlink(target, root_ + path);
  }
  // A card on the bus, with ids as sysfs writes them.
  void Card(const std::string& address, const std::string& vendor, const std::string& device,
            const std::string& kind) const {
    const std::string base = "/sys/bus/pci/devices/" + address;
    Write(base + "/vendor", vendor + "\n");
    Write(base + "/device", device + "\n");
    Write(base + "/class", kind + "\n");
  }

  StatusOr<Environment> Collect(EnvironmentOptions options = {}) {
    options.root = root_;
    options.threads = &threads_;
    return CollectEnvironment(options);
  }
  // "id: sentence" of all findings.
  static std::vector<std::string> Sentences(const Environment& environment) {
    std::vector<std::string> out;
    for (const Finding& finding : environment.findings) out.push_back(finding.id + ": " + finding.sentence);
    return out;
  }

  std::string folder_, root_;
  Threads threads_{2};
};

}  // namespace plinth::evidence
