// SPDX-License-Identifier: MIT
// From a cluster to SimGrid's hosts and links.
#pragma once

#include <simgrid/s4u/Host.hpp>
#include <vector>

#include "tacit/sim/cluster.h"

namespace tacit::sim {

// Makes SimGrid's engine and the host of every rank. Once per process. Throws InvalidConfig for a platform file that
// SimGrid refuses or that has too few hosts.
std::vector<simgrid::s4u::Host*> build_platform(const Cluster& cluster);

}  // namespace tacit::sim
