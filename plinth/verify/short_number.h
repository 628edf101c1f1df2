// Writes numbers as verification's sentences show them: three digits.
#pragma once

#include <cstdio>
#include <string>

namespace plinth::verify {

inline std::string ShortNumber(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", x);
  return text;
}

}  // namespace plinth::verify
