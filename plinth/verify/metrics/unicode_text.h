// Brings Unicode text into the form in which rules compare it: normal form, case, white space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plinth::verify::metrics {

enum class NormalForm : uint8_t { kAsIs, kNfc, kNfkc };

// `text` is UTF-8; a normal form of Unicode (UAX 15), then lower case by the root locale.
std::string Normalise(std::string_view text, NormalForm form, bool lower);

std::u32string CodePoints(std::string_view utf8);
std::string ToUtf8(std::u32string_view points);

// Puts `to` in place of each `from`, which is not empty, from left to right.
void ReplaceAll(std::string& text, std::string_view from, const std::string& to);

// What Python takes for white space, on which jiwer rests.
bool IsSpace(char32_t c);
// Unicode's categories P* and S*.
bool IsPunctuation(char32_t c);
// Chinese characters and kana: written without spaces between words.
bool StandsAlone(char32_t c);

}  // namespace plinth::verify::metrics
