// Joins text. The distribution's Abseil is built for C++14, where its string_view is another type than
// std::string_view; these wrappers accept both.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace plinth {
namespace text_internal {
template <typename T>
decltype(auto) Piece(const T& value) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return absl::string_view(value.data(), value.size());
  } else {
    return (value);
  }
}
}  // namespace text_internal

template <typename... Args>
std::string StrCat(const Args&... args) {
  return absl::StrCat(text_internal::Piece(args)...);
}
template <typename... Args>
void StrAppend(std::string* out, const Args&... args) {
  absl::StrAppend(out, text_internal::Piece(args)...);
}

// "a, b, c" from anything iterable; `text` turns an item into something StrCat takes.
template <typename Range, typename Text>
std::string Join(const Range& range, std::string_view separator, Text text) {
  std::string out;
  bool first = true;
  for (const auto& item : range) {
    if (!first) out += separator;
    first = false;
    StrAppend(&out, text(item));
  }
  return out;
}
template <typename Range>
std::string Join(const Range& range, std::string_view separator) {
  return Join(range, separator, [](const auto& item) { return item; });
}

}  // namespace plinth
