// Reads the files that plinth_embed of cmake/PlinthEmbed.cmake puts into the program.
#pragma once

#include <string_view>

// Defines a function NAME() that gives the bytes embedded as NAME. To be used outside any namespace.
#define PLINTH_EMBEDDED(name)                                                            \
  extern "C" const char plinth_embedded_##name[];                                        \
  extern "C" const char plinth_embedded_##name##_end[];                                  \
  static std::string_view name() {                                                       \
    return {plinth_embedded_##name,                                                      \
            static_cast<size_t>(plinth_embedded_##name##_end - plinth_embedded_##name)}; \
  }
