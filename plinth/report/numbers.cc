#include "plinth/report/numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "plinth/base/text.h"

namespace plinth {
namespace {

constexpr int kSignificant = 4;

// to_chars with a precision; 400 bytes hold the longest fixed double with 17 decimals.
std::string Digits(double value, std::chars_format format, int precision) {
  std::array<char, 400> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision).ptr;
  return std::string(buffer.data(), end);
}

void Separate(std::string* number) {
  size_t point = std::min(number->find('.'), number->size());
  const size_t first = (*number)[0] == '-' ? 1 : 0;
  while (point > first + 3) {
    point -= 3;
    number->insert(point, 1, ',');
  }
}

void DropTrailingZeros(std::string* number) {
  if (number->find('.') == std::string::npos) return;
  number->erase(number->find_last_not_of('0') + 1);
  if (number->back() == '.') number->pop_back();
}

// "1.235e-07" -> "1.235e-7", "1.000e+15" -> "1e15".
std::string Scientific(double value) {
  std::string text = Digits(value, std::chars_format::scientific, kSignificant - 1);
  const size_t e = text.find('e');
  std::string mantissa = text.substr(0, e);
  DropTrailingZeros(&mantissa);
  int exponent = 0;
  const char* from = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(from, text.data() + text.size(), exponent);
  return StrCat(mantissa, "e", exponent);
}

// The power of ten of the first digit after rounding to four digits, so that 9999.6 counts as 10000.
int RoundedExponent(double value) {
  const std::string text = Digits(std::abs(value), std::chars_format::scientific, kSignificant - 1);
  int exponent = 0;
  const size_t e = text.find('e');
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(), exponent);
  return exponent;
}

std::string Pad2(int64_t value) { return value < 10 ? StrCat("0", value) : StrCat(value); }

}  // namespace

std::string FixedNumber(double value, int decimals) {
  if (!std::isfinite(value)) return HumanNumber(value);
  std::string text = Digits(value, std::chars_format::fixed, std::clamp(decimals, 0, 17));
  if (text.find_first_not_of("-0.") == std::string::npos && text[0] == '-') text.erase(0, 1);
  Separate(&text);
  return text;
}

std::string HumanNumber(double value, bool ascii) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return StrCat(value < 0 ? "-" : "", ascii ? "inf" : "∞");
  if (value == 0) return "0";
  const int exponent = RoundedExponent(value);
  if (exponent >= 15 || exponent < -5) return Scientific(value);
  std::string text = FixedNumber(value, std::max(0, kSignificant - 1 - exponent));
  DropTrailingZeros(&text);
  return text;
}

std::string SiNumber(double value, std::string_view unit) {
  static constexpr std::array<std::string_view, 11> kPrefixes = {"p", "n", "µ", "m", "", "k",
                                                                 "M", "G", "T", "P", "E"};
  constexpr int kNone = 4;
  int step = 0;
  if (std::isfinite(value) && value != 0) {
    step = static_cast<int>(std::floor(RoundedExponent(value) / 3.0));
    if (step < -kNone || step >= static_cast<int>(kPrefixes.size()) - kNone) {
      return unit.empty() ? Scientific(value) : StrCat(Scientific(value), " ", unit);
    }
  }
  const std::string number = HumanNumber(value / std::pow(1000.0, step));
  const std::string suffix = StrCat(kPrefixes[static_cast<size_t>(step + kNone)], unit);
  return suffix.empty() ? number : StrCat(number, " ", suffix);
}

std::string Count(int64_t value) {
  std::string text = StrCat(value);
  Separate(&text);
  return text;
}

std::string ByteCount(int64_t bytes) {
  static constexpr std::array<std::string_view, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  double value = static_cast<double>(bytes);
  while (std::abs(value) >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return StrCat(bytes, " B");
  return StrCat(FixedNumber(value, std::abs(value) < 100 ? 2 : 1), " ", kUnits[unit]);
}

std::string Duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e12) return "?";
  if (seconds == 0) return "0 s";
  if (seconds < 59.95) {
    struct Unit {
      double scale;
      std::string_view name;
    };
    static constexpr std::array<Unit, 4> kUnits = {{{1, "s"}, {1e3, "ms"}, {1e6, "µs"}, {1e9, "ns"}}};
    for (const Unit& unit : kUnits) {
      const double value = seconds * unit.scale;
      if (value < 0.9995 && unit.scale < 1e9) continue;
      std::string text = FixedNumber(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
      DropTrailingZeros(&text);
      return StrCat(text, " ", unit.name);
    }
  }
  const int64_t whole = std::llround(seconds);
  if (whole < 3600) return StrCat(whole / 60, " min ", Pad2(whole % 60), " s");
  if (whole < 86400) return StrCat(whole / 3600, " h ", Pad2(whole % 3600 / 60), " min");
  return StrCat(Count(whole / 86400), " d ", Pad2(whole % 86400 / 3600), " h");
}

}  // namespace plinth
