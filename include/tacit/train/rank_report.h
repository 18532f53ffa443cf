// SPDX-License-Identifier: MIT
// One rank's account of a run, and how it reaches the others where ranks are processes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tacit/collectives/comm.h"
#include "tacit/runlog/events.h"
#include "tacit/transport/ledger.h"
#include "tacit/world/world.h"

namespace tacit {

// Valid up to the step where an error ended the run.
struct RankReport {
  int rank = 0;
  bool finished = false;  // trained to the end
  std::int64_t steps = 0;
  double seconds = 0;                   // of training, without evaluations
  std::optional<double> recent_loss;    // mean over the last logged steps
  std::optional<double> first_loss;     // at the first step; this and the next: divergence.h
  std::optional<double> late_loss;      // the smallest mean that was logged in the last quarter of the run
  std::optional<Evaluated> evaluation;  // the last one
  Traffic sent;                         // for training
  std::uint64_t weights_hash = 0;
  std::vector<Evaluated>
      evaluations;  // all; every rank has them, because any may be the one that reports. Not packed
  std::vector<RankLost> lost;      // what this rank noticed; for the rank that reports, and not packed
  std::optional<TimeSpent> spent;  // of `seconds`
};

// For messages between ranks, which run the same build on the same byte order: always the same length.
std::vector<std::byte> pack(const RankReport& report);
RankReport unpack(ConstBytes packed);  // throws Mismatch for another length

// Adds to report.lost the ranks that are lost and not in it yet; returns how many were in it.
std::size_t add_losses(const Comm& comm, RankReport& report);
// Notes in report.lost which of them take part again; returns those that it did not have yet.
std::vector<RankBack> add_returns(const Comm& comm, RankReport& report);

// The reports of all ranks that live, in their order, on each of them. Called by all ranks.
std::vector<RankReport> gather_reports(Comm& comm, const RankReport& mine);

}  // namespace tacit
