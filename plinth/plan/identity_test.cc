#include "plinth/plan/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plinth/base/digest.h"

namespace plinth::plan {
namespace {

NumericsIdentity Parts(std::vector<std::pair<std::string, std::string>> parts) { return {std::move(parts)}; }

TEST(IdentityTest, DigestOverLines) {
  EXPECT_EQ(*Parts({{"model", "abc"}, {"isa", "v3"}}).Digest(), *Sha256Hex("model=abc\nisa=v3\n"));
  EXPECT_EQ(*Parts({{"flags", "a=b"}}).Digest(), *Sha256Hex("flags=a=b\n"));
  EXPECT_NE(*Parts({{"isa", "v3"}, {"model", "abc"}}).Digest(),
            *Parts({{"model", "abc"}, {"isa", "v3"}}).Digest());
}

TEST(IdentityTest, RefusesWhatCouldShareItsLines) {
  for (const auto& bad :
       {Parts({}), Parts({{"", "x"}}), Parts({{"a", "1"}, {"a", "2"}}), Parts({{"a=b", "c"}}),
        Parts({{"a", "b\nc=d"}}), Parts({{"a\n", "b"}}), Parts({{"a", std::string("\0", 1)}})}) {
    EXPECT_EQ(bad.Digest().status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(std::string(Parts({{"a", "1"}, {"a=b", "c"}}).Digest().status().message()),
              testing::StartsWith("part 1 of the numerics identity: names are unique"));
}

TEST(IdentityTest, FindsWhatChanged) {
  const auto before = Parts({{"model", "a"}, {"isa", "v3"}, {"old", "x"}});
  const auto now = Parts({{"model", "a"}, {"isa", "v4"}, {"new", "y"}});
  const auto changes = Changes(before, now);
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].part + changes[0].before + changes[0].now, "isav3v4");
  EXPECT_EQ(changes[1].part + changes[1].before + changes[1].now, "newy");
  EXPECT_EQ(changes[2].part + changes[2].before + changes[2].now, "oldx");
  EXPECT_TRUE(Changes(now, now).empty());
}

}  // namespace
}  // namespace plinth::plan
