cmake_minimum_required(VERSION 3.25)
# Does what docs/tutorial.md says: writes its files and runs its commands, against what tests/package/run.cmake left.
#   cmake -DPAGE=docs/tutorial.md -DOUT=folder -DPREFIX=folder -P tutorial.cmake
if(NOT EXISTS /usr/share/datasets/fashion-mnist)
  message("skipped: the tutorial trains on Fashion-MNIST; install dataset-fashion-mnist")
  return()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/extract.cmake)
find_program(CCACHE ccache)
if(CCACHE)
  set(ENV{CMAKE_CXX_COMPILER_LAUNCHER} ${CCACHE})  # the headers of LibTorch take a minute
endif()
set(ENV{CMAKE_PREFIX_PATH} ${PREFIX})
set(ENV{PATH} "${PREFIX}/bin:$ENV{PATH}")
execute_process(COMMAND bash -euxo pipefail run WORKING_DIRECTORY ${OUT} COMMAND_ERROR_IS_FATAL ANY)
