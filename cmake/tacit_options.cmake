# What every target of this project is compiled with, and nothing of it reaches a consumer.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Most of a build from nothing is headers, which several files can share: half the time. After a change to one file it is
# more, so that it is for scripts.
set(CMAKE_UNITY_BUILD ${TACIT_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 6)
# tacit_alone(files...): these are compiled by themselves. Names that a file keeps to itself may be those of another.
function(tacit_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

find_program(TACIT_CCACHE ccache)
if(TACIT_CCACHE AND PROJECT_IS_TOP_LEVEL)
  # The sloppiness is what ccache asks for before it caches files that use a precompiled header. Paths count from the
  # source folder, so that a second clone finds what the first one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${TACIT_CCACHE})
endif()

add_library(tacit_warnings INTERFACE)
target_compile_options(tacit_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wpedantic
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # g++ 12 sees overlaps and overflows in std::string's own operator+ (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict;-Wno-stringop-overflow>
  $<$<BOOL:${TACIT_WERROR}>:-Werror>)

if(TACIT_SANITIZE)
  add_compile_options(-fsanitize=${TACIT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TACIT_SANITIZE})
  if(TACIT_SANITIZE MATCHES thread)
    # The thread sanitizer does not understand fences; Asio's locks order its handlers without them.
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()

if(TACIT_TIDY)
  find_program(TACIT_CLANG_TIDY NAMES clang-tidy clang-tidy-14 REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY ${TACIT_CLANG_TIDY} --quiet)
endif()
