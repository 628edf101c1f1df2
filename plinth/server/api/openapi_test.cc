// The description of the endpoints beside the endpoints themselves. Whether answers look as it says is seen
// by tests/serve/openapi_test.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "plinth/base/embedded.h"
#include "plinth/base/text.h"
#include "plinth/base/threads.h"
#include "plinth/formats/json.h"
#include "plinth/server/service.h"

PLINTH_EMBEDDED(openapi_document)

namespace plinth::server {
namespace {

using formats::JsonValue;

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

TEST(OpenApiTest, NamesEveryEndpointWithItsScope) {
  Threads threads(1);
  Service::Parts parts;
  parts.settings.log_level = "off";
  parts.context.threads = &threads;
  const auto service = Service::Make(std::move(parts));
  ASSERT_TRUE(service.ok()) << service.status();
  std::set<std::string> served, described;
  for (const http::Route& route : (*service)->router().routes()) {
    served.insert(StrCat(Lower(route.method), " ", route.pattern, " ", http::ScopeName(route.scope)));
  }
  const auto document = formats::ParseJson(openapi_document(), "openapi.json");
  ASSERT_TRUE(document.ok()) << document.status();
  for (const auto& [path, methods] : *document->Find("paths")->object()) {
    for (const auto& [method, operation] : *methods.object()) {
      const JsonValue* scope = operation.Find("x-plinth-scope");
      described.insert(
          StrCat(method, " ", path, " ", scope == nullptr ? std::string("public") : *scope->text()));
    }
  }
  EXPECT_EQ(described, served);
}

}  // namespace
}  // namespace plinth::server
