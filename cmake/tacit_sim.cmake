# The virtual cluster: SimGrid for time and network, toml11 for cluster files.
find_path(TACIT_SIMGRID_INCLUDE simgrid/s4u.hpp)
find_library(TACIT_SIMGRID_LIBRARY simgrid)
find_package(toml11 QUIET)
find_package(Boost 1.74 QUIET)  # SimGrid's headers include some of its headers
if(NOT TACIT_SIMGRID_INCLUDE OR NOT TACIT_SIMGRID_LIBRARY OR NOT toml11_FOUND OR NOT Boost_FOUND)
  message(STATUS "SimGrid or toml11 was not found: building without tacit::sim, so without tacit simulate, compare and tune. "
                 "Install libsimgrid-dev and libtoml11-dev, or say -DTACIT_SIM=OFF to keep it so.")
  set(TACIT_SIM OFF)
  return()
endif()

add_library(tacit_simgrid INTERFACE)
target_include_directories(tacit_simgrid SYSTEM INTERFACE ${TACIT_SIMGRID_INCLUDE})
# SimGrid's library has an MPI of its own for simulated programs, with MPI's names. Of a program that links both, the first
# library wins, so that the real one must come before it: as an option, because CMake orders libraries as it likes. The
# program tacit links one of them and loads the other as a module, whose names nobody else sees.
if(TARGET tacit_mpi)
  foreach(name IN LISTS MPI_CXX_LIB_NAMES)
    target_link_options(tacit_simgrid INTERFACE LINKER:--no-as-needed,${MPI_${name}_LIBRARY})
  endforeach()
endif()
target_link_libraries(tacit_simgrid INTERFACE ${TACIT_SIMGRID_LIBRARY})
set_target_properties(tacit_simgrid PROPERTIES EXPORT_NAME simgrid)
set_property(GLOBAL APPEND PROPERTY TACIT_LIBRARIES tacit_simgrid)

# What a cluster is can be read without SimGrid.
tacit_library(cluster
  SOURCES src/sim/cluster.cc src/sim/cluster_file.cc src/sim/fault_draw.cc src/sim/toml_text.cc src/sim/units.cc
  DEPS core
  BUILD_LINK toml11::toml11)
tacit_library(sim
  SOURCES src/sim/actors.cc src/sim/fabric.cc src/sim/fault_plan.cc src/sim/hub.cc src/sim/members.cc src/sim/network.cc
          src/sim/pipes.cc src/sim/platform.cc src/sim/scheduler.cc src/sim/verdict.cc src/sim/world.cc
  DEPS world cluster
  LINK tacit_simgrid
  BUILD_LINK Boost::headers)
# SimGrid's reference counts have fences that GCC's thread sanitizer does not follow. Actors run one at a time, so that it
# has nothing to find in them.
if(TACIT_SANITIZE STREQUAL "thread")
  target_compile_options(tacit_sim PRIVATE -Wno-tsan)
endif()
