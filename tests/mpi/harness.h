// SPDX-License-Identifier: MIT
// Tests whose ranks are the processes of one mpirun: every process runs every test.
#pragma once

#include <mpi.h>

#include "support/on_every_rank.h"

namespace tacit::test {

// Runs the body on the processes with the lowest numbers, each over a fabric of its own among them; the others wait.
// What fails on one process fails the test on all.
void run_processes(int ranks, const WaitLimits& limits, const RankBody& body);

// Of MPI_COMM_WORLD.
int process_rank();

}  // namespace tacit::test
