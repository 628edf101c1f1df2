#include "plinth/detect/ranges.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/base/files.h"
#include "plinth/formats/json.h"

namespace plinth::detect {
namespace {

using ::testing::HasSubstr;

std::string Source(const std::string& path) {
  const char* root = std::getenv("PLINTH_SOURCE_DIR");
  return (root == nullptr ? std::string(".") : std::string(root)) + "/" + path;
}

double Number(const formats::JsonValue& v) {
  return v.integer() != nullptr ? static_cast<double>(*v.integer()) : *v.real();
}

// Cases that bench/detect/vus.py computed from the published definition, every threshold and buffer afresh.
TEST(VusPr, EqualsTheIndependentImplementation) {
  const auto text = ReadFile(Source("tests/data/detect/vus.json"), 1 << 20);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto cases = formats::ParseJson(*text, "vus.json");
  ASSERT_TRUE(cases.ok()) << cases.status();
  int count = 0;
  ASSERT_NE(cases->array(), nullptr);
  for (const formats::JsonValue& c : *cases->array()) {
    std::vector<double> scores;
    std::vector<uint8_t> labels;
    for (const auto& v : *c.Find("scores")->array()) scores.push_back(Number(v));
    for (const auto& v : *c.Find("labels")->array()) labels.push_back(Number(v) != 0 ? 1 : 0);
    const auto got = VusPr(scores, labels, static_cast<int64_t>(Number(*c.Find("buffer"))));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_NEAR(*got, Number(*c.Find("vus_pr")), 1e-9) << count;
    ++count;
  }
  EXPECT_EQ(count, 27);
}

TEST(VusPr, ByHand) {
  const std::vector<uint8_t> labels{0, 1, 0, 0};
  // The anomaly first: recall 1 at precision 1, then no more recall.
  EXPECT_EQ(*VusPr(std::vector<double>{0, 9, 1, 2}, labels, 0), 1);
  // Second: at recall 0 precision falls to 0, then rises to 1/2 with recall 1: a trapezoid of 1/4.
  EXPECT_EQ(*VusPr(std::vector<double>{0, 2, 9, 1}, labels, 0), 0.25);
  // All equal: one threshold, precision 1/4: (1 + 1/4) / 2.
  EXPECT_EQ(*VusPr(std::vector<double>(4, 1.0), labels, 0), 0.625);
  // A row without a score comes last: as the lowest one.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(*VusPr(std::vector<double>{3, nan, 2, 1}, labels, 0),
            *VusPr(std::vector<double>{3, 0, 2, 1}, labels, 0));
}

TEST(VusPr, RefusesWhatCannotBeMeasured) {
  const std::vector<double> scores{1, 2};
  EXPECT_THAT(std::string(VusPr(scores, std::vector<uint8_t>{1}, 0).status().message()),
              HasSubstr("2 scores and 1 labels"));
  EXPECT_THAT(std::string(VusPr(scores, std::vector<uint8_t>{0, 0}, 0).status().message()),
              HasSubstr("no row is labelled"));
  EXPECT_THAT(std::string(VusPr(scores, std::vector<uint8_t>{0, 1}, -1).status().message()),
              HasSubstr("buffer is -1"));
}

TEST(CountEvents, AsOperatorsCount) {
  //                                 0  1  2  3  4  5  6  7  8  9
  const std::vector<double> scores{0, 9, 0, 0, 0, 9, 9, 0, 0, 9};
  const std::vector<uint8_t> labels{0, 0, 0, 0, 1, 1, 1, 0, 1, 1};
  const EventCounts c = CountEvents(scores, labels, 5, 1);
  EXPECT_EQ(c.alarms, 3);
  EXPECT_EQ(c.true_alarms, 2);
  EXPECT_EQ(c.false_alarms(), 1);
  EXPECT_EQ(c.anomalies, 2);
  EXPECT_EQ(c.found, 2);
  EXPECT_EQ(c.mean_delay, 1);
  EXPECT_DOUBLE_EQ(c.precision(), 2.0 / 3);
  EXPECT_EQ(c.recall(), 1);
  // Joined over the gap the alarm is on when the second anomaly begins.
  const EventCounts joined = CountEvents(scores, labels, 5, 3);
  EXPECT_EQ(joined.alarms, 2);
  EXPECT_EQ(joined.mean_delay, 0.5);
  EXPECT_TRUE(std::isnan(CountEvents(scores, labels, 99, 1).mean_delay));
}

}  // namespace
}  // namespace plinth::detect
