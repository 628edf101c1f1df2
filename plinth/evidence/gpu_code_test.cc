#include "plinth/evidence/gpu_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plinth/base/text.h"

namespace plinth::evidence {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string Number(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += i < 8 ? static_cast<char>(value >> (8 * i)) : '\0';
  return out;
}

// As clang-offload-bundler lays it out: magic, count, a table, then the code.
std::string Bundle(const std::vector<std::string>& triples, uint64_t code_size = 4) {
  std::string table = "__CLANG_OFFLOAD_BUNDLE__" + Number(triples.size(), 8);
  size_t head = table.size();
  for (const std::string& triple : triples) head += 24 + triple.size();
  std::string code;
  for (const std::string& triple : triples) {
    const bool host = triple.starts_with("host");
    table +=
        Number(head + code.size(), 8) + Number(host ? 0 : code_size, 8) + Number(triple.size(), 8) + triple;
    if (!host) code += std::string(code_size, 'c');
  }
  return table + code;
}

// One entry of a fat binary: a header of 64 bytes, then the payload.
std::string FatEntry(int kind, uint32_t arch, size_t payload) {
  std::string head = Number(static_cast<uint64_t>(kind), 2) + Number(0x101, 2) + Number(64, 4) +
                     Number(payload, 8) + Number(0, 12) + Number(arch, 4);
  head.resize(64, '\0');
  return head + std::string(payload, 'p');
}
std::string FatBinary(const std::string& entries) {
  return "\x50\xed\x55\xba" + Number(1, 2) + Number(16, 2) + Number(entries.size(), 8) + entries;
}

// The header of an ELF-64 file with `sections` of 64 bytes at `at`.
std::string ElfHead(uint64_t at, uint64_t sections) {
  std::string head("\177ELF\2\1\1", 7);
  head.resize(40, '\0');
  head += Number(at, 8) + Number(0, 4) + Number(64, 2) + Number(56, 2) + Number(0, 2) + Number(64, 2) +
          Number(sections, 2) + Number(0, 2);
  return head;
}

GpuCode Find(const std::string& text) { return FindGpuCode(std::as_bytes(std::span(text))); }

TEST(GpuCode, ReadsBundles) {
  const std::string two =
      Bundle({"host-x86_64-unknown-linux--", "hipv4-amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-",
              "hipv4-amdgcn-amd-amdhsa--gfx936"});
  const std::string old = Bundle({"hip-amdgcn-amd-amdhsa--gfx936", "hipv4-amdgcn-amd-amdhsa--gfx92a"});
  const GpuCode code = Find(ElfHead(0, 0) + std::string(100, 'x') + two + "text gfx1100 in a string" + old);
  EXPECT_TRUE(code.is_elf);
  EXPECT_FALSE(code.truncated);
  EXPECT_THAT(code.amd, ElementsAre(Pair("gfx906:sramecc+:xnack-", 1), Pair("gfx92a", 1), Pair("gfx936", 2)));
  EXPECT_EQ(code.broken_bundles, 0);
  EXPECT_THAT(code.nvidia, IsEmpty());
}

TEST(GpuCode, EmptyEntriesAreNoCode) {
  EXPECT_THAT(Find(Bundle({"hipv4-amdgcn-amd-amdhsa--gfx936"}, 0)).amd, IsEmpty());
}

TEST(GpuCode, ReadsFatBinaries) {
  const std::string fat = FatBinary(FatEntry(2, 80, 40) + FatEntry(2, 90, 8) + FatEntry(1, 90, 24));
  const GpuCode code = Find("xx" + fat + "yy" + FatBinary(FatEntry(2, 90, 0)));
  EXPECT_THAT(code.nvidia, ElementsAre(Pair("compute_90", 1), Pair("sm_80", 1), Pair("sm_90", 2)));
  EXPECT_EQ(code.broken_bundles, 0);
}

TEST(GpuCode, NoticesCompressedBundles) {
  EXPECT_EQ(Find("CCOB" + Number(2, 2) + Number(1, 2) + std::string(40, 'z')).compressed_bundles, 1);
  EXPECT_EQ(Find("the word CCOB in a string is none, says everybody").compressed_bundles, 0);
}

TEST(GpuCode, NoticesTruncatedElf) {
  const std::string whole = ElfHead(64, 3) + std::string(3 * 64, 's');
  EXPECT_FALSE(Find(whole).truncated);
  EXPECT_TRUE(Find(whole.substr(0, whole.size() - 1)).truncated);
  EXPECT_TRUE(Find(whole.substr(0, 20)).truncated);
  EXPECT_TRUE(Find(ElfHead(~uint64_t{0} - 5, 0xffff)).truncated);
  EXPECT_FALSE(Find("").is_elf);
}

TEST(GpuCode, SurvivesEveryTruncationAndEveryByte) {
  const std::string whole = ElfHead(0, 0) + Bundle({"host-x86_64", "hipv4-amdgcn-amd-amdhsa--gfx936"}, 16) +
                            FatBinary(FatEntry(2, 90, 8) + FatEntry(1, 90, 8));
  for (size_t size = 0; size <= whole.size(); ++size) {
    // A copy of exactly this size, so that a sanitizer sees a read beyond it.
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    FindGpuCode(std::as_bytes(std::span(cut)));
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      std::string changed = whole;
      changed[at] = value;
      Find(changed);
    }
  }
  EXPECT_THAT(Find(whole).amd, ElementsAre(Pair("gfx936", 1)));
}

TEST(GpuCode, TablesThatDoNotFitAreCounted) {
  EXPECT_EQ(Find("__CLANG_OFFLOAD_BUNDLE__" + Number(~uint64_t{0}, 8)).broken_bundles, 1);
  std::string huge = Bundle({"hipv4-amdgcn-amd-amdhsa--gfx936"});
  huge.replace(32, 8, Number(~uint64_t{0}, 8));  // its offset
  EXPECT_EQ(Find(huge).broken_bundles, 1);
  EXPECT_THAT(Find(huge).amd, IsEmpty());
  EXPECT_EQ(Find("\x50\xed\x55\xba" + Number(1, 2) + Number(16, 2) + Number(1000, 8)).broken_bundles, 1);
}

TEST(GpuCode, IsLinearInHostileFiles) {
  // Half a million bundles and fat binaries that each claim the rest of the file.
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "__CLANG_OFFLOAD_BUNDLE__" + Number(1024, 8);
  for (int i = 0; i < 300'000; ++i) text += "\x50\xed\x55\xba" + Number(1, 2) + Number(16, 2) + Number(64, 8);
  EXPECT_GT(Find(text).broken_bundles, 0);  // the test's time limit is the check
}

}  // namespace
}  // namespace plinth::evidence
