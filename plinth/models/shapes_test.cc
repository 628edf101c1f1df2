#include "plinth/models/shapes.h"

#include <algorithm>
#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/models/model.h"

namespace plinth::models {
namespace {

using testing::HasSubstr;

TEST(ShapesTest, NamesAreSortedAndEachMakesAModel) {
  const std::vector<std::string> names = ShapeNames();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) {
    const auto config = ShapeConfig(name);
    ASSERT_TRUE(config.ok()) << name << ": " << config.status();
    const auto model = MakeModel(*config);
    EXPECT_TRUE(model.ok()) << name << ": " << model.status();
  }
}

TEST(ShapesTest, UnknownNameListsTheKnown) {
  const auto config = ShapeConfig("chronos-bolt-huge");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(config.status().message()),
            "shape \"chronos-bolt-huge\" is unknown; known shapes are chronos-2, chronos-2-small, "
            "chronos-bolt-base, chronos-bolt-mini, chronos-bolt-small, chronos-bolt-tiny, plinth-ts-0");
}

TEST(ShapesTest, MessagesNameTheShape) {
  const auto config = ShapeConfig("chronos-2");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(std::string(config->Int("absent", 0, 1).status().message()), HasSubstr("shape chronos-2: "));
}

TEST(ShapesTest, PlinthTsIsTheShippedModel) {
  const char* source = std::getenv("PLINTH_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "PLINTH_SOURCE_DIR is not set; run the tests through ctest";
  const auto shape = ShapeConfig("plinth-ts-0");
  ASSERT_TRUE(shape.ok()) << shape.status();
  const auto shipped = formats::Config::Load(StrCat(source, "/models/plinth-ts-0"));
  ASSERT_TRUE(shipped.ok()) << shipped.status();
  const auto a = MakeModel(*shape), b = MakeModel(*shipped);
  ASSERT_TRUE(a.ok()) << a.status();
  ASSERT_TRUE(b.ok()) << b.status();
  EXPECT_EQ((*a)->info().sizes, (*b)->info().sizes);
  EXPECT_EQ((*a)->info().levels, (*b)->info().levels);
  EXPECT_EQ((*a)->info().context_length, (*b)->info().context_length);
  EXPECT_EQ((*a)->info().horizon, (*b)->info().horizon);
}

}  // namespace
}  // namespace plinth::models
