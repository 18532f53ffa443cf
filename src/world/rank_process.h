// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tacit/core/error.h"
#include "transport/wait_tally.h"
#include "world/backend.h"

namespace tacit {

// One rank over its endpoint, which must outlive it, as must `interrupted`. Tasks are threads, whatever the ranks are.
class RankProcess final : public Process {
 public:
  RankProcess(Endpoint& endpoint, const MakeComm& make_comm, const std::atomic<bool>& interrupted,
              std::string world)
      : endpoint_(endpoint),
        rank_(endpoint.rank()),
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
  // Calls `entered` once this rank, which has come back, takes part.
  void take_back(std::function<void()> entered) { entered_ = std::move(entered); }
  bool takes_back() const override { return entered_ != nullptr; }
  bool outside() const override { return comm_->outside(); }
  std::vector<int> others() const override {
    std::vector<int> ranks = living(endpoint_);
    std::erase(ranks, rank_);
    sort_by_entry(ranks, [this](int rank) { return endpoint_.entry(rank); });
    return ranks;
  }
  Place admit(int peer, std::uint32_t entry) override {
    return {comm_->admit(peer, entry), control_->admit(peer, entry)};
  }
  void enter(const Place& place) override {
    comm_->enter(place.train);
    control_->enter(place.control);
    entered_();
  }
  using Process::spend_compute;
  void spend_compute(std::int64_t, double) override {
    if (interrupted_.load()) throw Interrupted("rank " + std::to_string(rank_) + ": the run was interrupted");
  }

 private:
  Endpoint& endpoint_;
  const int rank_;
  const int size_;
  const std::atomic<bool>& interrupted_;
  const std::string world_;
  ThreadTasks tasks_;
  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Comm> control_;
  std::function<void()> entered_;  // null where lost ranks do not come back
};

}  // namespace tacit
