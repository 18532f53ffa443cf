// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "tacit/collectives/all_reduce.h"
#include "tacit/collectives/comm.h"
#include "tacit/core/tasks.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

// Comm by messages over an Endpoint; the only one that runs on every transport. endpoint and tasks must
// outlive it. Two Comms of one rank need different lanes; a Comm on kTrain also uses kBackground
// and, where it is forked, those of forks.
std::unique_ptr<Comm> make_endpoint_comm(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane,
                                         AllReduce algorithm = AllReduce::kAuto);

}  // namespace tacit
