// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tacit/core/error.h"
#include "transport/wait_tally.h"
#include "world/backend.h"

namespace tacit {

// One rank over its endpoint, which must outlive it, as must `interrupted`. Tasks are threads, whatever the ranks are.
class RankProcess final : public Process {
 public:
  RankProcess(Endpoint& endpoint, const MakeComm& make_comm, const std::atomic<bool>& interrupted,
              std::string world)
      : rank_(endpoint.rank()),
        size_(endpoint.size()),
        interrupted_(interrupted),
        world_(std::move(world)),
        comm_(make_comm(endpoint, tasks_, Tag::Lane::kTrain)),
        control_(make_comm(endpoint, tasks_, Tag::Lane::kControl)) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Comm& comm() override { return *comm_; }
  Comm& control() override { return *control_; }
  Tasks& tasks() override { return tasks_; }
  std::string world() const override { return world_; }
  Seconds waited() const override { return WaitTally::mine()->total(); }
  using Process::spend_compute;
  void spend_compute(std::int64_t, double) override {
    if (interrupted_.load()) throw Interrupted("rank " + std::to_string(rank_) + ": the run was interrupted");
  }

 private:
  const int rank_;
  const int size_;
  const std::atomic<bool>& interrupted_;
  const std::string world_;
  ThreadTasks tasks_;
  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Comm> control_;
};

}  // namespace tacit
