#include "plinth/verify/metrics/unicode_text.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

namespace plinth::verify::metrics {
namespace {

icu::UnicodeString FromUtf8(std::string_view text) {
  return icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
}

const icu::Normalizer2* FormOf(NormalForm form, UErrorCode& error) {
  return form == NormalForm::kNfkc ? icu::Normalizer2::getNFKCInstance(error)
                                   : icu::Normalizer2::getNFCInstance(error);
}

}  // namespace

std::string Normalise(std::string_view text, NormalForm form, bool lower) {
  if (form == NormalForm::kAsIs && !lower) return std::string(text);
  icu::UnicodeString unicode = FromUtf8(text);
  if (form != NormalForm::kAsIs) {
    // The two forms are compiled into ICU and cannot fail to load.
    UErrorCode error = U_ZERO_ERROR;
    if (const icu::Normalizer2* normalizer = FormOf(form, error); U_SUCCESS(error)) {
      const icu::UnicodeString normal = normalizer->normalize(unicode, error);
      if (U_SUCCESS(error)) unicode = normal;
    }
  }
  if (lower) unicode.toLower(icu::Locale::getRoot());
  std::string out;
  unicode.toUTF8String(out);
  return out;
}

std::u32string CodePoints(std::string_view utf8) {
  const icu::UnicodeString text = FromUtf8(utf8);
  std::u32string points;
  for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    points += static_cast<char32_t>(text.char32At(i));
  }
  return points;
}

std::string ToUtf8(std::u32string_view points) {
  icu::UnicodeString text;
  for (const char32_t c : points) text.append(static_cast<UChar32>(c));
  std::string utf8;
  text.toUTF8String(utf8);
  return utf8;
}

void ReplaceAll(std::string& text, std::string_view from, const std::string& to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

bool IsSpace(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool IsPunctuation(char32_t c) {
  const auto point = static_cast<UChar32>(c);
  return (U_GET_GC_MASK(point) & (U_GC_P_MASK | U_GC_S_MASK)) != 0;
}

bool StandsAlone(char32_t c) {
  return (c >= 0x3040 && c <= 0x30ff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x3ffff);
}

}  // namespace plinth::verify::metrics
