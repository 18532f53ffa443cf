// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "collectives/surviving_comm.h"
#include "support/on_every_rank.h"
#include "tacit/core/error.h"

namespace tacit::test {

// Ranks as threads; body returns when its rank is done or throws PeerLost when it is lost itself.
inline void on_surviving_comms(InprocFabric& fabric, int ranks, const std::function<void(Comm&)>& body) {
  run_ranks(ranks, [&](int rank) {
    Endpoint& endpoint = fabric.endpoint(rank);
    endpoint.survive();
    try {
      ThreadTasks tasks;
      const auto comm = make_surviving_comm(endpoint, tasks, Tag::Lane::kTrain,
                                            make_endpoint_comm(endpoint, tasks, Tag::Lane::kTrain));
      body(*comm);
    } catch (const PeerLost&) {
      if (endpoint.here(rank)) throw;
    }
    fabric.leave(rank, InprocFabric::Leave::kDone, "its test ended");
  });
}

}  // namespace tacit::test
