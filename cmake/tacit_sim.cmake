# The virtual cluster: SimGrid for time and network, toml11 for cluster files.
find_path(TACIT_SIMGRID_INCLUDE simgrid/s4u.hpp)
find_library(TACIT_SIMGRID_LIBRARY simgrid)
find_package(toml11 QUIET)
find_package(Boost 1.74 QUIET)  # SimGrid's headers include some of its headers
if(NOT TACIT_SIMGRID_INCLUDE OR NOT TACIT_SIMGRID_LIBRARY OR NOT toml11_FOUND OR NOT Boost_FOUND)
  message(STATUS "SimGrid or toml11 was not found: building without tacit::sim, so without tacit simulate and tacit compare. "
                 "Install libsimgrid-dev and libtoml11-dev, or say -DTACIT_SIM=OFF to keep it so.")
  set(TACIT_SIM OFF)
  return()
endif()

add_library(tacit_simgrid INTERFACE)
target_include_directories(tacit_simgrid SYSTEM INTERFACE ${TACIT_SIMGRID_INCLUDE})
target_link_libraries(tacit_simgrid INTERFACE ${TACIT_SIMGRID_LIBRARY})
set_target_properties(tacit_simgrid PROPERTIES EXPORT_NAME simgrid)
set_property(GLOBAL APPEND PROPERTY TACIT_LIBRARIES tacit_simgrid)

tacit_library(sim
  SOURCES src/sim/actors.cc src/sim/cluster.cc src/sim/cluster_file.cc src/sim/fabric.cc src/sim/hub.cc
          src/sim/platform.cc src/sim/scheduler.cc src/sim/units.cc
  DEPS transport
  LINK tacit_simgrid
  BUILD_LINK toml11::toml11 Boost::headers)
