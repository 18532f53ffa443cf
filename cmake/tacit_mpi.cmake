# The MPI transport. Any MPI with MPI_THREAD_MULTIPLE will do: Open MPI, MPICH, Intel MPI.
# Debian has several beside each other: -DMPI_CXX_COMPILER=mpicxx.mpich. The launcher is then that one's, too.
if(MPI_CXX_COMPILER MATCHES "mpicxx(\\.[a-z]+)$" AND NOT MPIEXEC_EXECUTABLE)
  find_program(MPIEXEC_EXECUTABLE mpiexec${CMAKE_MATCH_1})
endif()
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  message(STATUS "MPI was not found: building without tacit::mpi, so ranks are threads of one process or meet over TCP. "
                 "Install libopenmpi-dev and openmpi-bin, or say -DTACIT_MPI=OFF to keep it so.")
  set(TACIT_MPI OFF)
  return()
endif()

tacit_library(mpi
  SOURCES src/transport/mpi/cargo.cc src/transport/mpi/departures.cc src/transport/mpi/fabric.cc
          src/transport/mpi/library.cc src/transport/mpi/mpi.cc src/transport/mpi/post.cc
  DEPS transport
  LINK MPI::MPI_CXX)
tacit_library(native_collectives SOURCES src/collectives/mpi/native_comm.cc DEPS collectives mpi LINK MPI::MPI_CXX)
# The C++ bindings that MPI has dropped are in its header all the same.
foreach(target IN ITEMS tacit_mpi tacit_native_collectives)
  target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
endforeach()
