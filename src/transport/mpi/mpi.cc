// SPDX-License-Identifier: MIT
#include <utility>

#include "transport/limits.h"
#include "transport/mpi/fabric.h"
#include "transport/mpi/mpi_fabric.h"
#include "transport/mpi/open_mpi.h"

namespace tacit {
namespace {

MPI_Comm duplicate(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &copy);
  return copy;
}

}  // namespace

std::unique_ptr<Fabric> open_mpi(MpiOptions options) {
  WaitLimits limits = checked(std::move(options.limits));
  const MpiLibrary library;
  return std::make_unique<MpiFabric>(library, duplicate(MPI_COMM_WORLD), std::move(limits));
}

std::unique_ptr<Fabric> open_mpi_on(MPI_Comm comm, MpiOptions options) {
  return std::make_unique<MpiFabric>(std::nullopt, duplicate(comm), checked(std::move(options.limits)));
}

void abandon_mpi(Endpoint& endpoint, const std::exception_ptr& error) {
  dynamic_cast<MpiFabric&>(endpoint).abandon(error);
}

}  // namespace tacit
