#include <locale.h>
#include <strings.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "plinth/formats/csv.h"

namespace plinth::formats {
namespace {

bool SameIgnoringCase(std::string_view text, std::string_view word) {
  return text.size() == word.size() && strncasecmp(text.data(), word.data(), word.size()) == 0;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// from_chars does not tell too large from too small; strtod does.
CellKind OutOfRange(std::string_view cell, double* value) {
  static const locale_t c = newlocale(LC_ALL_MASK, "C", nullptr);
  *value = strtod_l(std::string(cell).c_str(), nullptr, c);
  return std::isinf(*value) ? CellKind::kTooLarge : CellKind::kNumber;
}

CellKind ParseWord(std::string_view cell, double* value) {
  *value = std::numeric_limits<double>::quiet_NaN();
  if (!cell.empty() && (cell.front() == '-' || cell.front() == '+')) {
    cell.remove_prefix(1);
  } else if (cell.empty() || SameIgnoringCase(cell, "null") || SameIgnoringCase(cell, "na")) {
    return CellKind::kGap;
  }
  if (SameIgnoringCase(cell, "nan")) return CellKind::kGap;
  if (SameIgnoringCase(cell, "inf") || SameIgnoringCase(cell, "infinity")) return CellKind::kInfinite;
  return CellKind::kText;
}

}  // namespace

CellKind ParseNumber(std::string_view cell, bool comma, double* value) {
  cell = Trim(cell);
  std::string_view digits = cell;
  if (!digits.empty() && digits.front() == '+') digits.remove_prefix(1);
  const std::string_view magnitude =
      digits.substr(digits.size() == cell.size() && digits.starts_with('-') ? 1 : 0);
  if (magnitude.empty() || !((magnitude[0] >= '0' && magnitude[0] <= '9') || magnitude[0] == '.' ||
                             (comma && magnitude[0] == ','))) {
    return ParseWord(cell, value);
  }
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *value);
  if (end == digits.data() + digits.size()) {
    if (error == std::errc()) return CellKind::kNumber;
    if (error == std::errc::result_out_of_range) return OutOfRange(digits, value);
  }
  if (comma) {
    const size_t at = digits.find(',');
    if (at != digits.npos && digits.find('.') == digits.npos) {
      std::string pointed(digits);
      pointed[at] = '.';
      return ParseNumber(pointed, false, value);
    }
  }
  *value = std::numeric_limits<double>::quiet_NaN();
  return CellKind::kText;
}

}  // namespace plinth::formats
