#include "plinth/evidence/smi.h"

#include <algorithm>
#include <cctype>

#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

bool SaysNone(std::string_view text) {
  const std::string lower = Lower(text);
  for (const char* words : {"no devices were found", "no dcu", "no hcu", "no gpu", "no amd gpu", "no device",
                            "0 cards", "no supported"}) {
    if (lower.find(words) != lower.npos) return true;
  }
  return false;
}

}  // namespace

std::optional<int64_t> CountSmiRows(std::string_view text) {
  bool heading = false;
  int64_t rows = 0;
  for (const std::string_view line : Lines(text)) {
    const auto words = Words(line, " \t|");
    if (words.empty()) continue;
    const std::string first = Lower(words[0]);
    if (words.size() > 2 && (first == "dcu" || first == "hcu" || first == "gpu" || first == "device"))
      heading = true;
    const auto number = ToInteger(words[0]);
    if (heading && number && *number >= 0 && words.size() > 2) ++rows;
  }
  if (heading) return rows;
  return SaysNone(text) ? std::optional<int64_t>(0) : std::nullopt;
}

std::vector<NvidiaCard> ParseNvidiaCards(std::string_view text) {
  std::vector<NvidiaCard> cards;
  for (const std::string_view line : Lines(text)) {
    const auto fields = Words(line, ",");
    if (fields.size() != 6) continue;
    const std::string_view bus = Trim(fields[0]);
    // "00000000:19:00.0": eight digits of the domain, of which sysfs shows four, and capitals.
    if (bus.size() != 16 || bus[8] != ':') continue;
    NvidiaCard card;
    card.address = Lower(bus.substr(4));
    card.name = FirstLine(fields[1]);
    card.driver_version = FirstLine(fields[2]);
    card.compute_capability = FirstLine(fields[3]);
    card.vbios = FirstLine(fields[4]);
    const auto words = Words(fields[5]);
    card.memory_mib =
        words.empty() ? 0 : std::clamp<int64_t>(ToInteger(words[0]).value_or(0), 0, int64_t{1} << 30);
    cards.push_back(std::move(card));
  }
  return cards;
}

}  // namespace plinth::evidence
