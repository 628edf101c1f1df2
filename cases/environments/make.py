#!/usr/bin/env python3
"""Makes the synthetic system trees beside this file, with what Plinth must find in each.

Usage: make.py          rewrites synthetic-*/
       make.py --check  says what differs from what it would write; exit code 1 when something does
"""
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HYGON_FLAGS = "fpu sse sse2 ssse3 sse4_1 sse4_2 popcnt avx f16c fma bmi1 bmi2 avx2 sha_ni"
INTEL_FLAGS = (HYGON_FLAGS + " avx512f avx512bw avx512cd avx512dq avx512vl avx512_vnni avx512_bf16 amx_tile "
               "amx_int8 amx_bf16")


class Tree:
    """One system: files, links, nodes, tools, and what must be found."""

    def __init__(self, name, about, invented):
        self.name, self.about, self.invented = name, about, invented
        self.files, self.links, self.nodes, self.environ = {}, {}, [], []
        self.facts, self.absent, self.findings = {}, [], []

    def file(self, path, text):
        self.files[path] = text if text.endswith("\n") or not text else text + "\n"

    def link(self, path, target):
        self.links[path] = target

    def node(self, path, access="rw", mode="crw-rw-rw-", owner="root", group="root"):
        self.nodes.append(f"{access:4} {mode} {owner} {group} {path}")

    def tool(self, name, text, status=0):
        self.file(f"plinth-recorded/tools/{name}.txt", text)
        if status:
            self.file(f"plinth-recorded/tools/{name}.status", str(status))

    def expect(self, **facts):
        """section__name or section__item__name = value, with dots for double underscores."""
        for key, value in facts.items():
            self.facts[key.replace("__", ".")] = value

    def find(self, identity, severity):
        self.findings.append({"id": identity, "severity": severity})

    # Parts of a system.

    def machine(self, vendor, model, flags, cores, family, kernel, glibc, distribution, gibibytes):
        block = ("processor\t: {}\nvendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: 1\nmodel name\t: {}\n"
                 "stepping\t: 1\nmicrocode\t: 0x1\nflags\t\t: {}\n\n")
        self.file("proc/cpuinfo", "".join(block.format(i, vendor, family, model, flags) for i in range(cores)))
        self.file("proc/meminfo", f"MemTotal:       {gibibytes << 20} kB\nSwapTotal:      0 kB\nHugepagesize:   2048 kB")
        self.file("proc/self/status", f"Name:\tsh\nCpus_allowed_list:\t0-{cores - 1}")
        self.file("proc/self/cgroup", "0::/user.slice/session-1.scope")
        self.file("sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory pids")
        self.file("sys/devices/system/node/online", "0")
        for index, (level, kind, size) in enumerate([("1", "Data", "32K"), ("1", "Instruction", "32K"),
                                                     ("2", "Unified", "512K"), ("3", "Unified", "16384K")]):
            folder = f"sys/devices/system/cpu/cpu0/cache/index{index}"
            self.file(f"{folder}/level", level)
            self.file(f"{folder}/type", kind)
            self.file(f"{folder}/size", size)
        name, identity, version = distribution
        self.file("etc/os-release", f'PRETTY_NAME="{name}"\nID={identity}\nVERSION_ID="{version}"')
        self.file("plinth-recorded/uname", f"{kernel}\nx86_64\nglibc {glibc}")
        self.file("plinth-recorded/time", "2026-01-01T00:00:00Z")
        self.expect(cpu__model=model, cpu__vendor=vendor, cpu__cores_visible=cores, cpu__cores_allowed=cores,
                    memory__total_bytes=gibibytes << 30, os__name=name, os__kernel=kernel,
                    os__c_library=f"glibc {glibc}", os__virtual_machine=False, container__cgroup_version=2)

    def hygon_machine(self, cores=4, gibibytes=512):
        self.machine("HygonGenuine", "Hygon C86 7285 32-core Processor", HYGON_FLAGS, cores, 24,
                     "5.10.0-136.12.0.86.oe2203sp1.x86_64", "2.34", ("openEuler 22.03 (LTS-SP1)", "openEuler", "22.03"),
                     gibibytes)
        self.expect(cpu__isa_level="x86-64-v3", cpu__isa_plinth="x86-64-v3")
        # The processor's own functions carry the vendor of the cards.
        for number, (device, kind) in enumerate([("0x1450", "0x060000"), ("0x1452", "0x060000"), ("0x1454", "0x060400"),
                                                 ("0x1468", "0x108000")]):
            self.pci(f"0000:00:{number:02x}.0", "0x1d94", device, kind)
        self.find("hygon-cpu-functions", "note")

    def pci(self, address, vendor, device, kind, subsystem=None, driver=""):
        folder = f"sys/bus/pci/devices/{address}"
        self.file(f"{folder}/vendor", vendor)
        self.file(f"{folder}/device", device)
        self.file(f"{folder}/class", kind)
        if subsystem:
            self.file(f"{folder}/subsystem_vendor", subsystem[0])
            self.file(f"{folder}/subsystem_device", subsystem[1])
        if driver:
            self.link(f"{folder}/driver", f"../../../../bus/pci/drivers/{driver}")

    def kfd_cpu(self):
        folder = "sys/class/kfd/kfd/topology/nodes/0"
        self.file(f"{folder}/gpu_id", "0")
        self.file(f"{folder}/properties", "cpu_cores_count 4\nsimd_count 0")

    def dcu(self, number, address, device, kind, gfx, **more):
        """One card on the bus and in KFD. Properties that are not stated anywhere are left out."""
        self.pci(address, "0x1d94", device, kind, ("0x1d94", device), "hydcu")
        bus = int(address[5:7], 16)
        lines = [f"vendor_id {0x1d94}", f"device_id {int(device, 16)}", f"location_id {bus << 8}", "domain 0",
                 f"gfx_target_version {gfx}"] + [f"{key} {value}" for key, value in more.get("properties", {}).items()]
        folder = f"sys/class/kfd/kfd/topology/nodes/{number + 1}"
        self.file(f"{folder}/gpu_id", str(1000 + number))
        self.file(f"{folder}/properties", "\n".join(lines))
        if "bytes" in more:
            self.file(f"{folder}/mem_banks/0/properties", f"heap_type 1\nsize_in_bytes {more['bytes']}\nflags 0")
        self.node(f"/dev/dri/renderD{128 + number}")
        self.facts.update({f"devices.{number}.pci_id": f"1d94:{device[2:]}", f"devices.{number}.pci_address": address,
                           f"devices.{number}.vendor": "Hygon", f"devices.{number}.driver": "hydcu"})

    def dcu_driver(self, version):
        for module in ("hydcu", "hydcu_sched", "hyttm", "hykcl"):
            self.file(f"sys/module/{module}/version", version)
        self.expect(drivers__hydcu=version, drivers__hyttm=version)
        self.node("/dev/kfd")
        self.node("/dev/mkfd")

    def dtk(self, version, hip=None, link=True):
        folder = f"opt/dtk-{version}"
        self.file(f"{folder}/.info/version", version)
        if hip:
            major, minor, patch = hip
            self.file(f"{folder}/hip/bin/.hipVersion",
                      f"HIP_VERSION_MAJOR={major}\nHIP_VERSION_MINOR={minor}\nHIP_VERSION_PATCH={patch}")
        if link:
            self.link("opt/dtk", f"dtk-{version}")
            self.expect(stack__dtk=version, stack__dtk_package=version)

    def hyhal(self):
        self.file("opt/hyhal/lib/README", "libraries of the hardware abstraction layer stand here")
        self.expect(stack__hal_folder="/opt/hyhal")

    def python(self, packages, torch):
        text = {"python": "3.10.12", "executable": "/usr/bin/python3", "packages": packages, "torch": torch}
        self.tool("python", json.dumps(text))

    # Writing.

    def write(self, root):
        """Writes the tree below `root`."""
        folder = os.path.join(root, self.name)
        recorded = dict(self.files)
        if self.nodes:
            recorded["plinth-recorded/nodes.txt"] = "# ACCESS MODE OWNER GROUP PATH\n" + "\n".join(self.nodes) + "\n"
        if self.environ:
            recorded["plinth-recorded/environ"] = "\n".join(self.environ) + "\n"
        recorded["NOTES.md"] = (f"# {self.name}\n\n{self.about}\nMade by `make.py`, never seen on a machine. "
                                f"Invented: {self.invented}.\n")
        expected = {"facts": self.facts, "absent": self.absent, "findings": self.findings}
        recorded["expected.json"] = json.dumps(expected, indent=1) + "\n"
        for path, text in recorded.items():
            target = os.path.join(folder, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as out:
                out.write(text)
        for path, target in self.links.items():
            place = os.path.join(folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.symlink(target, place)


def rocminfo(agents):
    """As rocminfo prints agents, cut to the lines that matter."""
    out = ["ROCk module is loaded", "=====================", "HSA System Attributes", "=====================",
           "Runtime Version:         1.1", "==========", "HSA Agents", "==========",
           "*******", "Agent 1", "*******", "  Name:                    Hygon C86 7285 32-core Processor",
           "  Device Type:             CPU", "  BDFID:                   0"]
    for number, agent in enumerate(agents):
        out += ["*******", f"Agent {number + 2}", "*******", f"  Name:                    {agent['gfx']}",
                f"  Marketing Name:          {agent['name']}", "  Device Type:             GPU"]
        if "wave" in agent:
            out.append(f"  Wavefront Size:          {agent['wave']}(0x{agent['wave']:x})")
        if "units" in agent:
            out.append(f"  Compute Unit:            {agent['units']}")
        out += [f"  BDFID:                   {agent['bus'] << 8}", "  Domain:                  0", "  ISA Info:",
                "    ISA 1", f"      Name:                    amdgcn-amd-amdhsa--{agent['target']}"]
    return "\n".join(out + ["*** Done ***"])


def smi_table(cards, watts):
    rule = "=" * 30
    rows = [f"{i}       45.0C    90.0W      auto     {watts}     0%         0%        Normal" for i in range(cards)]
    return "\n".join([f"{rule} System Management Interface {rule}",
                      "DCU     Temp     AvgPwr     Perf     PwrCap     VRAM%      DCU%      Mode"] + rows +
                     [f"{rule} End of SMI Log {rule}"])


ASSUMED = "the processor, the operating system, driver versions, PCI addresses, the layout of tool outputs"


def z100l():
    t = Tree("synthetic-z100l", "Two Z100L (1d94:55b7, class 0380, gfx906:sramecc+:xnack-, wave 64) with DTK 24.04.",
             ASSUMED + ", the pairing with DTK 24.04")
    t.hygon_machine()
    for i, bus in enumerate((0x04, 0x26)):
        t.dcu(i, f"0000:{bus:02x}:00.0", "0x55b7", "0x038000", 90006, properties={"wave_front_size": 64})
        t.facts.update({f"devices.{i}.product": "Z100L", f"devices.{i}.gfx": "gfx906", f"devices.{i}.wave_width": 64,
                        f"devices.{i}.pci_class": "0380", f"devices.{i}.gfx_target": "gfx906:sramecc+:xnack-"})
        t.absent += [f"devices.{i}.compute_units", f"devices.{i}.memory_bytes"]
    t.kfd_cpu()
    t.dcu_driver("5.16.18")
    t.dtk("24.04")
    t.hyhal()
    agents = [{"gfx": "gfx906", "name": "Z100L", "bus": bus, "target": "gfx906:sramecc+:xnack-", "wave": 64}
              for bus in (0x04, 0x26)]
    t.tool("rocminfo", rocminfo(agents))
    t.tool("hy-smi", smi_table(2, "280.0W"))
    t.expect(devices__count=2, tools__rocminfo__cards=2)
    t.facts["tools.hy-smi.cards"] = 2
    return t


def k100_ai():
    t = Tree("synthetic-k100_ai", "Two K100_AI (1d94:6210, class 0b40, gfx928, 64 GB); nobody states their wave width, "
             "so no source in this tree does.", ASSUMED + ", the pairing with DTK 25.04")
    t.hygon_machine()
    for i, bus in enumerate((0x33, 0x63)):
        t.dcu(i, f"0000:{bus:02x}:00.0", "0x6210", "0x0b4000", 90208, bytes=64 << 30)
        t.facts.update({f"devices.{i}.product": "K100_AI", f"devices.{i}.gfx": "gfx928",
                        f"devices.{i}.memory_bytes": 64 << 30, f"devices.{i}.pci_class": "0b40"})
        t.absent += [f"devices.{i}.wave_width", f"devices.{i}.compute_units", f"devices.{i}.lds_kib"]
    t.kfd_cpu()
    t.dcu_driver("6.2.23")
    t.dtk("25.04")
    t.hyhal()
    t.tool("hy-smi", smi_table(2, "400.0W"))
    t.python({"torch": "2.4.1+das.opt1.dtk2504", "vllm": "0.6.2+das.opt1.dtk2504", "triton": "3.0.0+das.opt1.dtk2504"},
             {"hip": "6.1", "folder": "/usr/lib/python3/dist-packages/torch"})
    t.expect(devices__count=2, frameworks__torch="2.4.1+das.opt1.dtk2504", frameworks__torch_dtk="25.04",
             frameworks__vllm_das="opt1")
    return t


def add_bw1000(t, buses, rocm=True):
    properties = {"simd_count": 320, "simd_per_cu": 4, "wave_front_size": 64, "lds_size_in_kb": 64,
                  "max_engine_clk_fcompute": 1500}
    for i, bus in enumerate(buses):
        t.dcu(i, f"0000:{bus:02x}:00.0", "0x6320", "0x0b4000", 90306, properties=properties, bytes=65520 << 20)
        t.facts.update({f"devices.{i}.product": "BW1000", f"devices.{i}.gfx": "gfx936", f"devices.{i}.wave_width": 64,
                        f"devices.{i}.compute_units": 80, f"devices.{i}.lds_kib": 64,
                        f"devices.{i}.clock_mhz": 1500, f"devices.{i}.memory_bytes": 65520 << 20})
        if rocm:
            t.facts[f"devices.{i}.gfx_target"] = "gfx936:sramecc+:xnack-"
    t.kfd_cpu()
    agents = [{"gfx": "gfx936", "name": "BW1000", "bus": bus, "target": "gfx936:sramecc+:xnack-", "wave": 64, "units": 80}
              for bus in buses]
    if rocm:
        t.tool("rocminfo", rocminfo(agents))
    t.expect(devices__count=len(buses))


def bw1000():
    t = Tree("synthetic-bw1000", "Eight BW1000 (1d94:6320, gfx936:sramecc+:xnack-, 80 CU, wave 64, 64 KiB LDS, 65520 MB, "
             "1.5 GHz) with DTK 25.04.4, HIP 6.3, runtime 60325521. Everything is in order.",
             ASSUMED + ", class 0b40, four SIMDs in a CU")
    t.hygon_machine()
    add_bw1000(t, (0x05, 0x16, 0x27, 0x38, 0x85, 0x96, 0xa7, 0xb8))
    t.dcu_driver("6.3.8")
    t.dtk("25.04.4", (6, 3, "60325521"))
    t.file("opt/dtk-25.04.4/lib/libamdhip64.so.6.3.60325521", "")
    t.link("opt/dtk-25.04.4/lib/libamdhip64.so", "libamdhip64.so.6.3.60325521")
    t.hyhal()
    t.tool("hy-smi", smi_table(8, "600.0W"))
    t.tool("hipcc", "HIP version: 6.3.60325521")
    t.python({"torch": "2.4.1+das.opt2.dtk25044"}, {"hip": "6.3", "folder": "/usr/lib/python3/dist-packages/torch"})
    t.environ += ["HSA_FORCE_FINE_GRAIN_PCIE=1", "ROCM_PATH=/opt/dtk", "HOME=/nobody", "VLLM_USE_V1=1",
                  "HIP_VISIBLE_DEVICES=0,1,2,3,4,5,6,7", "NCCL_ALGO=Ring", "TRITON_HUB_TOKEN=abcdef"]
    t.expect(stack__hip="6.3.60325521", stack__library_amdhip64="libamdhip64.so.6.3.60325521",
             frameworks__torch_dtk="25.04.4", frameworks__torch_das="opt2", tools__hipcc__hip_version="6.3.60325521",
             variables__HSA_FORCE_FINE_GRAIN_PCIE="1", variables__NCCL_ALGO="Ring",
             variables__TRITON_HUB_TOKEN="(set; looks like a secret, so it is not recorded)")
    t.absent += ["variables.HOME"]
    return t


def h200():
    t = Tree("synthetic-h200", "Two NVIDIA H200 (10de:2335, class 0302, compute capability 9.0).",
             "the processor, the operating system, all versions, PCI addresses, the subsystem")
    t.machine("GenuineIntel", "Intel(R) Xeon(R) Platinum 8480C", INTEL_FLAGS, 4, 6, "5.15.0-130-generic", "2.35",
              ("Ubuntu 22.04.5 LTS", "ubuntu", "22.04"), 2048)
    t.expect(cpu__isa_level="x86-64-v4", cpu__isa_plinth="x86-64-v4")
    lines = []
    for i, bus in enumerate((0x19, 0x3b)):
        address = f"0000:{bus:02x}:00.0"
        t.pci(address, "0x10de", "0x2335", "0x030200", ("0x10de", "0x18be"), "nvidia")
        t.file(f"proc/driver/nvidia/gpus/{address}/information",
               f"Model: \t\t NVIDIA H200\nIRQ:   \t\t 100\nVideo BIOS: \t 96.00.A5.00.01\nBus Location: \t {address}")
        t.node(f"/dev/nvidia{i}")
        lines.append(f"00000000:{bus:02X}:00.0, NVIDIA H200, 550.127.08, 9.0, 96.00.A5.00.01, 143771 MiB")
        t.facts.update({f"devices.{i}.product": "NVIDIA H200", f"devices.{i}.pci_id": "10de:2335",
                        f"devices.{i}.compute_capability": "9.0", f"devices.{i}.memory_bytes": 143771 << 20,
                        f"devices.{i}.vbios": "96.00.A5.00.01", f"devices.{i}.driver": "nvidia"})
    for path in ("/dev/nvidiactl", "/dev/nvidia-uvm"):
        t.node(path)
    t.file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.127.08  "
           "Tue Oct  8 20:08:10 UTC 2024\nGCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)")
    t.file("sys/module/nvidia/version", "550.127.08")
    t.file("usr/local/cuda-12.4/version.json", '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}')
    t.link("usr/local/cuda", "cuda-12.4")
    t.tool("nvidia-smi-cards", "\n".join(lines))
    t.tool("nvidia-smi", "| NVIDIA-SMI 550.127.08       Driver Version: 550.127.08     CUDA Version: 12.4     |")
    t.tool("nvcc", "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.4, V12.4.131")
    t.python({"torch": "2.5.1+cu124"}, {"cuda": "12.4", "folder": "/usr/lib/python3/dist-packages/torch"})
    t.environ += ["CUDA_VISIBLE_DEVICES=0", "NVIDIA_TF32_OVERRIDE=0"]
    t.expect(devices__count=2, drivers__nvidia="550.127.08", stack__cuda="12.4", stack__cuda_package="12.4.1", tools__nvcc__cuda_version="12.4",
             frameworks__torch_cuda="12.4", variables__NVIDIA_TF32_OVERRIDE="0")
    t.facts["tools.nvidia-smi.cuda_version"] = "12.4"
    t.find("cards-hidden", "note")
    return t


def cpu():
    t = Tree("synthetic-cpu", "A server without any card, virtual.", "everything")
    t.machine("AuthenticAMD", "AMD EPYC 7763 64-Core Processor", HYGON_FLAGS + " hypervisor", 2, 25,
              "6.1.0-28-amd64", "2.36", ("Debian GNU/Linux 12 (bookworm)", "debian", "12"), 16)
    t.pci("0000:00:00.0", "0x8086", "0x1237", "0x060000")
    t.pci("0000:00:02.0", "0x1234", "0x1111", "0x030000")
    t.environ += ["PLINTH_ISA=v2", "OMP_NUM_THREADS=2"]
    t.expect(cpu__isa_level="x86-64-v3", cpu__isa_plinth="x86-64-v2", devices__count=0, os__virtual_machine=True,
             variables__PLINTH_ISA="v2", cpu__cache_l2="512K")
    t.absent += ["devices.0.pci_id", "drivers.hydcu", "stack.dtk", "container.runtime"]
    return t


def container():
    t = Tree("synthetic-container", "A Kubernetes container on a machine with BW1000, given one card, 8 cores and 64 GiB, "
             "but not the folder /opt/hyhal.", ASSUMED + ", the container's id")
    t.hygon_machine(cores=16)
    add_bw1000(t, (0x05,))
    t.dcu_driver("6.3.8")
    t.dtk("25.04.4", (6, 3, "60325521"))
    group = "/kubepods.slice/kubepods-pod1.slice/cri-containerd-0123456789abcdef.scope"
    t.file("proc/self/cgroup", f"0::{group}")
    t.file("proc/self/mountinfo", "600 500 8:1 /var/lib/kubelet/pods/1/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw")
    t.file(f"sys/fs/cgroup{group}/memory.max", "max")
    t.file(f"sys/fs/cgroup{group}/cpu.max", "800000 100000")
    t.file(f"sys/fs/cgroup{os.path.dirname(group)}/memory.max", str(64 << 30))
    t.file(f"sys/fs/cgroup{os.path.dirname(group)}/cpu.max", "max 100000")
    t.environ += ["HSA_FORCE_FINE_GRAIN_PCIE=1", "PLINTH_CONTAINER_IMAGE=registry.example/vllm@sha256:" + "0" * 64]
    t.expect(container__runtime="kubernetes", container__cpu_limit_millis=8000,
             container__memory_limit_bytes=64 << 30,
             container__image="registry.example/vllm@sha256:" + "0" * 64)
    t.absent += ["stack.hal_folder"]
    t.find("hal-missing", "error")
    return t


def no_kfd_permission():
    t = Tree("synthetic-no-kfd-permission", "A K100_AI whose nodes belong to the group video, and a user who is not in it.",
             ASSUMED + ", the message of rocminfo")
    t.hygon_machine()
    t.dcu(0, "0000:33:00.0", "0x6210", "0x0b4000", 90208, bytes=64 << 30)
    t.kfd_cpu()
    t.dcu_driver("6.2.23")
    t.nodes = []
    t.node("/dev/kfd", "none", "crw-rw----", "root", "video")
    t.node("/dev/mkfd", "rw")
    t.node("/dev/dri/card0", "none", "crw-rw----", "root", "video")
    t.node("/dev/dri/renderD128", "none", "crw-rw----", "root", "render")
    t.dtk("25.04")
    t.hyhal()
    t.tool("rocminfo", "Unable to open /dev/kfd read-write: Permission denied\nuser is not member of group video", 1)
    t.expect(devices__count=1, tools__rocminfo__exit_code=1)
    t.facts.update({"devices.0.product": "K100_AI", "devices.0.gfx": "gfx928", "nodes./dev/kfd.access": "none",
                    "nodes./dev/kfd.mode": "crw-rw----", "nodes./dev/kfd.owner": "root:video"})
    t.absent += ["tools.rocminfo.cards", "devices.0.gfx_target"]
    t.find("node-not-permitted", "error")
    t.find("tool-failed", "note")
    return t


def driver_without_device():
    t = Tree("synthetic-driver-without-device", "The DCU driver is loaded and /dev/kfd is there, but no card is on the bus; "
             "the processor's functions have the cards' vendor.", ASSUMED)
    t.hygon_machine()
    t.kfd_cpu()
    t.dcu_driver("6.3.8")
    t.dtk("25.04.4", (6, 3, "60325521"))
    t.hyhal()
    t.tool("hy-smi", "ERROR: No DCU devices found")
    t.expect(devices__count=0)
    t.facts["tools.hy-smi.cards"] = 0
    t.absent += ["devices.0.pci_id"]
    t.find("driver-without-device", "error")
    return t


def mixed_versions():
    t = Tree("synthetic-mixed-versions", "A BW1000 and a card whose id is in no table. /opt/dtk is 25.04.4, ROCM_PATH and "
             "the wheel of torch are of 26.04; HSA_OVERRIDE_GFX_VERSION makes rocminfo say gfx928; a CUDA toolkit is "
             "installed; hy-smi knows one card only.", ASSUMED + ", the id 1d94:63ff, nvcc 12.6")
    t.hygon_machine()
    add_bw1000(t, (0x05,), rocm=False)
    t.dcu(1, "0000:16:00.0", "0x63ff", "0x0b4000", 0)
    t.dcu_driver("6.3.8")
    t.dtk("25.04.4", (6, 3, "60325521"))
    t.dtk("26.04", (6, 3, "26093"), link=False)
    t.hyhal()
    agents = [{"gfx": "gfx928", "name": "BW1000", "bus": 0x05, "target": "gfx928:sramecc+:xnack-", "wave": 64, "units": 80}]
    t.tool("rocminfo", rocminfo(agents))
    t.tool("hy-smi", smi_table(1, "600.0W"))
    t.tool("nvcc", "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.6, V12.6.20")
    t.python({"torch": "2.9.0+das.opt1.dtk2604"}, {"hip": "6.3", "folder": "/usr/lib/python3/dist-packages/torch"})
    t.environ += ["HSA_OVERRIDE_GFX_VERSION=9.2.8", "ROCM_PATH=/opt/dtk-26.04",
                  "LD_LIBRARY_PATH=/opt/dtk-26.04/lib:/opt/dtk/lib", "HIP_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES=1"]
    t.expect(stack__dtk_installed=["25.04.4", "26.04"], stack__hip="6.3.60325521", frameworks__torch_dtk="26.04",
             devices__count=2, tools__nvcc__cuda_version="12.6", tools__rocminfo__cards=1)
    t.facts.update({"devices.0.gfx": "gfx936", "devices.0.gfx (tool rocminfo)": "gfx928", "devices.1.pci_id": "1d94:63ff"})
    t.absent += ["devices.1.product", "devices.1.gfx"]
    for identity, severity in (("gfx-override-set", "error"), ("dtk-versions-mixed", "error"),
                               ("sources-disagree", "error"), ("product-unknown", "warning"),
                               ("tool-counts-differ", "warning"), ("tool-counts-differ", "warning"),
                               ("cuda-proves-nothing", "warning"), ("fine-grain-pcie-unset", "warning"),
                               ("visible-devices-differ", "warning"), ("cards-hidden", "note"),
                               ("cards-hidden", "note")):
        t.find(identity, severity)
    return t


TREES = (z100l, k100_ai, bw1000, h200, cpu, container, no_kfd_permission, driver_without_device, mixed_versions)


def contents(root):
    """Path -> text of a file or "-> target" of a link."""
    out = {}
    for folder, names, files in os.walk(root):
        for name in names + files:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                out[os.path.relpath(path, root)] = "-> " + os.readlink(path)
            elif os.path.isfile(path):
                with open(path, encoding="utf-8") as text:
                    out[os.path.relpath(path, root)] = text.read()
    return out


def main():
    if sys.argv[1:] == ["--check"]:
        differs = []
        with tempfile.TemporaryDirectory() as made:
            for make in TREES:
                tree = make()
                tree.write(made)
                want, have = (contents(os.path.join(root, tree.name)) for root in (made, HERE))
                differs += [f"{tree.name}/{path}" for path in sorted(want.keys() | have.keys())
                            if want.get(path) != have.get(path)]
        for path in differs:
            print(f"{path}: differs from what make.py makes; run it, or mend it")
        return 1 if differs else 0
    for make in TREES:
        tree = make()
        shutil.rmtree(os.path.join(HERE, tree.name), ignore_errors=True)
        tree.write(HERE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
