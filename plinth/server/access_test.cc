#include "plinth/server/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/base/text.h"

namespace plinth::server {
namespace {

using http::Scope;
using testing::HasSubstr;

http::Request With(const std::string& field, const std::string& value) {
  http::Request request;
  request.peer = "192.0.2.1";
  if (!field.empty()) request.fields.emplace_back(field, value);
  return request;
}

class AccessTest : public testing::Test {
 protected:
  static std::string Entry(const std::string& name, const std::string& secret, const std::string& scopes,
                           const std::string& more = "") {
    return StrCat("[[keys]]\nname = \"", name, "\"\nsha256 = \"", *Sha256Hex(secret), "\"\nscopes = [",
                  scopes, "]\n", more, "\n");
  }
  StatusOr<std::unique_ptr<Access>> Make(const std::string& keys) {
    settings_.keys_file = JoinPath(testing::TempDir(), "keys.toml");
    EXPECT_TRUE(WriteFile(settings_.keys_file, keys).ok());
    return MakeAccess(settings_, clock_);
  }
  std::string Error(const std::string& keys) { return std::string(Make(keys).status().message()); }
  int Status(Access& access, const http::Request& request, Scope scope) {
    std::string name;
    const auto refusal = access.Check(request, scope, &name);
    key_ = name;
    retry_.clear();
    if (!refusal) return 200;
    for (const auto& [field, value] : refusal->fields) {
      if (field == "retry-after") retry_ = value;
    }
    return refusal->status;
  }

  ManualClock clock_{0};
  Settings settings_;
  std::string key_, retry_;
};

TEST_F(AccessTest, EverybodyMayDoEverythingWithoutKeys) {
  auto access = MakeAccess(settings_, clock_);
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(Status(**access, With("", ""), Scope::kAdmin), 200);
}

TEST_F(AccessTest, KeysHaveScopes) {
  auto access = Make(Entry("scada", "secret-1", "\"infer\"") + Entry("ops", "secret-2", "\"admin\"") +
                     Entry("board", "secret-3", "\"read\""));
  ASSERT_TRUE(access.ok()) << access.status();
  const auto scada = With("authorization", "Bearer secret-1"), ops = With("x-api-key", "secret-2"),
             board = With("authorization", "bearer secret-3");
  EXPECT_EQ(Status(**access, scada, Scope::kInfer), 200);
  EXPECT_EQ(key_, "scada");
  EXPECT_EQ(Status(**access, scada, Scope::kRead), 200);
  EXPECT_EQ(Status(**access, scada, Scope::kAdmin), 403);
  EXPECT_EQ(Status(**access, ops, Scope::kAdmin), 200);
  EXPECT_EQ(Status(**access, ops, Scope::kInfer), 200);
  EXPECT_EQ(Status(**access, board, Scope::kInfer), 403);
  EXPECT_EQ(Status(**access, With("", ""), Scope::kRead), 401);
  EXPECT_EQ(Status(**access, With("authorization", "Bearer secret"), Scope::kRead), 401);
  EXPECT_EQ(Status(**access, With("authorization", "Basic secret-1"), Scope::kRead), 401);
  EXPECT_EQ(Status(**access, With("", ""), Scope::kPublic), 200);
}

TEST_F(AccessTest, RatesAreByKeyElseByAddress) {
  settings_.requests_per_second = 2;
  auto access =
      Make(Entry("a", "s-a", "\"read\"") + Entry("b", "s-b", "\"read\"", "requests_per_second = 10"));
  ASSERT_TRUE(access.ok()) << access.status();
  const auto a = With("x-api-key", "s-a"), b = With("x-api-key", "s-b");
  EXPECT_EQ(Status(**access, a, Scope::kRead), 200);
  EXPECT_EQ(Status(**access, a, Scope::kRead), 200);
  EXPECT_EQ(Status(**access, a, Scope::kRead), 429);
  EXPECT_EQ(retry_, "1");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Status(**access, b, Scope::kRead), 200) << i;
  EXPECT_EQ(Status(**access, b, Scope::kRead), 429);
  clock_.Advance(500'000'000);
  EXPECT_EQ(Status(**access, a, Scope::kRead), 200);
  EXPECT_EQ(Status(**access, a, Scope::kRead), 429);
  // What is refused for its key costs no one's rate.
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Status(**access, With("x-api-key", "none"), Scope::kRead), 401);
}

TEST_F(AccessTest, RefusesFilesThatAreNone) {
  EXPECT_THAT(Error("[[keys]]\nname = \"a\"\nsha256 = \"12\"\nscopes = [\"read\"]\n"), HasSubstr("line 3"));
  EXPECT_THAT(Error("[[keys]]\nname = \"a\"\nsecret = \"12\"\n"), HasSubstr("line 3"));
  EXPECT_THAT(Error(Entry("a", "x", "\"write\"")), HasSubstr("a list of read, infer and admin"));
  EXPECT_THAT(Error(Entry("a", "x", "")), HasSubstr("a list of read, infer and admin"));
  EXPECT_THAT(Error(Entry("a", "x", "\"read\"") + Entry("a", "y", "\"read\"")),
              HasSubstr("a name of its own"));
  EXPECT_THAT(Error(""), HasSubstr("nobody could do anything"));
}

TEST_F(AccessTest, ABadReloadLeavesTheOldKeys) {
  auto access = Make(Entry("a", "s-a", "\"read\""));
  ASSERT_TRUE(access.ok());
  ASSERT_TRUE(WriteFile(settings_.keys_file, "nonsense").ok());
  EXPECT_FALSE((*access)->Reload(settings_).ok());
  EXPECT_EQ(Status(**access, With("x-api-key", "s-a"), Scope::kRead), 200);
  ASSERT_TRUE(WriteFile(settings_.keys_file, Entry("b", "s-b", "\"read\"")).ok());
  EXPECT_TRUE((*access)->Reload(settings_).ok());
  EXPECT_EQ(Status(**access, With("x-api-key", "s-a"), Scope::kRead), 401);
  EXPECT_EQ(Status(**access, With("x-api-key", "s-b"), Scope::kRead), 200);
}

}  // namespace
}  // namespace plinth::server
