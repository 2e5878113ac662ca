# Included for the wheel: what is not part of glibc is linked into the program.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
add_link_options(-static-libstdc++ -static-libgcc -Wl,--as-needed)

# Debian has no libfmt.a. One file with all of fmt serves instead, and libfmt.so, then unused, is left out by --as-needed.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/fmt_inside.cpp CONTENT "#define FMT_HEADER_ONLY 1\n#include <fmt/format.h>\n")
add_library(fmt_inside OBJECT ${CMAKE_BINARY_DIR}/fmt_inside.cpp)
target_compile_options(fmt_inside PRIVATE -fkeep-inline-functions)
cmake_language(DEFER CALL target_link_libraries plimsoll PRIVATE fmt_inside)

# An archive does not say what it needs itself.
find_library(ARCHIVE_dw dw)
set(archives ${ARCHIVE_dw})
foreach(name elf lzma bz2 z)
  find_library(ARCHIVE_${name} ${name})
  list(APPEND archives ${ARCHIVE_${name}})
endforeach()
if(archives MATCHES "NOTFOUND")
  message(STATUS "no static libdw, libelf, liblzma, libbz2 and libz: native frames are shown as file and address")
  set(archives NOTFOUND)
endif()
set(LIBDW "${archives}" CACHE STRING "libdw and what it needs")
