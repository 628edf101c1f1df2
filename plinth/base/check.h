// Stops the program on our own bugs, never on input, and shows both operands.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace plinth {

[[noreturn]] inline void CheckFailed(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "plinth: bug at %s:%d: %s\n", file, line, what.c_str());
  std::abort();
}

template <typename A, typename B>
std::string CheckText(const char* text, const A& a, const B& b) {
  std::ostringstream out;
  out << text << " does not hold: " << a << " against " << b;
  return out.str();
}

}  // namespace plinth

#define PLINTH_CHECK(cond) \
  ((cond) ? (void)0 : ::plinth::CheckFailed(__FILE__, __LINE__, #cond " does not hold"))
#define PLINTH_CHECK_OP(a, op, b) \
  (((a)op(b)) ? (void)0           \
              : ::plinth::CheckFailed(__FILE__, __LINE__, ::plinth::CheckText(#a " " #op " " #b, (a), (b))))
#define PLINTH_CHECK_EQ(a, b) PLINTH_CHECK_OP(a, ==, b)
#define PLINTH_CHECK_LE(a, b) PLINTH_CHECK_OP(a, <=, b)
#define PLINTH_CHECK_LT(a, b) PLINTH_CHECK_OP(a, <, b)
