#include "plinth/verify/metrics/bands.h"

#include <charconv>
#include <cmath>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/formats/toml.h"
#include "plinth/verify/metrics/samples.h"

namespace plinth::verify::metrics {
namespace {

constexpr std::string_view kWanted =
    "a number of at least 0 such as 0.005 (absolute), or a percentage such as 2% (of the reference's value)";

bool ReadAmount(std::string_view text, Band* band) {
  band->text = text;
  band->relative = text.ends_with('%');
  if (band->relative) text.remove_suffix(1);
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), band->amount);
  if (error != std::errc() || stop != text.data() + text.size()) return false;
  if (band->relative) band->amount /= 100;
  return std::isfinite(band->amount) && band->amount >= 0;
}

}  // namespace

StatusOr<std::pair<std::string, Band>> ParseBand(std::string_view text) {
  const size_t equals = text.find('=');
  Band band;
  if (equals == 0 || equals == text.npos || !ReadAmount(text.substr(equals + 1), &band)) {
    return absl::InvalidArgumentError(
        StrCat("--band ", formats::QuotedShort(text), ": METRIC=AMOUNT is expected, AMOUNT being ", kWanted));
  }
  return std::pair(std::string(text.substr(0, equals)), band);
}

StatusOr<std::string> LoadBands(const std::string& path, Bands* bands) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, formats::kMaxConfigBytes));
  PLINTH_ASSIGN_OR_RETURN(const formats::Config file, formats::ParseTomlWithLines(text, path));
  PLINTH_RETURN_IF_ERROR(file.CheckKeys({"schema", "bands"}));
  PLINTH_RETURN_IF_ERROR(file.Choice("schema", {"plinth.bands/1"}).status());
  PLINTH_ASSIGN_OR_RETURN(const formats::Config table, file.Section("bands"));
  for (const auto& [name, value] : *table.json().object()) {
    Band band;
    double number = 0;
    if (value.text() != nullptr) {
      if (!ReadAmount(*value.text(), &band)) return table.Refuse(name, kWanted);
    } else if (!ToNumber(value, &number) || number < 0) {
      return table.Refuse(name, kWanted);
    } else {
      band = {number, false, StrCat(number)};
    }
    (*bands)[name] = band;
  }
  return Sha256Hex(text);
}

}  // namespace plinth::verify::metrics
