#include "plinth/engine/series_file.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/engine/grouping.h"

namespace plinth::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

// Files in a folder of the test's own; rows are numbered by default, so that cells speak for themselves.
class SeriesFileTest : public ::testing::Test {
 protected:
  SeriesFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "plinth-series-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    columns_.time = "none";
  }
  ~SeriesFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, std::string_view text) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  SeriesFile Open(std::string_view data, const FutureSource& future = {}) const {
    auto file = SeriesFile::Open(Write("d.csv", data), columns_, future);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }
  static SeriesItem Next(SeriesFile& file) {
    SeriesItem item;
    const auto more = file.Next(&item);
    EXPECT_TRUE(more.ok() && *more) << more.status();
    return item;
  }
  static bool AtEnd(SeriesFile& file) {
    SeriesItem item;
    const auto more = file.Next(&item);
    return more.ok() && !*more;
  }
  static std::vector<std::vector<SeriesItem>> Units(SeriesFile& file, Together::Items items) {
    UnitReader reader(file, {.items = items});
    std::vector<std::vector<SeriesItem>> units;
    std::vector<SeriesItem> unit;
    while (true) {
      const auto more = reader.Next(&unit);
      EXPECT_TRUE(more.ok()) << more.status();
      if (!more.ok() || !*more) return units;
      units.push_back(unit);
    }
  }

  std::string folder_;
  SeriesColumns columns_;
};

TEST_F(SeriesFileTest, CovariatesStandBesideTargets) {
  columns_.past = {"p"};
  columns_.future = {"f"};
  SeriesFile file = Open("p,y,f,z\n1,2,3,4\n5,6,7,8\n");
  EXPECT_THAT(file.targets(), ElementsAre("y", "z"));
  ASSERT_EQ(file.covariates().size(), 2u);
  EXPECT_EQ(file.covariates()[0].name, "p");
  EXPECT_FALSE(file.covariates()[0].ahead);
  EXPECT_TRUE(file.covariates()[1].ahead);
  const SeriesItem item = Next(file);
  EXPECT_THAT(item.values, ElementsAre(ElementsAre(2, 6), ElementsAre(4, 8)));
  EXPECT_THAT(item.covariates[0].numbers, ElementsAre(1, 5));
  EXPECT_THAT(item.covariates[1].numbers, ElementsAre(3, 7));
  EXPECT_TRUE(AtEnd(file));
}

TEST_F(SeriesFileTest, NamesWithCommas) {
  columns_.past = {"a,b"};
  EXPECT_EQ(Open("\"a,b\",y\n1,2\n").covariates()[0].name, "a,b");
  columns_.past = {"a,b", "c"};
  SeriesFile file = Open("a,b,c,y\n1,2,3,4\n");
  ASSERT_EQ(file.covariates().size(), 3u);
  EXPECT_EQ(file.covariates()[2].name, "c");
}

TEST_F(SeriesFileTest, RowsAheadInTheData) {
  columns_.past = {"p"};
  columns_.future = {"f"};
  const char* data = "p,y,f\n1,2,3\n5,,7\n6,6,8\n7,,9\n,,10\n,,11\n";
  SeriesFile file = Open(data, {"", 2});
  const SeriesItem item = Next(file);
  EXPECT_EQ(item.length(), 3);  // the gap inside stays
  EXPECT_THAT(item.values[0], ElementsAre(2, IsNan(), 6));
  EXPECT_THAT(item.covariates[0].numbers, ElementsAre(1, 5, 6));
  EXPECT_THAT(item.covariates[1].numbers, ElementsAre(3, 7, 8, 9, 10));
  // Without a horizon they are only cut off; without covariates ahead they are gaps of the target.
  SeriesFile backtest = Open(data);
  EXPECT_THAT(Next(backtest).covariates[1].numbers, ElementsAre(3, 7, 8));
  columns_.future = {};
  columns_.targets = {"y"};
  SeriesFile plain = Open(data);
  EXPECT_EQ(Next(plain).length(), 6);
}

TEST_F(SeriesFileTest, GapsOfTimeAreGapsOfCovariates) {
  columns_.time = "";
  columns_.past = {"p", "c"};
  SeriesFile file = Open("t,y,p,c\n2024-01-01,1,5,a\n2024-01-02,2,6,b\n2024-01-04,3,,a\n");
  const SeriesItem item = Next(file);
  EXPECT_THAT(item.covariates[0].numbers, ElementsAre(5, 6, IsNan(), IsNan()));
  EXPECT_THAT(item.covariates[1].codes, ElementsAre(0, 1, series::kMissingCategory, 0));
}

TEST_F(SeriesFileTest, WhatHoldsCategories) {
  columns_.past = {"text", "flag", "number", "declared", "late", "empty"};
  columns_.categorical = {"declared"};
  std::string data = "text,flag,number,declared,late,empty,y\n";
  for (int i = 0; i < 300; ++i) {
    StrAppend(&data, i % 2 ? "a" : "7", ",", i % 2 ? "true" : "FALSE", ",", i, ",", i % 2 ? "1" : "1.0", ",",
              i < 250 ? "" : "b", ",,1\n");
  }
  SeriesFile file = Open(data);
  std::vector<bool> categorical;
  for (const CovariateColumn& c : file.covariates()) categorical.push_back(c.categorical);
  EXPECT_THAT(categorical, ElementsAre(true, true, false, true, true, false));
  const SeriesItem item = Next(file);
  EXPECT_THAT(file.labels(0), ElementsAre("7", "a"));
  EXPECT_THAT(file.labels(1), ElementsAre("False", "True"));
  EXPECT_THAT(file.labels(3), ElementsAre("1"));
  EXPECT_THAT(file.labels(4), ElementsAre("b"));
  ASSERT_EQ(item.notes.size(), 1u);
  EXPECT_THAT(item.notes[0], HasSubstr("column \"empty\" holds no value in the past"));
}

TEST_F(SeriesFileTest, FutureRowsInAnyOrder) {
  columns_.item = "i";
  columns_.future = {"f", "c"};
  const char* data = "i,y,f,c\na,1,2,u\na,1,3,v\nb,1,4,v\n";
  for (const char* future :
       {"i,f,c\na,5,v\na,6,w\na,7,u\nb,8,w\nb,9,\n", "i,f,c\nb,8,w\nb,9,\na,5,v\na,6,w\n",
        "i,f,c\na,5,v\nz,1,q\nb,8,w\na,6,w\nb,9,\n"}) {
    SeriesFile file = Open(data, {Write("f.csv", future), 2});
    const SeriesItem a = Next(file), b = Next(file);
    EXPECT_THAT(a.covariates[0].numbers, ElementsAre(2, 3, 5, 6));
    EXPECT_THAT(b.covariates[0].numbers, ElementsAre(4, 8, 9));
    const auto label = [&](int32_t code) { return file.labels(1)[static_cast<size_t>(code)]; };
    EXPECT_EQ(label(a.covariates[1].codes[3]), "w");
    EXPECT_EQ(label(b.covariates[1].codes[1]), "w");
    EXPECT_EQ(b.covariates[1].codes[2], series::kMissingCategory);
    EXPECT_TRUE(AtEnd(file));
  }
}

TEST_F(SeriesFileTest, CategoriesOfThePastAreSorted) {
  columns_.item = "i";
  columns_.past = {"p"};
  columns_.future = {"c"};
  columns_.targets = {"y"};
  // Stands together, and mixed.
  for (const char* data : {"i,y,p,c\na,1,1,v\na,1,1,u\na,,1,q\nb,1,1,x\nb,,1,u\n",
                           "i,y,p,c\na,1,1,v\nb,1,1,x\na,1,1,u\nb,,1,u\na,,1,q\n"}) {
    SeriesFile file = Open(data, {"", 1});
    const auto orders = file.SortCategories();
    ASSERT_TRUE(orders.ok()) << orders.status();
    EXPECT_TRUE((*orders)[0].places.empty());
    const series::CategoryOrder& order = (*orders)[1];
    EXPECT_EQ(order.count, 3);  // u v x; q stands only ahead
    for (size_t code = 0; code < file.labels(1).size(); ++code) {
      const std::string& label = file.labels(1)[code];
      EXPECT_EQ(order.places[code], label == "q" ? -1 : label == "u" ? 0 : label == "v" ? 1 : 2) << label;
    }
    EXPECT_THAT(Next(file).covariates[1].codes.size(), 3u);
  }
}

TEST_F(SeriesFileTest, UnitsOfItems) {
  columns_.item = "i";
  columns_.group = "g";
  const auto names = [](const std::vector<std::vector<SeriesItem>>& units) {
    return Join(units, " ", [](const auto& unit) {
      return Join(unit, "", [](const SeriesItem& item) { return item.item; });
    });
  };
  const char* apart = "i,g,y\na,m,1\nb,n,1\nc,m,1\nd,n,1\n";
  SeriesFile file = Open(apart);
  EXPECT_EQ(names(Units(file, Together::Items::kGroup)), "ac bd");
  file = Open("i,g,y\na,m,1\nb,m,1\nc,n,1\n");
  EXPECT_EQ(names(Units(file, Together::Items::kGroup)), "ab c");
  file = Open(apart);
  EXPECT_EQ(names(Units(file, Together::Items::kAll)),
            "acbd");  // groups stand together once there is a column
  columns_.group = "";
  columns_.targets = {"y"};
  file = Open(apart);
  EXPECT_EQ(names(Units(file, Together::Items::kAlone)), "a b c d");
  file = Open(apart);
  EXPECT_EQ(names(Units(file, Together::Items::kAll)), "abcd");
}

TEST_F(SeriesFileTest, UnitsThatAreTooLarge) {
  columns_.item = "i";
  columns_.past = {"p"};
  const std::string data = "i,y,p\na,1,1\na,1,1\nb,1,1\nc,1,1\n";
  const auto read = [&](Together::Items items, int64_t most) {
    SeriesFile file = Open(data);
    UnitReader reader(file, {.items = items}, most);
    std::vector<SeriesItem> unit;
    return reader.Next(&unit).status();
  };
  EXPECT_TRUE(read(Together::Items::kAll, 8).ok());
  EXPECT_TRUE(read(Together::Items::kAlone, 1).ok());  // one item is as large as it is
  const Status status = read(Together::Items::kAll, 7);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            folder_ +
                "/d.csv: --cross-learning puts 6 rows and more, with over 7 values, into one "
                "group; make smaller groups with --group, or cut the items");
}

class GroupMakerTest : public SeriesFileTest {
 protected:
  static std::vector<double> Values(std::span<const double> values) { return {values.begin(), values.end()}; }
};

TEST_F(GroupMakerTest, EachTargetWithAllCovariates) {
  columns_.past = {"p"};
  columns_.future = {"f"};
  SeriesFile file = Open("y,z,p,f\n1,2,3,4\n5,6,7,8\n,,,9\n,,,10\n", {"", 2});
  auto maker = GroupMaker::Make(file, {});
  ASSERT_TRUE(maker.ok());
  const SeriesItem item = Next(file);
  maker->Add(std::vector<Window>{{&item, item.length()}}, 2);
  ASSERT_EQ(maker->groups().size(), 2u);
  for (size_t t = 0; t < 2; ++t) {
    const Group& group = maker->groups()[t];
    EXPECT_EQ(group.targets, 1);
    ASSERT_EQ(group.rows.size(), 3u);
    EXPECT_EQ(Values(group.rows[0].past), item.values[t]);
    EXPECT_TRUE(group.rows[0].future.empty());
    EXPECT_THAT(Values(group.rows[1].past), ElementsAre(3, 7));
    EXPECT_TRUE(group.rows[1].future.empty());
    EXPECT_THAT(Values(group.rows[2].past), ElementsAre(4, 8));
    EXPECT_THAT(Values(group.rows[2].future), ElementsAre(9, 10));
  }
  maker->Clear();
  EXPECT_TRUE(maker->groups().empty());
}

TEST_F(GroupMakerTest, AWindowInThePast) {
  columns_.past = {"p"};
  columns_.future = {"f", "c"};
  SeriesFile file = Open("y,p,f,c\n1,3,4,u\n5,7,8,v\n9,1,2,u\n4,4,4,w\n");
  auto maker = GroupMaker::Make(file, {});
  ASSERT_TRUE(maker.ok());
  const SeriesItem item = Next(file);
  maker->Add(std::vector<Window>{{&item, 2}}, 2);
  const Group& group = maker->groups()[0];
  EXPECT_THAT(Values(group.rows[0].past), ElementsAre(1, 5));
  EXPECT_THAT(Values(group.rows[1].past), ElementsAre(3, 7));
  EXPECT_THAT(Values(group.rows[2].future), ElementsAre(2, 4));
  // Means of the target up to the origin alone: (3 + 1) / 2 for u, (3 + 5) / 2 for v, 3 for w.
  EXPECT_THAT(Values(group.rows[3].past), ElementsAre(2, 4));
  EXPECT_THAT(Values(group.rows[3].future), ElementsAre(2, 3));
  ASSERT_EQ(maker->notes().size(), 1u);
  EXPECT_THAT(maker->notes()[0],
              HasSubstr("column \"c\": the category \"w\" ahead occurs in no row of the past "
                        "and counts as the target's mean"));
}

TEST_F(GroupMakerTest, TargetsFirstAndCategoriesByPlace) {
  columns_.item = "i";
  columns_.targets = {"y,z"};
  columns_.past = {"p"};
  columns_.future = {"c"};
  SeriesFile file = Open("i,y,z,p,c\na,1,2,3,v\na,1,2,3,\nb,5,6,7,u\na,,,,u\nb,,,,w\n", {"", 1});
  auto maker = GroupMaker::Make(file, {.items = Together::Items::kAll});
  ASSERT_TRUE(maker.ok());
  const SeriesItem a = Next(file), b = Next(file);
  maker->Add(std::vector<Window>{{&a, 2}, {&b, 1}}, 1);
  ASSERT_EQ(maker->groups().size(), 1u);
  const Group& group = maker->groups()[0];
  EXPECT_EQ(group.targets, 4);
  ASSERT_EQ(group.rows.size(), 8u);
  EXPECT_THAT(Values(group.rows[1].past), ElementsAre(2, 2));
  EXPECT_THAT(Values(group.rows[2].past), ElementsAre(5));
  EXPECT_THAT(Values(group.rows[4].past), ElementsAre(3, 3));
  EXPECT_THAT(Values(group.rows[5].past), ElementsAre(1, 2));  // u v, then what is missing
  EXPECT_THAT(Values(group.rows[5].future), ElementsAre(0));
  EXPECT_THAT(Values(group.rows[7].past), ElementsAre(0));
  EXPECT_THAT(Values(group.rows[7].future), ElementsAre(IsNan()));
  ASSERT_EQ(maker->notes().size(), 1u);
  EXPECT_THAT(maker->notes()[0],
              HasSubstr("item \"b\": column \"c\": the category \"w\" ahead occurs in no row of the past and "
                        "counts as unknown"));
}

TEST_F(GroupMakerTest, PlacesCountTheGroupOrTheFile) {
  columns_.item = "i";
  columns_.targets = {"y,z"};
  columns_.past = {"c"};
  const char* data = "i,y,z,c\na,1,2,u\na,1,2,w\nb,5,6,v\n";
  for (const bool whole : {false, true}) {
    SeriesFile file = Open(data);
    auto maker = GroupMaker::Make(file, {.targets = true, .file_categories = whole});
    ASSERT_TRUE(maker.ok());
    const SeriesItem a = Next(file);
    maker->Add(std::vector<Window>{{&a, 2}}, 1);
    EXPECT_THAT(Values(maker->groups()[0].rows[2].past), ElementsAre(0, whole ? 2 : 1));
  }
}

TEST_F(SeriesFileTest, TooManyCategories) {
  CategoryCodes codes;
  for (int i = 0; i < 1 << 20; ++i) ASSERT_TRUE(codes.Of(std::to_string(i), false, false).ok());
  EXPECT_EQ(*codes.Of("77", false, false), 77);
  const auto more = codes.Of("x", false, false);
  EXPECT_EQ(more.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(more.status().message(),
            "holds more than 1048576 different texts; a covariate of categories has few");
}

}  // namespace
}  // namespace plinth::engine
