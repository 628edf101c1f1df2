# Compiler flags. Those that change numbers (contraction, vector width) stand here alone, so that the
# identity of a build can name them.
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -fno-math-errno -fno-trapping-math)
add_link_options(-Wl,--as-needed)
if(PLINTH_CHECK)
  # Release compiles without NDEBUG's silence: assert() stays, and containers check their bounds.
  string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()

set(PLINTH_KERNEL_FLAGS -O3 -fopenmp-simd -ffp-contract=fast)
if(PLINTH_SANITIZE OR PLINTH_FUZZ)
  # Light optimisation and line tables only: what such builds cost is compile time.
  add_compile_options(-O1 -g1 -fno-omit-frame-pointer)
  list(REMOVE_ITEM PLINTH_KERNEL_FLAGS -O3)
  list(PREPEND PLINTH_KERNEL_FLAGS -O2)
endif()
if(PLINTH_FUZZ)
  # clang says which loops it left as they are; the fuzz targets run none of them.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
                      -Wno-pass-failed)
  add_link_options(-fsanitize=address,undefined)
elseif(PLINTH_SANITIZE STREQUAL "address+undefined")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
elseif(PLINTH_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
  # The distribution's oneTBB is not instrumented and would report false races.
  set(PLINTH_STD_THREADS ON)
elseif(NOT PLINTH_SANITIZE STREQUAL "")
  message(FATAL_ERROR "PLINTH_SANITIZE is address+undefined, thread, or empty")
endif()

# Kernel sources are compiled once per x86-64 level.
set(PLINTH_LEVELS v2 v3 v4)
set(PLINTH_FLAGS_v2 -march=x86-64-v2)
set(PLINTH_FLAGS_v3 -march=x86-64-v3)
set(PLINTH_FLAGS_v4 -march=x86-64-v4 -mprefer-vector-width=512)
