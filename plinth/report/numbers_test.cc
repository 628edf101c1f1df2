#include "plinth/report/numbers.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace plinth {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Numbers, HumanKeepsFourDigitsAndAllOfTheWholePart) {
  EXPECT_EQ(HumanNumber(1234567.8), "1,234,568");
  EXPECT_EQ(HumanNumber(12.3456), "12.35");
  EXPECT_EQ(HumanNumber(-12.3456), "-12.35");
  EXPECT_EQ(HumanNumber(0.00012345), "0.0001234");  // the nearest double lies below the tie
  EXPECT_EQ(HumanNumber(2.5), "2.5");
  EXPECT_EQ(HumanNumber(100), "100");
  EXPECT_EQ(HumanNumber(1000), "1,000");
  EXPECT_EQ(HumanNumber(999.96), "1,000");
  EXPECT_EQ(HumanNumber(-1e6), "-1,000,000");
  EXPECT_EQ(HumanNumber(0), "0");
  EXPECT_EQ(HumanNumber(-0.0), "0");
}

TEST(Numbers, HumanTurnsScientificAtTheEnds) {
  EXPECT_EQ(HumanNumber(1.2346e-7), "1.235e-7");
  EXPECT_EQ(HumanNumber(1e-12), "1e-12");
  EXPECT_EQ(HumanNumber(1e15), "1e15");
  EXPECT_EQ(HumanNumber(999999999999999.0), "1e15");
  EXPECT_EQ(HumanNumber(1e14), "100,000,000,000,000");
  EXPECT_EQ(HumanNumber(1.7976931348623157e308), "1.798e308");
  EXPECT_EQ(HumanNumber(4.9e-324), "4.941e-324");
  EXPECT_EQ(HumanNumber(std::nan("")), "NaN");
  EXPECT_EQ(HumanNumber(kInf), "∞");
  EXPECT_EQ(HumanNumber(-kInf, /*ascii=*/true), "-inf");
}

TEST(Numbers, FixedNeverWritesMinusZero) {
  EXPECT_EQ(FixedNumber(1000000.0005, 4), "1,000,000.0005");
  EXPECT_EQ(FixedNumber(-0.0001, 2), "0.00");
  EXPECT_EQ(FixedNumber(-1234.5, 1), "-1,234.5");
  EXPECT_EQ(FixedNumber(123, 0), "123");
  EXPECT_EQ(FixedNumber(1e300, 99).size(), 301u + 100 + 1 + 17);
}

TEST(Numbers, SiPicksThePrefix) {
  EXPECT_EQ(SiNumber(1234567), "1.235 M");
  EXPECT_EQ(SiNumber(0.00025), "250 µ");
  EXPECT_EQ(SiNumber(1.5e9, "FLOP/s"), "1.5 GFLOP/s");
  EXPECT_EQ(SiNumber(999.96), "1 k");
  EXPECT_EQ(SiNumber(0), "0");
  EXPECT_EQ(SiNumber(12, "series/s"), "12 series/s");
  EXPECT_EQ(SiNumber(1e-15, "s"), "1e-15 s");
  EXPECT_EQ(SiNumber(1e21), "1e21");
}

TEST(Numbers, CountsBytesAndDurations) {
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(-1234567), "-1,234,567");
  EXPECT_EQ(Count(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
  EXPECT_EQ(ByteCount(512), "512 B");
  EXPECT_EQ(ByteCount(1268777), "1.21 MiB");
  EXPECT_EQ(Duration(0), "0 s");
  EXPECT_EQ(Duration(8.5e-7), "850 ns");
  EXPECT_EQ(Duration(1.25e-5), "12.5 µs");
  EXPECT_EQ(Duration(0.34), "340 ms");
  EXPECT_EQ(Duration(0.9999), "1 s");
  EXPECT_EQ(Duration(2.5), "2.5 s");
  EXPECT_EQ(Duration(59.99), "1 min 00 s");
  EXPECT_EQ(Duration(185), "3 min 05 s");
  EXPECT_EQ(Duration(3900), "1 h 05 min");
  EXPECT_EQ(Duration(183600), "2 d 03 h");
  EXPECT_EQ(Duration(-1), "?");
  EXPECT_EQ(Duration(std::nan("")), "?");
}

}  // namespace
}  // namespace plinth
