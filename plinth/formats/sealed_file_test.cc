#include "plinth/formats/sealed_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "plinth/base/digest.h"
#include "plinth/formats/model_folder.h"
#include "plinth/formats/sealed_folder.h"

namespace plinth::formats {
namespace {

using Bytes = std::vector<std::byte>;

std::span<const std::byte> AsBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

CredentialPtr KeyOf(int first) {
  std::array<std::byte, Credential::kBytes> key;
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(first + static_cast<int>(i));
  return Credential::Of(key);
}

Bytes Plain(size_t size) {
  Bytes plain(size);
  for (size_t i = 0; i < size; ++i) plain[i] = static_cast<std::byte>((i * 7 + i / 256) % 256);
  return plain;
}

Bytes Seal(std::span<const std::byte> plain, const std::string& name = "config.json", int64_t chunk = 4096) {
  std::array<std::byte, kSealedSaltBytes> salt;
  for (size_t i = 0; i < salt.size(); ++i) salt[i] = static_cast<std::byte>(100 + i);
  auto sealer = Sealer::Make(*KeyOf(0), name, static_cast<int64_t>(plain.size()), chunk, salt);
  EXPECT_TRUE(sealer.ok()) << sealer.status();
  Bytes out(sealer->header().begin(), sealer->header().end());
  for (int64_t i = 0; i < sealer->chunks(); ++i) {
    const size_t begin = static_cast<size_t>(i * chunk);
    const auto next = sealer->Next(plain.subspan(begin, std::min(plain.size() - begin, size_t(chunk))));
    EXPECT_TRUE(next.ok()) << next.status();
    out.insert(out.end(), next->begin(), next->end());
  }
  return out;
}

// All plain bytes, or why not.
StatusOr<Bytes> Open(const Bytes& sealed, const std::string& path = "D/config.json.enc", int key = 0) {
  PLINTH_ASSIGN_OR_RETURN(const SealedFile file, SealedFile::OfBytes(sealed, path, KeyOf(key)));
  Bytes all(static_cast<size_t>(file.plain_bytes()));
  for (int64_t i = 0; i < file.chunks(); ++i) {
    const size_t begin = static_cast<size_t>(file.ChunkBegin(i));
    PLINTH_RETURN_IF_ERROR(
        file.Read(i, std::span(all).subspan(begin, static_cast<size_t>(file.ChunkEnd(i)) - begin)));
  }
  return all;
}

std::string Message(const StatusOr<Bytes>& result) {
  return result.ok() ? "accepted" : std::string(result.status().message());
}

// The digests are those of files that an implementation in Python made (cryptography's AESGCM and HKDF, from
// the description in sealed_file.h): key 0, 1, ... 31, salt 100, 101, ...
TEST(SealedFile, HasTheBytesOfAnIndependentImplementation) {
  const std::pair<size_t, const char*> known[] = {
      {0, "1650609861f7318865728931655da393dc14a84a29310d3b0f511a32d7648297"},
      {1, "8b0d796839a1ad72c4732d99d81a3aef0f97430eaddea62e770c5e821fb94d36"},
      {4096, "ea8ed83654098af44cc40b911bdb3e670e363deb8c28cfb00994814ebbcdc70a"},
      {4097, "fd040f9290d479af06384463a6b5d19745ff4391865e5a09c00587c5a76b694e"},
      {10000, "40f2ea6f739cb67f4b781710eaf8f89820aa29b6f313a43a11b7fb4182590d26"}};
  for (const auto& [size, digest] : known) {
    const Bytes plain = Plain(size), sealed = Seal(plain);
    Sha256 sha;
    sha.Update(sealed);
    EXPECT_EQ(*sha.Hex(), digest) << size;
    const auto back = Open(sealed);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, plain);
  }
}

TEST(SealedFile, RefusesEveryFlippedBit) {
  const Bytes good = Seal(Plain(4100));
  for (size_t at = 0; at < good.size(); at += at < 120 || at > 4150 ? 1 : 97) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bad = good;
      bad[at] ^= static_cast<std::byte>(1 << bit);
      const auto opened = Open(bad);
      ASSERT_FALSE(opened.ok()) << "byte " << at << ", bit " << bit;
      ASSERT_EQ(opened.status().code(), absl::StatusCode::kDataLoss) << opened.status();
    }
  }
}

TEST(SealedFile, SaysWhichChunkAndWhatIsLikely) {
  const Bytes good = Seal(Plain(10000));
  const size_t header = kSealedHeaderBytes, piece = 4096 + kSealedTagBytes;
  Bytes bad = good;
  bad[header + piece + 5] ^= std::byte{1};
  EXPECT_EQ(
      Message(Open(bad)),
      "D/config.json.enc: chunk 1 of 3 (plain bytes 4096 to 8192) is not what was encrypted: it was damaged, "
      "changed or moved; copy the file again from where it came");
  bad = good;  // two chunks change places
  std::swap_ranges(bad.begin() + header, bad.begin() + header + piece, bad.begin() + header + piece);
  EXPECT_NE(Message(Open(bad)).find("chunk 0 of 3 (plain bytes 0 to 4096) is not what was encrypted"),
            std::string::npos);
  bad = good;
  bad.resize(header + piece);
  EXPECT_EQ(
      Message(Open(bad)),
      "D/config.json.enc: has 4192 bytes, and its header wants 10128; it was cut short: copy it again from "
      "where it came");
  bad = good;
  bad.push_back({});
  EXPECT_EQ(Message(Open(bad)),
            "D/config.json.enc: has 10129 bytes, and its header wants 10128; something was appended: copy it "
            "again from where it came");
  // Cut at a chunk's end, with a header that says so: the last chunk was not the last one.
  bad = good;
  bad.resize(header + 2 * piece);
  const int64_t shorter = 2 * 4096;
  std::memcpy(bad.data() + 16, &shorter, sizeof(shorter));
  EXPECT_NE(Message(Open(bad)).find("chunk 0 of 2"), std::string::npos);
  EXPECT_EQ(
      Message(Open(good, "D/config.json.enc", 1)),
      "D/config.json.enc: is encrypted with another key than the credential's, or its header is damaged");
  EXPECT_EQ(
      Message(Open(good, "D/model.safetensors.enc")),
      "D/model.safetensors.enc: was not encrypted as \"model.safetensors\"; it was renamed or another file "
      "was put in its place");
  bad = Plain(200);
  EXPECT_EQ(
      Message(Open(bad)),
      "D/config.json.enc: is no file that `plinth models encrypt` wrote, or its first bytes are damaged; "
      "encrypt it again from the original");
  bad = good;
  bad[8] = std::byte{1};
  EXPECT_EQ(
      Message(Open(bad)),
      "D/config.json.enc: has a header of sizes that cannot be; it is damaged: copy it again from where it "
      "came");
  EXPECT_EQ(
      SealedFile::OfBytes(good, "D/config.json.enc", nullptr).status().message(),
      "D/config.json.enc: is encrypted; name the file of its key with --credential (or PLINTH_CREDENTIAL; "
      "a server: service.credential)");
}

TEST(SealedFile, AChunkOfAnotherFileOfTheSameKeyIsRefused) {
  Bytes a = Seal(Plain(9000));
  auto other = Sealer::Make(*KeyOf(0), "config.json", 9000, 4096);  // a salt of its own
  ASSERT_TRUE(other.ok());
  const Bytes plain = Plain(9000);
  const auto chunk = other->Next(std::span(plain).first(4096));
  ASSERT_TRUE(chunk.ok());
  std::copy(chunk->begin(), chunk->end(), a.begin() + kSealedHeaderBytes);
  EXPECT_NE(Message(Open(a)).find("chunk 0 of 3"), std::string::npos);
}

class SealedFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/plinth_sealed_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::filesystem::create_directory(Path("m"));
    std::ofstream(Path("m/config.json")) << R"({"a": 1})";
    std::ofstream(Path("m/plinth.toml")) << "licence = \"Apache-2.0\"\n";
    std::ofstream(Path("m/notes.txt")) << "left out";
    std::filesystem::create_directories(Path("m/evidence/x"));
    std::ofstream(Path("m/evidence/x/file")) << "kept";
    values_.resize(700'000);
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<float>(i);
    const int64_t half = static_cast<int64_t>(values_.size() / 2);
    dims_ = {half};
    const auto* data = reinterpret_cast<const std::byte*>(values_.data());
    const ConstTensorRef tensors[] = {{"a", DType::kF32, dims_, data, half * 4},
                                      {"b", DType::kF32, dims_, data + half * 4, half * 4}};
    ASSERT_TRUE(WriteSafetensors(Path("m/model.safetensors"), tensors).ok());
  }
  void TearDown() override {
    UseCredential(nullptr);
    std::filesystem::remove_all(folder_);
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string folder_;
  std::vector<float> values_;
  std::vector<int64_t> dims_;
};

TEST_F(SealedFolderTest, ReadsAndDigestsAsThePlainOne) {
  const auto report = EncryptFolder(Path("m"), Path("e"), KeyOf(0));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->changed, (std::vector<std::string>{"config.json.enc", "model.safetensors.enc"}));
  EXPECT_EQ(report->copied, (std::vector<std::string>{"evidence/", "plinth.toml"}));
  EXPECT_EQ(report->left_out, (std::vector<std::string>{"notes.txt"}));
  EXPECT_TRUE(FileExists(Path("e/evidence/x/file")));
  EXPECT_EQ(ModelFolder::Open(Path("e")).status().code(), absl::StatusCode::kPermissionDenied);
  UseCredential(KeyOf(0));
  const auto plain = ModelFolder::Open(Path("m")), sealed = ModelFolder::Open(Path("e"));
  ASSERT_TRUE(plain.ok() && sealed.ok()) << sealed.status();
  EXPECT_EQ(*plain->Digest(), *sealed->Digest());
  EXPECT_EQ(plain->DigestFiles(), sealed->DigestFiles());
  EXPECT_EQ(sealed->notes().licence, "Apache-2.0");
  const ConstTensorRef* a = sealed->weights().Find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(std::memcmp(a->data, values_.data(), static_cast<size_t>(a->bytes)), 0);
  // What was forgotten comes again, and its neighbour was never gone.
  sealed->weights().Forget(*a);
  const ConstTensorRef* b = sealed->weights().Find("b");
  EXPECT_EQ(std::memcmp(b->data, values_.data() + 350'000, static_cast<size_t>(b->bytes)), 0);
  ASSERT_TRUE(sealed->weights().Fetch(*a).ok());
  EXPECT_EQ(std::memcmp(a->data, values_.data(), static_cast<size_t>(a->bytes)), 0);

  const auto back = DecryptFolder(Path("e"), Path("d"), KeyOf(0));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*ReadFile(Path("d/model.safetensors"), 1 << 30), *ReadFile(Path("m/model.safetensors"), 1 << 30));
  EXPECT_EQ(std::filesystem::status(Path("d")).permissions(), std::filesystem::perms::owner_all);
}

TEST_F(SealedFolderTest, LeavesNothingBehindAndSaysWhy) {
  ASSERT_TRUE(EncryptFolder(Path("m"), Path("e"), KeyOf(0)).ok());
  const auto message = [&](const StatusOr<FolderReport>& r) { return std::string(r.status().message()); };
  EXPECT_EQ(EncryptFolder(Path("m"), Path("e"), KeyOf(0)).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(message(EncryptFolder(Path("e"), Path("f"), KeyOf(0))),
            Path("e") + ": config.json.enc is encrypted already");
  EXPECT_EQ(message(DecryptFolder(Path("m"), Path("f"), KeyOf(0))),
            Path("m") + ": config.json is not encrypted");
  EXPECT_EQ(message(EncryptFolder(Path("none"), Path("f"), KeyOf(0))),
            Path("none") + ": no such folder; a model folder is expected");
  // The last byte of the weights, after all else was written.
  {
    std::fstream file(Path("e/model.safetensors.enc"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x55');
  }
  EXPECT_NE(
      message(DecryptFolder(Path("e"), Path("f"), KeyOf(0))).find("model.safetensors.enc: chunk 2 of 3"),
      std::string::npos);
  UseCredential(KeyOf(0));
  EXPECT_EQ(ModelFolder::Open(Path("e")).status().code(), absl::StatusCode::kDataLoss);
  std::filesystem::copy(Path("m/config.json"), Path("e/config.json"));
  EXPECT_EQ(ModelFolder::Open(Path("e")).status().message(),
            Path("e") + ": holds both config.json and config.json.enc; which one is meant? Keep one of them");
  std::vector<std::string> names = *ListFolder(folder_);
  EXPECT_EQ(names, (std::vector<std::string>{"e", "m"}));
}

TEST_F(SealedFolderTest, CredentialFilesAreForTheirOwner) {
  const auto write = [&](const std::string& text, mode_t mode) {
    std::filesystem::remove(Path("key"));
    std::ofstream(Path("key"), std::ios::binary) << text;
    chmod(Path("key").c_str(), mode);
    return Credential::Load(Path("key"));
  };
  std::string raw(32, '\0'), hex;
  for (size_t i = 0; i < raw.size(); ++i) {
    raw[i] = static_cast<char>(i);
    hex += StrCat(i < 16 ? "0" : "1", std::string(1, "0123456789abcdef"[i % 16]));
  }
  std::array<std::byte, 4> wanted, found;
  ASSERT_TRUE(KeyOf(0)->Derive(AsBytes("salt"), "x", wanted).ok());
  for (const std::string& text : {raw, hex, hex + "\n", hex + "\r\n"}) {
    const auto key = write(text, 0400);
    ASSERT_TRUE(key.ok()) << key.status();
    ASSERT_TRUE((*key)->Derive(AsBytes("salt"), "x", found).ok());
    EXPECT_EQ(wanted, found);
  }
  EXPECT_EQ(write(raw, 0640).status().message(),
            Path("key") +
                ": others may read or write this key (mode 0640); take a new key, or set mode 0600 if "
                "nobody has seen it");
  EXPECT_EQ(write(raw, 0602).status().code(), absl::StatusCode::kPermissionDenied);
  for (const std::string& text : {std::string(), raw + "x", hex + "0", hex.substr(1) + "g", hex + "\n\n"}) {
    EXPECT_EQ(write(text, 0600).status().message(),
              StrCat(Path("key"), ": holds ", text.size(),
                     " bytes that are no key; a key of 32 bytes, or of 64 hexadecimal digits, is expected"));
  }
  setenv("CREDENTIALS_DIRECTORY", folder_.c_str(), 1);
  EXPECT_TRUE(write(raw, 0440).ok());
  EXPECT_FALSE(write(raw, 0444).ok());
  unsetenv("CREDENTIALS_DIRECTORY");
  EXPECT_EQ(Credential::Load(folder_).status().message(),
            folder_ + ": is not a regular file; a key of 32 bytes, or of 64 hexadecimal digits, is expected");
  EXPECT_EQ(Credential::Load(Path("none")).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace plinth::formats
