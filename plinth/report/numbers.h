// Writes numbers, sizes and durations for people; the locale never matters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plinth {

// At least four significant digits, thousands separators, and never fewer digits than the whole part has:
// 1234567.8 -> "1,234,568", 12.3456 -> "12.35", 0.0001237 -> "0.0001237", 2.5 -> "2.5". From 1e15 and
// below 1e-5 scientific: "1.235e-7". NaN -> "NaN", infinities -> "∞" and "-∞" ("inf" when `ascii`).
std::string HumanNumber(double value, bool ascii = false);

// Digits after the point are exactly `decimals` (0 to 17), with thousands separators: (1000000.0005, 4) ->
// "1,000,000.0005". Never writes "-0".
std::string FixedNumber(double value, int decimals);

// Four significant digits and an SI prefix from p to E: 1234567 -> "1.235 M", 0.00025 -> "250 µ". `unit`
// follows the prefix: (1.5e9, "FLOP/s") -> "1.5 GFLOP/s".
std::string SiNumber(double value, std::string_view unit = "");

// "1,234" with thousands separators.
std::string Count(int64_t value);

// Powers of 1024: "512 B", "1.21 MiB".
std::string ByteCount(int64_t bytes);

// "850 ns", "12.5 µs", "340 ms", "2.5 s", "3 min 05 s", "1 h 05 min", "2 d 03 h"; negative and NaN -> "?".
std::string Duration(double seconds);

}  // namespace plinth
