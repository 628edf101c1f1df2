#include "plinth/evidence/keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>

#include "plinth/base/base64.h"
#include "plinth/base/faults.h"
#include "plinth/evidence/unit_fixture.h"

namespace plinth::evidence {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

std::string Pem(const std::string& kind, const std::string& der) {
  return StrCat("-----BEGIN ", kind, "-----\n", Base64(der), "\n-----END ", kind, "-----\n");
}

class KeysTest : public EvidenceTest {
 protected:
  std::string Write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    EXPECT_TRUE(WriteFile(Path(name), text).ok());
    chmod(Path(name).c_str(), mode);
    return Path(name);
  }
  static mode_t Mode(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
};

TEST_F(KeysTest, KnownAnswers) {
  // RFC 8032, section 7.1, tests 1 and 3, the private keys wrapped as RFC 8410 says.
  struct Known {
    const char *secret, *public_bytes, *message, *signature;
  };
  const Known known[] = {
      {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
       "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
       "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf"
       "5f0595bbe24"
       "655141438e7a100b"},
      {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
       "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
       "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c1"
       "5e9716ed28d"
       "c027beceea1ec40a"},
  };
  for (const Known& k : known) {
    const std::string der = FromHex(StrCat("302e020100300506032b657004220420", k.secret));
    const auto key = SigningKey::ParsePem(Pem("PRIVATE KEY", der), "K");
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_EQ(*key->Sign(FromHex(k.message)), FromHex(k.signature));
    EXPECT_TRUE(key->public_key().Verifies(FromHex(k.message), FromHex(k.signature)));
    EXPECT_FALSE(key->public_key().Verifies("x", FromHex(k.signature)));
    // SubjectPublicKeyInfo of RFC 8410: a fixed beginning and the 32 bytes.
    const std::string spki = FromHex(StrCat("302a300506032b6570032100", k.public_bytes));
    EXPECT_EQ(key->public_key().keyid(), *Sha256Hex(spki));
    EXPECT_EQ(key->public_key().pem(), Pem("PUBLIC KEY", spki));
    EXPECT_EQ(*key->PrivatePem(), Pem("PRIVATE KEY", der));
  }
}

TEST_F(KeysTest, SignaturesOfOtherLengthsFit) {
  const std::string good = *key_.Sign("m");
  EXPECT_EQ(good.size(), 64U);
  for (const std::string& bad : {std::string(), good.substr(1), good + "x", std::string(64, '\0')}) {
    EXPECT_FALSE(key_.public_key().Verifies("m", bad));
  }
}

TEST_F(KeysTest, PublicPem) {
  const std::string a = key_.public_key().pem(), b = SigningKey::Generate()->public_key().pem();
  const auto both = PublicKey::ParsePem(StrCat("\n", a, "\r\n ", b, "\n"), "K");
  ASSERT_TRUE(both.ok()) << both.status();
  ASSERT_EQ(both->size(), 2U);
  EXPECT_EQ((*both)[0].keyid(), key_.public_key().keyid());
  EXPECT_EQ((*both)[1].pem(), b);
  const std::string expected = "an Ed25519 public key in PEM (BEGIN PUBLIC KEY) is expected";
  const auto refuse = [&](const std::string& text, const std::string& what) {
    const auto keys = PublicKey::ParsePem(text, "K");
    EXPECT_EQ(keys.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(keys.status().message()), StrCat("K: ", what, "; ", expected));
  };
  refuse("", "is empty");
  refuse(" \n", "is empty");
  refuse(*key_.PrivatePem(), "holds a private key");
  refuse("-----BEGIN CERTIFICATE-----\n", "holds something else beside or instead of keys");
  refuse(a + "note", "holds something else beside or instead of keys");
  refuse(a.substr(0, a.size() - 5), "holds something else beside or instead of keys");
  refuse(Pem("PUBLIC KEY", "no key"), "key 1 cannot be read");
  refuse(a + Pem("PUBLIC KEY", FromHex("302a300506032b6570032100") + std::string(31, 'x')),
         "key 2 cannot be read");
  // X25519 (RFC 8410): the same length, for another purpose.
  refuse(Pem("PUBLIC KEY", FromHex("302a300506032b656e032100") + std::string(32, 'x')),
         "holds a key of kind X25519");
}

TEST_F(KeysTest, PrivatePem) {
  const std::string expected =
      "an Ed25519 private key in PEM (BEGIN PRIVATE KEY), without pass phrase, is expected";
  for (const std::string& bad : {std::string(), std::string("x"), key_.public_key().pem()}) {
    EXPECT_EQ(std::string(SigningKey::ParsePem(bad, "K").status().message()),
              StrCat("K: holds no private key; ", expected));
  }
  const std::string x25519 = FromHex("302e020100300506032b656e04220420") + std::string(32, 'x');
  EXPECT_EQ(std::string(SigningKey::ParsePem(Pem("PRIVATE KEY", x25519), "K").status().message()),
            StrCat("K: holds a key of kind X25519; ", expected));
}

TEST_F(KeysTest, FolderOfTheKey) {
  const auto set = [](const char* name, const char* value) {
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  };
  const char* home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  set("XDG_CONFIG_HOME", "/x/config"), set("HOME", "/h");
  EXPECT_EQ(*KeyFolder(), "/x/config/plinth");
  set("XDG_CONFIG_HOME", "relative");
  EXPECT_EQ(*KeyFolder(), "/h/.config/plinth");
  set("XDG_CONFIG_HOME", nullptr), set("HOME", nullptr);
  EXPECT_EQ(KeyFolder().status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(KeyFolder().status().message()), HasSubstr("neither XDG_CONFIG_HOME nor HOME"));
  if (home != nullptr) set("HOME", before.c_str());
}

TEST_F(KeysTest, MadeOnFirstUse) {
  const mode_t mask = umask(0);
  const auto first = LoadOrMakeLocalKey(Path("a/plinth"));
  umask(mask);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(first->made);
  EXPECT_EQ(first->path, Path("a/plinth/evidence-key.pem"));
  EXPECT_EQ(Mode(first->path), 0600U);
  EXPECT_EQ(Mode(Path("a/plinth")), 0700U);
  EXPECT_EQ(Text(Path("a/plinth/evidence-key.pub.pem")), first->key.public_key().pem());
  EXPECT_EQ(ListFolder(Path("a/plinth"))->size(), 2U);  // nothing temporary stays
  const auto again = LoadOrMakeLocalKey(Path("a/plinth"));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->made);
  EXPECT_EQ(again->key.public_key().keyid(), first->key.public_key().keyid());
}

TEST_F(KeysTest, RefusesWhatOthersCouldReadOrReplace) {
  const std::string key = LoadOrMakeLocalKey(Path("k"))->path;
  for (const mode_t mode : {0640, 0604, 0620, 0644}) {
    chmod(key.c_str(), mode);
    const auto local = LoadOrMakeLocalKey(Path("k"));
    EXPECT_EQ(local.status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(local.status().message()),
                StartsWith(StrCat(key, ": others may read or write this private key (mode 06")));
    EXPECT_FALSE(TrustedKeys::Load(Path("k"), {}).ok());
  }
  chmod(key.c_str(), 0600);
  chmod(Path("k").c_str(), 0770);
  EXPECT_EQ(
      std::string(LoadOrMakeLocalKey(Path("k")).status().message()),
      StrCat(Path("k"), ": others may write in this folder (mode 0770); keys need a folder of mode 0700"));
  chmod(Path("k").c_str(), 0700);
  EXPECT_TRUE(LoadOrMakeLocalKey(Path("k")).ok());
  EXPECT_EQ(Mode(key), 0600U);
}

TEST_F(KeysTest, OddFilesInPlaceOfTheKey) {
  ASSERT_TRUE(MakeFolders(Path("k")).ok());
  chmod(Path("k").c_str(), 0700);
  const std::string key = Path("k/evidence-key.pem");
  ASSERT_EQ(mkfifo(key.c_str(), 0600), 0);
  EXPECT_EQ(std::string(LoadOrMakeLocalKey(Path("k")).status().message()),
            StrCat(key, ": is not a regular file; a private key is expected"));
  unlink(key.c_str());
  Write("k/evidence-key.pem", std::string(100'000, 'x'));
  EXPECT_THAT(std::string(LoadOrMakeLocalKey(Path("k")).status().message()), HasSubstr("holds 100000 bytes"));
  Write("k/evidence-key.pem", "");
  EXPECT_THAT(std::string(LoadOrMakeLocalKey(Path("k")).status().message()),
              HasSubstr("holds no private key"));
}

TEST_F(KeysTest, ManyProcessesGetOneKey) {
  std::vector<pid_t> children;
  for (int i = 0; i < 12; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const auto local = LoadOrMakeLocalKey(Path("shared"));
      const bool good = local.ok() && WriteFile(Path(StrCat("id", i)), local->key.public_key().keyid()).ok();
      _exit(good ? (local->made ? 1 : 0) : 2);
    }
    children.push_back(child);
  }
  int made = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_LT(WEXITSTATUS(status), 2);
    made += WEXITSTATUS(status);
  }
  EXPECT_EQ(made, 1);
  for (int i = 1; i < 12; ++i) EXPECT_EQ(Text(Path(StrCat("id", i))), Text(Path("id0")));
}

TEST_F(KeysTest, FailuresLeaveNoHalfKey) {
  for (const Syscall call : {Syscall::kOpen, Syscall::kWrite, Syscall::kFsync, Syscall::kRename}) {
    for (int nth = 1; nth <= 3; ++nth) {
      const std::string folder = Path(StrCat("f", static_cast<int>(call), nth));
      bool fired = false;
      {
        const ScopedFault fault(call, nth, ENOSPC);
        const auto local = LoadOrMakeLocalKey(folder);
        fired = fault.fired();
        if (fired && !local.ok()) {
          EXPECT_EQ(ExitCode(local.status()), 3) << local.status();
        }
      }
      // Whatever stayed is whole: the next call succeeds.
      const auto again = LoadOrMakeLocalKey(folder);
      EXPECT_TRUE(again.ok()) << again.status();
      if (!fired) break;
    }
  }
}

TEST_F(KeysTest, Trust) {
  const auto local = LoadOrMakeLocalKey(Path("k"));
  ASSERT_TRUE(local.ok());
  const std::string named = Write("named.pem", key_.public_key().pem(), 0644);
  const auto keys = TrustedKeys::Load(Path("k"), std::vector<std::string>{named});
  ASSERT_TRUE(keys.ok()) << keys.status();
  ASSERT_EQ(keys->entries().size(), 2U);
  EXPECT_TRUE(keys->Find(local->key.public_key().keyid())->local);
  EXPECT_FALSE(keys->Find(key_.public_key().keyid())->local);
  EXPECT_EQ(keys->Find("x"), nullptr);
  // Whoever names the local key trusts it as any other.
  const auto both = TrustedKeys::Load(Path("k"), std::vector<std::string>{Path("k/evidence-key.pub.pem")});
  ASSERT_EQ(both->entries().size(), 1U);
  EXPECT_FALSE(both->entries()[0].local);
  // None is made for trust alone.
  EXPECT_TRUE(TrustedKeys::Load(Path("none"), {})->entries().empty());
  EXPECT_FALSE(IsFolder(Path("none")));
  const auto missing = TrustedKeys::Load("", std::vector<std::string>{Path("nosuch.pem")});
  EXPECT_EQ(std::string(missing.status().message()),
            StrCat(Path("nosuch.pem"), ": cannot be opened: No such file or directory"));
}

}  // namespace
}  // namespace plinth::evidence
