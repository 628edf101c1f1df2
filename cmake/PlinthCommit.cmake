# Writes OUT, which defines Commit() for the sources in SOURCE, where it says something else than before: a new
# commit compiles this one file and links the program.
#   cmake -DSOURCE=... -DOUT=... -P PlinthCommit.cmake
set(commit unknown)
find_program(GIT git)
if(GIT)
  # Not that of a repository in which an unpacked archive of the sources happens to lie.
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-toplevel
                  OUTPUT_VARIABLE top ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(REAL_PATH ${SOURCE} source)
  if(top STREQUAL source)
    execute_process(COMMAND ${GIT} -C ${SOURCE} describe --tags --always --dirty --abbrev=12
                    OUTPUT_VARIABLE described ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(described MATCHES "^[A-Za-z0-9._/+-]+$")
      set(commit ${described})
    endif()
  endif()
endif()
set(text "#include \"apps/plinth/commit.h\"\n\nnamespace plinth::app {\n\nstd::string Commit() { return \"${commit}\"; }\n\n}  // namespace plinth::app\n")
set(before "")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
