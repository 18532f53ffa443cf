// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "support/on_every_rank.h"

namespace tacit::test {

struct TransportCase {
  std::string name;
  RunRanks run;
};
inline void PrintTo(const TransportCase& c, std::ostream* os) { *os << c.name; }

// Those that this program tests: threads_transports.cc where ranks are threads of it, mpi_transports.cc where they are
// processes that mpirun started.
std::vector<TransportCase> all_transports();

}  // namespace tacit::test
