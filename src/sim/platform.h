// SPDX-License-Identifier: MIT
// From a cluster to SimGrid's hosts and links.
#pragma once

#include <simgrid/s4u/Host.hpp>
#include <vector>

#include "tacit/sim/cluster.h"

namespace tacit::sim {

// Makes SimGrid's engine with the settings that every simulation here has. Once per process.
void start_engine();

// The host of every rank. Throws InvalidConfig for a platform file that SimGrid refuses or that has too few hosts.
std::vector<simgrid::s4u::Host*> build_platform(const Cluster& cluster);

}  // namespace tacit::sim
