#include "plinth/server/http/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plinth::server::http {
namespace {

Router MakeRouter() {
  const auto none = [](Request, const PathNames&, ExchangePtr) {};
  return Router({{"GET", "/v2", Scope::kPublic, none},
                 {"GET", "/v2/models/{model}", Scope::kRead, none},
                 {"POST", "/v2/models/{model}/infer", Scope::kInfer, none},
                 {"POST", "/v2/models/{model}/versions/{version}/infer", Scope::kInfer, none},
                 {"DELETE", "/v2/models/{model}", Scope::kAdmin, none}});
}

TEST(Router, FindsByMethodAndParts) {
  const Router router = MakeRouter();
  EXPECT_EQ(router.Find("GET", "/v2").route, &router.routes()[0]);
  EXPECT_EQ(router.Find("GET", "/v2/").route, &router.routes()[0]);
  EXPECT_EQ(router.Find("HEAD", "/v2").route, &router.routes()[0]);
  const Found infer = router.Find("POST", "/v2/models/a%20b/versions/1/infer");
  ASSERT_EQ(infer.route, &router.routes()[3]);
  EXPECT_THAT(infer.names, testing::ElementsAre("a b", "1"));
}

TEST(Router, NamesAreOnePartWhateverTheyDecodeTo) {
  const Router router = MakeRouter();
  const Found up = router.Find("GET", "/v2/models/..%2F..%2Fetc");
  ASSERT_NE(up.route, nullptr);
  EXPECT_THAT(up.names, testing::ElementsAre("../../etc"));
  EXPECT_EQ(router.Find("GET", "/v2/models/../x").route, nullptr);
  EXPECT_EQ(router.Find("GET", "/v2/models//").route, nullptr);
  EXPECT_EQ(router.Find("GET", "/v2models").route, nullptr);
}

TEST(Router, SaysWhichMethodsThereAre) {
  const Router router = MakeRouter();
  const Found other = router.Find("PUT", "/v2/models/a");
  EXPECT_EQ(other.route, nullptr);
  EXPECT_EQ(other.allow, "GET, DELETE");
  EXPECT_EQ(router.Find("GET", "/nothing").allow, "");
  EXPECT_FALSE(router.Find("GET", "/v2/models/%zz").wrong.empty());
}

}  // namespace
}  // namespace plinth::server::http
