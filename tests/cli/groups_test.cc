// Which series see each other: targets of an item, items of a group, all items.
#include <cmath>
#include <map>

#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

class GroupsTest : public CliTest {
 protected:
  GroupsTest() : model_(Source("tests/golden/chronos2_rand")) {}

  // The rows of one item in which every shop differs: shop, region, time, y, z, x, w.
  static std::string Shop(const std::string& name, const std::string& region, int64_t rows) {
    std::string text;
    const int64_t seed = name[0];
    const char* weather[] = {"sun", "rain", ""};
    for (int64_t i = 100 - rows; i < 100; ++i) {
      const std::string time = HourlyRow(i, "").substr(0, 20);
      StrAppend(&text, name, ",", region, ",", time, (i * 7 + seed) % 24, ",", (i * 5 + seed) % 17, ",",
                (i * 3 + seed) % 11, ",", weather[(i + seed) % 3], "\n");
    }
    return text;
  }
  static std::string Csv(const std::vector<std::string>& shops) {
    return "shop,region,time,y,z,x,w\n" + Join(shops, "");
  }
  // Forecasts d.csv; the items as JSON by "shop target".
  std::map<std::string, json> Forecast(std::vector<std::string> options, const std::string& notes = "") {
    const std::vector<std::string> head = {"forecast", "-m", model_,   "-d",     "d.csv",
                                           "-H",       "5",  "--json", "--item", "shop"};
    options.insert(options.begin(), head.begin(), head.end());
    const RunResult run = Run(options);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, notes);
    std::map<std::string, json> items;
    const json result = json::parse(run.out, nullptr, false);
    for (const json& item : result["items"]) {
      items[StrCat(item["item"].get<std::string>(), " ", item["target"].get<std::string>())] = item;
    }
    return items;
  }
  void Refuse(std::vector<std::string> options, const std::string& message) {
    const std::vector<std::string> head = {"forecast", "-m", model_, "-d", "d.csv"};
    options.insert(options.begin(), head.begin(), head.end());
    ExpectError(options, 2, message);
  }

  std::string model_;
};

// Alone, among others and in any order, on one thread and on two: the same digits.
TEST_F(GroupsTest, AGroupDoesNotDependOnOthers) {
  const std::string a = Shop("a", "north", 100), b = Shop("b", "south", 37), c = Shop("c", "north", 64);
  const std::string d = Shop("d", "west", 12);
  const std::vector<std::string> covariates = {"--past", "x,w"};
  for (const std::vector<std::string>& together :
       {std::vector<std::string>{"--target", "y,z"}, {"--target", "y,z", "--joint"}, {"--target", "y"}}) {
    std::vector<std::string> options = together;
    options.insert(options.end(), covariates.begin(), covariates.end());
    Write("d.csv", Csv({b}));
    const auto alone = Forecast(options);
    for (const auto& shops : {std::vector<std::string>{a, b, c, d}, {d, c, b, a}}) {
      for (const char* threads : {"1", "2"}) {
        Write("d.csv", Csv(shops));
        std::vector<std::string> with = options;
        with.insert(with.end(), {"-t", threads});
        const auto among = Forecast(with);
        for (const auto& [name, item] : alone) EXPECT_EQ(among.at(name), item) << name;
      }
    }
  }
  // Groups of items: the north has two.
  std::vector<std::string> options = {"--target", "y,z", "--group", "region", "--past", "x,w"};
  Write("d.csv", Csv({a, c}));
  const auto north = Forecast(options);
  for (const auto& shops : {std::vector<std::string>{a, c, b, d}, {d, a, b, c}}) {
    for (const char* threads : {"1", "2"}) {
      Write("d.csv", Csv(shops));
      std::vector<std::string> with = options;
      with.insert(with.end(), {"-t", threads});
      const auto among = Forecast(with);
      EXPECT_EQ(among.size(), 8u);
      for (const auto& [name, item] : north) EXPECT_EQ(among.at(name), item) << name;
    }
  }
}

TEST_F(GroupsTest, WhoIsTogetherMatters) {
  const std::string a = Shop("a", "north", 100), b = Shop("b", "south", 60), c = Shop("c", "north", 60);
  Write("d.csv", Csv({a, b, c}));
  const auto alone = Forecast({"--target", "y,z"}), joint = Forecast({"--target", "y,z", "--joint"});
  const auto group = Forecast({"--target", "y", "--group", "region"});
  const auto all = Forecast({"--target", "y", "--cross-learning"});
  EXPECT_NE(alone.at("a y"), joint.at("a y"));
  EXPECT_NE(alone.at("a y"), group.at("a y"));
  EXPECT_EQ(alone.at("b y"), group.at("b y"));  // the only one in its region
  EXPECT_NE(alone.at("b y"), all.at("b y"));
  EXPECT_NE(group.at("a y"), all.at("a y"));
  // A group of all is cross-learning; so is the item column as a group joint.
  Write("d.csv", Csv({Shop("a", "r", 100), Shop("b", "r", 60), Shop("c", "r", 60)}));
  EXPECT_EQ(Forecast({"--target", "y", "--group", "region"}), all);
  EXPECT_EQ(Forecast({"--target", "y,z", "--group", "shop"}), joint);
}

// Groups come one after another; without groups items keep the file's order.
TEST_F(GroupsTest, OrderOfTheOutput) {
  const auto order = [&](const std::vector<std::string>& options) {
    std::vector<std::string> all = {"forecast", "-m",     model_,   "-d",   "d.csv",    "-H",
                                    "1",        "--json", "--item", "shop", "--target", "y"};
    all.insert(all.end(), options.begin(), options.end());
    std::string names;
    const json result = RunJson(all);
    for (const json& item : result["items"]) names += item["item"].get<std::string>();
    return names;
  };
  Write("d.csv", Csv({Shop("a", "n", 50), Shop("b", "s", 50), Shop("c", "n", 50), Shop("d", "s", 50)}));
  EXPECT_EQ(order({}), "abcd");
  EXPECT_EQ(order({"--group", "region"}), "acbd");
  EXPECT_EQ(order({"--cross-learning"}), "abcd");
}

TEST_F(GroupsTest, Refusals) {
  Write("d.csv", Csv({Shop("a", "n", 50), Shop("b", "s", 50)}));
  Refuse({"--item", "shop", "--group", "region", "--cross-learning"},
         "--group and --cross-learning exclude each other: groups of items, or all of them in one");
  Refuse({"--group", "region"},
         "--group joins items, and without --item the file is one; name the column of items with --item");
  Refuse(
      {"--item", "shop", "--group", "nosuch"},
      "d.csv: has no column \"nosuch\"; it has \"shop\", \"region\", \"time\", \"y\", \"z\", \"x\", \"w\"");
  Refuse({"--item", "shop", "--group", "region", "--target", "region"},
         "d.csv: column \"region\" is the group column and cannot be a target too");
  Write("d.csv", Csv({Shop("a", "n", 3), Shop("a", "s", 3)}));
  Refuse({"--item", "shop", "--group", "region"},
         "d.csv: line 5: item \"a\" is in group \"s\" here and in group \"n\" before; an item belongs to one "
         "group");
  Write("d.csv", Csv({Shop("a", "n", 3), Shop("b", "", 3)}));
  Refuse({"--item", "shop", "--group", "region"},
         "d.csv: line 5: column \"region\" is \"\"; the name of the item's group is expected");
}

// Numbers in the group column are names; the column is no target.
TEST_F(GroupsTest, AGroupColumnOfNumbers) {
  Write("d.csv", Csv({Shop("a", "1", 50), Shop("b", "2", 50)}));
  EXPECT_EQ(Forecast({"--group", "region"}).count("a region"), 0u);
  EXPECT_EQ(Forecast({}).count("a region"), 1u);
}

TEST_F(GroupsTest, EndsAtDifferentTimesAreNoted) {
  std::string late = Shop("b", "n", 50);
  late.erase(late.rfind("b,n,"));  // its last row
  Write("d.csv", Csv({Shop("a", "n", 50), late}));
  const std::string apart =
      "item \"a\" ends at 2024-01-05T03:00:00 in steps of h, item \"b\" ends at 2024-01-05T02:00:00 in steps "
      "of h";
  const std::string note = "; the last rows of all stand side by side\n";
  Forecast({"--group", "region"}, "plinth: note: d.csv: group \"n\": " + apart + note);
  Forecast({"--cross-learning"}, "plinth: note: d.csv: --cross-learning: " + apart + note);
  ExpectError({"backtest", "-m", model_, "-d", "d.csv", "--item", "shop", "--group", "region", "-H", "2"}, 2,
              "d.csv: group \"n\": " + apart +
                  "; in one group an origin must mean the same time for all: cut the "
                  "items to one end");
}

TEST_F(GroupsTest, JointCategoriesCountWithinTheGroup) {
  // Another shop's category in between changes no place unless the original's way is asked for.
  const auto shop = [](const std::string& name, const std::string& other) {
    std::string text;
    for (int64_t i = 0; i < 60; ++i) {
      const std::string time = HourlyRow(i, "").substr(0, 20);
      StrAppend(&text, name, ",n,", time, i % 7, ",", i % 5, ",0,",
                i % 3 == 0   ? "rain"
                : i % 3 == 1 ? "sun"
                             : other,
                "\n");
    }
    return text;
  };
  const std::vector<std::string> options = {"--target", "y,z", "--joint", "--past", "w"};
  std::vector<std::string> published = options;
  published.emplace_back("--as-published");
  Write("d.csv", Csv({shop("a", "fog")}));
  const auto alone = Forecast(options), alone_published = Forecast(published);
  EXPECT_EQ(alone, alone_published);
  Write("d.csv", Csv({shop("a", "fog"), shop("b", "snow")}));
  EXPECT_EQ(Forecast(options).at("a y"), alone.at("a y"));
  EXPECT_NE(Forecast(published).at("a y"), alone.at("a y"));
}

TEST_F(GroupsTest, Backtests) {
  const auto backtest = [&](const std::vector<std::string>& options) {
    std::vector<std::string> all = {"backtest", "-m", model_, "-d", "d.csv",  "--item",   "shop",
                                    "-H",       "6",  "-w",   "3",  "--json", "--season", "4"};
    all.insert(all.end(), options.begin(), options.end());
    const RunResult run = Run(all);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return json::parse(run.out, nullptr, false);
  };
  Write("d.csv", Csv({Shop("a", "n", 100), Shop("b", "s", 60), Shop("c", "n", 14)}));
  const std::vector<std::string> together[] = {{"--target", "y,z"},
                                               {"--target", "y,z", "--joint"},
                                               {"--target", "y,z", "--group", "region"},
                                               {"--target", "y,z", "--cross-learning", "--future", "x,w"}};
  std::map<double, int> errors;
  for (const auto& options : together) {
    const json scores = backtest(options);
    EXPECT_EQ(scores["series"], 6);
    EXPECT_EQ(scores["windows"], 14);  // the last one reaches back to one origin, both its targets
    ++errors[scores["mae"]];
  }
  EXPECT_EQ(errors.size(), 4u);
  // One that is too short for any window is left out; the others go on without it.
  Write("d.csv", Csv({Shop("a", "n", 100), Shop("b", "s", 60)}));
  const json two = backtest({"--target", "y", "--cross-learning"});
  Write("d.csv", Csv({Shop("a", "n", 100), Shop("b", "s", 60), Shop("c", "n", 9)}));
  const json three = backtest({"--target", "y", "--cross-learning"});
  EXPECT_EQ(three["series"], 2);
  EXPECT_EQ(three["series_left_out"], 1);
  EXPECT_EQ(three["mae"], two["mae"]);
  ExpectError(
      {"backtest", "-m", model_, "-d", "d.csv", "--item", "shop", "--group", "region", "--cross-learning"}, 2,
      "--group and --cross-learning exclude each other: groups of items, or all of them in one");
}

}  // namespace
}  // namespace plinth::cli
