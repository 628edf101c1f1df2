// Findings that no tree of cases/environments shows, one small tree each.
#include "plinth/evidence/environment_findings.h"

#include <sys/stat.h>

#include "plinth/evidence/environment_diff.h"
#include "plinth/evidence/tree_fixture.h"

namespace plinth::evidence {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class FindingsTest : public TreeTest {
 protected:
  // A DCU with everything it needs, so that a test takes one thing away.
  void Dcu(const std::string& device = "0x6210") const {
    Card("0000:33:00.0", "0x1d94", device, "0x0b4000");
    Kfd(1, 90208, 0x3300);
    Write("/sys/module/hydcu/version", "6.2.23\n");
    Write("/opt/hyhal/lib/x", "");
    Write("/plinth-recorded/nodes.txt", "rw crw-rw-rw- root root /dev/kfd\n");
  }
  void Kfd(int node, int gfx, int location) const {
    const std::string base = "/sys/class/kfd/kfd/topology/nodes/" + std::to_string(node);
    Write(base + "/gpu_id", "7\n");
    Write(base + "/properties", "vendor_id 7572\nlocation_id " + std::to_string(location) +
                                    "\ngfx_target_version " + std::to_string(gfx) + "\n");
  }
  void Torch(const std::string& version, const std::string& built) const {
    Write("/plinth-recorded/tools/python.txt", "a warning\n{\"python\":\"3.11\",\"packages\":{\"torch\":\"" +
                                                   version + "\"},\"torch\":{" + built + "}}\n");
  }
  std::vector<std::string> Found(EnvironmentOptions options = {}) {
    const auto environment = Collect(std::move(options));
    EXPECT_TRUE(environment.ok()) << environment.status();
    return environment.ok() ? Sentences(*environment) : std::vector<std::string>();
  }
};

TEST_F(FindingsTest, NothingWhereAllIsWell) {
  Dcu();
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(FindingsTest, NothingInAnEmptyTree) {
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_EQ(Collect()->Find("devices", "", "count"), nullptr);
}

TEST_F(FindingsTest, DeviceWithoutDriver) {
  Dcu();
  std::filesystem::remove_all(root_ + "/sys/module");
  EXPECT_THAT(Found(),
              ElementsAre("device-without-driver: 1 card (DCU) on the bus, but no kernel module drives it: "
                          "hydcu and amdgpu not loaded"));
  Write("/proc/modules", "hydcu 4096 0 - Live 0x0\n");
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_EQ(Collect()->Text("drivers", "", "hydcu"), "loaded; states no version");
}

TEST_F(FindingsTest, NvidiaDriverWithoutDevice) {
  Write("/sys/module/nvidia/version", "550.1\n");
  EXPECT_THAT(
      Found(),
      ElementsAre("driver-without-device: the module nvidia is loaded, but no NVIDIA GPU is on the bus"));
}

TEST_F(FindingsTest, KfdMissing) {
  Dcu();
  Write("/plinth-recorded/nodes.txt", "");
  EXPECT_THAT(Found(), ElementsAre("kfd-missing: there are cards and a driver, but no /dev/kfd"));
}

TEST_F(FindingsTest, KfdLacksDevices) {
  Dcu();
  Card("0000:34:00.0", "0x1d94", "0x6210", "0x0b4000");
  EXPECT_THAT(Found(),
              ElementsAre("kfd-lacks-devices: the bus shows 2 cards, the compute driver's topology 1"));
}

TEST_F(FindingsTest, ACardThatOnlyKfdShowsCounts) {
  Kfd(1, 90306, 0x3300);
  const auto environment = Collect();
  EXPECT_EQ(environment->Text("devices", "", "count"), "1");
  EXPECT_EQ(environment->Text("devices", "0", "vendor"), "Hygon");
  EXPECT_EQ(environment->Text("devices", "0", "gfx"), "gfx936");
  EXPECT_EQ(environment->Text("devices", "0", "pci_address"), "0000:33:00.0");
}

TEST_F(FindingsTest, GfxNotOfProduct) {
  Dcu("0x6320");
  Write("/plinth-recorded/environ", "HSA_FORCE_FINE_GRAIN_PCIE=1\n");
  EXPECT_THAT(Found(),
              ElementsAre("gfx-not-of-product: device 0 is a BW1000 (1d94:6320), whose code is gfx936, but "
                          "/sys/class/kfd/kfd/topology/nodes/1 says gfx928"));
}

TEST_F(FindingsTest, BoardWhoseGfxNobodyStates) {
  Dcu("0x6370");
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_EQ(Collect()->Text("devices", "0", "product"), "BW100");
  EXPECT_EQ(Collect()->Find("devices", "0", "gfx_of_product"), nullptr);
}

TEST_F(FindingsTest, ToolThatSeesNoCard) {
  Dcu();
  Write("/plinth-recorded/tools/hy-smi.txt", "DCU Temp AvgPwr Perf\n==== End ====\n");
  EXPECT_THAT(Found(), ElementsAre("tool-counts-differ: hy-smi shows 0 cards, the PCI bus and KFD show 1"));
  // A tool whose answer nobody understands has no count.
  Write("/plinth-recorded/tools/hy-smi.txt", std::string(1000, '\xff'));
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_EQ(Collect()->Find("tools", "hy-smi", "cards"), nullptr);
}

TEST_F(FindingsTest, NvidiaDriverMixed) {
  Card("0000:19:00.0", "0x10de", "0x2335", "0x030200");
  Write("/sys/module/nvidia/version", "550.54.15\n");
  Write("/plinth-recorded/tools/nvidia-smi.txt", "| Driver Version: 550.127.08   CUDA Version: 12.4 |\n");
  EXPECT_THAT(Found(),
              ElementsAre("nvidia-driver-mixed: the kernel module nvidia is 550.54.15, the libraries beside "
                          "nvidia-smi are 550.127.08"));
}

TEST_F(FindingsTest, FrameworksOfOtherDevices) {
  Dcu();
  Torch("2.5.1+cu124", "\"cuda\":\"12.4\"");
  EXPECT_THAT(
      Found(),
      ElementsAre(
          "framework-for-other-device: torch 2.5.1+cu124 was built for CUDA, but the cards are DCUs",
          HasSubstr("cuda-proves-nothing: torch was built with CUDA 12.4; but the device is a Hygon DCU")));
  Torch("2.5.1+cpu", "\"cuda\":\"None\",\"hip\":\"None\"");
  EXPECT_THAT(Found(),
              ElementsAre("framework-without-device: torch 2.5.1+cpu was built for neither CUDA nor HIP; it "
                          "computes on the CPU although there are cards"));
  Torch("2.4.1+das.opt1.dtk2504", "\"hip\":\"6.1\"");
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(FindingsTest, HipFrameworkBesideNvidia) {
  Card("0000:19:00.0", "0x10de", "0x2335", "0x030200");
  Write("/sys/module/nvidia/version", "550.54.15\n");
  Torch("2.5.1+rocm6.2", "\"hip\":\"6.2\"");
  EXPECT_THAT(
      Found(),
      ElementsAre("framework-for-other-device: torch 2.5.1+rocm6.2 was built for HIP, but the cards are "
                  "NVIDIA's"));
}

TEST_F(FindingsTest, DtkOfALinkedLibrary) {
  Dcu();
  Write("/opt/dtk-26.04/lib/librocblas.so.4", "");
  Write("/opt/dtk-25.04/.info/version", "25.04.4\n");
  Link("/opt/dtk", "/opt/dtk-25.04");
  Link("/opt/dtk-25.04/lib/librocblas.so", "/opt/dtk-26.04/lib/librocblas.so.4");
  EXPECT_THAT(Found(),
              ElementsAre("dtk-versions-mixed: more than one DTK is in use: 25.04 (/opt/dtk); 25.04.4 "
                          "(/opt/dtk/.info/version); 26.04 (/opt/dtk/lib/librocblas.so)"));
}

TEST_F(FindingsTest, AllCardsHidden) {
  Dcu();
  Write("/plinth-recorded/environ", "HIP_VISIBLE_DEVICES=-1\n");
  EXPECT_THAT(Found(), ElementsAre("cards-hidden: HIP_VISIBLE_DEVICES=\"-1\" shows a program 0 of 1 card"));
}

TEST_F(FindingsTest, HungAndFailedTools) {
  Dcu();
  Write("/plinth-recorded/tools/rocminfo.txt", "");
  Write("/plinth-recorded/tools/rocminfo.status", "124\n");
  Write("/plinth-recorded/tools/hy-smi.txt", std::string("\1\2 segmentation fault\nmore"));
  Write("/plinth-recorded/tools/hy-smi.status", "139\n");
  Write("/plinth-recorded/tools/python.txt", "Traceback\n");
  EXPECT_THAT(Found(),
              ElementsAre("tool-failed: rocminfo did not end in time and was stopped",
                          "tool-failed: the Python interpreter did not answer with a list of packages",
                          "tool-failed: hy-smi ended with exit code 139: \"?? segmentation fault\""));
}

TEST_F(FindingsTest, UnreadableAndHugeSources) {
  Dcu();
  Write("/proc/meminfo", std::string(1 << 20, 'm'));
  Write("/sys/hypervisor/type", "kvm\n");
  Write("/plinth-recorded/nodes.txt",
        "rw crw-rw-rw- root root /dev/kfd\nnone -rw------- root root /sys/hypervisor/type\n");
  EXPECT_THAT(Found(), ElementsAre("source-unreadable: /proc/meminfo: only its first 65536 bytes were read; "
                                   "/sys/hypervisor/type: cannot be read"));
}

TEST_F(FindingsTest, LibrariesWithoutTheTarget) {
  Dcu();
  const auto bundle = [](const std::string& target) {
    const std::string triple = "hipv4-amdgcn-amd-amdhsa--" + target;
    std::string text = "__CLANG_OFFLOAD_BUNDLE__";
    for (const uint64_t number : {uint64_t{1}, 56 + triple.size(), uint64_t{4}, uint64_t{triple.size()}}) {
      for (int i = 0; i < 8; ++i) text += static_cast<char>(number >> (8 * i));
    }
    return text + triple + "code";
  };
  Write("/lib/good.so", bundle("gfx906") + bundle("gfx928"));
  Write("/lib/other.so.1", bundle("gfx938"));
  Write("/lib/plain.so", "nothing");
  Write("/lib/cut.so", "\177ELF\2");
  Write("/lib/text.txt", bundle("gfx938"));
  Link("/lib/again.so", "other.so.1");
  Link("/lib/loop", "..");
  EnvironmentOptions options;
  options.libraries = {"/lib", "/lib/plain.so"};
  const auto environment = Collect(options);
  ASSERT_TRUE(environment.ok()) << environment.status();
  EXPECT_THAT(environment->Items("libraries"),
              ElementsAre("/lib/other.so.1", "/lib/cut.so", "/lib/good.so", "/lib/plain.so"));
  EXPECT_EQ(environment->Text("libraries", "/lib/good.so", "gpu_targets"), "gfx906, gfx928");
  EXPECT_THAT(
      Sentences(*environment),
      ElementsAre("library-without-target: /lib/other.so.1: holds code for gfx938, but the device is gfx928",
                  "library-truncated: /lib/cut.so: ends before its own headers say"));
  options.libraries = {"/no"};
  EXPECT_EQ(
      Collect(options).status().message(),
      root_ + "/no: no such file or folder; name a library or a folder of them inside the recorded tree");
}

TEST_F(FindingsTest, RefusesWhatBelongsToThisMachine) {
  EnvironmentOptions options;
  options.python = "python3";
  EXPECT_EQ(Collect(options).status().message(), "a Python interpreter belongs to this machine, " + root_ +
                                                     " was recorded on another; its packages are in "
                                                     "plinth-recorded/tools/python.txt where it was asked");
  options.python = "";
  options.inputs = {"x"};
  EXPECT_EQ(Collect(options).status().message(),
            "a digest of a model or of inputs belongs to this machine, " + root_ +
                " was recorded on another; leave it out");
}

TEST_F(FindingsTest, HostileFilesGiveNoFacts) {
  const std::string garbage("\0\xff\xfe{\"a\":[[[[\n\n= : =\x7f", 20);
  for (const char* path : {"/proc/cpuinfo",
                           "/proc/meminfo",
                           "/proc/modules",
                           "/proc/self/cgroup",
                           "/proc/self/mountinfo",
                           "/proc/self/status",
                           "/proc/driver/nvidia/version",
                           "/etc/os-release",
                           "/usr/local/cuda/version.json",
                           "/opt/dtk/hip/bin/.hipVersion",
                           "/sys/bus/pci/devices/x/vendor",
                           "/sys/bus/pci/devices/x/device",
                           "/sys/bus/pci/devices/x/class",
                           "/sys/class/kfd/kfd/topology/nodes/1/properties",
                           "/sys/class/kfd/kfd/topology/nodes/1/gpu_id",
                           "/plinth-recorded/environ",
                           "/plinth-recorded/uname",
                           "/plinth-recorded/tools/rocminfo.txt",
                           "/plinth-recorded/tools/python.txt",
                           "/plinth-recorded/tools/nvidia-smi-cards.txt"}) {
    Write(path, garbage);
  }
  const auto environment = Collect();
  ASSERT_TRUE(environment.ok()) << environment.status();
  EXPECT_THAT(environment->Items("devices"), IsEmpty());
  EXPECT_TRUE(ParseEnvironment(ToJson(*environment), "f").ok());
}

TEST_F(FindingsTest, NumbersBeyondSenseAreLeftOut) {
  Kfd(1, 99999999, -1);
  Write(
      "/sys/class/kfd/kfd/topology/nodes/1/properties",
      "simd_count 9223372036854775807\nsimd_per_cu 1\nvendor_id 18446744073709551615\ngfx_target_version -3\n"
      "location_id -1\ndomain 99999999\nwave_front_size 99999999999\n");
  Write("/proc/meminfo", "MemTotal: 9223372036854775807 kB\n");
  Write("/proc/self/status", "Cpus_allowed_list:\t0-9223372036854775807\n");
  const auto environment = Collect();
  ASSERT_TRUE(environment.ok());
  EXPECT_EQ(environment->Find("memory", "", "total_bytes"), nullptr);
  EXPECT_EQ(environment->Find("cpu", "", "cores_allowed"), nullptr);
  EXPECT_EQ(environment->Find("devices", "0", "gfx"), nullptr);
}

TEST(Versions, MayAgree) {
  EXPECT_TRUE(VersionsMayAgree("25.04", "25.04.4"));
  EXPECT_TRUE(VersionsMayAgree("25.4", "25.04"));
  EXPECT_FALSE(VersionsMayAgree("25.04.4", "25.04.3"));
  EXPECT_FALSE(VersionsMayAgree("25.04", "26.04"));
}

}  // namespace
}  // namespace plinth::evidence
