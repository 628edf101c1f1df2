# plinth_embed(TARGET SYMBOL FILE ...): puts the bytes of each file into the target's read-only data, as the
# symbols plinth_embedded_SYMBOL and plinth_embedded_SYMBOL_end. The assembler reads the file itself; the only
# thing written is a few lines of source in the build folder.
function(plinth_embed target)
  set(pairs ${ARGN})
  while(pairs)
    list(POP_FRONT pairs symbol file)
    get_filename_component(file ${file} ABSOLUTE)
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "${target}: ${file} is to be embedded and does not exist")
    endif()
    # The digest makes the source change with the file, so that neither make nor ccache keeps an old object.
    file(SHA256 ${file} digest)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${symbol}.cc)
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"// sha256 @digest@
asm(R\"(
.section .rodata.plinth_embedded_@symbol@,\"a\"
.global plinth_embedded_@symbol@
.global plinth_embedded_@symbol@_end
.balign 16
plinth_embedded_@symbol@:
.incbin \"@file@\"
plinth_embedded_@symbol@_end:
.byte 0
.previous
)\");
")
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${file})
    target_sources(${target} PRIVATE ${source})
  endwhile()
endfunction()
